"""What an attacker sees of a privatized text, kept separate from the answers.

An attacker sees the text, knows which places the policy selected (the guarantee counts that as
public) and through which mechanism each of them went. The original points are in ``Truth``, which
no attacker is given.

Originals and replacements are aligned by the gaps between words: nothing is changed there, so the
original and the privatized text have the same gaps. Usually both texts split into words at the same
gaps. Where a replacement is not a single word (vectors may contain "..." or "o'clock!"), the
alignment is found by a search over words of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.text_target import TextTarget, refuse_other_originals
from sfumato.core.arrays import Points
from sfumato.core.errors import BadInput
from sfumato.mechanisms.levels import Levels
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.text.document import Document
from sfumato.text.words import Words
from sfumato.vectors.space import Space

# Longer replacements are not searched for.
LONGEST = 80

IsWord = Callable[[str], bool]


@dataclass(frozen=True, slots=True, repr=False)
class WordPair:
    """A document before and after: its original words, and the positions of their replacements."""

    words: Words
    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def replacement(self, index: int) -> str:
        """The replacement of a word."""
        return self.text[self.starts[index] : self.ends[index]]

    def gap(self, index: int) -> str:
        """The text between a word and the one before it."""
        return self.text[self.ends[index - 1] if index else 0 : self.starts[index]]


def pair_words(
    originals: Sequence[Document], privatized: Sequence[Document], is_word: IsWord
) -> list[WordPair]:
    """Align documents word by word; a document that cannot be aligned is named by its number."""
    refuse_other_originals(originals, privatized)
    pairs = []
    for number, (before, after) in enumerate(zip(originals, privatized, strict=True), start=1):
        if before.id is not None and after.id is not None and before.id != after.id:
            raise BadInput(f"document {number} has another id than its original")
        words = Words.of(before.text)
        found = _same_gaps(words, after.text) or _search(words, after.text, is_word)
        if found is None:
            raise BadInput(
                f"document {number} cannot be aligned with its original word by word: the text "
                "between words differs"
            )
        pairs.append(found)
    return pairs


def _same_gaps(words: Words, text: str) -> WordPair | None:
    after = Words.of(text)
    pair = WordPair(words, text, after.starts, after.ends)
    if len(after) != len(words):
        return None
    return pair if _gaps(words) == _gaps(after) else None


def _gaps(words: Words) -> list[str]:
    edges = [0, *words.ends]
    return [
        words.text[end:start]
        for end, start in zip(edges, [*words.starts, len(words.text)], strict=True)
    ]


def _search(words: Words, text: str, is_word: IsWord) -> WordPair | None:
    """The first alignment in which each place holds the original or a word of the vocabulary."""
    gaps = _gaps(words)
    if not text.startswith(gaps[0]):
        return None
    # For each word, the start that belongs to each possible end.
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
    return _trace(words, text, gaps, reached)


def _trace(
    words: Words, text: str, gaps: list[str], reached: list[dict[int, int]]
) -> WordPair | None:
    end = len(text) - len(gaps[-1])
    starts, ends = [0] * len(words), [0] * len(words)
    for index in range(len(words) - 1, -1, -1):
        if end not in reached[index]:
            return None
        starts[index], ends[index] = reached[index][end], end
        end = starts[index] - len(gaps[index])
    return WordPair(words, text, starts, ends) if words or text == gaps[0] else None


def _ends(text: str, start: int, original: str, is_word: IsWord) -> list[int]:
    last = min(len(text), start + LONGEST)
    found = [end for end in range(start + 1, last + 1) if is_word(text[start:end])]
    kept = start + len(original)
    return found if not text.startswith(original, start) or kept in found else [*found, kept]


@dataclass(frozen=True, eq=False, repr=False)
class Spelling:
    """How a drawn word looks in the text: words with the same spelling cannot be told apart.

    ``seen_as`` holds for every word the first word with the same spelling. If the original's
    capitals are restored, words that differ only in capitals look the same.
    """

    space: Space
    case: str = "public"

    def key(self, word: str) -> str:
        """The spelling, or the spelling without capitals."""
        return word.casefold() if self.case == "restore" else word

    def table(self) -> tuple[dict[str, int], Points]:
        """The first point of each spelling, and ``seen_as``."""
        first: dict[str, int] = {}
        seen = [first.setdefault(self.key(word), at) for at, word in enumerate(self.space.words)]
        return first, np.array(seen, dtype=np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class Observed:
    """A privatized text as an attacker has it.

    ``places`` holds the document and the index of each word that went through a mechanism,
    ``ranks`` the number of the mechanism, ``outputs`` the output as a point of ``space``.
    """

    space: Space
    mechanisms: tuple[PointMechanism, ...]
    seen_as: Points
    pairs: Sequence[WordPair]
    places: NDArray[np.int64]
    ranks: Points
    outputs: Points

    def __len__(self) -> int:
        return len(self.outputs)

    def with_outputs(self, outputs: Points) -> Observed:
        """The same text with other replacements in the same places."""
        return replace(self, outputs=self.seen_as[outputs])

    def joined(self, other: Observed) -> Observed:
        """Both texts as one, this one first, so that rows are computed once for both."""
        moved = other.places + np.array([len(self.pairs), 0])
        return replace(
            self,
            pairs=[*self.pairs, *other.pairs],
            places=np.vstack([self.places, moved]),
            ranks=np.concatenate([self.ranks, other.ranks]),
            outputs=np.concatenate([self.outputs, other.outputs]),
        )

    @cached_property
    def possible(self) -> Points:
        """The points that an original word can have; of words with one spelling, only the first."""
        size = len(self.space)
        return np.flatnonzero(self.space.points(self.space.words) == np.arange(size))

    def distinct(self, rank: int) -> tuple[Points, Points, Points]:
        """The outputs of one mechanism: distinct ones, indices of its words, and their outputs."""
        mine = np.flatnonzero(self.ranks == rank)
        outputs, which = np.unique(self.outputs[mine], return_inverse=True)
        return outputs, mine, which.reshape(-1).astype(np.intp)


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The answers: the original points and their documents.

    ``kept`` is the number of selected words that are unchanged because they are unknown.
    """

    originals: Points
    documents: NDArray[np.int64]
    unchanged: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    kept: int


