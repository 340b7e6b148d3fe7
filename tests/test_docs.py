"""What the documents say is so: their examples run, their tables are the program's, their links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
import yaml

from mcc_jupyter.core import authority_reading, declare, errors, mcp_table, names
from mcc_jupyter.core.call_line import parse_call
from mcc_jupyter.core.fields import LIMITS
from mcc_jupyter.core.params import KEYS as PARAM_KEYS
from mcc_jupyter.core.tool import DEFAULT_FLOOR
from tests.docs_examples import DOCUMENTS, REPOSITORY, blocks, matches, outputs, run

PAGES = [*DOCUMENTS, *(REPOSITORY / name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"))]
WITH_EXAMPLES = [page for page in DOCUMENTS if any(block.kind for block in blocks(page.read_text(encoding="utf-8")))]


def _name(page: Path) -> str:
    return page.relative_to(REPOSITORY).as_posix()


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=_name)
def test_the_examples_print_what_the_document_says(page: Path) -> None:
    examples = blocks(page.read_text(encoding="utf-8"))
    expected = outputs(examples)

    for block, printed, error in run(examples):
        where = f"{_name(page)}:{block.line}"
        wanted = block.name if block.kind == "error" else ""
        assert error == wanted, f"{where} ended in {error or 'no error'}, not {wanted or 'well'}:\n{printed}"
        if block in expected:
            assert matches(expected[block].body, printed), f"{where} printed:\n{printed}\nbut the document says:\n{expected[block].body}"


def test_the_report_in_the_readme_is_written_out_so_that_a_stale_one_fails() -> None:
    [report] = [block.body for block in blocks((REPOSITORY / "README.md").read_text(encoding="utf-8")) if "  exec  available\n" in block.body]
    head, rows, common, footer = report.split("\n\n")

    assert head.splitlines() == ["forecast  exec  available", "The weather of tomorrow", "parameters: city: str"]
    assert [line.split()[0] for line in rows.splitlines()] == ["NAME", "WEATHER_API_KEY"]
    assert [line.split()[0] for line in common.splitlines()] == ["floor:", "session:"]
    assert len(footer.splitlines()) == 2
    assert "…" not in report.strip().removesuffix("Isolation: …")  # what a system can confine is its own


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_call_in_a_document_can_be_read(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for line in re.findall(r"^%mcc_call (.+)", block.body, re.MULTILINE):
            assert parse_call(line).name


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_fence_is_well_formed(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language, f"{_name(page)}:{block.line} names no language"
        if block.language == "yaml" and not block.body.startswith("%%"):
            yaml.safe_load(block.body)
        if block.language == "python" and not re.search(r"^\s*%", block.body, re.MULTILINE):
            compile(block.body, _name(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "code", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        goal = (page.parent / file).resolve() if file else page
        assert goal.exists(), f"{_name(page)} links to {target}, which does not exist"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", goal.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert anchor in anchors, f"{_name(page)} links to {target}, which has no such section"


def test_the_error_table_is_the_programs() -> None:
    text = (REPOSITORY / "docs" / "errors.md").read_text(encoding="utf-8")
    rows = [
        f"| `{name}` | `{error.code}` | {error.exit_status} | {error.http_status} |"
        for name, error in inspect.getmembers(errors, inspect.isclass)
        if issubclass(error, errors.MccError)
    ]

    assert [row for row in rows if row not in text] == []


def test_the_floor_in_the_documents_is_the_programs() -> None:
    assert f"`{' '.join(DEFAULT_FLOOR)}`" in (REPOSITORY / "docs" / "environment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("title", "table"), [("Names that are not secret", names._NOT_SECRET), ("Risky names", names._RISKY)])
def test_a_table_of_names_in_the_documents_is_the_programs(title: str, table: tuple[str, ...]) -> None:
    text = (REPOSITORY / "docs" / "environment.md").read_text(encoding="utf-8")
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    [block] = [block for block in blocks(section) if block.language == "text"]

    assert block.body.split() == list(table)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("a\nb\n", "a  \nb\n\n", True),
        ("a … c\n", "a b c\n", True),
        ("a\n…\nc\n", "a\nb\nb\nc\n", True),
        ("a\n", "b\n", False),
        ("a.c\n", "abc\n", False),
    ],
)
def test_an_output_is_compared_as_a_reader_would(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same


def test_an_example_that_fails_or_prints_something_else_is_seen() -> None:
    text = "<!-- example: cell -->\n```python\nprint(6 * 7)\n```\n\n<!-- example: error ZeroDivisionError -->\n```python\n1 / 0\n```\n"

    answers = [(block.kind, printed.splitlines()[0], error) for block, printed, error in run(blocks(text))]

    assert answers[0] == ("cell", "42", "")
    assert (answers[1][0], answers[1][2]) == ("error", "ZeroDivisionError")


def test_the_documents_name_every_field_and_every_limit() -> None:
    text = (REPOSITORY / "docs" / "declaring.md").read_text(encoding="utf-8")
    fields = text.partition("\n## Fields\n")[2].partition("\n## Parameters\n")
    rows = re.findall(r"^\| (`.*?`(?:, `.*?`)*) \|", fields[0], re.MULTILINE)
    limits = re.findall(r"^\| `(\w+)` \|", (REPOSITORY / "docs" / "running.md").read_text(encoding="utf-8").partition("\n## Limits\n")[2].partition("\n## ")[0], re.MULTILINE)
    params = re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?`(?:, `.*?`)*) \|", fields[2].partition("\n## ")[0], re.MULTILINE)))

    assert set(re.findall(r"`(\w+)`", "\n".join(rows))) == set(declare.FIELDS) - set(declare.UNSUPPORTED)
    assert set(limits) == set(LIMITS)
    assert set(params) == set(PARAM_KEYS)


def test_what_is_not_supported_is_said() -> None:
    text = (REPOSITORY / "docs" / "not-covered.md").read_text(encoding="utf-8")

    assert [field for field in declare.UNSUPPORTED if f"`{field}`" not in text] == []


def test_every_key_of_a_policy_file_stands_in_its_page_s_tables() -> None:
    text = (REPOSITORY / "docs" / "policy.md").read_text(encoding="utf-8")
    keys = {*authority_reading.TOP, *authority_reading.POLICY_FIELDS, *mcp_table.KEYS, "includes", "tools", "skills", "profiles", "users", "groups", "allow", "deny"}

    assert [key for key in sorted(keys) if f"`{key}`" not in text and f"[{key}" not in text] == []
    assert all(f"`{runtime}`" in text for runtime in mcp_table.NEEDS)
    assert all(f"`{transport}`" in text for transport in mcp_table.TRANSPORTS)
    assert [key for key in authority_reading.GRANTING if key != "name" and f"`{key}`" not in text] == []
