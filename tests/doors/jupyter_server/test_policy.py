"""The operator's policy file at a real server: told by name, handed to its kernels, and not to be changed from there."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.provisioning import KernelProvisionerFactory

from mcc_jupyter.doors.jupyter_server import events
from tests.core.test_scan import code, markdown, stream
from tests.doors.jupyter_server.servers import Server, eventually
from tests.doors.jupyter_server.test_access import Named

VALUE = "made-up-4711-of-the-operator"
REGION = "made-up-region-4711"

POLICY = """
[tools.numbers]
exec = "echo numbers"
required_env = ["POLICY_DB_PASSWORD"]
[tools.deploy]
exec = "echo deployed"
groups = ["ops"]
required_env = ["OURS_REGION"]
[tools.absent]
exec = "x"
required_env = ["NOT_SET_HERE"]
[profiles.base]
tools = ["numbers", "absent"]
[profiles.dev]
includes = ["base"]
[profiles.ops]
tools = ["deploy"]
[workspaces."ROOT/*.ipynb"]
profiles = ["dev"]
[workspaces."ROOT/ops/**"]
profiles = ["ops"]
groups = ["ops"]
[workspaces."ROOT/anas.ipynb"]
profiles = ["base"]
users = ["ana"]
"""
LOAD = "%load_ext mcc_jupyter"
ABSENT = "Tool 'absent' is unavailable; missing required environment: NOT_SET_HERE"


@pytest.fixture
def jp_environ(jp_environ: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_DB_PASSWORD", VALUE)
    monkeypatch.setenv("OURS_REGION", REGION)
    monkeypatch.setenv("PWD", "/")


@pytest.fixture
def file(tmp_path: Path, jp_root_dir: Path) -> Path:
    """The policy file, in a folder where nobody would look for it."""
    path = tmp_path / "operators" / "team.toml"
    path.parent.mkdir(mode=0o755)
    path.write_text(POLICY.replace("ROOT", os.path.realpath(jp_root_dir)))
    path.chmod(0o644)
    return path


@pytest.fixture
def sent() -> list[dict[str, Any]]:
    """Events of the policy that the server sent since it was made."""
    return []


@pytest.fixture
def settings(file: Path, sent: list[dict[str, Any]]) -> dict[str, Any]:
    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            data = record.msg if isinstance(record.msg, dict) else json.loads(record.getMessage())
            if data["__schema__"] == events.POLICY:
                sent.append({key: value for key, value in data.items() if not key.startswith("__")})

    return {"MccServer": {"policy": str(file)}, "EventLogger": {"handlers": [Kept()]}}


async def session(server: Server, path: str, name: str | None = None, *, user: str | None = None) -> str:
    """A new kernel for the notebook *path*."""
    os.makedirs(os.path.dirname(at(server, path.lstrip("/"))), exist_ok=True)
    body = {"path": path, "name": path.rpartition("/")[2] if name is None else name, "type": "notebook", "kernel": {"name": "python3"}}
    answer = await server.ask("POST", "/api/sessions", body, headers={} if user is None else {"X-User": user})
    assert answer.status == 201, answer
    kernel = str(answer.document["kernel"]["id"])
    await server.connect(kernel)
    return kernel


async def manifest(server: Server, kernel: str) -> dict[str, Any]:
    path = server.manifest(kernel)
    await eventually(path.exists)
    found: dict[str, Any] = json.loads(path.read_text())
    assert VALUE not in path.read_text()
    return found


async def granted(server: Server, kernel: str, source: str = LOAD) -> tuple[str | None, list[str]]:
    """The workspace of a kernel, as its policy sees it, and the tools that were granted."""
    await server.run(kernel, source)
    content = await manifest(server, kernel)
    return content["policy"] and content["policy"]["workspace"], [tool["name"] for tool in content["tools"]]


def at(server: Server, path: str) -> str:
    return os.path.join(os.path.realpath(server.app.root_dir), path)


def write(path: str, text: str) -> str:
    Path(path).write_text(text)
    os.chmod(path, 0o644)
    return path


def link(server: Server, path: str, target: str | Path) -> None:
    os.symlink(target, at(server, path))


def rewrite(file: Path, text: str = "", *, old: str = "", new: str = "") -> None:
    """Writes *text*, or *new* in place of *old*, or at the end."""
    before = file.read_text()
    file.write_text(text or (before.replace(old, new) if old else before + new))
    status = os.stat(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


# ---- what the server tells of it


async def test_the_server_tells_of_the_file_by_name(server: Server, file: Path, sent: list[dict[str, Any]]) -> None:
    os.chmod(file, 0o646)
    rewrite(file)
    answer = await server.ask("GET", "/policy")

    warning = "the policy file may be written by others than its owner; `chmod go-w` takes that away"
    root = at(server, "")
    assert (answer.status, answer.document) == (
        200,
        {
            "policy": {
                "label": "team.toml",
                "state": "loaded",
                "problems": [],
                "notes": [],
                "warnings": [warning],
                "profiles": ["dev", "base", "ops"],
                "workspaces": [f"{root}*.ipynb", f"{root}ops/**"],
            }
        },
    )
    assert VALUE not in answer.text
    await eventually(lambda: len(sent) == 2)
    assert sent == [{"state": "loaded", "label": "team.toml", "notes": []}, {"state": "loaded", "label": "team.toml", "notes": [warning]}]


async def test_a_file_that_breaks_is_told_and_sent_once(server: Server, file: Path, sent: list[dict[str, Any]], caplog: pytest.LogCaptureFixture) -> None:
    rewrite(file, f"[tools.x]\nexec = 'y'\n{VALUE} = 1\n[tools.numbers]\nexce = 'x'\n")
    first, again = [await server.ask("GET", "/policy") for _ in range(2)]

    problems = first.document["policy"]["problems"]
    assert first.document == again.document
    assert (first.document["policy"]["state"], first.document["policy"]["profiles"], first.document["policy"]["workspaces"]) == ("failed", [], [])
    assert "team.toml: tools.numbers: unknown key `exce` (did you mean `exec`?)" in problems
    await eventually(lambda: len(sent) == 2)
    assert sent[1] == {"state": "failed", "label": "team.toml", "notes": problems}
    logged = [record.getMessage() for record in caplog.records if "the policy file cannot be used" in record.getMessage()]
    assert logged == [f"mcc_jupyter: the policy file cannot be used: {problem}" for problem in problems]


class TestWithoutOne:
    @pytest.fixture
    def settings(self) -> dict[str, Any]:
        return {}

    async def test_without_a_file_the_policy_is_null(self, server: Server) -> None:
        assert (await server.ask("GET", "/policy")).document == {"policy": None}
        kernel = await session(server, "a.ipynb")
        assert await granted(server, kernel) == (None, [])
        assert (await manifest(server, kernel))["policy"] is None

    async def test_one_that_appears_at_or_above_the_root_holds_for_kernels_that_are_started_then(self, server: Server) -> None:
        before = await session(server, "a.ipynb")
        path = write(at(server, "mcc.toml"), "[tools.numbers]\nexec = 'x'\n[profiles.all]\ntools = ['numbers']\n[workspaces.'sub/*']\nprofiles = ['all']\n")
        after = await session(server, "sub/a.ipynb")

        assert await granted(server, after) == ("sub/a.ipynb", ["numbers"])
        assert (await server.ask("GET", "/policy")).document["policy"]["workspaces"] == ["sub/*"]
        os.unlink(path)  # from now on new kernels have nothing, and not everything
        assert (await server.ask("GET", "/policy")).document["policy"]["state"] == "failed"
        last = await session(server, "sub/b.ipynb")
        await server.run(last, LOAD)
        assert (await manifest(server, last))["policy"]["state"] == "failed"
        assert before != after


# ---- what its kernels are told


async def test_kernels_have_the_servers_file_whatever_their_code_sets(server: Server, tmp_path: Path) -> None:
    wide = tmp_path / "wide.toml"
    wide.write_text("[grants]\nallow = ['*']\n")
    forged = json.dumps({"policy": str(wide), "user": "root", "groups": ["admin"]})
    kernel = await session(server, "a.ipynb")
    await server.run(kernel, f"import os\nos.environ['MCC_SERVER'] = {forged!r}\nos.environ['MCC_POLICY'] = {str(wide)!r}\nos.environ['JPY_SESSION_NAME'] = {at(server, 'ops/a.ipynb')!r}")

    assert await granted(server, kernel) == (at(server, "a.ipynb"), ["numbers", "absent"])
    content = await manifest(server, kernel)
    assert content["policy"] == {
        "label": "team.toml", "state": "loaded", "workspace": at(server, "a.ipynb"), "profiles": ["dev"], "allow": [], "deny": [], "exposed": [],
        "dropped": [], "notices": [ABSENT], "notes": [],
    }  # fmt: skip
    assert content["tools"][0]["report"]["footer"][0] == "Under team.toml. From this kernel as it was started, which holds these values anyway. Identity: the server's user, all groups."
    listed = (await server.ask("GET", "/kernels")).document["kernels"]
    assert [one["policy"] for one in listed] == [content["policy"]]


@pytest.mark.parametrize(
    ("path", "name", "workspace", "tools"),
    [
        ("a.ipynb", "ops/b.ipynb", "a.ipynb", ["numbers", "absent"]),
        ("a.ipynb", "../../etc/x.ipynb", "a.ipynb", ["numbers", "absent"]),
        ("x/a.ipynb", "../ops/b.ipynb", "x/a.ipynb", []),
        ("ops/b.ipynb", "b.ipynb", "ops/b.ipynb", ["deploy"]),
        ("x/../ops/b.ipynb", "b.ipynb", "ops/b.ipynb", ["deploy"]),
        ("/ops/b.ipynb", "b.ipynb", "ops/b.ipynb", ["deploy"]),
    ],
)
async def test_the_sessions_path_is_the_workspace_whatever_the_client_calls_it(path: str, name: str, workspace: str, tools: list[str], server: Server) -> None:
    for folder in ("x", "ops"):
        os.mkdir(at(server, folder))
    kernel = await session(server, path, name)

    assert await granted(server, kernel) == (at(server, workspace), tools)


async def test_a_kernel_without_a_notebook_has_no_workspace_even_if_the_server_was_started_in_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", at(server, "a.ipynb"))
    kernel = await server.start()

    assert await granted(server, kernel) == (None, [])


async def test_giving_up_and_a_change_of_the_file_are_in_the_manifest_at_once(server: Server, file: Path) -> None:
    kernel = await session(server, "a.ipynb")
    await server.run(kernel, LOAD)
    assert (await manifest(server, kernel))["policy"]["dropped"] == []

    rewrite(file, new="[grants]\nallow = ['X']\n")
    await server.run(kernel, "1")

    async def policy() -> dict[str, Any]:
        return dict((await manifest(server, kernel))["policy"])

    await eventually(lambda: _is(policy, "notes", ["team.toml changed what cells may ask for; restart to use what is wider by now"]))
    await server.run(kernel, "%mcc_use ops")
    await eventually(lambda: _is(policy, "dropped", ["numbers", "absent"]))
    assert (await manifest(server, kernel))["tools"] == []


async def _is(policy: Any, key: str, value: object) -> bool:
    return bool((await policy())[key] == value)


# ---- users and groups


class TestUsers:
    @pytest.fixture
    def settings(self, settings: dict[str, Any]) -> dict[str, Any]:
        server = {"identity_provider_class": Named, "disable_check_xsrf": True}
        return {**settings, "ServerApp": server, "MccServer": {**settings["MccServer"], "user_groups": {"ana": ["ops"], "root": ["admin"]}}}

    @pytest.mark.parametrize(
        ("user", "profiles", "workspaces"),
        [("ana", ["dev", "base", "ops"], ["*.ipynb", "ops/**", "anas.ipynb"]), ("bob", ["dev", "base"], ["*.ipynb"]), ("root", ["base", "dev", "ops"], ["*.ipynb", "ops/**", "anas.ipynb"])],
    )
    async def test_a_user_sees_the_workspaces_and_profiles_that_are_for_the_user(self, user: str, profiles: list[str], workspaces: list[str], server: Server) -> None:
        answer = await server.ask("GET", "/policy", headers={"X-User": user})

        assert answer.document["policy"]["profiles"] == profiles
        assert answer.document["policy"]["workspaces"] == [at(server, pattern) for pattern in workspaces]

    async def test_a_kernel_has_what_is_for_the_user_who_had_it_started_at_every_door(self, server: Server) -> None:
        anas = await session(server, "ops/a.ipynb", user="ana")
        bobs = await session(server, "ops/b.ipynb", user="bob")

        assert await granted(server, anas) == (at(server, "ops/a.ipynb"), ["deploy"])
        assert await granted(server, bobs) == (at(server, "ops/b.ipynb"), [])
        footer = (await manifest(server, anas))["tools"][0]["report"]["footer"][0]
        assert footer.endswith("Identity: the server's user, groups ops.")
        for user, names, status in (("ana", ["deploy"], 202), ("bob", [], 404)):
            tools = await server.ask("GET", f"/kernels/{anas}/tools", headers={"X-User": user})
            call = await server.ask("POST", f"/kernels/{anas}/calls", {"tool": "deploy"}, headers={"X-User": user})
            assert ([tool["name"] for tool in tools.document["tools"]], call.status) == (names, status)
        await server.run(anas, "import mcc_jupyter as mcc\nassert mcc.call('deploy').stdout == 'deployed\\n'\nassert (mcc.session['user'], mcc.session['groups']) == ('ana', ['ops'])")
        await server.run(bobs, "import mcc_jupyter as mcc\ntry:\n    mcc.call('deploy')\nexcept mcc.ToolUnavailable as error:\n    assert 'not granted' in str(error)\nelse:\n    raise AssertionError")


# ---- the save guard


async def test_a_save_finds_the_values_of_the_files_names(server: Server, file: Path) -> None:
    content = {"cells": [markdown("x"), code("", stream(f"{VALUE} {REGION}"), id="c")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    guard = server.app.web_app.settings["mcc_save_guard"]

    async def save() -> list[str]:
        await server.ask("PUT", "/api/contents/x.ipynb", {"type": "notebook", "format": "json", "content": content})
        return sorted(str(finding) for finding in guard.findings("x.ipynb").findings)

    both = ["cell 2, output 1: holds OURS_REGION", "cell 2, output 1: holds POLICY_DB_PASSWORD"]
    assert await save() == both  # by its name alone, a region is no secret
    rewrite(file, old='required_env = ["OURS_REGION"]', new='required_env = ["OURS_REGION"]\nredact = {never = ["OURS_REGION"]}')
    assert await save() == both[1:]


# ---- with the provisioner


class TestProvisioner:
    @pytest.fixture(autouse=True)
    def provisioned(self) -> Iterator[None]:
        KernelProvisionerFactory.clear_instance()
        KernelProvisionerFactory.instance().default_provisioner_name = "mcc-jupyter"
        yield
        KernelProvisionerFactory.clear_instance()

    async def test_each_notebook_has_its_own_profiles_by_whatever_name_and_keeps_them(self, server: Server) -> None:
        os.mkdir(at(server, "ops"))
        link(server, "link.ipynb", "ops/real.ipynb")
        one = await session(server, "a.ipynb")
        two = await session(server, "link.ipynb")

        assert await granted(server, one) == (at(server, "a.ipynb"), ["numbers", "absent"])
        assert await granted(server, two) == (at(server, "ops/real.ipynb"), ["deploy"])
        content = await manifest(server, two)
        assert (content["workspace"], content["notebook"]) == (at(server, "ops/real.ipynb"), at(server, "ops/real.ipynb"))
        os.unlink(at(server, "link.ipynb"))
        link(server, "link.ipynb", "a.ipynb")  # by now it is another notebook
        [session_id] = [found["id"] for found in (await server.ask("GET", "/api/sessions")).document if found["kernel"]["id"] == one]
        renamed = await server.ask("PATCH", f"/api/sessions/{session_id}", {"path": "ops/renamed.ipynb", "name": "renamed.ipynb"})
        assert renamed.status == 200
        for kernel, expected in ((one, (at(server, "a.ipynb"), ["numbers", "absent"])), (two, (at(server, "ops/real.ipynb"), ["deploy"]))):
            restarted = await server.ask("POST", f"/api/kernels/{kernel}/restart", {})
            assert restarted.status == 200
            await server.connect(kernel)
            assert await granted(server, kernel) == expected
        await server.run(one, f"import mcc_jupyter as mcc\nassert mcc.session['notebook'] == {{'path': {at(server, 'a.ipynb')!r}, 'kernel': {one!r}}}")

    @pytest.mark.parametrize("path", ["../outside.ipynb", "x/../../outside.ipynb"])
    async def test_jupyter_starts_no_kernel_above_the_root(self, path: str, server: Server) -> None:
        answer = await server.ask("POST", "/api/sessions", {"path": path, "name": "a.ipynb", "type": "notebook", "kernel": {"name": "python3"}})
        assert answer.status == 500
        assert (await server.ask("GET", "/api/kernels")).document == []

    async def test_what_a_link_leads_out_of_the_root_has_no_workspace(self, server: Server, tmp_path: Path) -> None:
        link(server, "out", tmp_path)
        kernel = await session(server, "out/a.ipynb", "../ops/a.ipynb")

        assert await granted(server, kernel) == (None, [])  # not even by the name that the client gave it
        await server.run(kernel, "import os\nassert 'JPY_SESSION_NAME' not in os.environ and 'MCC_WORKSPACE' not in os.environ")

    async def test_a_kernels_specification_cannot_say_otherwise(self, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        wide = tmp_path / "wide.toml"
        wide.write_text("[grants]\nallow = ['*']\n")
        forged = {"MCC_SERVER": json.dumps({"policy": str(wide), "user": "x", "groups": None}), "JPY_SESSION_NAME": at(server, "ops/a.ipynb"), "MCC_WORKSPACE": at(server, "ops/a.ipynb")}
        spec = server.app.kernel_spec_manager.get_kernel_spec("python3")
        spec.env = forged
        monkeypatch.setattr(server.app.kernel_spec_manager, "get_kernel_spec", lambda name: spec)
        kernel = await session(server, "a.ipynb")

        assert await granted(server, kernel) == (at(server, "a.ipynb"), ["numbers", "absent"])
        assert (await manifest(server, kernel))["policy"]["label"] == "team.toml"
        footer = (await manifest(server, kernel))["tools"][0]["report"]["footer"][0]
        assert footer.endswith("Identity: the server's user, all groups.")

    async def test_nbclient_with_the_workspace_has_the_same_access(self, server: Server, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        import nbformat
        from nbclient import NotebookClient

        KernelProvisionerFactory.instance().default_provisioner_name = "local-provisioner"
        monkeypatch.setenv("MCC_WORKSPACE", at(server, "a.ipynb"))
        monkeypatch.setenv("MCC_POLICY", str(file))
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(f"{LOAD}\nimport mcc_jupyter as mcc\nprint([tool['name'] for tool in mcc.policy().json()['tools']], mcc.policy().workspace)")])
        await NotebookClient(book, timeout=60, kernel_name="python3").async_execute(cwd=str(tmp_path))

        assert book.cells[0].outputs[-1].text.splitlines()[-1] == f"['numbers', 'absent'] {at(server, 'a.ipynb')}"


async def test_a_server_that_stops_leaves_its_managers_as_they_were(server: Server) -> None:
    from mcc_jupyter.runtime import serving

    manager, sessions = server.app.kernel_manager, server.app.session_manager
    assert "start_kernel" in vars(manager)
    assert serving.HERE.policy is not None
    app = server.app.extension_manager.extensions["mcc_jupyter"].extension_points["mcc_jupyter"].app
    await app.stop_extension()

    assert "start_kernel" not in vars(manager)
    assert "get_kernel_env" not in vars(sessions)
    assert serving.HERE.policy is None
    app.initialize_settings()  # as the fixture's end expects it
