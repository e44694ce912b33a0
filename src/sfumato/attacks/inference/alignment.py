"""Which word stands where another one stood.

Between words nothing is changed, so the gaps of the original are the gaps of the privatized text.
Most documents have the same words at the same gaps; where a replacement is not a word by itself
(vectors may hold "..." or "o'clock!"), the places are found by trying what could stand there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sfumato.core.errors import BadInput
from sfumato.corpora.documents import Document
from sfumato.corpora.words import Words

# A replacement that is longer than this is not looked for.
LONGEST = 80

IsWord = Callable[[str], bool]


@dataclass(frozen=True, slots=True, repr=False)
class Pair:
    """A document before and after: the words before, and where each one's place is after."""

    words: Words
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def replacement(self, index: int) -> str:
        """What stands in the place of a word."""
        return self.text[self.starts[index] : self.ends[index]]

    def gap(self, index: int) -> str:
        """What stands before a word."""
        return self.text[self.ends[index - 1] if index else 0 : self.starts[index]]


def paired(
    originals: Sequence[Document], privatized: Sequence[Document], is_word: IsWord
) -> list[Pair]:
    """Documents word by word; a document that does not fit is named by its number."""
    if len(originals) != len(privatized):
        raise BadInput(
            f"the originals are {len(originals):,} documents and the privatized text has "
            f"{len(privatized):,}: they must be the same documents in the same order"
        )
    pairs = []
    for number, (before, after) in enumerate(zip(originals, privatized, strict=True), start=1):
        if before.id is not None and after.id is not None and before.id != after.id:
            raise BadInput(f"document {number} has another id than its original")
        words = Words.of(before.text)
        found = _same_gaps(words, after.text) or _searched(words, after.text, is_word)
        if found is None:
            raise BadInput(
                f"document {number} cannot be what became of its original word by word: the text "
                "between words differs"
            )
        pairs.append(found)
    return pairs


def _same_gaps(words: Words, text: str) -> Pair | None:
    after = Words.of(text)
    pair = Pair(words, text, after.starts, after.ends)
    if len(after) != len(words):
        return None
    return pair if _gaps(words) == _gaps(after) else None


def _gaps(words: Words) -> list[str]:
    edges = [0, *words.ends]
    return [
        words.text[end:start]
        for end, start in zip(edges, [*words.starts, len(words.text)], strict=True)
    ]


def _searched(words: Words, text: str, is_word: IsWord) -> Pair | None:
    """The first reading in which each place holds the original or some word of the vocabulary."""
    gaps = _gaps(words)
    if not text.startswith(gaps[0]):
        return None
    # For each word, from which start each possible end was reached.
    reached: list[dict[int, int]] = []
    begins = [len(gaps[0])]
    for index in range(len(words)):
        ends: dict[int, int] = {}
        for start in begins:
            for end in _ends(text, start, words[index], is_word):
                if text.startswith(gaps[index + 1], end):
                    ends.setdefault(end, start)
        if not ends:
            return None
        reached.append(ends)
        begins = sorted({end + len(gaps[index + 1]) for end in ends})
    return _traced(words, text, gaps, reached)


def _traced(words: Words, text: str, gaps: list[str], reached: list[dict[int, int]]) -> Pair | None:
    end = len(text) - len(gaps[-1])
    starts, ends = [0] * len(words), [0] * len(words)
    for index in range(len(words) - 1, -1, -1):
        if end not in reached[index]:
            return None
        starts[index], ends[index] = reached[index][end], end
        end = starts[index] - len(gaps[index])
    return Pair(words, text, starts, ends) if words or text == gaps[0] else None


def _ends(text: str, start: int, original: str, is_word: IsWord) -> list[int]:
    last = min(len(text), start + LONGEST)
    found = [end for end in range(start + 1, last + 1) if is_word(text[start:end])]
    kept = start + len(original)
    return found if not text.startswith(original, start) or kept in found else [*found, kept]
