"""A private tokenizer that is learned from the training text first, and charged with the model.

Guarantee
    Tokenizer and model together are (ε, δ)-DP for the units of the plan. Delta is that of the whole
    run: half of it is the tokenizer's, half the model's. The level is the smaller of

    - the sum of both levels, and
    - −ln(1 − p) + the level, at δ − p, of the releases of the plan together with one Gaussian
      release without sampling, whose noise multiplier is that of the tokenizer's histogram; p is
      the largest probability that a word which only one unit has is shown.

Why it holds
    Training may depend on the tokenizer: it is a function of what was released before, and the plan
    holds for every tokenizer. So both are an adaptive composition, and levels and deltas add up.
    Better: by ``histograms.thresholds`` the histogram is, for any unit, a Gaussian release unless a
    word is shown that only this unit has, which happens with probability p at most. Let M be the
    Gaussian release and the steps together, and d the delta of M. Then the delta of the whole is
    p + (1 − p)·d(ε − ln(1 − p)) in one direction and d(ε + ln(1 − p)) in the other, and both are at
    most p + d(ε + ln(1 − p)).

Care
    The tokenizer is drawn once. Before the draw, a note in the folder of the run says that it is
    spent (``models.draws``); then the tokenizer is written, with its guarantee, before anything
    else of a run. A resumed run reads it and draws no other. If too few words came through, if the
    run was killed in between, or if the tokenizer is deleted, the folder is refused: a second draw
    was not paid for. The note also holds the settings of the draw and when the corpus was last
    changed, so that no other tokenizer is trained with and on no other corpus; documents that came
    from no file have no such mark. The head of the ledger names its noise, so steps that were
    charged with one tokenizer cannot be resumed with another.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfumato.accounting.accountants import compute_spending
from sfumato.accounting.delta import resolve_delta
from sfumato.accounting.events import SampledGaussian
from sfumato.core.checks import positive
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.progress import announce
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.histograms.thresholds import Contribution, Noise
from sfumato.histograms.words import Budget
from sfumato.models.bpe import SIZE
from sfumato.models.draws import DrawNote
from sfumato.models.learned import find_kind
from sfumato.models.name import is_built_in
from sfumato.models.private_tokenizer import (
    PrivateTokenizer,
    check_size,
    learn_privately,
    load_private,
    save_private,
)
from sfumato.text.document import Document

if TYPE_CHECKING:
    from sfumato.training.folder import RunFolder
    from sfumato.training.plan import Plan
    from sfumato.training.request import Request
    from sfumato.training.settings import Privacy

SCOPE = "the tokenizer, and the weights of the model after every step"


@dataclass(frozen=True, kw_only=True)
class PrivateVocabulary:
    """The tokenizer to be learned; unit and delta are those of the run."""

    epsilon: float
    words: int = 60
    weights: str = "plain"
    kind: str = "bpe"
    size: int = SIZE

    def __post_init__(self) -> None:
        positive("tokenizer_epsilon", self.epsilon)
        self.contribution  # noqa: B018  # an error if it is wrong
        check_size(find_kind(self.kind), self.size)

    @property
    def contribution(self) -> Contribution:
        """How many words a unit gives."""
        return Contribution(words=self.words, weights=self.weights)

    def check(self, request: Request) -> None:
        """Refuse what a tokenizer's level cannot be added to, before anything is read."""
        if request.tokenizer is not None:
            raise InvalidArgument(
                "`tokenizer_epsilon=...` learns a tokenizer, so leave out `tokenizer=FOLDER` and "
                "`tokenizer_corpus=FILE`"
            )
        if not is_built_in(request.model):
            raise InvalidArgument(
                f"`tokenizer_epsilon=...` is for a new model; {request.model} has a tokenizer of "
                "its own, and its weights are useless with another one"
            )
        if not request.method.adds_up or math.isinf(request.privacy.epsilon):
            raise InvalidArgument(
                "`tokenizer_epsilon=...` adds a level for every unit to that of the model; the "
                f"method {request.method.name} at this level promises none that it could be added "
                "to. Take a tokenizer that is public, or the method private with a level"
            )

    def budget(self, privacy: Privacy, delta: float) -> Budget:
        """For the units of a run."""
        return Budget(
            epsilon=self.epsilon,
            delta=delta,
            contribution=self.contribution,
            unit=privacy.unit,
            record=privacy.record,
        )

    def as_dict(self) -> dict[str, Any]:
        """For the settings of a run."""
        return {
            "epsilon": self.epsilon,
            "words": self.words,
            "weights": self.weights,
            "kind": self.kind,
            "size": self.size,
        }


