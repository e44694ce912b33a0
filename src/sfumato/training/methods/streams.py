"""Two streams of records from documents and a policy: one public, one private.

*Public*: every document with masks over what is private. All of it is read; masks are not
predicted, since a model that learns to say ``[PERSON]`` is of no use.

*Private*: the documents as they are, but only those with something private in them, and only the
loss at private places counts. A place is private if the token to predict is, or the token before
it: what follows a secret tells of the secret, too.

Guarantee
    The public text of a document is a function of what stands outside the private stretches, of
    their number, places and types. Change what stands under a mask, and not a byte of it changes.
    Whether a document is in the private stream is a function of the policy's bits, which are
    public; a document without a private token never is.

Why it holds
    A mask is the type in square brackets, as in redaction: neither words nor lengths show. The
    text is put together from the pieces outside the stretches and from masks, nothing else.

From places in a text to its tokens
    A token is inside if it shares a character with a place: a token that spells the end of a public
    word and the beginning of a private one is private as a whole. Tokens that spell no character of
    the text, such as those for the beginning and the end of a document, are nobody's secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput
from sfumato.mechanisms.redact import Redact
from sfumato.models.tokenizer import Tokenizer
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans, stretches
from sfumato.text.words import Words
from sfumato.training.records import Cut, TokenRecords, make_language_records

Extent = tuple[int, int]


@dataclass(frozen=True)
class Split:
    """A document by a policy.

    ``private`` are the private characters of the original, ``masks`` where the masks stand in the
    ``public`` text; both as (start, end), in reading order.
    """

    original: Document
    public: str = field(repr=False)
    private: tuple[Extent, ...]
    masks: tuple[Extent, ...]


def split(document: Document, policy: Policy) -> Split:
    """Put a mask over every stretch that the policy finds."""
    return _mask(document, policy.find(document))


def split_each(documents: Iterable[Document], policy: Policy) -> list[Split]:
    """The same for many documents."""
    return [_mask(document, spans) for document, spans in find_in(policy, documents)]


def _mask(document: Document, spans: Spans) -> Split:
    found = stretches(spans, Words.of(document.text))
    pieces: list[str] = []
    masks: list[Extent] = []
    copied = length = 0
    for stretch, mask in zip(found, Redact().replace(found), strict=True):
        before = document.text[copied : stretch.start]
        start = length + len(before)
        pieces += (before, mask)
        length = start + len(mask)
        masks.append((start, length))
        copied = stretch.end
    pieces.append(document.text[copied:])
    return Split(
        original=document,
        public="".join(pieces),
        private=tuple((stretch.start, stretch.end) for stretch in found),
        masks=tuple(masks),
    )


def inside(text: str, places: Sequence[Extent], tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """For every token of a text whether it shares a character with one of the places."""
    return overlapping(tokenizer.places(text), places, len(text))


def overlapping(
    tokens: Sequence[Extent], places: Sequence[Extent], length: int
) -> NDArray[np.bool_]:
    """For every token, given by its characters, whether it shares one with a place.

    >>> overlapping([(0, 2), (2, 5), (5, 6)], [(4, 5)], 6).tolist()
    [False, True, False]
    """
    steps = np.zeros(length + 1, dtype=np.int64)
    for start, end in places:
        if start < end:
            steps[start] += 1
            steps[end] -= 1
    # How many covered characters stand before each character.
    before = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] > 0)])
    return np.array([before[end] > before[start] for start, end in tokens], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Streams:
    """The two streams. ``selected`` is the share of tokens that are private, itself private."""

    public: TokenRecords
    private: TokenRecords
    selected: float


def selective_streams(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer, cut: Cut
) -> Streams:
    """Split every document by the policy and make records of both sides."""
    splits = split_each(documents, policy)
    secret = [one for one in splits if one.private]
    if not secret:
        raise BadInput(
            f"the policy {policy.name} finds nothing in the {len(documents):,} documents; there is "
            "nothing to protect, and the method 'plain' trains on such text"
        )
    # First all documents: a complaint about one of them then names it by its place in the corpus.
    public = _with_masks(splits, tokenizer, cut)
    private = make_marked_records(
        [one.original for one in secret],
        [_private_places(one, tokenizer) for one in secret],
        tokenizer,
        cut,
    )
    tokens = sum(len(tokenizer.places(document.text)) for document in documents)
    chosen = sum(int(inside(one.original.text, one.private, tokenizer).sum()) for one in secret)
    return Streams(public, private, chosen / max(1, tokens))


def make_redacted_records(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer, cut: Cut
) -> TokenRecords:
    """Records of the documents with masks over what the policy finds; masks are not predicted."""
    return _with_masks(split_each(documents, policy), tokenizer, cut)


def make_marked_records(
    documents: Sequence[Document],
    marks: Sequence[NDArray[np.bool_]],
    tokenizer: Tokenizer,
    cut: Cut,
) -> TokenRecords:
    """Records of which only marked tokens are predicted; ``marks`` has one flag per token.

    The token for the beginning of a document is never predicted, that for its end only if the
    flags say so (one flag more than there are tokens).
    """
    records = make_language_records(documents, tokenizer, cut)
    # A document without a token has no row; its only flag is that of its end. Neither has a token
    # that nothing stands before or behind: there is nothing to predict it from.
    framed = [_frame(one, tokenizer) for one in marks if len(one) > 1]
    flags = [_kept(one, cut) for one in framed if len(one) > 1]
    return replace(records, wanted=np.concatenate(flags))


def _with_masks(splits: Sequence[Split], tokenizer: Tokenizer, cut: Cut) -> TokenRecords:
    """Records of the public text; masks are read, and not predicted."""
    return make_marked_records(
        [replace(one.original, text=one.public) for one in splits],
        [_not_masks(one, tokenizer) for one in splits],
        tokenizer,
        cut,
    )


def _kept(flags: NDArray[np.bool_], cut: Cut) -> NDArray[np.bool_]:
    """The flags of the tokens that records keep: a truncated document has lost its end."""
    return flags if cut.long == "split" else flags[: cut.context + 1]


def _frame(flags: NDArray[np.bool_], tokenizer: Tokenizer) -> NDArray[np.bool_]:
    before = [] if tokenizer.begin is None else [False]
    after = [] if tokenizer.end is None else [flags[-1]]
    framed: NDArray[np.bool_] = np.concatenate([before, flags[:-1], after]).astype(np.bool_)
    return framed


def _private_places(one: Split, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Private tokens, and the token behind each of them; the last flag is the document's end."""
    own = inside(one.original.text, one.private, tokenizer)
    places: NDArray[np.bool_] = _with_end(own) | np.concatenate([[False], own])
    return places


def _not_masks(one: Split, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """All but masks; the end of a document is always predicted."""
    return ~_with_end(inside(one.public, one.masks, tokenizer))


def _with_end(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    ended: NDArray[np.bool_] = np.concatenate([flags, [False]])
    return ended
