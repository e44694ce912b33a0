"""A whole training run from what a user asked for: corpus, model, plan, folder.

``train`` makes records and a plan, trains, and leaves a run folder behind; with the same request it
goes on where a killed run stopped.

Care
    What the folder says of the run is public: settings, versions, the plan with the number of
    units, a digest of the vocabulary (which is public), and when the corpus was last changed, so
    that a run is not resumed on another one. A digest of the corpus would let its finder test
    guesses, and is not made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.accounting.accountants import ACCOUNTANTS
from sfumato.accounting.deltas import resolved_delta
from sfumato.accounting.guarantee import Guarantee
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.documents import Document
from sfumato.models.loading import KINDS, LoadedModel, load_model
from sfumato.models.lora import Lora
from sfumato.models.saving import save_model
from sfumato.tokenizers.loading import load_tokenizer
from sfumato.tokenizers.tokenizer import Tokenizer
from sfumato.training.bounds import Clipping
from sfumato.training.course import Course
from sfumato.training.plan import UNITS, Plan, quietly
from sfumato.training.records import LONG, Cut, TokenRecords, labelled_records, language_records
from sfumato.training.run_folder import RunFolder
from sfumato.training.sampling import sampling
from sfumato.training.stages import Stage, growing_batches

# Independent streams of one source; the loop has its own below TRAINING.
INITIAL, ADAPTER, TRAINING = range(3)


@dataclass(frozen=True, kw_only=True)
class Privacy:
    """What decides privacy. Several batch sizes are stages of equal length."""

    epsilon: float
    delta: float | str = "auto"
    epochs: float = 3.0
    batch_sizes: tuple[int, ...] = (64,)
    unit: str = "example"
    sampling: str = "poisson"
    clipping: Clipping = field(default_factory=Clipping)
    accountant: str = "pld"

    def __post_init__(self) -> None:
        positive("epochs", self.epochs)
        if self.epsilon != math.inf:
            positive("epsilon", self.epsilon)
        # What is wrong is said before a model is loaded; the rest hangs on the number of units.
        one_of("unit", self.unit, UNITS)
        one_of("accountant", self.accountant, ACCOUNTANTS)
        sampling(self.sampling)
        if isinstance(self.delta, str):
            resolved_delta(self.delta, units=2)
        if not self.batch_sizes:
            raise InvalidArgument("batch_sizes must hold at least one size")
        for size in self.batch_sizes:
            at_least("batch_size", size, 1)

    def plan(self, units: int) -> Plan:
        """The plan for so many units, with the least noise that keeps the level."""
        way = sampling(self.sampling)
        # A batch cannot be larger than the corpus; then everybody is in it.
        sizes = tuple(min(size, units) for size in self.batch_sizes)
        steps = way.steps(units, round(sum(sizes) / len(sizes)), self.epochs)
        if len(sizes) == 1:
            stages: tuple[Stage, ...] = (
                Stage(steps=steps, batch_size=sizes[0], noise_multiplier=1.0),
            )
        else:
            stages = growing_batches(
                steps=max(steps, len(sizes)), sizes=sizes, noise_multiplier=1.0
            )
        with quietly():
            drawn = Plan(
                units=units,
                stages=stages,
                delta=self.delta,
                unit=self.unit,
                sampling=way,
                clipping=self.clipping,
                accountant=self.accountant,
            )
        return drawn.with_epsilon(self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Model and training; ``tokenizer`` is a public one, or a folder that holds one.

    ``corpus`` says how the corpus is read and when it was changed, nothing about its text.
    """

    model: str
    privacy: Privacy
    course: Course = field(default_factory=Course)
    kind: str = "causal"
    classes: tuple[str, ...] = ()
    long: str = "split"
    lora_rank: int | None = None
    tokenizer: str | Tokenizer | None = None
    settings: dict[str, object] = field(default_factory=dict)
    corpus: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        one_of("long", self.long, LONG)
        if self.lora_rank is not None:
            at_least("lora_rank", self.lora_rank, 1)

    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def load(self, randomness: Randomness) -> LoadedModel:
        """The model before training, with low-rank factors if they are asked for."""
        model = load_model(
            self.model,
            randomness=randomness.stream(INITIAL),
            kind=self.kind,
            classes=self.classes,
            tokenizer=self._tokenizer(),
            settings=self.settings,
        )
        if self.lora_rank is None:
            return model
        adapted: Any = Lora(rank=self.lora_rank).attach(model.network, randomness.stream(ADAPTER))
        return LoadedModel(adapted, model.tokenizer, model.context, model.classes)

    def _tokenizer(self) -> Tokenizer | None:
        if isinstance(self.tokenizer, str):
            return load_tokenizer(Path(self.tokenizer))
        return self.tokenizer

    @property
    def cut_long(self) -> str:
        """What becomes of long documents; a classifier reads one row, so it can only cut."""
        return "truncate" if self.kind == "classifier" else self.long

    def records(self, model: LoadedModel, documents: Sequence[Document]) -> TokenRecords:
        """The documents as records of this model's tokens."""
        cut = Cut(context=model.context, unit=self.privacy.unit, long=self.cut_long)
        if self.kind == "classifier":
            return labelled_records(documents, model.tokenizer, cut, model.classes)
        return language_records(documents, model.tokenizer, cut)

    def public(self, model: LoadedModel, plan: Plan) -> dict[str, Any]:
        """What the run folder may show, and what must be the same on resuming."""
        return {
            "model": self.model,
            "kind": self.kind,
            "classes": list(self.classes),
            "long": self.cut_long,
            "lora_rank": self.lora_rank,
            "tokenizer": model.tokenizer.name,
            "vocabulary": _digest(model.tokenizer),
            "model_settings": {key: str(value) for key, value in self.settings.items()},
            "epsilon": _written(self.privacy.epsilon),
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "course": dict(self.course.as_dict()),
            "reproducible": self.seed is not None,
        }


