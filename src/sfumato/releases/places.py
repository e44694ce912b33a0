"""What stands behind the pseudonyms of some texts: what a vault holds of each chunk.

Restoring must put back each spelling where it stood, though all spellings of a name share one code.
So this is not a table but a list: every code that stands in the texts, in reading order, and what
it stands for there. A code that was in the original text already stands for nothing and stays.

It is the original text: it is handed on in memory, and written down under seal only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sfumato.mechanisms.pseudonym import CODE
from sfumato.text.document import Document
from sfumato.text.edits import Edited


@dataclass(frozen=True, slots=True)
class Places:
    """Each code in reading order, and the text that it stands for, if any."""

    items: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, documents: Sequence[Document], edited: Iterable[Edited]) -> Places:
        """Of documents and what pseudonyms made of them."""
        pairs = zip(documents, edited, strict=True)
        return cls(tuple(item for document, now in pairs for item in _codes(document.text, now)))

    def spelled(self) -> bytes:
        """As bytes: each code and each of its spellings once, then their numbers in order."""
        spellings: dict[str, dict[str | None, int]] = {}
        order = []
        for code, text in self.items:
            known = spellings.setdefault(code, {})
            order.append([code, known.setdefault(text, len(known))])
        numbers = {code: number for number, code in enumerate(spellings)}
        content = {
            "codes": [[code, list(known)] for code, known in spellings.items()],
            "places": [[numbers[str(code)], number] for code, number in order],
        }
        return json.dumps(content, ensure_ascii=False).encode()

    @classmethod
    def read(cls, content: bytes) -> Places:
        """The inverse of ``spelled``; the content was authenticated, so it is what we wrote."""
        kept = json.loads(content)
        codes = kept["codes"]
        return cls(
            tuple((codes[code][0], codes[code][1][number]) for code, number in kept["places"])
        )

    def __repr__(self) -> str:
        return f"Places({len(self.items)})"  # what stands there is the original text


def _codes(original: str, now: Edited) -> Iterator[tuple[str, str | None]]:
    stands_for: dict[int, str] = {}
    moved = 0
    for start, end, replacement in now.edits:
        if CODE.fullmatch(replacement):  # in a table by type other things are put in, too
            stands_for[start + moved] = original[start:end]
        moved += len(replacement) - (end - start)
    # A code has one bracket at its beginning and one at its end: what was put in is found as a
    # whole, or not at all.
    for found in CODE.finditer(now.text):
        yield found.group(), stands_for.get(found.start())
