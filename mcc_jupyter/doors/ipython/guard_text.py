"""One stream of text → the same with marks, as soon as each piece of it can be shown."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .guard import Guard


class Text:
    """One stream of text through the redactor."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._stream = guard.redactor().stream()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, text: str) -> str:
        """What can be shown now."""
        redactor = self._guard.redactor()  # the stream is this one's
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a character, which no stream of bytes holds
            return self.close() + redactor.text(text)
        return self._decoder.decode(self._stream.feed(data))

    @property
    def waits(self) -> bool:
        return self._stream.waits

    def release(self) -> str:
        """What waits, if it is so little that it may be seen of a secret."""
        return self._decoder.decode(self._stream.release())

    def close(self) -> str:
        """The rest. The stream may go on."""
        rest = self._decoder.decode(self._stream.close(), final=True)
        self._stream = self._guard.redactor().stream()
        self._decoder.reset()
        return rest
