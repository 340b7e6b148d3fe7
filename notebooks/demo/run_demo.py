"""The demonstration: a notebook is made, executed in a real kernel, and shown in this terminal (``make demo``).

It uses git, a database, an HTTP service and a Python function, all on this machine, and says where a program
is missing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent


class Cell(NamedTuple):
    """One cell of the notebook: ``text``, ``code``, or ``error`` for code that is meant to end in one."""

    kind: str
    source: str


GIT = [
    Cell("text", """
    ## A shell tool: git
    It asks for nothing, so it gets the floor: `PATH`, `HOME` and a few others. No credential of this kernel is there.
    """),
    Cell("code", """
    %%mcc_tool recent --param count:int=3 --cwd {repository}
    git log --oneline -n {{ count }} 2>/dev/null || echo 'no commits yet'
    echo "$(git status --short | wc -l) changed files"
    env | grep -q -e TOKEN -e PASSWORD || echo 'no credential in this environment'
    """),
    Cell("code", "%mcc_call recent count=2"),
]

DATABASE = [
    Cell("text", """
    ## A database, with its address in an env file
    Here the address is the credential. It is read for the call, from a file, and this kernel never sees it.
    """),
    Cell("code", """
    %%mcc_tool
    name: best_customers
    description: Customers by what they spent
    exec: |
      sqlite3 -header -column "$SHOP_DB_URL" "
        select customer, sum(cents) / 100.0 as total from orders
        group by customer order by total desc limit {{ limit }}"
    params:
      - {name: limit, type: int, default: 3}
    env_file: shop.env
    required_env: [SHOP_DB_URL]
    """),
    Cell("code", "%mcc_call best_customers limit=2"),
]

DATABASE_WITHOUT_CLIENT = [
    DATABASE[0],
    Cell("code", """
    from mcc_jupyter import tool

    @tool(description="Customers by what they spent", env_file="shop.env", required_env=["SHOP_DB_URL"])
    def best_customers(limit: int = 3) -> list:
        import os
        import sqlite3

        query = "select customer, sum(cents) / 100.0 as total from orders group by customer order by total desc limit ?"
        return sqlite3.connect(os.environ["SHOP_DB_URL"], uri=True).execute(query, [limit]).fetchall()
    """),
    DATABASE[2],
]

HTTP = [
    Cell("text", """
    ## An HTTP call with a token
    The token comes from this kernel's environment, because the tool asks for it by name. It is in no argument list.
    """),
    Cell("code", """
    %%mcc_tool
    name: order
    description: What became of an order
    curl: >-
      -sS -f -H "Authorization: Bearer $SHOP_API_TOKEN"
      "$SHOP_API_URL/{{ path | urlencode }}"
    params:
      - {name: path, example: orders/2}
    required_env: [SHOP_API_TOKEN, SHOP_API_URL]
    """),
    Cell("code", "%mcc_call order path=orders/2"),
    Cell("text", """
    The service has a page that shows too much: it sends the token back. What a tool was given is marked in its output.
    """),
    Cell("code", "%mcc_call order path=debug"),
]

FUNCTION = [
    Cell("text", """
    ## A Python function
    It runs in its own process too. Its result comes back as data.
    """),
    Cell("code", """
    from mcc_jupyter import tool

    @tool(description="The next values of a series, along a straight line")
    def forecast(series: list[float], count: int = 2) -> list[float]:
        import numpy

        slope, start = numpy.polyfit(range(len(series)), series, 1)
        return [round(start + slope * (len(series) + step), 2) for step in range(count)]
    """),
    Cell("code", "%mcc_call forecast series=[489,510,532,551]"),
]

REST = [
    Cell("text", """
    ## What is not there
    A tool whose credential is missing does not start, and says which.
    """),
    Cell("code", """
    %%mcc_tool
    name: refund
    exec: echo "refunding with $REFUND_KEY"
    required_env: [REFUND_KEY]
    """),
    Cell("error", "%mcc_call refund"),
    Cell("text", """
    ## All tools at a glance
    By name, never by value. Note that nothing got `BANK_PASSWORD`.
    """),
    Cell("code", "%mcc_env"),
]

START = [
    Cell("text", """
    # A demonstration of mcc_jupyter
    A kernel that holds credentials, and tools that get only what they declare.
    """),
    Cell("code", """
    import demo_support

    demo_support.start()
    """),
    Cell("code", "%load_ext mcc_jupyter"),
]


def cells() -> tuple[list[Cell], list[str]]:
    """The cells of the notebook, text before code, and what had to be left out, a line each."""
    chosen, missing = [*START], []
    if shutil.which("git") and (REPOSITORY / ".git").exists():
        chosen += [cell._replace(source=cell.source.replace("{repository}", str(REPOSITORY))) for cell in GIT]
    else:
        missing.append("git: the program or the repository is not here, so the tool that uses it is left out.")
    if shutil.which("sqlite3"):
        chosen += DATABASE
    else:
        missing.append("sqlite3: the program is not here, so a Python function asks the database instead.")
        chosen += DATABASE_WITHOUT_CLIENT
    if shutil.which("curl"):
        chosen += HTTP
    else:
        missing.append("curl: the program is not here, so the HTTP call is left out.")
    return [*chosen, *FUNCTION, *REST], missing


def build(folder: Path) -> Path:
    """Write the notebook and what it needs to *folder*; gives the notebook's path."""
    import nbformat.v4 as v4

    chosen, missing = cells()
    for line in missing:
        print(f"Note: {line}")
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(metadata={"kernelspec": kernel})
    for kind, source in chosen:
        source = dedent(source).strip()
        if kind == "text":
            notebook.cells.append(v4.new_markdown_cell(source))
        else:
            tags = ["raises-exception"] if kind == "error" else []
            notebook.cells.append(v4.new_code_cell(source, metadata={"tags": tags}))
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / "demo_support.py", folder)
    path = folder / "demo.ipynb"
    path.write_text(v4.writes(notebook), encoding="utf-8")
    return path


