"""An operator's policy file, read → what it lets tools, workspaces and cells get, as a lock has it (SPEC 9.8).

What is no tool stands under a name that no tool can have: ``[grants]``, ``[workspaces.PATTERN]``, ``env_floor = ``.
"""

from __future__ import annotations

from .access import EVERYONE, EXCEPT, Access, access, made
from .authority import Authority, Rule, expand
from .tool import DEFAULT_FLOOR


def policy_access(authority: Authority) -> dict[str, Access]:
    """The accesses of a file by name. A tool that is switched off gets nothing and is not there."""
    found: dict[str, Access] = {}
    for name, item in authority.tools.items():
        if item.enabled:
            found[name] = access(item.tool) | made({"exposed": item.names if item.exposed else ()})
    for rule in authority.workspaces:
        tools, _ = expand(authority, rule.profiles)
        found[f"[workspaces.{rule.pattern}]"] = made({"grants": tools, "for": _whom(rule)})
    if authority.allow:
        denied = "".join(EXCEPT + " ".join(authority.deny) if authority.deny else "")
        found["[grants]"] = made({"allow": [pattern + denied for pattern in authority.allow]})
    if authority.floor is not None:
        found["env_floor ="] = made({"floor": [name for name in authority.floor if name not in DEFAULT_FLOOR]})
    return {name: item for name, item in found.items() if item.items}


def _whom(rule: Rule) -> list[str]:
    if not rule.users and not rule.groups:
        return [EVERYONE]
    return [*(f"user {name}" for name in rule.users), *(f"group {name}" for name in rule.groups)]
