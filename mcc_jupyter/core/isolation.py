"""What keeps a tool's processes apart from others: found out by trying → a line of the footer (SPEC 7.1, 11.5).

The line says what is left open. It is the same on every run on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Isolation:
    """What holds for the tools of one launcher; not ``known`` where none could be started.

    ``abi`` is Landlock's version, 0 for none; ``domain`` whether tools stand in a domain of their own; ``scoped``
    whether a signal out of it was seen to be refused; ``unprivileged`` whether no capability is left that reads other
    processes all the same; ``final`` whether new privileges cannot be had.
    """

    platform: str
    abi: int = 0
    domain: bool = False
    scoped: bool = False
    unprivileged: bool = False
    final: bool = False
    known: bool = True

    def line(self, *, on: bool = True, kernel: bool = False) -> str:
        """The footer's line for a tool with isolation *on* or off; *kernel*: the parent has a connection file."""
        open_file = " or from code run in this kernel through its connection file" if kernel else ""
        if not on:
            return f"Isolation: off for this tool: own process, nothing is confined. {_READS}."
        if not self.known:
            return "Isolation: not known, since no process can be started; a call will say why."
        if not self.domain:
            linux = self.platform.startswith("linux")
            why = "this system has no Landlock 2" if linux else "this system is not Linux"
            if self.abi > 1:
                return "Isolation: this process cannot be confined any further; a call is refused and says why."
            privileges = ", no new privileges" if self.final else ""
            return f"Isolation: own process{privileges}; not confined, because {why}. {_READS}."
        if not self.unprivileged:
            return f"Isolation: Landlock, but the tool keeps a privilege that reads other processes. {_READS}."
        signals = "" if self.scoped else "; it can signal them"
        privileges = ", no new privileges" if self.final else ""
        return (
            f"Isolation: Landlock{privileges}: a tool cannot read or trace other processes{signals}. "
            f"Nothing keeps it from files{open_file}."
        )


_READS = "A tool can read the first environment of the process that holds these values; files are not isolated"
