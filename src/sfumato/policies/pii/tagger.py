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
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from sfumato.policies.pii import borders
from sfumato.policies.pii.capitals import JOINING, PARTICLES
from sfumato.policies.pii.detector import RECALLS
from sfumato.policies.pii.names import list_names
from sfumato.policies.pii.network import KINDS, Network, Scorer, load_network
from sfumato.policies.pii.tokens import Tokens, shape_numbers
from sfumato.text.span import Span

_NEARLY = 1.5  # how far below the threshold the rest of a name may be
_READABLE = ("small", "title", "shouted", "letter", "mixed", "uncased")
_ARTICLES = ("la", "le", "las", "los", "el", "den")  # with which names of places begin
_BETWEEN = ("", " ", " & ", " y ", " e ", " und ", " et ")  # inside the name of a company
_REASONS = {
    "PERSON": "reads like the name of a person",
    "LOCATION": "reads like the name of a place",
    "ORG": "reads like the name of an organization",
}


def tag(texts: Sequence[str], recall: str) -> list[list[Span]]:
    """The names in each text; what is found in one does not depend on the others."""
    tokens = Tokens.of(texts)
    if not tokens.ids.any():
        return [[] for _ in texts]
    network = load_network()
    thresholds = network.thresholds[RECALLS.index(recall)]
    found = spans_of(tokens, _scored(tokens, network, thresholds), thresholds)
    found = [with_firms(text, spans) for text, spans in zip(texts, found, strict=True)]
    if recall == "high":
        for text, spans in zip(texts, found, strict=True):
            spans.extend(_find_handles(text))
    return found


def _scored(
    tokens: Tokens, network: Network, thresholds: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The scores of all tokens that can matter.

    A name has a word that is no ordinary one: these are scored first, then what stands beside a
    token that is nearly a name, and so on. Other tokens are in no name whatever their scores.
    """
    shapes = tokens.shapes()
    wanted = np.isin(shapes[tokens.ids], shape_numbers(*_READABLE))
    wanted &= ~_among(tokens, list_names().words | _particles())
    wanted &= ~borders.named_never(tokens, shapes)
    scorer = Scorer(network, tokens)
    margins = scorer.score(wanted)
    nobody = np.zeros(len(tokens), dtype=np.bool_)
    known = wanted | (tokens.ids == 0) | borders.closed(tokens, shapes, nobody)
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
    shapes = tokens.shapes()
    kinds = margins.argmax(axis=1)
    person = kinds == KINDS.index("PERSON")
    best = margins.max(axis=1) - thresholds[kinds]
    never = borders.named_never(tokens, shapes)
    readable = np.isin(shapes[tokens.ids], shape_numbers(*_READABLE))
    sure = (best > 0) & readable & ~never
    plain = _among(tokens, list_names().words - _joining())
    near = (best > np.where(plain, 0, -_NEARLY)) & (tokens.ids != 0) & ~(never & person)
    near &= ~borders.closed(tokens, shapes, person)
    near &= ~borders.lonely(tokens, shapes) | (margins.max(axis=1) > 0)
    read = _Read(tokens, shapes, kinds, readable & ~never)
    found: list[list[Span]] = [[] for _ in tokens.bounds]
    firsts = np.array([first for first, _ in tokens.bounds], dtype=np.int64)
    for begin, end in _runs(near, borders.apart(tokens)):
        if sure[begin:end].any():
            text = int(np.searchsorted(firsts, begin, side="right")) - 1
            found[text] += read.names(begin, end)
    return found


def _runs(flags: NDArray[np.bool_], apart: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where each run of raised flags begins and ends; none goes over the gap between texts."""
    before = np.append(False, flags[:-1]) & ~apart
    after = np.append(flags[1:] & ~apart[1:], False)
    begins, ends = np.flatnonzero(flags & ~before), np.flatnonzero(flags & ~after) + 1
    return zip(begins.tolist(), ends.tolist(), strict=True)


@dataclass(frozen=True, slots=True)
class _Read:
    """Tokens with the kind that each would be of, and whether it may be a word of a name."""

    tokens: Tokens
    shapes: NDArray[np.uint8]
    kinds: NDArray[np.intp]
    wordly: NDArray[np.bool_]

    def names(self, begin: int, end: int) -> Iterator[Span]:
        """The names in a run of tokens, parted where the kind changes."""
        kinds = self._settled(begin, end)
        cuts = [
            place
            for place in range(begin + 1, end)
            if kinds[place - begin] != kinds[place - begin - 1]
        ]
        for first, last in pairwise((begin, *cuts, end)):
            yield from self._name(first, last, KINDS[kinds[first - begin]])

    def _settled(self, begin: int, end: int) -> list[int]:
        """The kind of each token; small words, initials and signs follow the word before them."""
        kinds: list[int] = self.kinds[begin:end].tolist()
        strong = [not self._is_weak(place) for place in range(begin, end)]
        if not any(strong):
            return kinds
        kind = kinds[strong.index(True)]
        for place, firm in enumerate(strong):
            kind = kinds[place] = kinds[place] if firm else kind
        return kinds

    def _is_weak(self, place: int) -> bool:
        form = self.tokens.forms[self.tokens.ids[place]]
        return len(form) == 1 or form in _joining()

    def _name(self, begin: int, end: int, label: str) -> Iterator[Span]:
        """The span of some tokens, from the first to the last that can be an end of a name."""
        forms = [self.tokens.forms[number] for number in self.tokens.ids[begin:end]]
        words = [
            place for place, form in enumerate(forms) if self._is_end(begin + place, form, label)
        ]
        while words and label == "PERSON" and borders.opens(forms[words[0]]):
            words.pop(0)
        while words and label == "PERSON" and forms[words[-1]] in JOINING:
            words.pop()
        if not any(len(forms[place]) > 1 and forms[place] not in _particles() for place in words):
            words = words if _is_dotted(forms) else []
        if words:
            start, last = int(self.tokens.starts[begin + words[0]]), begin + words[-1]
            stop = int(self.tokens.ends[last]) + self._is_initial(last)
            yield Span(start, stop, label, f"{label.lower()}-tagged", _REASONS[label])

    def _is_end(self, place: int, form: str, label: str) -> bool:
        """Whether a name can begin or end with a token."""
        if not self.wordly[place]:
            return False
        if form in _particles():
            return label == "PERSON" or form in _ARTICLES
        return form not in list_names().words

    def _is_initial(self, place: int) -> bool:
        """Whether a token is a single capital with a full stop, which belongs to it."""
        ids, following = self.tokens.ids, place + 1
        if self.shapes[ids[place]] != shape_numbers("letter")[0] or following == len(ids):
            return False
        near = self.tokens.starts[following] == self.tokens.ends[place]
        return bool(near) and self.tokens.forms[ids[following]] == "."


def _is_dotted(forms: list[str]) -> bool:
    """Whether there are several capitals with full stops, as in D.C. and U.S."""
    return sum(len(form) == 1 and form.isupper() for form in forms) > 1 and "." in forms


def _among(tokens: Tokens, words: frozenset[str]) -> NDArray[np.bool_]:
    """Which tokens are among some words, as they are written."""
    return np.fromiter((form in words for form in tokens.forms), dtype=np.bool_)[tokens.ids]


@cache
def _particles() -> frozenset[str]:
    return frozenset(PARTICLES.split())


@cache
def _joining() -> frozenset[str]:
    return _particles() | frozenset(("of", "the", "for", "des", "und", "et"))


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
