"""The Jupyter server's extension ``mcc_jupyter``: settings → services and routes (SPEC 13.1)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir
from jupyter_server.extension.application import ExtensionApp
from traitlets import Dict, Enum, Float, Int, List, Unicode, default

from ...runtime import serving
from ...runtime.audit import Audit
from .base import Services
from .calls import Calls
from .events import install
from .guarding import guard_saves
from .kernels import Kernels
from .ledger import Ledger
from .link import REPLY, REQUEST
from .people import People
from .policies import watch_policy
from .routes import routes
from .starting import tell_kernels, who_asks


class MccServer(ExtensionApp):
    """Tools of notebooks under ``/mcc/api``."""

    name = "mcc_jupyter"
    load_other_extensions = True

    user_groups = Dict(
        key_trait=Unicode(),
        value_trait=List(Unicode()),
        default_value=None,
        allow_none=True,
        help="User name to the user's groups; `*` stands for every user. Unset: the groups that JupyterHub gives.",
    ).tag(config=True)
    kernel_timeout = Float(5.0, min=0.1, help="Seconds that a kernel has to answer a request.").tag(config=True)
    max_calls = Int(256, min=1, help="Calls that run at a time; one more is answered 429.").tag(config=True)
    max_body_bytes = Int(4 * 1024 * 1024, min=1024, help="The largest body of a request.").tag(config=True)

    save_guard = Enum(
        ("warn", "redact", "refuse", "off"),
        default_value="warn",
        help="What becomes of a save that holds a secret: told, outputs redacted, refused, or not even looked at.",
    ).tag(config=True)

    policy = Unicode(
        help="The operator's policy file (docs/policy.md). /etc/mcc/mcc.toml goes before it; a relative path begins at "
        "the folder where the server was started."
    ).tag(config=True)

    audit_file = Unicode(
        help="Where the log of calls is kept; empty: nowhere. Default: mcc/audit.jsonl in Jupyter's data folder."
    ).tag(config=True)

    @default("audit_file")
    def _default_audit_file(self) -> str:
        return str(Path(jupyter_data_dir()) / "mcc" / "audit.jsonl")

    def initialize_settings(self) -> None:
        server = self.serverapp
        assert server is not None
        kernels = Kernels(server.kernel_manager, Path(jupyter_runtime_dir()) / "mcc", seconds=self.kernel_timeout)
        people = People(self.user_groups, server.identity_provider, server.authorizer)
        audit = Audit(self.audit_file, say=self.log.warning) if self.audit_file else None
        events = install(server.event_logger, self.log)
        root = str(server.kernel_manager.root_dir)
        policy = watch_policy(server, self.policy, root, events, self.log)
        guard = guard_saves(server, kernels, events, mode=lambda: self.save_guard, log=self.log, known=policy.secrets)
        self.settings["mcc_save_guard"] = guard
        ledger = Ledger(audit, events)
        calls = Calls(kernels, most=self.max_calls, started=ledger.started, ended=ledger.ended)
        self.settings["mcc_services"] = Services(kernels, calls, people, ledger, policy, self.max_body_bytes)
        serving.HERE.start(root, lambda: policy.path, lambda: who_asks(people).pair)
        self.settings["mcc_tell_kernels"] = tell_kernels(server, serving.HERE)
        _keep_status_right(server.kernel_manager, server.web_app.settings)

    def initialize_handlers(self) -> None:
        self.handlers.extend(routes())

    async def stop_extension(self) -> None:
        services: Services = self.settings["mcc_services"]
        self.settings["mcc_save_guard"].uninstall()
        self.settings["mcc_tell_kernels"]()
        serving.HERE.stop()
        services.calls.end_all()
        await services.kernels.close()
        await asyncio.to_thread(services.ledger.close)


def _keep_status_right(manager: Any, settings: dict[str, Any]) -> None:
    """A request on the control channel must not make a busy kernel look idle: idle kernels may be culled."""
    types = [REQUEST, REPLY]
    known = list(getattr(manager, "untracked_message_types", []))
    if hasattr(manager, "untracked_message_types"):
        manager.untracked_message_types = [*known, *(one for one in types if one not in known)]
    page = settings.setdefault("page_config_data", {})
    listed = page.setdefault("untracked_message_types", known)
    page["untracked_message_types"] = [*listed, *(one for one in types if one not in listed)]
