"""The preprocessor that nbconvert runs: outputs redacted, sources told, nothing imported before it is asked for."""

from __future__ import annotations

import base64
import json
import logging
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter
from nbconvert.preprocessors import Preprocessor
from nbformat import v4
from traitlets.config import Config

from mcc_jupyter.core.errors import SecretError
from mcc_jupyter.doors import nbconvert as door
from mcc_jupyter.doors.nbconvert import RedactPreprocessor
from tests.processes import REPOSITORY

VALUE = "n0t-f0r-any-eyes-4711"
GITHUB = "ghp_" + "a1B2" * 9


def notebook(source: str = "", output: str = f"{VALUE} {GITHUB}") -> nbformat.NotebookNode:
    return v4.new_notebook(cells=[v4.new_code_cell(source, outputs=[v4.new_output("stream", text=output)])])


@pytest.fixture
def env_file(tmp_path: Path) -> str:
    path = tmp_path / "known.env"
    path.write_text(f"API_TOKEN={VALUE}\n")
    return str(path)


def test_it_is_a_preprocessor_that_redacts_outputs(env_file: str) -> None:
    before = notebook()
    after, resources = RedactPreprocessor(env_files=[env_file])(before, {"a": 1})

    assert issubclass(RedactPreprocessor, Preprocessor)
    assert after.cells[0].outputs[0].text == "[redacted:API_TOKEN] [redacted:github-token]"
    assert resources == {"a": 1}
    nbformat.validate(after)
    assert VALUE in before.cells[0].outputs[0].text


def test_a_notebook_without_findings_is_handed_on() -> None:
    clean = notebook(output="nothing")
    assert RedactPreprocessor().preprocess(clean, {})[0] is clean


def test_an_exporter_takes_it_by_name_with_its_settings(env_file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "other-value-here")
    config = Config()
    config.HTMLExporter.preprocessors = ["mcc_jupyter.doors.nbconvert.RedactPreprocessor"]
    config.RedactPreprocessor.env_files = [env_file]
    config.RedactPreprocessor.parent_values = True
    config.RedactPreprocessor.ignored = ["github-*"]
    page, _ = HTMLExporter(config=config).from_notebook_node(notebook(output=f"{VALUE} {GITHUB} other-value-here"))

    assert f"[redacted:API_TOKEN] {GITHUB} [redacted:OTHER_TOKEN]" in page
    assert VALUE not in page


def test_what_an_exporter_took_out_of_the_outputs_is_redacted_too(env_file: str) -> None:
    config = Config()
    config.Exporter.preprocessors = ["mcc_jupyter.doors.nbconvert.RedactPreprocessor"]
    config.RedactPreprocessor.env_files = [env_file]
    picture = base64.b64encode(bytes(range(256))).decode()
    output = v4.new_output("display_data", data={"image/svg+xml": f"<svg>{VALUE}</svg>"})
    shown = v4.new_notebook(cells=[v4.new_code_cell("", outputs=[output, v4.new_output("display_data", data={"image/png": picture})])])
    _, resources = MarkdownExporter(config=config).from_notebook_node(shown)

    assert sorted(resources["outputs"].values()) == sorted([b"<svg>[redacted:API_TOKEN]</svg>", bytes(range(256))])


def test_what_stands_in_a_source_is_a_warning_or_an_error(env_file: str, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("of-this-test")
    with caplog.at_level("WARNING"):
        RedactPreprocessor(env_files=[env_file], log=logger).preprocess(notebook(f"\nx = '{VALUE}'"), {})
    assert caplog.messages == ["cell 1, line 2: holds API_TOKEN"]

    with pytest.raises(SecretError) as caught:
        RedactPreprocessor(env_files=[env_file], strict=True).preprocess(notebook(f"\nx = '{VALUE}'"), {})
    assert str(caught.value) == "cell 1, line 2: holds API_TOKEN"


def test_it_does_nothing_when_it_is_disabled() -> None:
    shown = notebook()
    assert RedactPreprocessor(enabled=False)(shown, {})[0] is shown


def test_nbconvert_is_loaded_when_the_class_is_asked_for(tmp_path: Path) -> None:
    script = "import sys, json, mcc_jupyter.doors.nbconvert as door\nprint(json.dumps([name for name in sys.modules if name.startswith(('nbconvert', 'nbformat', 'traitlets'))]))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={"PYTHONPATH": str(REPOSITORY)}, cwd=tmp_path)

    assert json.loads(ran.stdout) == []
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        door.Nothing  # noqa: B018


def test_without_nbconvert_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    door._preprocessor.cache_clear()
    monkeypatch.setitem(sys.modules, "nbconvert.preprocessors", None)
    with pytest.raises(ImportError) as caught:
        door.RedactPreprocessor  # noqa: B018
    assert str(caught.value) == "nbconvert is not installed; install mcc-jupyter[nbconvert]"
