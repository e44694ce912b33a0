"""Memorization: give a model a part of a training document, see whether it completes it.

The attacker holds some tokens of a document (a letterhead, a salutation, the first line of a
record) and asks for others: the next ones (``by="prefix"``), or those of a span in the middle
(``by="span"``). Three figures are measured: answers that are reproduced exactly, those that are
nearly so, and the probability that one is among a number of sampled answers. All are compared with
a *twin* that was never trained on the text (by default the same network untrained; better one that
was trained on other text of the kind, such as the same corpus without the canaries): what the twin
completes, too, is common language or a form letter, not memorized. With ``others``, documents that
the model was not trained on, the same is asked about them. Ratios say how many times more often
documents of the training text come back; their intervals hold for any number of hits.

Documents that begin alike are one case with a number of copies, because repetition makes a model
memorize. And shares are given by rarity: for the third of the documents whose hidden tokens stand
in the fewest documents, for the middle, and for the most common third.

How
    See ``attacks.recalling``: every model is asked as it was trained, and one forward pass decides.

Care
    Only the start of a document is tried; other parts may be memorized better or worse. A model
    that was trained to fill in short spans is asked for ``suffix`` tokens at once, as an attacker
    would: with the default of 50 that is far from what it has learned, and an answer of a few
    tokens (``suffix=3``) is nearer to it.

Reference
    Carlini et al. 2023, "Quantifying memorization across neural language models"; Ponomareva et al.
    2022, "Training text-to-text transformers with privacy guarantees" (spans, rarity, ratios);
    Ippolito et al. 2023, "Preventing generation of verbatim memorization gives a false sense of
    privacy" (near misses); Hayes et al. 2024, "Measuring memorization through probabilistic
    discoverable extraction" (the probability among n samples).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.attack import Done, Inputs, Needs
from sfumato.attacks.model_target import (
    ModelTarget,
    is_model,
    make_untrained_twin,
    not_a_model,
    open_model,
)
from sfumato.attacks.recalling import (
    PREFIX,
    WAYS,
    Cutting,
    Recalled,
    Windows,
    check_room,
    cut,
    recall,
)
from sfumato.core.checks import at_least, between, one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.results.scores import Control, Scores, time_block
from sfumato.statistics.ratios import ratio_of_shares
from sfumato.statistics.shares import mean_share, paired_difference, share_of
from sfumato.text.document import Document

COPIES = ((1, 1), (2, 9), (10, None))
MOST_TRIES = 10**12
# With fewer documents a third of them says nothing.
FEWEST_BY_RARITY = 30
# Documents on which two tokenizers are compared.
TOKENIZED = 200


@dataclass(frozen=True)
class TrainedOn:
    """The text that a model was trained on, and a model of the same kind that was not.

    ``others`` are documents of the same kind that neither was trained on, if there are any.
    """

    members: tuple[Document, ...]
    reference: ModelTarget | None = None
    others: tuple[Document, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Memorization:
    """Complete the beginnings of training documents.

    ``prefix`` tokens are given and ``suffix`` tokens wanted, those after them or, with
    ``by="span"``, those in the middle; ``near`` is the share of them (as a common subsequence) that
    counts as a near match; ``tries`` is the number of sampled answers; at most ``most`` different
    documents are tried.
    """

    name: ClassVar[str] = "memorization"
    target: ClassVar[str] = "model"
    needs: ClassVar[Needs] = Needs(inputs=("members", "others", "references"))

    prefix: int = 50
    suffix: int = 50
    near: float = 0.8
    tries: int = 100
    most: int = 500
    by: str = PREFIX

    def __post_init__(self) -> None:
        one_of("by", self.by, WAYS)
        for name in ("prefix", "suffix", "tries", "most"):
            at_least(name, getattr(self, name), 1)
        between("tries", self.tries, 1, MOST_TRIES)
        between("near", self.near, 0.0, 1.0)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a language model and its training text; None if nothing is."""
        lacking = not_a_model(inputs.target)
        if lacking is None and inputs.members is None:
            lacking = "`members=FILE` is missing, the text the model was trained on"
        # Only folders are accepted; a name would be searched for elsewhere.
        strange = [path for path in inputs.references[:1] if not is_model(path)]
        if lacking is None and strange:
            lacking = (
                f"the reference {strange[0]} is neither the folder of a run nor of a model; train "
                "one on other text: `sfumato.train(TEXT, RUN, epsilon=inf)`"
            )
        return lacking

    def opened(self, inputs: Inputs) -> tuple[ModelTarget, TrainedOn]:
        """The model, the documents, and the first of the references."""
        if inputs.members is None:
            raise InvalidArgument("members are missing")
        target = _writes(open_model(inputs.target, any_kind=True))
        twin = None
        if inputs.references:
            twin = _writes(open_model(inputs.references[0], any_kind=True))
        if twin is not None and twin.digest == target.digest:
            raise InvalidArgument(
                "the reference is the target itself, which was trained on the members"
            )
        others = () if inputs.others is None else tuple(inputs.documents(inputs.others))
        return target, TrainedOn(tuple(inputs.documents(inputs.members)), twin, others)

    def score(
        self, target: ModelTarget, data: TrainedOn, randomness: Randomness, done: Done | None = None
    ) -> Scores:
        """How much of the documents is reproduced, compared with the twin."""
        with time_block() as watch:
            windows = self._windows(target, data, randomness.stream(0))
            unseen = self._unseen(target, data, windows, randomness.stream(2))
            parts = 2 if unseen is None else 3
            mine = recall(target.model, windows, _part(done, 0, parts))
            twin = data.reference or make_untrained_twin(target, randomness.stream(1))
            theirs = recall(twin.model, windows, _part(done, 1, parts))
            scores = self._scores(windows, mine, theirs, data.reference)
            if unseen is not None:
                found = recall(target.model, unseen, _part(done, 2, parts))
                scores = _beside_unseen(scores, mine, found)
        return watch.stamp(scores)

    @property
    def _cutting(self) -> Cutting:
        return Cutting(prefix=self.prefix, suffix=self.suffix, most=self.most, by=self.by)

    def _windows(self, target: ModelTarget, data: TrainedOn, randomness: Randomness) -> Windows:
        for one in [target] if data.reference is None else [target, data.reference]:
            check_room(one.model, self._cutting)
        if data.reference is not None:
            _same_tokens(target, data.reference, data.members)
        return cut(data.members, target.model.tokenizer, self._cutting, randomness)

    def _unseen(
        self, target: ModelTarget, data: TrainedOn, windows: Windows, randomness: Randomness
    ) -> Windows | None:
        """Of the other documents, those whose beginning is none of the training text's."""
        if not data.others:
            return None
        try:
            found = cut(data.others, target.model.tokenizer, self._cutting, randomness)
        except BadInput:
            return None  # all of them are too short
        # Of the training text also what is not tried: a part of it is no unseen document.
        new = np.array([row.tobytes() not in windows.every for row in found.tokens], dtype=np.bool_)
        return found.only(new) if new.any() else None

    def _scores(
        self,
        windows: Windows,
        mine: Recalled,
        theirs: Recalled,
        reference: ModelTarget | None,
    ) -> Scores:
        figures, null = self._figures(mine), self._figures(theirs)
        above = paired_difference("exact above the twin", mine.exact, theirs.exact)
        ratio = ratio_of_shares(mine.exact, theirs.exact)
        times = ratio.measured("exact, times the twin")
        where = "the next" if self.by == PREFIX else "in their middle the"
        return Scores(
            attack=self.name,
            knowledge=(
                f"The attacker holds the model and {self.prefix} tokens of the beginning of "
                f"training documents, and wants {where} {self.suffix}."
            ),
            figures=(
                *figures,
                above,
                *([] if times is None else [times]),
                *_by_copies(windows.copies, mine.exact),
                *_by_rarity(windows.rarity, mine.exact),
            ),
            chance={one.metric: one.value for one in null}
            | {above.metric: 0.0}
            | ({} if times is None else {times.metric: 1.0}),
            control=Control(
                what="the twin, " + _kind(reference) + ", on the same documents", figures=null
            ),
            notes=(*self._notes(windows), ratio.sentence("The model reproduces", "the twin")),
            details={
                "copies": windows.copies.tolist(),
                "rarity": windows.rarity.tolist(),
                "exact": mine.exact.tolist(),
                "alike": mine.alike.tolist(),
                "log_probability": mine.log_probability.tolist(),
                "exact of the twin": theirs.exact.tolist(),
            },
        )

    def _figures(self, found: Recalled) -> tuple[Measured, ...]:
        return (
            share_of("exact", found.exact),
            share_of("near", found.alike >= self.near),
            mean_share(f"met in {self.tries} tries", found.within(self.tries)),
        )

    def _notes(self, windows: Windows) -> tuple[str, ...]:
        notes = [
            f"Near means that {self.near:.0%} of the suffix is reproduced in order; documents that "
            "begin alike are one case, with the number of its copies."
        ]
        if windows.too_short:
            notes.append(
                f"{windows.too_short:,} documents have fewer than {self.prefix + self.suffix} "
                "tokens and were left out."
            )
        return tuple(notes)