def learn_vocabulary(
    vocabulary: PrivateVocabulary,
    documents: Sequence[Document],
    privacy: Privacy,
    folder: RunFolder,
    randomness: Randomness,
    corpus: Mapping[str, Any] | None = None,
) -> tuple[PrivateTokenizer, Privacy]:
    """The tokenizer of a run, drawn or read, and the settings that are left for the model.

    ``corpus`` says how the documents were read and when they were last changed.
    """
    units = count_units(documents, privacy.unit)
    half = resolve_delta(privacy.delta, units) / 2
    budget = vocabulary.budget(privacy, half)
    left = replace(privacy, delta=half)
    settings = budget.as_dict() | {
        "kind": vocabulary.kind,
        "size": vocabulary.size,
        "for_release": randomness.for_release,
        "corpus": dict(corpus or {}),
    }
    note = DrawNote(folder.tokenizer, settings)
    if folder.tokenizer.is_dir():
        return _same(load_private(folder.tokenizer), note, budget.solve(units)), left
    if folder.config.is_file():
        raise CannotResume(
            f"{folder.path} holds a run whose tokenizer is gone; a second one is not paid for. "
            "Put it back, or start a new run in another folder"
        )
    kind = find_kind(vocabulary.kind)
    folder.refuse(resume=True)
    made = learn_privately(documents, kind, vocabulary.size, budget, randomness, before=note.write)
    save_private(made, folder.tokenizer)
    announce(made.summary())
    # As a resumed run reads it, so that both train with the same.
    return load_private(folder.tokenizer), left


def _same(found: PrivateTokenizer, note: DrawNote, noise: Noise) -> PrivateTokenizer:
    """What an earlier process drew, if it was asked for the same."""
    if not note.path.is_file():
        raise CannotResume(
            f"{note.path} is gone, so nobody knows what {note.place} was learned from; put it "
            "back, or start a new run in another folder"
        )
    told = found.guarantee.for_release == note.settings["for_release"]
    if found.noise != noise or not told or not note.matches(noise):
        raise CannotResume(
            f"{note.place} was learned from another corpus, or with another level, unit, number of "
            "words, kind, size or seed; resume with the same, or start a new run in another folder"
        )
    return found


def count_units(documents: Sequence[Document], unit: str) -> int:
    """How many there are, at least two for a delta; a missing author is refused later."""
    counted = len(documents) if unit == "example" else len({one.author for one in documents})
    return max(2, counted)


def compose_with(plan: Plan, noise: Noise) -> float:
    """The level of tokenizer and model together, at the sum of their deltas."""
    if plan.neighbors != "add-or-remove":
        raise InvalidArgument(
            "a tokenizer's level is for units that are there or not; this plan is for units that "
            "are exchanged, and the two do not add up"
        )
    own = float(plan.delta)
    added = plan.epsilon() + noise.epsilon
    events = (*plan.events(), SampledGaussian(noise_multiplier=noise.multiplier))
    left = own + noise.delta - noise.shown_alone
    try:
        composed = compute_spending(events, plan.accountant).epsilon(left)
    except InvalidArgument:  # this accountant has no answer for so small a delta
        return added
    return min(added, composed - math.log1p(-noise.shown_alone))


def promise_together(stated: Guarantee, plan: Plan, made: PrivateTokenizer) -> Guarantee:
    """The guarantee of the model, restated for tokenizer and model together."""
    together = stated_together(stated, plan, made.noise)
    return together if made.guarantee.for_release else together.reproducible()


def stated_together(stated: Guarantee, plan: Plan, noise: Noise) -> Guarantee:
    """The same before the tokenizer is drawn, whose noise is known by then."""
    level = compose_with(plan, noise)
    return replace(stated, epsilon=level, delta=stated.delta + noise.delta, scope=SCOPE)


def planned(vocabulary: PrivateVocabulary, privacy: Privacy, units: int) -> tuple[Noise, Privacy]:
    """The noise of the tokenizer, and the settings that are left for the model."""
    half = resolve_delta(privacy.delta, units) / 2
    return vocabulary.budget(privacy, half).solve(units), replace(privacy, delta=half)


def parts_of(stated: Guarantee, plan: Plan, made: PrivateTokenizer) -> dict[str, Any]:
    """Both levels, and how they were put together; for JSON."""
    added = plan.epsilon() + made.noise.epsilon
    return {
        "tokenizer": {"epsilon": made.noise.epsilon, "delta": made.noise.delta},
        "model": {"epsilon": plan.epsilon(), "delta": float(plan.delta)},
        "together": {"epsilon": stated.epsilon, "delta": stated.delta},
        "how": (
            f"the noise of both composed ({plan.accountant}); the sum of the levels is "
            f"{at_most(added, 4)}"
            if stated.epsilon < added
            else "the sum of both levels and deltas"
        ),
    }


def say_parts(parts: Mapping[str, Any]) -> str:
    """Both levels in a line."""
    levels = (
        f"{name} ε ≤ {at_most(parts[name]['epsilon'], 4)} at δ ≤ {at_most(parts[name]['delta'], 3)}"
        for name in parts
        if name != "how"
    )
    return f"{'; '.join(levels)}: {parts['how']}."
