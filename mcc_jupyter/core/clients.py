"""The text of a command → the interpreters and clients it starts, and the free text that reaches them (SPEC 9.8).

1. A program counts where the shell would start it: first of a command, or after one that starts another (``sudo``).
2. A parameter reaches a program in its words, on its input (a pipe, a here-document), or through a shell variable.
3. It never fails, and what it cannot tell it leaves out: these are hints for whoever reviews, not a proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from .shell_code import SCRIPTING, SHELLS, STARTERS, arguments
from .shell_lexer import Command, Expansion, Quote, Script, Tag, Word, lex
from .shell_template import TEXTUAL, Exposure
from .tool import MISSING, Argv, Curl, Shell, Tool

_CLIENTS = frozenset(
    """psql pg_dump pg_restore mysql mariadb mysqldump sqlite3 duckdb mongo mongosh redis-cli clickhouse-client
    clickhouse cqlsh influx snowsql sqlplus sqlcmd bq trino git gh glab ssh scp sftp rsync curl wget http https nc ncat
    netcat socat telnet ftp docker podman nerdctl kubectl oc helm aws gcloud gsutil az terraform ansible
    ansible-playbook awk gawk mawk nawk sed jq make deno bun ts-node npx irb pwsh tclsh expect R eval""".split()
)
_PRINTING = frozenset("echo printf".split())
_PIPE = re.compile(r"(?<![|>])\|(?!\|)")


def is_client(program: str) -> bool:
    """Whether a program runs code, or speaks to something that does: an interpreter, a database, another machine."""
    return program in _CLIENTS or bool(SHELLS.fullmatch(program) or SCRIPTING.fullmatch(program))


def programs(tool: Tool) -> frozenset[str]:
    """The interpreters and clients that a tool's commands start, and the program of an argument list as written."""
    found = {name for command in _commands(tool) for name, _ in _started(command)}
    return frozenset({*found, *([tool.body.written[0]] if isinstance(tool.body, Argv) else [])})


def free_texts(tool: Tool) -> list[tuple[str, str]]:
    """Parameter and program, where a caller's free text reaches an interpreter or client; sorted, each pair once.

    Of a ``curl`` tool only ``transform`` counts: that a parameter stands in its address is what it is for.
    """
    types = {param.name: param.type for param in tool.params if param.enum is None and param.override is MISSING}
    types = {name: type_ for name, type_ in types.items() if type_ in TEXTUAL}
    found: set[tuple[str, str]] = set()
    if not types:
        return []
    if isinstance(tool.body, Argv):
        found.update(_in_argv(tool.body, types))
    for text in _scripts(tool):
        found.update(_in_script(lex(text), types))
    return sorted(found)


def _scripts(tool: Tool) -> Iterator[str]:
    if isinstance(tool.body, Shell):
        yield tool.body.template
    if tool.transform is not None:
        yield tool.transform.template


def _commands(tool: Tool) -> Iterator[Command]:
    for text in (*_scripts(tool), *([tool.body.shell.template] if isinstance(tool.body, Curl) else [])):
        yield from lex(text).commands
    if isinstance(tool.body, Argv):
        yield Command([Word(0, pieces=[text]) for text in tool.body.written])


def _started(command: Command) -> Iterator[tuple[str, int]]:
    """The interpreters and clients of one command, and where each stands among its words."""
    words = arguments(command.words)
    shift = len(command.words) - len(words)
    for at, word in enumerate(words):
        program = (word.literal or "").rpartition("/")[2]
        if (at == 0 or words[0].literal in STARTERS) and is_client(program):
            yield program, at + shift


def _reads_argument(program: str, command: Command, at: int) -> bool:
    """Whether the program at *at* reads its arguments itself: a shell without ``-c`` hands them to a script."""
    if not SHELLS.fullmatch(program) or program.startswith(("py", "busybox")):
        return True
    return any(re.match(r"-[A-Za-z]*c", str(word.literal)) for word in command.words[at + 1 :])


def _in_argv(body: Argv, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    command = Command([Word(0, pieces=[text]) for text in body.written])
    for program, at in _started(command):
        for text in body.written[at + 1 :] if _reads_argument(program, command, at) else ():
            yield from ((name, program) for name in _names(text, Exposure(types)) if name in types)


def _names(text: str, exposure: Exposure) -> list[str]:
    tree = exposure.tree(text)
    return [] if tree is None else [*exposure.unquoted(tree), *exposure.quoted(tree)]


def _in_script(script: Script, types: dict[str, str]) -> Iterator[tuple[str, str]]:
    piped = _piped(script)
    carried: dict[str, set[str]] = {}
    for tag, names in _carriers(script, types):
        yield from ((name, program) for name in names for program in _reached(tag, script, piped))
        variable = _assigned(tag)
        if variable:
            carried.setdefault(variable, set()).update(names)
    for expansion in script.expansions:
        held = carried.get(expansion.name, set())
        yield from ((name, program) for name in held for program in _reached(expansion, script, piped))


def _carriers(script: Script, types: dict[str, str]) -> Iterator[tuple[Tag, list[str]]]:
    """The tags that hold a caller's text, with the parameters it comes from."""
    exposure = Exposure(types)
    sources: list[str] = []
    for tag in script.tags:
        if not tag.is_expression:
            exposure.statement(tag.text)
            sources += [name for name in types if re.search(rf"\b{name}\b", tag.text)]
            continue
        found = _names(tag.text, exposure)
        # A name that is no parameter was made from some by a statement before.
        yield tag, [name for one in found for name in ([one] if one in types else sources)]


def _assigned(tag: Tag) -> str:
    """The shell variable that the word of *tag* is assigned to, also by a loop."""
    words = tag.command.words
    if words and words[0].literal == "for" and tag.index > 1:
        return words[1].literal or ""
    first = words[tag.index].pieces[0] if tag.index < len(words) and tag in words[tag.index].pieces else ""
    found = re.match(r"([A-Za-z_]\w*)=", first, re.A) if isinstance(first, str) else None
    return found[1] if found else ""


def _piped(script: Script) -> dict[int, Command]:
    """The command that reads what another one prints, by the other's identity."""
    commands = sorted(script.commands, key=lambda command: command.words[0].start)
    found = {}
    for one, other in pairwise(commands):
        between = script.masked[one.words[-1].end : other.words[0].start]
        if "\n" not in between.strip() and _PIPE.search(between):
            found[id(one)] = other
    return found


def _reached(place: Tag | Expansion, script: Script, piped: dict[int, Command]) -> Iterator[str]:
    if place.quote in (Quote.HEREDOC, Quote.QUOTED_HEREDOC):
        yield from (program for command in _before(place, script) for program, _ in _started(command))
        return
    words = place.command.words
    if place.index < len(words) and place in words[place.index].pieces:
        for program, at in _started(place.command):
            if at < place.index and _reads_argument(program, place.command, at):
                yield program
    if words and words[0].literal in (*_PRINTING, "cat"):
        reader = piped.get(id(place.command))
        while reader is not None:
            yield from (program for program, _ in _started(reader))
            reader = piped.get(id(reader))


def _before(place: Tag | Expansion, script: Script) -> Iterator[Command]:
    """The commands of the line on which the here-document around *place* begins."""
    starts = [command.words[0].start for command in script.commands if command.words[0].start < place.start]
    if starts:
        line = script.source.count("\n", 0, max(starts))
        for command in script.commands:
            if script.source.count("\n", 0, command.words[0].start) == line:
                yield command
