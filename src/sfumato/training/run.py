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
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import KINDS, LoadedModel, load_model
from sfumato.models.lora import Lora
from sfumato.models.save import save_model
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.text.document import Document
from sfumato.training.course import Course
from sfumato.training.folder import RunFolder
from sfumato.training.methods import WITHOUT_NOISE, Material, Method, private_places
from sfumato.training.plan import Plan
from sfumato.training.privacy import Privacy
from sfumato.training.records import LONG, Cut, make_labeled_records
from sfumato.training.selective.interleaved_plan import InterleavedPlan, Interleaving
from sfumato.training.selective.stretch_records import StretchRecords

if TYPE_CHECKING:
    from sfumato.training.loop import WatchSteps
    from sfumato.training.selective.public_steps import PublicSteps


AnyPlan = Plan | InterleavedPlan

# Independent streams of one source; the loop has its own below TRAINING.
INITIAL, ADAPTER, TRAINING, PUBLIC = range(4)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Model and training; ``tokenizer`` is a public one, or a folder that holds one.

    ``corpus`` says how the corpus is read and when it was changed, nothing about its text.
    """

    model: str
    privacy: Privacy
    method: Method = field(default_factory=Method)
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
        if self.kind == "classifier" and self.method.policy is not None:
            raise InvalidArgument(
                f"the method {self.method.name} is for language models; a classifier predicts no "
                "token"
            )
        if self.method.name in WITHOUT_NOISE and self.privacy.epsilon != math.inf:
            raise InvalidArgument(
                f"the method {self.method.name} adds no noise and keeps no epsilon; leave it out"
            )
        if self.lora_rank is not None:
            at_least("lora_rank", self.lora_rank, 1)
        if self.method.interleaving is not None and (self.lora_rank or self.long != "split"):
            raise InvalidArgument(
                "the method interleaved reads whole documents with a recurrent model; leave "
                "lora_rank out, and long at 'split'"
            )

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

    def material(self, model: LoadedModel, documents: Sequence[Document]) -> Material:
        """The documents as records of this model's tokens."""
        cut = Cut(context=model.context, unit=self.privacy.unit, long=self.cut_long)
        if self.kind == "classifier":
            return Material(make_labeled_records(documents, model.tokenizer, cut, model.classes))
        return self.method.material(documents, model, cut)

    def public(self, model: LoadedModel, plan: AnyPlan) -> dict[str, Any]:
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
            "epsilon": write_number(self.privacy.epsilon),
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "course": dict(self.course.as_dict()),
            # With a seed nothing is for release anyway; going on with another would be no run.
            "seed": self.seed,
            **({"record": self.privacy.record} if self.privacy.record else {}),
        } | self.method.as_dict()


@dataclass(frozen=True)
class Trained:
    """What came of a request."""

    folder: RunFolder
    model: LoadedModel
    plan: AnyPlan
    guarantee: Guarantee
    already_finished: bool = False


