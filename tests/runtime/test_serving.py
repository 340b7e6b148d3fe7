"""What a server tells its kernels: who asks, where the policy is, what is served; and nothing without a server."""

from __future__ import annotations

from mcc_jupyter.core.handed import Handed
from mcc_jupyter.runtime.serving import HERE, Serving


def said(handed: Handed) -> list[object]:
    return [handed.policy, handed.root, handed.user, handed.groups, handed.workspace, handed.kernel]


def test_a_server_says_who_asks_and_which_policy_holds() -> None:
    serving = Serving()
    serving.start("/root", lambda: "/p/mcc.toml", lambda: ("ana", ("ops",)))

    assert serving.policy == "/p/mcc.toml"
    assert said(serving.handed(root="/other", workspace="/root/a.ipynb", kernel="k")) == ["/p/mcc.toml", "/root", "ana", ("ops",), "/root/a.ipynb", "k"]
    assert said(serving.handed()) == ["/p/mcc.toml", "/root", "ana", ("ops",), None, None]


def test_without_a_server_only_what_is_known_anyway_is_told() -> None:
    serving = Serving()
    serving.start("/root", lambda: "/p", lambda: ("ana", None))
    serving.stop()

    assert serving.policy is None
    assert said(serving.handed(root="/r", workspace="", kernel="k")) == [None, "/r", None, (), "", "k"]
    assert said(HERE.handed()) == [None, None, None, (), None, None]
