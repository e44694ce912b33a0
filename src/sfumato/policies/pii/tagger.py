"""Names of people, places and organizations by a small trained network.

The network (``network``) says for every token how much rather it belongs to a name of each kind
than to none. Tokens that pass the setting's threshold are names, and so are their neighbors that
nearly pass it: what is left of a name that was found in part can be read. Ordinary words in small
letters are neither a name nor the first or last word of one; inside a name they are those that join
it ("Bank of America"), or such as pass the threshold and can make a name. Where no name goes on
is a matter of rules (``borders``). Unless recall shall be low, a handle (@zoe) counts as a person,
too.
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
from sfumato.policies.pii.forms import mark, vocabulary
from sfumato.policies.pii.found import Found
from sfumato.policies.pii.network import KINDS, load_network
from sfumato.policies.pii.pieces import PERSON, READABLE, Pieces
from sfumato.policies.pii.scorer import Scorer
from sfumato.policies.pii.tokens import Tokens, is_shape
from sfumato.text.span import Span

_NEARLY = 1.5  # how far below the threshold the rest of a name may be
_NEARER = 0.75  # the same for a word in small letters
_FARTHEST = 128  # tokens beside one that are scored at once
_BETWEEN = ("", " ", " & ", " y ", " e ", " und ", " et ")  # inside the name of a company
_REASONS = {
    "PERSON": "reads like the name of a person",
    "LOCATION": "reads like the name of a place",
    "ORG": "reads like the name of an organization",
}
_NAMED = tuple((kind, f"{kind.lower()}-tagged", _REASONS[kind]) for kind in KINDS)


def tag(texts: Sequence[str], recall: str, tokens: Tokens | None = None) -> list[list[Found]]:
    """The names in each text; what is found in one does not depend on the others.

    ``tokens`` are those of the texts, if they are known already.
    """
    tokens = tokens or Tokens.of(texts)
    if not tokens.ids.any():
        return [[] for _ in texts]
    network = load_network()
    thresholds = network.thresholds[RECALLS.index(recall)]
    scorer = Scorer(network, tokens)
    found = names_of(tokens, _scored(tokens, scorer, thresholds), thresholds, scorer.leads)
    for number in _texts_with(tokens.marked(mark("legal")), tokens, texts):
        found[number] = with_firms(texts[number], found[number])
    if recall != "low":
        for text, spans in zip(texts, found, strict=True):
            if "@" in text:
                spans.extend(find_handles(text))
    return found


def _texts_with(flags: NDArray[np.bool_], tokens: Tokens, texts: Sequence[str]) -> list[int]:
    """The texts that have a raised flag, or letters that tokens show otherwise than words do."""
    firsts = np.array([first for first, _ in tokens.bounds], dtype=np.int64)
    flagged = np.searchsorted(firsts, np.flatnonzero(flags), side="right") - 1
    others = [number for number, text in enumerate(texts) if not text.isascii()]
    return sorted({*flagged.tolist(), *others})


def _scored(tokens: Tokens, scorer: Scorer, thresholds: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores of all tokens that can matter.

    A name has a word that is no ordinary one: these are scored first, then what stands beside a
    token that is nearly a name, and so on. Other tokens are in no name whatever their scores.
    """
    marks, leads = tokens.marks, scorer.leads
    words = is_shape(*READABLE)[tokens.shapes] & leads
    words &= (marks & np.uint32(mark("listed") | mark("particle"))) == 0
    places, steps = np.flatnonzero(words[tokens.ids]), np.arange(1, 2)
    places = places[~borders.named_never(borders.Beside(tokens, places))]
    others = leads | ((marks & np.uint32(mark("plain"))) == 0)
    others[0] = False  # the empty token
    open_ = others[tokens.ids]
    open_[places] = False
    margins = np.full((len(tokens), len(KINDS)), -np.inf, dtype=np.float32)
    while len(places):
        margins[places] = scores = scorer.score(places)
        near = places[(scores > thresholds - np.float32(_NEARLY)).any(axis=1)]
        beside = (near[:, None] + np.concatenate([-steps, steps])).clip(0, len(tokens) - 1)
        places = np.unique(beside[open_[beside]])
        open_[places] = False
        places = places[~borders.closed(borders.Beside(tokens, places))]
        steps = np.arange(1, min(2 * len(steps), _FARTHEST) + 1)  # so that rounds are few
    return margins


