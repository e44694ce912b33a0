"""Two streams of records from documents and a policy, one public and one private.

*Public*: every document with masks in place of what is private. All of it is read; masks are not
predicted, because a model that generates ``[PERSON]`` is of no use. Made-up values may stand in the
place of masks (``fills``); these are predicted, too.

*Private*: the original documents, but only those with something private in them, and only the loss
at private positions counts. A position is private if the token to predict is private, or the token
before it: what follows a secret reveals something about it, too.

Guarantee
    The public text of a document is a function of the text outside the private stretches, and of
    their number, positions and types. A change of the text under a mask does not change a byte of
    it. Whether a document is in the private stream is a function of the policy's bits, which are
    public; a document without a private token never is. Public steps need no guarantee: each is a
    function of the weights so far, which are released, of public text, and of its own randomness.
    With the same weights it is bitwise the plain step, whatever the secrets are.

Why it holds
    A mask is the type in square brackets, as in redaction, and shows neither words nor lengths. The
    public text is made of the pieces outside the stretches and of masks, nothing else; a made-up
    value is drawn for the type of a mask and put in its place (``fills`` says why that is public).
    The order of public steps comes from a separate stream of randomness, so it reveals nothing
    about the private sample.

From characters to tokens
    A token is private if it shares a character with a private place: a token with the end of a
    public word and the beginning of a private one is private as a whole. Tokens without characters
    of the text, such as those for the beginning and the end of a document, are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput, CannotResume
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.redact import mask
from sfumato.mechanisms.selective import language_in
from sfumato.models.load import LoadedModel, draw_weights_from
from sfumato.models.tokenizer import Tokenizer
from sfumato.policies.policy import Policy, find_in
from sfumato.text.document import Document
from sfumato.text.span import Spans, stretches
from sfumato.text.words import Words
from sfumato.training.batches import physical_batches
from sfumato.training.methods.fills import Patterns, draw_fills, put_fills
from sfumato.training.methods.selective import PublicCourse
from sfumato.training.optimizers import make_optimizer, put_back, rate_factor
from sfumato.training.processes.sums import add_gradients
from sfumato.training.processes.team import current_team, own_stream
from sfumato.training.records import Cut, TokenRecords, make_language_records
from sfumato.training.row_losses import row_losses
from sfumato.training.settings import Course

Extent = tuple[int, int]


@dataclass(frozen=True)
class Split:
    """A document split by a policy.

    ``private`` are the private characters of the original, ``masks`` the positions of the masks in
    the ``public`` text; both as (start, end), in reading order. ``labels`` are the types at the
    masks; ``language`` is as the document says, or guessed from the words outside. Both are public.
    """

    original: Document
    public: str = field(repr=False)
    private: tuple[Extent, ...]
    masks: tuple[Extent, ...]
    labels: tuple[str, ...] = ()
    language: str = ""


def split(document: Document, policy: Policy) -> Split:
    """Replace every stretch that the policy finds by a mask."""
    return _mask(document, policy.find(document))


def split_each(documents: Iterable[Document], policy: Policy) -> list[Split]:
    """The same for many documents."""
    return [_mask(document, spans) for document, spans in find_in(policy, documents)]


def _mask(document: Document, spans: Spans) -> Split:
    words = Words.of(document.text)
    found = stretches(spans, words)
    pieces: list[str] = []
    masks: list[Extent] = []
    copied = length = 0
    for stretch in found:
        hidden = mask(stretch)
        before = document.text[copied : stretch.start]
        start = length + len(before)
        pieces += (before, hidden)
        length = start + len(hidden)
        masks.append((start, length))
        copied = stretch.end
    pieces.append(document.text[copied:])
    return Split(
        original=document,
        public="".join(pieces),
        private=tuple((stretch.start, stretch.end) for stretch in found),
        masks=tuple(masks),
        labels=tuple(stretch.label for stretch in found),
        language=language_in(document, spans, words),
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
    # How many covered characters precede each character.
    before = np.concatenate([[0], np.cumsum(np.cumsum(steps)[:-1] > 0)])
    return np.array([before[end] > before[start] for start, end in tokens], dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Streams:
    """The two streams. ``selected`` is the share of tokens that are private, itself private.

    ``splits`` are the documents that both were made of.
    """

    public: TokenRecords
    private: TokenRecords
    selected: float
    splits: Sequence[Split] = field(repr=False)


def selective_streams(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer, cut: Cut
) -> Streams:
    """Split every document by the policy and make records of both parts."""
    splits = split_each(documents, policy)
    secret = [one for one in splits if one.private]
    if not secret:
        raise BadInput(
            f"the policy {policy.name} finds nothing in the {len(documents):,} documents; there is "
            "nothing to protect, and the method 'plain' trains on such text"
        )
    # All documents first, so that an error names a document by its position in the corpus.
    public = _with_masks(splits, tokenizer, cut)
    private = make_marked_records(
        [one.original for one in secret],
        [_private_places(one, tokenizer) for one in secret],
        tokenizer,
        cut,
    )
    tokens = sum(len(tokenizer.places(document.text)) for document in documents)
    chosen = sum(int(inside(one.original.text, one.private, tokenizer).sum()) for one in secret)
    return Streams(public, private, chosen / max(1, tokens), splits)


def make_filled_records(
    splits: Sequence[Split],
    tokenizer: Tokenizer,
    cut: Cut,
    randomness: Randomness,
    patterns: Patterns | None = None,
) -> TokenRecords:
    """Records of the public text with a made-up value in the place of each mask.

    All of it is predicted. Every document draws from a stream of its own.
    """
    filled = [
        replace(one.original, text=_fill(one, randomness.stream(number), patterns))
        for number, one in enumerate(splits)
    ]
    return make_language_records(filled, tokenizer, cut)


def _fill(one: Split, randomness: Randomness, patterns: Patterns | None) -> str:
    fills = draw_fills(one.labels, one.language, randomness, patterns)
    return put_fills(one.public, one.masks, fills)


def make_redacted_records(
    documents: Sequence[Document], policy: Policy, tokenizer: Tokenizer, cut: Cut
) -> TokenRecords:
    """Records of the documents with masks for what the policy finds; masks are not predicted."""
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
    # A document without tokens has no row; its only flag is that of its end. Neither has a document
    # of a single token without begin and end tokens: there is nothing to predict.
    framed = [_frame(one, tokenizer) for one in marks if len(one) > 1]
    flags = [_kept(one, cut) for one in framed if len(one) > 1]
    return replace(records, wanted=np.concatenate(flags))


def _with_masks(splits: Sequence[Split], tokenizer: Tokenizer, cut: Cut) -> TokenRecords:
    """Records of the public text; masks are read, but not predicted."""
    return make_marked_records(
        [replace(one.original, text=one.public) for one in splits],
        [_not_masks(one, tokenizer) for one in splits],
        tokenizer,
        cut,
    )


def _kept(flags: NDArray[np.bool_], cut: Cut) -> NDArray[np.bool_]:
    """The flags of the tokens that records keep; a truncated document loses its end."""
    return flags if cut.long == "split" else flags[: cut.context + 1]


def _frame(flags: NDArray[np.bool_], tokenizer: Tokenizer) -> NDArray[np.bool_]:
    before = [] if tokenizer.begin is None else [False]
    after = [] if tokenizer.end is None else [flags[-1]]
    framed: NDArray[np.bool_] = np.concatenate([before, flags[:-1], after]).astype(np.bool_)
    return framed


def _private_places(one: Split, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """Private tokens, and the token after each of them; the last flag is the document's end."""
    own = inside(one.original.text, one.private, tokenizer)
    places: NDArray[np.bool_] = _with_end(own) | np.concatenate([[False], own])
    return places


