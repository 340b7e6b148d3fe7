"""What a function returned, if it is not JSON already → something nearer to JSON, one step at a time (SPEC 7.3).

=========================================  =====================================================
Enum member                                its value
date, time, datetime, Timestamp            ISO 8601 text
Path, UUID, Decimal                        text
set, frozenset                             list, sorted if its items can be
named tuple, range, deque, view, iterator  list
dataclass, pydantic model                  mapping of its fields
numpy scalar, numpy array                  its value, nested lists
pandas DataFrame                           list of records, an index of its own first; missing cells are null
pandas Series                              list; with an index of its own a mapping of it to the values
=========================================  =====================================================

Libraries are recognised by what the tool has imported, and never imported from here.
"""

import sys
from _collections_abc import Iterator, Mapping, Sequence, Set, ValuesView
from itertools import islice

TYPE_CHECKING = False  # ``typing`` is not imported: it would delay the call
if TYPE_CHECKING:
    from typing import Any


class Unfit(Exception):
    """There is no rule; the text, if any, is what to do instead."""


def simpler(value: "Any", most: int) -> "Any":
    """*value* by one rule of the table. An iterator may yield *most* items. Raises ``Unfit``."""
    for library, rule in (("enum", _enum), ("numpy", _numpy), ("pandas", _pandas), ("pydantic", _pydantic)):
        if library in sys.modules:
            found = rule(sys.modules[library], value)
            if found is not Unfit:
                return found
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise Unfit("decode it to text, or encode it with base64")
    if hasattr(type(value), "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in sys.modules["dataclasses"].fields(value)}
    for library, names in (
        ("datetime", ("date", "time")),
        ("decimal", ("Decimal",)),
        ("uuid", ("UUID",)),
        ("pathlib", ("PurePath",)),
    ):
        if library in sys.modules and isinstance(value, tuple(getattr(sys.modules[library], name) for name in names)):
            return getattr(value, "isoformat", value.__str__)()
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, Set):
        return _ordered(value)
    if isinstance(value, (Sequence, ValuesView)) or type(value).__name__ == "deque":
        return list(value)
    if isinstance(value, Iterator) and not hasattr(value, "read"):
        items = list(islice(value, most + 1))
        if len(items) > most:
            raise Unfit(f"it yielded more than {most:,} items; return fewer")
        return items
    raise Unfit


def _ordered(values: "Any") -> "Any":
    if type(values).__name__ in ("dict_keys", "dict_items"):
        return list(values)
    try:
        return sorted(values)
    except TypeError:  # of several types; the order of a set differs from run to run
        return sorted(values, key=lambda value: (type(value).__name__, repr(value)))


def _enum(enum: "Any", value: "Any") -> "Any":
    return value.value if isinstance(value, enum.Enum) else Unfit


def _numpy(numpy: "Any", value: "Any") -> "Any":
    if not isinstance(value, (numpy.generic, numpy.ndarray)):
        return Unfit
    kind = value.dtype.kind
    if kind in "cmSV" and not value.dtype.names:
        raise Unfit("convert it to numbers or text")
    if kind == "M":
        value = numpy.where(numpy.isnat(value), None, numpy.datetime_as_string(value).astype(object))
        return value.tolist()
    return float(value) if kind == "f" and not value.shape else value.tolist()


def _pandas(pandas: "Any", value: "Any") -> "Any":
    if value is pandas.NaT or value is pandas.NA:
        return None
    if isinstance(value, pandas.DataFrame):
        if not value.columns.is_unique:
            raise Unfit("two of its columns have the same name; rename one")
        return _filled(_with_index(value)).to_dict("records")
    if isinstance(value, pandas.Series):
        items = _filled(value).tolist()
        if isinstance(value.index, pandas.RangeIndex):
            return items
        if not value.index.is_unique:
            raise Unfit("its index has equal entries; use reset_index()")
        return dict(zip(value.index, items))
    return value.tolist() if isinstance(value, (pandas.Index, pandas.Categorical)) else Unfit


def _with_index(table: "Any") -> "Any":
    """The levels of an index that is more than a count of the rows, as columns."""
    index = table.index
    several = index.nlevels > 1
    # Not told by its class: of one filter or another, the same count may be a RangeIndex or none.
    if not several and index.name is None and index.dtype.kind in "iu" and list(index) == list(range(len(index))):
        return table
    names = [name if name is not None else f"level_{at}" if several else "index" for at, name in enumerate(index.names)]
    for at, name in enumerate(names):
        if name in table.columns or name in names[:at]:
            raise Unfit(f"its index `{name}` has the name of another column; rename one, or use reset_index(drop=True)")
    return table.rename_axis(index=names).reset_index()


def _filled(table: "Any") -> "Any":
    """Missing cells as None; numbers stay what they are."""
    plain = table.astype(object)
    return plain.where(table.notna(), None)


def _pydantic(pydantic: "Any", value: "Any") -> "Any":
    if hasattr(type(value), "model_dump") and isinstance(value, pydantic.BaseModel):
        return value.model_dump()
    if hasattr(type(value), "__fields__") and hasattr(type(value), "dict"):  # version 1, alone or inside version 2
        return value.dict()
    return Unfit