def spans_of(
    tokens: Tokens,
    margins: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    leads: NDArray[np.bool_] | None = None,
) -> list[list[Span]]:
    """The names in each text, from the scores of all tokens.

    ``leads`` says which forms can make a name one, all of them unless told.
    """
    found = names_of(tokens, margins, thresholds, leads)
    return [[one.as_span() for one in names] for names in found]


def names_of(
    tokens: Tokens,
    margins: NDArray[np.float32],
    thresholds: NDArray[np.float32],
    leads: NDArray[np.bool_] | None = None,
) -> list[list[Found]]:
    """The same before it is known which of them count."""
    found: list[list[Found]] = [[] for _ in tokens.bounds]
    places = np.flatnonzero((margins[:, 0] > -np.inf) & (tokens.ids != 0))
    kinds, best = _best(margins[places])
    beside = borders.Beside(tokens, places)
    here, person = beside.here, kinds == PERSON
    lone = borders.lonely(beside) & (best <= 0)
    best = best - thresholds[kinds]
    never = borders.named_never(beside)
    lead = np.True_ if leads is None else leads[tokens.ids[places]]
    plain = here.marked("plain")
    small = here.among("small") & ~here.marked("weak")  # none that joins the words of a name
    lowest = np.where(plain | (small & ~lead), 0, np.where(small, -_NEARER, -_NEARLY))
    near = (best > lowest) & (lead | ~plain)
    near &= ~((never & person) | borders.closed(beside, person) | lone)
    if not near.any():
        return found
    sure = (best > 0) & here.among(*READABLE) & ~never & lead
    begins, ends = _runs(tokens, places[near], sure[near])
    if not len(begins):
        return found
    kinds_of_all = np.zeros(len(tokens), dtype=np.int8)
    kinds_of_all[places] = kinds
    pieces = Pieces.of(tokens, kinds_of_all, begins, ends)
    starts, stops, chosen, numbers = pieces.names(tokens)
    for start, stop, kind, number in zip(starts, stops, chosen, numbers, strict=True):
        found[number].append(Found(start, stop, *_NAMED[kind]))
    return found


def _best(margins: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The best kind of each token, the first one of equals, and its score."""
    kinds = np.zeros(len(margins), dtype=np.int8)
    best = margins[:, 0].copy()
    for kind in range(1, len(KINDS)):
        better = margins[:, kind] > best
        kinds[better] = kind
        np.maximum(best, margins[:, kind], out=best)
    return kinds, best


def _runs(
    tokens: Tokens, places: NDArray[np.int64], sure: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each run of tokens begins and ends that has a sure one; none goes over two blanks.

    Nor does any go over the gap between texts, for no token of it is among the places.
    """
    joined = np.diff(places) == 1
    joined &= tokens.starts[places[1:]] - tokens.ends[places[:-1]] <= 1
    firsts = np.flatnonzero(np.append(True, ~joined))
    lasts = np.append(firsts[1:], len(places)) - 1
    kept = np.logical_or.reduceat(sure, firsts)
    return places[firsts[kept]], places[lasts[kept]] + 1


def with_firms(text: str, spans: list[Found]) -> list[Found]:
    """The names, those before the form that a company has by law being one of an organization."""
    if not spans:
        return spans
    spans = sorted(spans, key=lambda span: span.start)
    made: list[Found] = []
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
            made.append(Found(start, end, "ORG", "org-tagged", _REASONS["ORG"]))
    return made + spans[following:]


@cache
def _legal_form() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:GmbH(?: & Co\. ?KG)?|OHG|AG|KG|SARL|SAS|Ltd|LLC|PLC|plc|Inc|Corp"
        r"|S\.L\.U?|S\.A\.|SLU?|SA)(?![\w\-])"
    )


def find_handles(text: str) -> Iterator[Found]:
    """What follows an at sign, or stands a blank after one if it is in no vocabulary."""
    for match in _handle().finditer(text):
        if not match[1] or match[2].lower() not in vocabulary():
            reason = "somebody's handle"
            yield Found(match.start(), match.end(), "PERSON", "person-handle", reason)


@cache
def _handle() -> regex.Pattern[str]:
    word = r"(?=[\p{N}_]*+\p{L})([\p{L}\p{N}_]{2,40}+)"
    return regex.compile(rf"(?<![\p{{L}}\p{{N}}_.@+\-])@( ?){word}(?![@.]\p{{L}})")
