"""What stood at each place that a policy found, and what stands there now.

Whatever a mechanism puts in, the text between two stretches stays as it is. So a released document
is its original with other text between the same pieces, and the replacement of each stretch is what
stands between two pieces. Where pieces are short and occur several times there are several ways to
cut; the one is taken whose replacements have nearly the lengths of the originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sfumato.attacks.text_target import refuse_other_originals
from sfumato.core.errors import BadInput
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.text.span import Stretch, stretches
from sfumato.text.words import Words

# No replacement is longer than its original by more characters than this.
LONGER = 120
# So many words on each side of a stretch are its context.
WINDOW = 4


@dataclass(frozen=True, eq=False, repr=False)
class Place:
    """A stretch of one document: what stood there, what stands there, and what is around it.

    ``around`` are the words near it and ``elsewhere`` all words of the document, both without what
    stands at any place.
    """

    document: int
    kind: str
    original: str
    replacement: str
    around: tuple[str, ...]
    elsewhere: frozenset[str]


@dataclass(frozen=True, eq=False, repr=False)
class Cut:
    """One document: the pieces that stayed, the stretches between them and their replacements."""

    found: tuple[Stretch, ...]
    replacements: tuple[str, ...]
    pieces: tuple[str, ...] = field(repr=False)

    @cached_property
    def stayed(self) -> frozenset[str]:
        """The words of the pieces."""
        return frozenset(word for piece in self.pieces for word in fold(piece))


def fold(text: str) -> list[str]:
    """The words of a text, without capitals.

    >>> fold("Ask Ada.")
    ['ask', 'ada']
    """
    return [word.casefold() for word in Words.of(text)]


def cut_documents(
    originals: Sequence[Document], released: Sequence[Document], policy: Policy
) -> list[Cut]:
    """Cut every document where the policy finds something in its original."""
    refuse_other_originals(originals, released)
    cuts = []
    for number, (before, after) in enumerate(zip(originals, released, strict=True), start=1):
        found = tuple(stretches(policy.find(before), Words.of(before.text)))
        pieces = _pieces(before.text, found)
        replacements = align(pieces, [len(one.text) for one in found], after.text)
        if replacements is None:
            raise BadInput(
                f"document {number}: the text around what the policy finds is not that of the "
                "original; are these the originals and the policy that were used "
                "(`settings={'policy': ...}`)?"
            )
        cuts.append(Cut(found, tuple(replacements), pieces))
    return cuts


def places_of(cuts: Sequence[Cut]) -> list[Place]:
    """All places of all documents, in reading order."""
    places = []
    for document, cut in enumerate(cuts):
        sides = [fold(piece) for piece in cut.pieces]
        for index, (stretch, replacement) in enumerate(
            zip(cut.found, cut.replacements, strict=True)
        ):
            around = (*sides[index][-WINDOW:], *sides[index + 1][:WINDOW])
            places.append(
                Place(document, stretch.kind, stretch.text, replacement, around, cut.stayed)
            )
    return places


def align(pieces: Sequence[str], lengths: Sequence[int], text: str) -> list[str] | None:
    """What stands between the pieces in a text; None if it is not made of them.

    >>> align(["Ask ", " at ", "."], [3, 5], "Ask Grace Hopper at noon.")
    ['Grace Hopper', 'noon']
    """
    if not text.startswith(pieces[0]):
        return None
    # For each position after a piece: the smallest sum of differences of lengths, and from where.
    reached: list[dict[int, tuple[int, int]]] = [{len(pieces[0]): (0, 0)}]
    last = len(lengths)
    for index, length in enumerate(lengths):
        piece = pieces[index + 1]
        ends: dict[int, tuple[int, int]] = {}
        for begin, (cost, _) in reached[-1].items():
            limit = min(len(text), begin + length + LONGER + len(piece))
            at = len(text) - len(piece) if index + 1 == last else text.find(piece, begin, limit)
            while begin <= at and text.startswith(piece, at):
                paid = cost + abs(at - begin - length)
                end = at + len(piece)
                if end not in ends or paid < ends[end][0]:
                    ends[end] = paid, begin
                at = -1 if index + 1 == last else text.find(piece, at + 1, limit)
        if not ends:
            return None
        reached.append(ends)
    return _trace(pieces, text, reached)


def _trace(
    pieces: Sequence[str], text: str, reached: Sequence[dict[int, tuple[int, int]]]
) -> list[str] | None:
    end = len(text)
    if end not in reached[-1]:
        return None
    found: list[str] = []
    for index in range(len(reached) - 1, 0, -1):
        begin = reached[index][end][1]
        found.append(text[begin : end - len(pieces[index])])
        end = begin
    return found[::-1]


def _pieces(text: str, found: Sequence[Stretch]) -> tuple[str, ...]:
    begins = [0, *(one.end for one in found)]
    ends = [*(one.start for one in found), len(text)]
    return tuple(text[begin:end] for begin, end in zip(begins, ends, strict=True))
