"""Strings are found where they stand, and a place in a text is found in its spelling."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcc_jupyter.core.json_strings import places, strings

DATA = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def leaves(node: object, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], bool, str]]:
    if isinstance(node, str):
        return [(path, False, node)]
    if isinstance(node, dict):
        return [leaf for key, item in node.items() for leaf in [((*path, key), True, key), *leaves(item, (*path, key))]]
    if isinstance(node, list):
        return [leaf for at, item in enumerate(node) for leaf in leaves(item, (*path, at))]
    return []


@given(DATA, st.booleans(), st.sampled_from([None, 0, 1, "\t"]))
def test_every_string_is_found_with_its_path(data: object, ascii: bool, indent: int | str | None) -> None:
    document = json.dumps(data, ensure_ascii=ascii, indent=indent)
    found = list(strings(document))

    assert [(item.path, item.is_key, item.text) for item in found] == leaves(data)
    assert all(json.loads(f'"{document[item.start : item.end]}"', strict=False) == item.text for item in found)


def test_brackets_and_colons_inside_a_string_are_text() -> None:
    document = '{"a]": "}, {", "b" : ["x:", {"c\\"": ["[", "y"]}]}'

    assert [(item.path, item.text) for item in strings(document) if not item.is_key] == [
        (("a]",), "}, {"), (("b", 0), "x:"), (("b", 1, 'c"', 0), "["), (("b", 1, 'c"', 1), "y"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "wanted", "expected"),
    [
        ("abc", [0, 2, 3], [0, 2, 3]),
        (r"a\"b", [1, 2, 3], [1, 3, 4]),
        (r"\u00e9x", [0, 1, 2], [0, 6, 7]),
        (r"\ud83d\ude00x", [0, 1, 2], [0, 12, 13]),
        (r"\ud83dx", [1], [6]),
        (r"\\n\n", [1, 2, 3], [2, 3, 5]),
        ("", [0], [0]),
        (r"\/", [], []),
    ],
)
def test_a_place_in_a_text_is_found_in_its_spelling(raw: str, wanted: list[int], expected: list[int]) -> None:
    assert places(raw, wanted) == expected


@given(st.text(), st.booleans())
def test_every_character_has_its_place(text: str, ascii: bool) -> None:
    raw = json.dumps(text, ensure_ascii=ascii)[1:-1]
    at = places(raw, range(len(text) + 1))

    assert [json.loads(f'"{raw[start:end]}"') for start, end in pairwise(at)] == list(text)
    assert (at[0], at[-1]) == (0, len(raw))


def test_nothing_of_a_document_is_in_a_repr() -> None:
    [key, value] = strings('{"hunter2": "hunter2"}')
    assert "hunter2" not in repr(key) + repr(value)
