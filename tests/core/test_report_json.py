"""``read_report`` gives back what ``Report.json`` wrote, and refuses the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mcc_jupyter.core.report_json import read_report
from tests.core.test_report import golden

GOLDEN: dict[str, Any] = golden().json()


def test_what_was_written_is_read_back() -> None:
    shown = golden()
    assert read_report(json.loads(json.dumps(shown.json()))) == shown
    brief = replace(shown, withheld=None, programs=None)
    assert read_report(brief.json()) == brief


@pytest.mark.parametrize(
    "document",
    [
        {},
        {**GOLDEN, "schema": "mcc.matrix"},
        {**GOLDEN, "version": 2},
        {**GOLDEN, "rows": None},
        {**GOLDEN, "rows": [3]},
        {**GOLDEN, "rows": [{**GOLDEN["rows"][0], "state": "odd"}]},
        {**GOLDEN, "rows": [{**GOLDEN["rows"][0], "shadows": [{}]}]},
        {**GOLDEN, "programs": []},
        {key: value for key, value in GOLDEN.items() if key != "footer"},
    ],
)
def test_what_no_report_wrote_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"no report|another schema|valid State"):
        read_report(document)