def _not_masks(one: Split, tokenizer: Tokenizer) -> NDArray[np.bool_]:
    """All tokens except masks; the end of a document is always predicted."""
    return ~_with_end(inside(one.public, one.masks, tokenizer))


def _with_end(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    ended: NDArray[np.bool_] = np.concatenate([flags, [False]])
    return ended


class PublicSteps:
    """Ordinary steps on the public stream, between private ones."""

    def __init__(
        self,
        model: LoadedModel,
        records: TokenRecords,
        public: PublicCourse,
        course: Course,
        randomness: Randomness,
    ) -> None:
        self.model, self.records, self.public, self.course = model, records, public, course
        self.optimizer = make_optimizer(
            "sgd" if course.optimizer == "sgd" else "adam",
            model.network.parameters(),
            public.learning_rate,
        )
        self.taken = 0
        self.team = current_team()
        self._randomness = randomness
        # What is left of this pass, and how many passes were begun.
        self._waiting, self._passes = np.empty(0, dtype=np.int64), 0

    def reach(self, step: int, of: int) -> Iterator[None]:
        """Take the public steps that come before private step ``step`` of ``of``, one at a time."""
        wanted = self.public.before(step, of, len(self.records))
        steps = self.public.steps(len(self.records))
        while self.taken < wanted:
            factor = rate_factor(self.course.schedule, self.taken, steps)
            for group in self.optimizer.param_groups:
                group["lr"] = self.public.learning_rate * factor
            self._step(self._members())
            self.taken += 1
            yield

    def state(self) -> dict[str, Any]:
        """For a checkpoint; all of it follows from public text and released weights."""
        return {
            "taken": self.taken,
            "passes": self._passes,
            "waiting": self._waiting.tolist(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore the state of a checkpoint: what a pass has left is read before another one.

        A checkpoint of an earlier version does not say that: its passes begin anew, as they did.
        """
        taken, optimizer = state.get("taken"), state.get("optimizer")
        passes, waiting = state.get("passes", 0), state.get("waiting", [])
        if (
            not isinstance(taken, int)
            or not isinstance(passes, int)
            or not isinstance(waiting, list)
            or not all(isinstance(one, int) and 0 <= one < len(self.records) for one in waiting)
            or not isinstance(optimizer, dict)
            or not put_back(self.optimizer, optimizer)
        ):
            raise CannotResume("the checkpoint belongs to another method; start a new run")
        self.taken, self._passes = taken, passes
        self._waiting = np.array(waiting, dtype=np.int64)

    def _step(self, members: NDArray[np.int64]) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        groups = physical_batches(
            self.records,
            members[self.team.rank :: self.team.size],
            most_tokens=max(self.course.tokens_at_once, self.records.context),
            divisor=self.course.divisor,
        )
        # Each process of a team takes some of the batch.
        drawn = own_stream(self.team, self._randomness.stream(1).stream(self.taken))
        with draw_weights_from(drawn):
            for group in groups:
                for rows in group:
                    losses = row_losses(
                        self.model.network, rows.inputs(), rows.labels, rows.weights
                    )
                    (losses.sum() / len(members)).backward()  # type: ignore[no-untyped-call]
        groups_of = self.optimizer.param_groups
        add_gradients(self.team, [one for group in groups_of for one in group["params"]])
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _members(self) -> NDArray[np.int64]:
        """The records of the next batch: every record once per pass, in random order."""
        size = min(self.public.batch_size, len(self.records))
        while len(self._waiting) < size:
            drawn = self._randomness.stream(0).stream(self._passes)
            order = np.argsort(drawn.uniform(len(self.records)))
            self._waiting = np.concatenate([self._waiting, order])
            self._passes += 1
        members, self._waiting = self._waiting[:size], self._waiting[size:]
        return members
