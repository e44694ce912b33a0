"""Samples of text before and after, side by side, or why there are none.

In the original, what the policy found is marked. In the privatized text, replacements are marked,
and sensitive words that stayed.

Care
    The original is private text, unless it is generated or declared public. It is read only if the
    user names its file and the number of documents to show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from types import MappingProxyType

import regex

from sfumato.charts.numbers import level_of
from sfumato.reports.page import Block, Heading, Inline, Marked, Sample, Section, paragraph
from sfumato.reports.samples import TextSample

# Only the beginning of a long document is shown.
MOST_CHARACTERS = 1500
NEW, KEPT = "new", "kept"

_TOKEN = regex.compile(r"\w+|\s+|[^\w\s]")
MarkedPiece = tuple[str, str, str]


def side_by_side(sample: TextSample) -> Sample:
    """Before on the left, after on the right."""
    return Sample(before=_pieces(mark_before(sample)), after=_pieces(mark_after(sample)))


def mark_before(sample: TextSample) -> list[MarkedPiece]:
    """The original in pieces: text, kind of mark, label. Of spans that overlap the first counts.

    >>> found = ((4, 7, "name"),)
    >>> mark_before(TextSample(method="m", level=1, before="Ask Ada.", after="", spans=found))
    [('Ask ', '', ''), ('Ada', 'found', 'name'), ('.', '', '')]
    """
    text = sample.before[:MOST_CHARACTERS]
    pieces: list[MarkedPiece] = []
    place = 0
    for start, end, label in sorted(sample.spans):
        if start < place or start >= len(text) or end <= start:
            continue
        pieces += [(text[place:start], "", ""), (text[start:end], "found", label)]
        place = min(end, len(text))
    pieces.append((text[place:], "", ""))
    pieces = [piece for piece in pieces if piece[0]]
    return [*pieces, ("…", "", "")] if len(sample.before) > MOST_CHARACTERS else pieces


def mark_after(sample: TextSample) -> list[MarkedPiece]:
    """What became of it: new text is marked, and so is a sensitive word that stayed as it was.

    >>> sample = TextSample(method="m", level=1, before="Ask Ada 12.", after="Ask Bob 12.",
    ...                 spans=((4, 7, "name"), (8, 10, "number")))
    >>> [piece[:2] for piece in mark_after(sample)]
    [('Ask ', ''), ('Bob', 'new'), (' ', ''), ('12', 'kept'), ('.', '')]
    """
    before = _tokens(sample.before[:MOST_CHARACTERS])
    after = _tokens(sample.after[: 2 * MOST_CHARACTERS])
    # A word that differs in its capitals only is the same word.
    old, new = ([token.casefold() for token, _ in some] for some in (before, after))
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    pieces: list[MarkedPiece] = []
    for change, start, _, begin, end in matcher.get_opcodes():
        if change == "equal":
            for offset, (token, _) in enumerate(after[begin:end]):
                place = before[start + offset][1]
                pieces.append((token, KEPT if _sensitive(sample, token, place) else "", ""))
        elif change != "delete":
            pieces.append(("".join(token for token, _ in after[begin:end]), NEW, ""))
    merged = list(_merge(pieces))
    shown: list[MarkedPiece] = []
    room = MOST_CHARACTERS
    for text, kind, label in merged:
        if room <= 0:
            break
        shown.append((text[:room], kind, label))
        room -= len(text)
    cut = room < 0 or len(sample.before) > MOST_CHARACTERS
    return [*shown, ("…", "", "")] if cut else shown


def _sensitive(sample: TextSample, token: str, place: int) -> bool:
    if not token[0].isalnum():
        return False
    return any(start <= place < end for start, end, _ in sample.spans)


def _tokens(text: str) -> list[tuple[str, int]]:
    return [(match.group(), match.start()) for match in _TOKEN.finditer(text)]


def _merge(pieces: Sequence[MarkedPiece]) -> Iterator[MarkedPiece]:
    """Neighbors of the same kind as one."""
    waiting: MarkedPiece | None = None
    for piece in pieces:
        if waiting is not None and waiting[1:] == piece[1:]:
            waiting = waiting[0] + piece[0], piece[1], piece[2]
            continue
        if waiting is not None:
            yield waiting
        waiting = piece
    if waiting is not None:
        yield waiting


def _pieces(pieces: Sequence[MarkedPiece]) -> tuple[Inline, ...]:
    return tuple(Marked(text, kind, label) if kind else text for text, kind, label in pieces)


NO_PARAMETERS: Mapping[str, str | None] = MappingProxyType({})
_LEGEND = (
    (("found", "found"), " is what the policy found, with its type; "),
    (("new", "new"), " is its replacement; "),
    (
        ("kept", "kept"),
        " was sensitive and stayed unchanged, which its level allows.",
    ),
)


def texts(
    samples: Sequence[TextSample],
    why_none: str,
    parameters: Mapping[str, str | None] = NO_PARAMETERS,
) -> Section:
    """Side by side, by method and level."""
    if not samples:
        return Section(name="texts", title="Samples of text", parts=[paragraph(why_none)])
    legend = [part for (kind, word), said in _LEGEND for part in (Marked(word, kind), said)]
    parts: list[Block] = [paragraph(*legend, kind="quiet")]
    heading = ""
    for sample in samples:
        said = ", ".join(
            filter(None, (sample.method, level_of(parameters.get(sample.method), sample.level)))
        )
        if said and said != heading:
            parts.append(Heading(text=said))
            heading = said
        parts.append(side_by_side(sample))
    return Section(name="texts", title="Samples of text", parts=parts)
