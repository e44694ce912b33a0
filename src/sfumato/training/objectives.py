"""What a language model has to predict, and how a row of a record becomes an example of it.

==========  ====================================================================================
``causal``  every token from those before it
``prefix``  the rest of a text from its beginning; where it is cut is drawn
``spans``   hidden spans of a text from what is around them (T5's span corruption)
``masked``  single tokens that are masked, changed or kept, from all others (BERT)
==========  ====================================================================================

A causal network takes the first three. For ``spans`` it reads the text with sentinels, the token
for an end, and then predicts the spans, each after its sentinel. A network of encoder and decoder
takes ``prefix`` and ``spans``: the encoder reads, the decoder writes what is missing. A masked one
takes ``masked``.

Guarantee
    That of the training, unchanged.

Why it holds
    What is hidden is drawn anew in each step, for each record from a stream of its own. So given
    all these draws, a step is what it was before: a sum over records of clipped gradients, each a
    function of its own record, with noise. Removing a record removes its stream and changes the
    example of no other. The level holds for every outcome of the draws, hence also for a random
    one, because they do not depend on the data and are independent of sampling and noise (a level
    that two laws keep is kept by their mixture). A record's loss is the mean over the tokens that
    its own examples have to predict, or their sum over a public constant, whatever their number.
    One stream for a whole batch would break this: without one record, all after it would be
    corrupted differently, and the sum could change by many times the clipping norm.

Care
    The draws are no secret and protect nothing. How many tokens are predicted depends on the length
    of a text, which is private, as before.

Reference
    Raffel et al. 2020, "Exploring the limits of transfer learning with a unified text-to-text
    transformer" (spans; prefixes); Devlin et al. 2019, "BERT" (masks); Ponomareva et al. 2022,
    "Training text-to-text transformers with privacy guarantees".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.core.checks import number
from sfumato.core.errors import InvalidArgument
from sfumato.models.bpe import default_tokenizer
from sfumato.models.generate import decoder_start
from sfumato.models.kinds import CLASSIFIER, OBJECTIVE, TAGGER, kind_of, only_classifies
from sfumato.models.name import is_built_in
from sfumato.models.sentinels import sentinels_of, with_sentinels
from sfumato.models.tokenizer import IGNORED
from sfumato.training.corruption import Hiding, draw_places, draw_spans, hidden_parts
from sfumato.training.records import Example, Framing

if TYPE_CHECKING:
    from sfumato.core.randomness import Randomness
    from sfumato.models.load import LoadedModel
    from sfumato.models.tokenizer import Tokenizer, Tokens

CAUSAL, PREFIX, SPANS, MASKED = "causal", "prefix", "spans", "masked"
OBJECTIVES = (CAUSAL, MASKED, PREFIX, SPANS)
# What each kind of network can be trained for, the usual objective first.
OF_KINDS: dict[str, tuple[str, ...]] = {
    "causal": (CAUSAL, PREFIX, SPANS),
    "seq2seq": (SPANS, PREFIX),
    "masked": (MASKED,),
    "classifier": (),
    "tagger": (),
}
# As in T5 and BERT: the share of tokens that is hidden, and the mean length of a span.
SHARE, LENGTH = 0.15, 3.0
# Of the tokens that BERT hides, those that become the mask, and those that stay; the others become
# any token.
MASKS, STAYS = 0.8, 0.1


@dataclass(frozen=True)
class ObjectiveName:
    """An objective as a user writes it, with the numbers of ``spans`` and ``masked``.

    >>> ObjectiveName.read("spans:0.3:5"), str(ObjectiveName.read("spans"))
    (ObjectiveName(name='spans', share=0.3, length=5.0), 'spans')
    """

    name: str
    share: float = SHARE
    length: float = LENGTH

    @classmethod
    def read(cls, text: str) -> ObjectiveName:
        """From ``spans``, ``spans:SHARE``, ``spans:SHARE:LENGTH``, ``masked:SHARE``, …"""
        name, *numbers = text.split(":")
        most = {SPANS: 2, MASKED: 1}.get(name, 0)
        try:
            given = [number(f"objective {name}", float(one)) for one in numbers]
        except ValueError:
            given = [0.0]
        if name not in OBJECTIVES or len(given) > most or any(one <= 0 for one in given):
            raise InvalidArgument(
                f"`objective={text!r}` must be causal, prefix, spans, spans:SHARE:LENGTH, masked "
                "or masked:SHARE, such as spans:0.15:3"
            )
        found = cls(name, *given)
        if not found.share < 1 or not found.length >= 1:
            raise InvalidArgument(
                f"`objective={text!r}`: the share of hidden tokens must lie between 0 and 1, and "
                "the mean length of a span must be 1 or more"
            )
        return found

    def __str__(self) -> str:
        if (self.share, self.length) == (SHARE, LENGTH):
            return self.name
        return f"{self.name}:{self.share:g}" + (f":{self.length:g}" * (self.name == SPANS))


def choose_objective(text: str | None, kind: str) -> ObjectiveName | None:
    """The objective that was asked for, or the usual one; None where labels are predicted."""
    possible = OF_KINDS[kind]
    if not possible:
        if text is not None:
            raise InvalidArgument(
                f"`objective={text!r}` is for language models; a {kind} predicts labels"
            )
        return None
    found = ObjectiveName.read(possible[0] if text is None else text)
    if found.name not in possible:
        said = {"causal": "a causal network", "seq2seq": "a network of encoder and decoder"}
        raise InvalidArgument(
            f"`objective={text!r}` does not fit {said.get(kind, 'a masked network')}, which takes "
            f"{' or '.join(possible)}"
        )
    return found


def kind_to_train(
    spec: str, objective: str | None, classes: Sequence[str] = (), tags: Sequence[str] = ()
) -> str:
    """The kind of model that is to be trained; ``tags`` are the types that a tagger finds."""
    if tags and classes:
        raise InvalidArgument("give `classes=...` for a classifier, or `tags=...` for a tagger")
    if tags:
        return TAGGER
    if classes:
        return CLASSIFIER
    if objective is not None and ObjectiveName.read(objective).name == MASKED:
        return MASKED
    found = kind_of(spec)
    if found == CLASSIFIER:
        raise InvalidArgument(only_classifies(spec))
    return found


def new_tokenizer(
    spec: str, tokenizer: Tokenizer | None, objective: ObjectiveName | None
) -> Tokenizer | None:
    """The tokenizer of a model: of a new one with sentinels, where there are spans to hide."""
    if objective is None or objective.name != SPANS or not is_built_in(spec):
        return tokenizer
    return with_sentinels(tokenizer or default_tokenizer())


def mark_objective(model: LoadedModel, objective: ObjectiveName | None) -> LoadedModel:
    """The model, which says what it is trained to predict, also when it is saved."""
    if objective is None or objective.name == CAUSAL:
        return model
    setattr(model.network.config, OBJECTIVE, str(objective))
    return replace(model, objective=str(objective))


def make_objective(model: LoadedModel, asked: ObjectiveName | None = None) -> Objective | None:
    """How rows become examples for a model; None where every token is simply predicted.

    By default as the model was trained.
    """
    given = model.objective or None
    chosen = choose_objective(given, model.kind) if asked is None else asked
    if chosen is None or chosen.name == CAUSAL:
        return None
    special = _Special.of(model)
    hiding = Hiding(share=chosen.share, length=chosen.length, most=len(special.sentinels))
    if chosen.name == MASKED:
        return _Masked(special, hiding)
    if chosen.name == SPANS:
        special.require_sentinels()
        return (_SpansApart if model.kind == "seq2seq" else _SpansOnward)(special, hiding)
    return (_PrefixApart if model.kind == "seq2seq" else _PrefixOnward)(special, hiding)


@dataclass(frozen=True)
class _Special:
    """The tokens that examples are framed and filled with."""

    name: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    begin: int | None
    end: int | None
    first: int
    padding: int
    mask: int | None
    sentinels: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, model: LoadedModel) -> _Special:
        tokenizer = model.tokenizer
        before, after = tokenizer.frame
        mask = tokenizer.backend.mask_token_id
        return cls(
            name=tokenizer.name,
            before=before,
            after=after,
            begin=tokenizer.begin,
            end=tokenizer.end,
            first=decoder_start(model.network, tokenizer),
            padding=tokenizer.padding,
            mask=None if mask is None else int(mask),
            sentinels=sentinels_of(tokenizer),
            size=tokenizer.size if tokenizer.rows is None else min(tokenizer.size, tokenizer.rows),
        )

    def require_sentinels(self) -> None:
        """Refuse a tokenizer that has nothing to put in the place of a span."""
        if not self.sentinels:
            raise InvalidArgument(
                f"`objective='spans'` needs sentinels, <extra_id_0> and so on, and the tokenizer "
                f"{self.name} has none; take a model of T5's kind, or one from scratch"
            )

    def framed(self, tokens: Sequence[int] | NDArray[Any]) -> list[int]:
        """What an encoder reads; never nothing."""
        return [*self.before, *map(int, tokens), *self.after] or [self.padding]


@dataclass(frozen=True)
class Objective(ABC):
    """Makes an example of a row, by draws of its own record.

    ``apart`` says that a decoder writes what is predicted; otherwise it stands at the places that
    are read.
    """

    special: _Special
    hiding: Hiding
    name: ClassVar[str]
    apart: ClassVar[bool] = False

    @property
    def framing(self) -> Framing:
        """What a whole document is given before it is cut into rows."""
        return Framing()

    def room(self, context: int) -> int:
        """The longest row whose examples fit into a context."""
        for length in range(context, 0, -1):
            if self.longest(length) <= context:
                return length
        raise InvalidArgument(
            f"context={context} leaves no room for a text with its sentinels; take a longer one"
        )

    @abstractmethod
    def longest(self, length: int) -> int:
        """The most places that an example of so long a row reads, or writes."""

    @abstractmethod
    def example(self, row: Tokens, randomness: Randomness) -> Example:
        """What is read and what is predicted, for one use of a row."""


@dataclass(frozen=True)
class _PrefixOnward(Objective):
    """A causal network reads the whole row; the loss begins where it is cut."""

    name: ClassVar[str] = PREFIX

    @property
    def framing(self) -> Framing:
        return Framing.around(self.special.begin, self.special.end, ahead=1)

    def longest(self, length: int) -> int:
        return length

    def example(self, row: Tokens, randomness: Randomness) -> Example:
        read, labels = _numbers(row[:-1]), _numbers(row[1:])
        # At least one token is given if there are two, and at least one is predicted.
        labels[: _cut(len(labels), randomness)] = IGNORED
        return Example(read, labels)


@dataclass(frozen=True)
class _PrefixApart(Objective):
    """The encoder reads the beginning, the decoder writes the rest."""

    name: ClassVar[str] = PREFIX
    apart: ClassVar[bool] = True

    @property
    def framing(self) -> Framing:
        return Framing.around(None, self.special.end)

    def longest(self, length: int) -> int:
        return length + len(self.special.before) + len(self.special.after)

    def example(self, row: Tokens, randomness: Randomness) -> Example:
        place = _cut(len(row), randomness)
        return Example(
            _numbers(self.special.framed(row[:place])), _numbers(row[place:]), self.special.first
        )


@dataclass(frozen=True)
class _SpansApart(Objective):
    """The encoder reads the text with sentinels, the decoder writes the spans after theirs."""

    name: ClassVar[str] = SPANS
    apart: ClassVar[bool] = True

    def longest(self, length: int) -> int:
        hidden, spans = self.hiding.counts(length)
        read = length - hidden + spans + len(self.special.before) + len(self.special.after)
        return max(read, hidden + spans + (self.special.end is not None))

    def example(self, row: Tokens, randomness: Randomness) -> Example:
        read, written = self.parts(row, randomness)
        return Example(_numbers(self.special.framed(read)), _numbers(written), self.special.first)

    def parts(self, row: Tokens, randomness: Randomness) -> tuple[list[int], list[int]]:
        """The text with sentinels, and the spans, each after its sentinel; then an end."""
        hidden = draw_spans(len(row), self.hiding, randomness)
        read, written = hidden_parts(row, hidden, self.special.sentinels)
        return read, [*written, *_given(self.special.end)]


@dataclass(frozen=True)
class _SpansOnward(_SpansApart):
    """A causal network reads the text with sentinels, an end, and then predicts the spans."""

    apart: ClassVar[bool] = False

    def longest(self, length: int) -> int:
        _, spans = self.hiding.counts(length)
        framed = (self.special.begin is not None) + 2 * (self.special.end is not None)
        return length + 2 * spans + framed - 1  # the last token is predicted, and not read

    def example(self, row: Tokens, randomness: Randomness) -> Example:
        read, written = self.parts(row, randomness)
        given = [*_given(self.special.begin), *read, *_given(self.special.end)]
        labels = [IGNORED] * (len(given) - 1) + written
        return Example(_numbers((given + written)[:-1]), _numbers(labels))


@dataclass(frozen=True)
class _Masked(Objective):
    """Some tokens become the mask, any token, or stay; they are predicted at their places."""

    name: ClassVar[str] = MASKED

    def __post_init__(self) -> None:
        if self.special.mask is None:
            raise InvalidArgument(
                f"`objective='masked'` needs a mask, and the tokenizer {self.special.name} has "
                "none; take a model of BERT's kind"
            )

    def longest(self, length: int) -> int:
        return length + len(self.special.before) + len(self.special.after)

    def example(self, row: Tokens, randomness: Randomness) -> Example:
        places = draw_places(len(row), self.hiding, randomness)
        chance = randomness.uniform(len(places))
        others = randomness.integers(self.special.size, len(places))
        read, labels = _numbers(row), np.full(len(row), IGNORED, dtype=np.int64)
        labels[places] = read[places]
        becomes = np.where(chance < MASKS, np.int64(self.special.mask or 0), others)
        read[places] = np.where(chance >= 1 - STAYS, read[places], becomes)
        before = [IGNORED] * len(self.special.before)
        after = [IGNORED] * len(self.special.after)
        return Example(
            _numbers(self.special.framed(read)), _numbers([*before, *labels.tolist(), *after])
        )


def _cut(length: int, randomness: Randomness) -> int:
    """How many of so many tokens are given; at least one, and fewer than all, if there are two."""
    return 0 if length < 2 else 1 + int(randomness.integers(length - 1, 1)[0])


def _given(token: int | None) -> list[int]:
    return [] if token is None else [token]


def _numbers(tokens: Sequence[int] | Tokens) -> NDArray[np.int64]:
    return np.array(tokens, dtype=np.int64)
