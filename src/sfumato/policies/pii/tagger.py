"""Names of people, places and organizations by a small trained network.

The network (``network``) says for every token how much rather it belongs to a name of each kind
than to none. Tokens that pass the setting's threshold are names, and so are their neighbors that
nearly pass it: what is left of a name that was found in part can be read. Ordinary words in small
letters are neither a name nor the first or last word of one; inside a name they are those that join
it ("Bank of America"), or such as pass the threshold. With high recall a handle (@zoe) counts as a
person, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
import regex
from numpy.typing import NDArray

from sfumato.policies.pii.capitals import PARTICLES
from sfumato.policies.pii.detector import RECALLS
from sfumato.policies.pii.names import list_names
from sfumato.policies.pii.network import KINDS, load_network
from sfumato.policies.pii.tokens import Tokens, shape_numbers
from sfumato.text.span import Span

_NEARLY = 1.5  # how far below the threshold the rest of a name may be
_READABLE = ("small", "title", "shouted", "letter", "mixed", "uncased")
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
    margins = network.score(tokens)
    found = spans_of(tokens, margins, network.thresholds[RECALLS.index(recall)])
    if recall == "high":
        for text, spans in zip(texts, found, strict=True):
            spans.extend(_find_handles(text))
    return found


def spans_of(
    tokens: Tokens, margins: NDArray[np.float32], thresholds: NDArray[np.float32]
) -> list[list[Span]]:
    """The names in each text, from the scores of all tokens."""
    kinds = margins.argmax(axis=1).astype(np.int8)
    best = margins.max(axis=1) - thresholds[kinds]
    readable = np.isin(tokens.shapes()[tokens.ids], shape_numbers(*_READABLE))
    sure = (best > 0) & readable
    plain = _among(tokens, list_names().words - _joining())
    near = (best > np.where(plain, 0, -_NEARLY)) & (tokens.ids != 0)
    ends = readable & ~_among(tokens, list_names().words - _particles())
    found: list[list[Span]] = [[] for _ in tokens.bounds]
    firsts = np.array([first for first, _ in tokens.bounds], dtype=np.int64)
    for begin, end in _runs(near):
        if sure[begin:end].any():
            text = int(np.searchsorted(firsts, begin, side="right")) - 1
            cuts = np.flatnonzero(np.diff(kinds[begin:end])) + begin + 1
            for piece in pairwise((begin, *cuts.tolist(), end)):
                found[text] += _span(tokens, piece, ends, KINDS[kinds[piece[0]]])
    return found


def _runs(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Where each run of raised flags begins and ends; none goes over the gap between texts."""
    changes = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    return zip(changes[::2].tolist(), changes[1::2].tolist(), strict=True)


def _span(
    tokens: Tokens, piece: tuple[int, int], ends: NDArray[np.bool_], label: str
) -> Iterator[Span]:
    """The span of some tokens, from the first to the last that can be an end of a name."""
    words = piece[0] + np.flatnonzero(ends[slice(*piece)])
    forms = {tokens.forms[number] for number in tokens.ids[words].tolist()}
    if forms - _particles():
        start, end = int(tokens.starts[words[0]]), int(tokens.ends[words[-1]])
        yield Span(start, end, label, f"{label.lower()}-tagged", _REASONS[label])


def _among(tokens: Tokens, words: frozenset[str]) -> NDArray[np.bool_]:
    """Which tokens are among some words, as they are written."""
    return np.fromiter((form in words for form in tokens.forms), dtype=np.bool_)[tokens.ids]


@cache
def _particles() -> frozenset[str]:
    return frozenset(PARTICLES.split())


@cache
def _joining() -> frozenset[str]:
    return _particles() | frozenset(("of", "the", "for", "des", "und", "et"))


def _find_handles(text: str) -> Iterator[Span]:
    for match in _handle().finditer(text) if "@" in text else ():
        yield Span(match.start(), match.end(), "PERSON", "person-handle", "somebody's handle")


@cache
def _handle() -> regex.Pattern[str]:
    return regex.compile(r"(?<![\p{L}\p{N}_.@+\-])@[\p{L}\p{N}_]{2,40}+(?![@.]\p{L})")
