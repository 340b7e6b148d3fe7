"""Bytes and data that may hold a secret → the same with marks in its place (SPEC 8.2).

1. Redaction is done on bytes, before decoding. Any chunking of a stream gives what redacting the whole would give.
2. Overlapping matches are one mark. A mark names the variable and shows no character and no length.
3. Values under 8 characters and common words are not redacted, because ordinary text would be harmed; they are listed.

What counts as a secret's spelling is decided in ``secret_forms``, where one stands in ``secret_search``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from .secret_forms import as_bytes, is_ordinary
from .secret_search import Search, Span, search_for
from .secret_views import VISIBLE, visible

_NO_BYTES = re.compile("([\ud800-\udc7f\udd00-\udfff]+)")
"""Halves of a character, which JSON may hold and no stream of bytes can."""


class Redactor:
    """Knows the secrets of one call, by name. One name may have several values; then they come as pairs."""

    def __init__(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        self.counts: Counter[str] = Counter()
        """Marks set so far, by name."""
        self.know(secrets)

    def know(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """From now on these are the secrets, for open streams too: all that were known before, and others."""
        pairs = dict.fromkeys(secrets.items() if isinstance(secrets, Mapping) else secrets)
        ordinary = {pair for pair in pairs if is_ordinary(pair[1])}
        self.skipped = tuple(dict.fromkeys(pair[0] for pair in pairs if pair in ordinary and pair[1].strip()))
        """Names whose values are too short or too common to be redacted."""
        self._secrets = tuple(pair for pair in pairs if pair not in ordinary)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    @property
    def secrets(self) -> tuple[tuple[str, str], ...]:
        """Names and values of those that are redacted."""
        return self._secrets

    def stream(self) -> Stream:
        """A new stream; one for stdout, one for stderr."""
        return Stream(self)

    def data(self, value: object) -> object:
        """JSON data with every string redacted, keys too, and numbers that spell a secret."""
        if not self._secrets:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.data(item) for item in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)  # a ValueError for more digits than Python writes
            return self.text(written) if self.holds_secret(written) else value
        return value

    def _mapping(self, value: dict[object, object]) -> dict[str, object]:
        """Two keys that are the same but for their secrets both stay: the later ones get the number that is free."""
        redacted: dict[str, object] = {}
        taken = {key for key in map(str, value) if not self.holds_secret(key)}
        for key, item in value.items():
            written = str(key)
            name = marked = self.text(written)
            number = 2
            while name in redacted or (name != written and name in taken):
                name, number = f"{marked}#{number}", number + 1
            redacted[name] = self.data(item)
        return redacted

    def text(self, text: str) -> str:
        """*text* with its marks; the same object if it holds no secret."""
        if not self.holds_secret(text):
            return text
        parts = _NO_BYTES.split(text)  # every other part is such a half, and stays
        parts[::2] = [self._part(as_bytes(part)) for part in parts[::2]]
        return "".join(parts)

    def holds_secret(self, text: str) -> bool:
        return self.secret_in(text) is not None

    def secret_in(self, text: str) -> str | None:
        """The name of the first secret that *text* holds."""
        if self._secrets:
            for part in _NO_BYTES.split(text)[::2]:
                if spans := self._spans(as_bytes(part)):
                    return min(spans)[2]
        return None

    def found(self, text: str) -> list[tuple[int, int, str]]:
        """Where in *text* secrets stand: the first character, the end, and the name its mark would have."""
        found: list[tuple[int, int, str]] = []
        base = 0
        for part in _NO_BYTES.split(text) if self._secrets else ():
            data = as_bytes(part)
            # Halves of a character hold no secret, and are alone in their part.
            seen, size = 0, 0
            for start, end, name in _united(self._spans(data)):
                before = size + _characters(data[seen:start])
                seen, size = end, before + _characters(data[start:end])
                found.append((base + before, base + size, name))
            base += len(part)
        return found

    def _spans(self, data: bytes) -> list[Span]:
        search = self._search()
        return search.spans(search.views(data)) if len(data) >= search.shortest else []

    def _part(self, data: bytes) -> str:
        return self._marked(data, self._spans(data), 0, len(data), 0)[0].decode("utf-8", "surrogateescape")

    def _search(self) -> Search:
        """Made when it is first needed: many a call prints nothing."""
        return search_for(self._secrets)

    def _marked(self, data: bytes, spans: Iterable[Span], since: int, until: int, covered: int) -> tuple[bytes, int]:
        """``data[since:until]`` with its marks, and how many of the bytes after it the last mark covers.

        What begins before *since* has been marked; *covered* bytes after it belong to such a mark. A mark has the name
        of the match that begins it, the longest first.
        """
        pieces, hidden = [], since + covered
        for start, negative, name, _ in sorted(spans):
            if start < since:
                continue
            if start >= until:
                break
            if start >= hidden:
                self.counts[name] += 1
                pieces += [data[hidden:start], _mark(name)]
            hidden = max(hidden, -negative)
        pieces.append(data[hidden:until])
        return b"".join(pieces), max(0, hidden - until)


class Stream:
    """One stream of bytes through a redactor: ``feed`` gives what is safe to show, ``close`` the rest."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._kept = b""
        self._shown = 0
        """How many bytes at the front of what is kept have been shown; what comes next may continue them."""
        self._covered = 0
        """For how many bytes after those a mark stands already."""
        self._released = 0
        """How many of those shown have been shown though a secret may begin with them."""

    def feed(self, chunk: bytes) -> bytes:
        if not self._redactor:
            return chunk
        search = self._redactor._search()
        data = self._kept + chunk
        views = search.views(data)
        spans = self._hidden(search.spans(views))
        wait, keep = search.waiting(data, views, spans)
        return self._passed(data, spans, max(wait, self._released), keep)

    def release(self) -> bytes:
        """What waits, if it is so little that it may be seen of a secret (SPEC 8.2); the rest of it stays hidden.

        For text after which nothing comes for a while, such as a prompt.
        """
        if self._covered or visible(self._kept) > VISIBLE:
            return b""
        held = self._kept[self._shown :]
        self._shown = self._released = len(self._kept)
        return held

    @property
    def waits(self) -> bool:
        """Whether something has not been shown yet."""
        return len(self._kept) > self._shown

    def close(self) -> bytes:
        if not self._redactor:
            return b""
        spans = self._hidden(self._redactor._spans(self._kept))
        return self._passed(self._kept, spans, len(self._kept), len(self._kept))

    def _hidden(self, spans: list[Span]) -> list[Span]:
        """Of a secret whose beginning was released, what can still be hidden."""
        if not self._released:
            return spans
        return [(max(start, self._released), end, name, first) for start, end, name, first in spans]

    def _passed(self, data: bytes, spans: list[Span], wait: int, keep: int) -> bytes:
        self._released = max(0, self._released - keep)
        safe, self._covered = self._redactor._marked(data, spans, self._shown, wait, self._covered)
        self._kept, self._shown = data[keep:], wait - keep
        return safe


@lru_cache(maxsize=1024)
def _mark(name: str) -> bytes:
    return b"[redacted:%b]" % as_bytes(name)


def _united(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    """First byte, end and name of each mark: overlapping matches are one, with the name of the first."""
    marks: list[tuple[int, int, str]] = []
    for start, negative, name, _ in sorted(spans):
        if marks and start < marks[-1][1]:
            first, end, name = marks.pop()
            marks.append((first, max(end, -negative), name))
        else:
            marks.append((start, -negative, name))
    return marks


def _characters(data: bytes) -> int:
    return len(data.decode("utf-8", "surrogateescape"))

