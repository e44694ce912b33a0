"""Names of people, places and organizations by a small trained network.

The network (``network``) says for every token how much rather it belongs to a name of each kind
than to none. Tokens that pass the setting's threshold are names, and so are their neighbors that
nearly pass it: what is left of a name that was found in part can be read. Ordinary words in small
letters are neither a name nor the first or last word of one; inside a name they are those that join
it ("Bank of America"), or such as pass the threshold. Where no name goes on is a matter of rules
(``borders``). With high recall a handle (@zoe) counts as a
person, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import regex
from numpy.typing import NDArray

from sfumato.policies.pii import borders
from sfumato.policies.pii.detector import RECALLS
from sfumato.policies.pii.forms import mark
from sfumato.policies.pii.network import KINDS, Network, Scorer, load_network
from sfumato.policies.pii.pieces import PERSON, Pieces
from sfumato.policies.pii.tokens import Tokens
from sfumato.text.span import Span

_NEARLY = 1.5  # how far below the threshold the rest of a name may be
_READABLE = ("small", "title", "shouted", "letter", "mixed", "uncased")
_BETWEEN = ("", " ", " & ", " y ", " e ", " und ", " et ")  # inside the name of a company
_REASONS = {
    "PERSON": "reads like the name of a person",
    "LOCATION": "reads like the name of a place",
    "ORG": "reads like the name of an organization",
}
_NAMED = tuple((kind, f"{kind.lower()}-tagged", _REASONS[kind]) for kind in KINDS)


def tag(texts: Sequence[str], recall: str) -> list[list[Span]]:
    """The names in each text; what is found in one does not depend on the others."""
    tokens = Tokens.of(texts)
    if not tokens.ids.any():
        return [[] for _ in texts]
    network = load_network()
    thresholds = network.thresholds[RECALLS.index(recall)]
    found = spans_of(tokens, _scored(tokens, network, thresholds), thresholds)
    for number in _texts_with(tokens.marked(mark("legal")), tokens, texts):
        found[number] = with_firms(texts[number], found[number])
    if recall == "high":
        for text, spans in zip(texts, found, strict=True):
            spans.extend(_find_handles(text))
    return found


def _texts_with(flags: NDArray[np.bool_], tokens: Tokens, texts: Sequence[str]) -> list[int]:
    """The texts that have a raised flag, or letters that tokens show otherwise than words do."""
    firsts = np.array([first for first, _ in tokens.bounds], dtype=np.int64)
    flagged = np.searchsorted(firsts, np.flatnonzero(flags), side="right") - 1
    others = [number for number, text in enumerate(texts) if not text.isascii()]
    return sorted({*flagged.tolist(), *others})


def _scored(
    tokens: Tokens, network: Network, thresholds: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The scores of all tokens that can matter.

    A name has a word that is no ordinary one: these are scored first, then what stands beside a
    token that is nearly a name, and so on. Other tokens are in no name whatever their scores.
    """
    wanted = tokens.among(*_READABLE) & ~tokens.marked(mark("listed") | mark("particle"))
    wanted &= ~borders.named_never(tokens)
    scorer = Scorer(network, tokens)
    margins = scorer.score(wanted)
    nobody = np.zeros(len(tokens), dtype=np.bool_)
    known = wanted | (tokens.ids == 0) | borders.closed(tokens, nobody)
    while True:
        near = (margins - thresholds).max(axis=1) > -_NEARLY
        beside = np.append(near[1:], False) | np.append(False, near[:-1])
        more = beside & ~known
        if not more.any():
            return margins
        margins = np.maximum(margins, scorer.score(more))
        known |= more


def spans_of(
    tokens: Tokens, margins: NDArray[np.float32], thresholds: NDArray[np.float32]
) -> list[list[Span]]:
    """The names in each text, from the scores of all tokens."""
    kinds = margins.argmax(axis=1)
    person = kinds == PERSON
    best = margins.max(axis=1)
    lone = borders.lonely(tokens) & (best <= 0)
    best = best - thresholds[kinds]
    never = borders.named_never(tokens)
    wordly = tokens.among(*_READABLE) & ~never
    near = (best > np.where(tokens.marked(mark("plain")), 0, -_NEARLY)) & (tokens.ids != 0)
    near &= ~((never & person) | borders.closed(tokens, person) | lone)
    found: list[list[Span]] = [[] for _ in tokens.bounds]
    begins, ends = _runs(near, borders.apart(tokens))
    sure = np.append(0, np.cumsum((best > 0) & wordly))
    kept = sure[ends] > sure[begins]
    if not kept.any():
        return found
    pieces = Pieces.of(tokens, kinds, begins[kept], ends[kept])
    starts, stops, chosen, numbers = pieces.names(tokens, wordly)
    for start, stop, kind, number in zip(starts, stops, chosen, numbers, strict=True):
        found[number].append(Span(start, stop, *_NAMED[kind]))
    return found


def _runs(
    flags: NDArray[np.bool_], apart: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each run of raised flags begins and ends; none goes over the gap between texts."""
    before = np.append(False, flags[:-1]) & ~apart
    after = np.append(flags[1:] & ~apart[1:], False)
    return np.flatnonzero(flags & ~before), np.flatnonzero(flags & ~after) + 1


def with_firms(text: str, spans: list[Span]) -> list[Span]:
    """The names, those before the form that a company has by law being one of an organization."""
    if not spans:
        return spans
    spans = sorted(spans, key=lambda span: span.start)
    made: list[Span] = []
    following = 0
    for form in _legal_form().finditer(text):
        while following < len(spans) and spans[following].start < form.end():
            made.append(spans[following])
            following += 1
        start, end = form.span()
        while made and (made[-1].end >= start or text[made[-1].end : start] in _BETWEEN):
            last = made.pop()
            start, end = min(start, last.start), max(end, last.end)
        if start < form.start():
            made.append(Span(start, end, "ORG", "org-tagged", _REASONS["ORG"]))
    return made + spans[following:]


@cache
def _legal_form() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:GmbH(?: & Co\. ?KG)?|OHG|AG|KG|SARL|SAS|Ltd|LLC|PLC|plc|Inc|Corp"
        r"|S\.L\.U?|S\.A\.|SLU?|SA)(?![\w\-])"
    )


def _find_handles(text: str) -> Iterator[Span]:
    for match in _handle().finditer(text) if "@" in text else ():
        yield Span(match.start(), match.end(), "PERSON", "person-handle", "somebody's handle")


@cache
def _handle() -> regex.Pattern[str]:
    return regex.compile(r"(?<![\p{L}\p{N}_.@+\-])@[\p{L}\p{N}_]{2,40}+(?![@.]\p{L})")