@dataclass(frozen=True)
class Trained:
    """What came of a request."""

    folder: RunFolder
    model: LoadedModel
    plan: Plan
    guarantee: Guarantee
    already_finished: bool = False


Announce = Callable[[Plan, TokenRecords], Any]


def train(
    request: Request,
    documents: Sequence[Document],
    folder: RunFolder,
    *,
    resume: bool = False,
    announce: Announce | None = None,
) -> Trained:
    """Train as requested and leave a run folder behind.

    ``announce`` is told plan and records before the first step, and may return a function that is
    told about every step.
    """
    from sfumato.training.loop import fit

    folder.refuse(resume=resume)
    randomness = request.randomness()
    model = request.load(randomness)
    records = request.records(model, documents)
    plan = request.privacy.plan(len(records))
    promised = plan.guarantee()
    folder.begin(request.public(model, plan), resume=resume)
    if folder.finished:
        trained = load_model(str(folder.model), randomness=randomness, kind=request.kind)
        return Trained(folder, trained, plan, _stamped(promised, randomness), True)
    watch = announce(plan, records) if announce else None
    guarantee = fit(
        model,
        records,
        plan,
        request.course,
        randomness=randomness.stream(TRAINING),
        folder=folder,
        watch=watch,
    )
    if not folder.model.is_dir():
        save_model(model, folder.model)
    folder.add_results(_spent(plan))
    # From here on the run counts as finished.
    folder.write_guarantee(
        guarantee, {"plan": plan.as_dict(), "epsilon_planned": _written(request.privacy.epsilon)}
    )
    folder.clear()
    return Trained(folder, model, plan, guarantee)


def _spent(plan: Plan) -> list[dict[str, Any]]:
    """The cost of a run as rows; nothing in them depends on the text."""
    values: dict[str, float | str] = {"steps": plan.steps, "epsilon": _written(plan.epsilon())}
    if plan.private:
        values["delta"] = plan.delta
    return [
        {"metric": metric, "value": value, "low": None, "high": None, "n": plan.units}
        for metric, value in values.items()
    ]


def _stamped(guarantee: Guarantee, randomness: Randomness) -> Guarantee:
    return guarantee if randomness.for_release else guarantee.reproducible()


def _written(level: float) -> float | str:
    return "inf" if math.isinf(level) else level


def _digest(tokenizer: Tokenizer) -> str:
    """Tells vocabularies apart: the same numbers of other tokens would be another text."""
    vocabulary = sorted(tokenizer.backend.get_vocab().items())
    return sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]