# Told the plan and the material, which is what a method makes of it.
Announce = Callable[[AnyPlan, Any], Any]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan, what it is about, and how to carry it out."""

    plan: AnyPlan
    material: Material | StretchRecords
    fit: Callable[[Randomness, RunFolder, WatchSteps | None], Guarantee]


def train(
    request: Request,
    documents: Sequence[Document],
    folder: RunFolder,
    *,
    resume: bool = False,
    announce: Announce | None = None,
) -> Trained:
    """Train as requested and leave a run folder behind.

    ``announce`` is told plan and material before the first step, and may return a function that is
    told about every step.
    """
    folder.refuse(resume=resume)
    randomness = request.randomness()
    model = request.load(randomness)
    prepared = _prepare(request, model, documents)
    plan = prepared.plan
    promised = request.method.promised(plan.guarantee())
    settings = request.public(model, plan) | private_places(prepared.material)
    folder.begin(settings, resume=resume)
    if folder.finished:
        trained = load_model(str(folder.model), randomness=randomness, kind=request.kind)
        return Trained(folder, trained, plan, _stamp(promised, randomness), True)
    watch = announce(plan, prepared.material) if announce else None
    proven = prepared.fit(randomness, folder, watch)
    guarantee = request.method.promised(proven)
    if not folder.model.is_dir():
        save_model(model, folder.model)
    folder.add_results(_compute_spending(plan))
    # From here on the run counts as finished.
    folder.write_guarantee(
        guarantee,
        {"plan": plan.as_dict(), "epsilon_planned": write_number(request.privacy.epsilon)}
        | _beside(plan),
    )
    folder.clear()
    return Trained(folder, model, plan, guarantee)


def _prepare(request: Request, model: LoadedModel, documents: Sequence[Document]) -> Prepared:
    if request.method.interleaving is not None:
        return _prepare_in_turns(request, model, documents, request.method.interleaving)
    from sfumato.training.loop import fit

    material = request.material(model, documents)
    if material.public is not None:
        _refuse_a_single_unit(request, len(material.records))
        if request.method.public is not None:
            request.method.public.steps(len(material.public))  # refused before anything is begun
    plan = request.privacy.plan(len(material.records))

    def run(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
        return fit(
            model,
            material.records,
            plan,
            request.course,
            randomness=randomness.stream(TRAINING),
            folder=folder,
            watch=watch,
            between=_public_steps(request, model, material, randomness.stream(PUBLIC)),
        )

    return Prepared(plan, material, run)


def _prepare_in_turns(
    request: Request, model: LoadedModel, documents: Sequence[Document], how: Interleaving
) -> Prepared:
    from sfumato.training.selective.interleaved import fit_interleaved

    records = request.method.turns(documents, model)
    _refuse_a_single_unit(request, int((records.private > 0).sum()))
    plan = InterleavedPlan.of(records, request.privacy, how)

    def run(randomness: Randomness, folder: RunFolder, watch: WatchSteps | None) -> Guarantee:
        return fit_interleaved(
            model,
            records,
            plan,
            request.course,
            randomness=randomness.stream(TRAINING),
            folder=folder,
            watch=watch,
        )

    return Prepared(plan, records, run)


def _refuse_a_single_unit(request: Request, units: int) -> None:
    policy, unit = request.method.policy, request.privacy.unit
    if policy is not None and units < 2:
        raise BadInput(
            f"the policy {policy.name} finds something in one {unit} only; noise hides one among "
            "others, so two are needed at least. The method redacted trains without what is found"
        )


def _public_steps(
    request: Request, model: LoadedModel, material: Material, randomness: Randomness
) -> PublicSteps | None:
    from sfumato.training.selective.public_steps import PublicSteps

    public = request.method.public
    if public is None or material.public is None:
        return None
    return PublicSteps(model, material.public, public, request.course, randomness)


def _beside(plan: AnyPlan) -> dict[str, Any]:
    """Where a paper states another level for the same noise: that level, marked as such."""
    if not isinstance(plan, InterleavedPlan):
        return {}
    return {"as_in_the_paper": plan.as_in_the_paper()}


def _compute_spending(plan: AnyPlan) -> list[dict[str, Any]]:
    """The cost of a run as rows; nothing in them depends on the text."""
    values: dict[str, float | str] = {"steps": plan.steps, "epsilon": write_number(plan.epsilon())}
    if plan.private:
        values["delta"] = plan.delta
    return [
        {"metric": metric, "value": value, "low": None, "high": None, "n": plan.units}
        for metric, value in values.items()
    ]


def _stamp(guarantee: Guarantee, randomness: Randomness) -> Guarantee:
    return guarantee if randomness.for_release else guarantee.reproducible()


def _digest(tokenizer: Tokenizer) -> str:
    """Tells vocabularies apart: the same numbers of other tokens would be another text."""
    vocabulary = sorted(tokenizer.backend.get_vocab().items())
    return sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]