def observe(target: TextTarget, originals: Sequence[Document]) -> tuple[Observed, Truth]:
    """Split a privatized text into what an attacker sees and what they want to know."""
    mechanisms = target.mechanisms
    space = mechanisms[0].points.space
    spelling = Spelling(space, mechanisms[0].case)
    first, seen_as = spelling.table()
    pairs = pair_words(originals, target.documents, lambda word: spelling.key(word) in first)
    places: list[tuple[int, int]] = []
    ranks: list[int] = []
    outputs: list[int] = []
    kept = 0
    for number, (pair, document) in enumerate(zip(pairs, originals, strict=True)):
        for index, rank in _select(target, document, pair):
            met = space.point_of(pair.words[index])
            if met == space.unknown and mechanisms[rank].unknown == "keep":
                kept += 1
                continue
            output = first.get(spelling.key(pair.replacement(index)))
            if output is None:
                raise BadInput(
                    f"document {number + 1}: the replacement of word {index + 1}, which the policy "
                    "selects, is not in the vocabulary; is this the policy that was used?"
                )
            places.append((number, index))
            ranks.append(rank)
            outputs.append(output)
    _check_count(target, len(outputs) + kept)
    seen = Observed(
        space=space,
        mechanisms=tuple(one.points for one in mechanisms),
        seen_as=seen_as,
        pairs=pairs,
        places=np.array(places, dtype=np.int64).reshape(-1, 2),
        ranks=np.array(ranks, dtype=np.intp),
        outputs=np.array(outputs, dtype=np.intp),
    )
    return seen, _truth(seen, kept)


def _select(target: TextTarget, document: Document, pair: WordPair) -> list[tuple[int, int]]:
    """The selected words of a document, each with the number of its mechanism."""
    release = target.release
    if isinstance(release, Levels):
        return sorted(release.ranks(document, pair.words).items())
    return [(index, 0) for index in release.policy.find(document).select(pair.words)]


def _check_count(target: TextTarget, found: int) -> None:
    if target.selected is not None and target.selected != found:
        raise BadInput(
            f"the policy selects {found:,} words of the originals, but {target.selected:,} were "
            "privatized: these are not the originals, or the policy is another one (its settings "
            "are not in the side file: `settings={'policy': ...}`)"
        )
    if not found:
        raise BadInput("the policy selects no word, so there is nothing to infer")


def _truth(seen: Observed, kept: int) -> Truth:
    if not len(seen):
        raise BadInput(
            f"all {kept:,} selected words are outside the vocabulary and in the clear "
            "(unknown='keep'): there is nothing to infer"
        )
    originals = seen.space.points(
        seen.pairs[document].words[index] for document, index in seen.places.tolist()
    )
    unknown = originals == seen.space.unknown
    looks = seen.seen_as[np.where(unknown, 0, originals)]
    return Truth(
        originals=originals,
        documents=seen.places[:, 0],
        unchanged=(looks == seen.outputs) & ~unknown,
        unknown=unknown,
        kept=kept,
    )