def execute(path: Path) -> bool:
    """Run the notebook in a kernel of this interpreter, in its own folder; whether every cell did what it should."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where)
    try:
        client.execute(stderr=subprocess.DEVNULL)
        return True
    except CellExecutionError:
        return False
    finally:
        nbformat.write(notebook, path)


def show(path: Path) -> None:
    """Print the notebook: texts, code, and what each cell gave."""
    import nbformat

    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            title, _, text = cell.source.partition("\n")
            underline = "\n" + "=" * len(title.lstrip("# ")) if title.startswith("#") else ""
            print(f"\n{title.lstrip('# ')}{underline}\n{text}".rstrip() + "\n")
            continue
        if cell.execution_count is None:
            break
        print("\n".join(f"  > {line}".rstrip() for line in cell.source.splitlines()))
        shown = "\n".join(filter(None, map(_text, cell.outputs)))
        print("\n" + indent(shown, "    ") + "\n" if shown else "")


def _text(output: dict[str, object]) -> str:
    if output["output_type"] == "stream":
        text = str(output["text"])
    elif output["output_type"] == "error":
        text = "\n".join(output["traceback"])  # type: ignore[arg-type]
    else:
        text = str(output["data"].get("text/plain", ""))  # type: ignore[attr-defined]
    return re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip("\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the demonstration in this terminal.")
    parser.add_argument("--folder", type=Path, default=REPOSITORY / ".demo", help="where the notebook is made")
    folder = parser.parse_args().folder.resolve()
    # The kernel of this interpreter, whatever other kernels are installed for this user.
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"

    path = build(folder)
    print("Running the demonstration notebook in a kernel …")
    worked = execute(path)
    show(path)
    if not worked:
        print("The demonstration stopped at the last cell shown above; its error says why.", file=sys.stderr)
        return 1
    shown = os.path.relpath(path)
    print(f"""
Where to go next
================

The notebook that just ran is {shown}. To open it in JupyterLab and run its cells yourself:

    {os.path.relpath(Path(sys.executable).parent)}/pip install jupyterlab
    {os.path.relpath(Path(sys.executable).parent)}/jupyter lab {shown}

Read docs/concepts.md for the ideas and docs/declaring.md for every field of a tool.""")
    return 0


if __name__ == "__main__":
    sys.exit(main())