def _by_copies(copies: NDArray[np.int64], exact: NDArray[np.bool_]) -> list[Measured]:
    """The share by the number of copies of a document, if that varies."""
    found = []
    for low, high in COPIES:
        chosen = (copies >= low) & (copies <= (np.inf if high is None else high))
        name = f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
        if chosen.any() and not chosen.all():
            plural = "copy" if name == "1" else "copies"
            found.append(share_of(f"exact, {name} {plural}", exact[chosen]))
    return found


def _by_rarity(rarity: NDArray[np.float64], exact: NDArray[np.bool_]) -> list[Measured]:
    """The share by how rare the hidden tokens are, in thirds, if there are enough documents."""
    if len(rarity) < FEWEST_BY_RARITY or rarity.min() == rarity.max():
        return []
    low, high = np.quantile(rarity, [1 / 3, 2 / 3])
    thirds = {
        "common": rarity <= low, "middle": (rarity > low) & (rarity <= high), "rare": rarity > high,
    }  # fmt: skip
    return [
        share_of(f"exact, {name} third", exact[chosen])
        for name, chosen in thirds.items()
        if chosen.any()
    ]


def _beside_unseen(scores: Scores, mine: Recalled, unseen: Recalled) -> Scores:
    """The same scores with what the model makes of documents that it has not seen."""
    share = share_of("exact, unseen documents", unseen.exact)
    ratio = ratio_of_shares(mine.exact, unseen.exact)
    times = ratio.measured("exact, times unseen documents")
    more = [share] if times is None else [share, times]
    return replace(
        scores,
        figures=(*scores.figures, *more),
        chance={**scores.chance} | ({} if times is None else {times.metric: 1.0}),
        notes=(*scores.notes, ratio.sentence("It reproduces", "of unseen documents")),
        details={**scores.details, "exact of unseen documents": unseen.exact.tolist()},
    )


def _same_tokens(target: ModelTarget, reference: ModelTarget, members: Sequence[Document]) -> None:
    """Refuse a reference with another tokenizer."""
    texts = [document.text for document in members[:TOKENIZED]]
    mine, theirs = target.model.tokenizer, reference.model.tokenizer
    pairs = zip(mine.encode_many(texts), theirs.encode_many(texts), strict=True)
    if (mine.size, mine.begin) != (theirs.size, theirs.begin) or not all(
        np.array_equal(*pair) for pair in pairs
    ):
        raise InvalidArgument("the reference has another tokenizer than the model")


def _kind(reference: ModelTarget | None) -> str:
    return "the same network untrained" if reference is None else "the given reference"


def _writes(target: ModelTarget) -> ModelTarget:
    if target.model.classes:
        raise InvalidArgument(
            "a classifier generates no text; memorization is measured on language models, "
            "classifier-extraction on classifiers"
        )
    return target


def _part(done: Done | None, which: int, parts: int) -> Done | None:
    if done is None:
        return None
    return lambda reached, whole: done(which * whole + reached, parts * whole)
