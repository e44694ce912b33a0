"""The base of training methods: settings, and how documents become a plan and a trained model.

A method declares what it needs and does (``needs_policy``, ``adds_noise``, ``kinds``), refuses
requests that it cannot fulfill, prepares the training, and states its guarantee. No code outside a
method's own file refers to it by name.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.catalog import entries, find
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.keys import fresh_salt, salted_digest
from sfumato.core.own_code import code_of, own_classes
from sfumato.core.randomness import Randomness
from sfumato.core.settings import configure, shown_settings
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.precision import FULL
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.methods.promise import PolicyPromise

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel
    from sfumato.training.clipping.release import GradientRelease
    from sfumato.training.folder import RunFolder
    from sfumato.training.loop import Between, Instead, WatchSteps
    from sfumato.training.objectives import ObjectiveName
    from sfumato.training.plan import Plan, TrainingPlan
    from sfumato.training.records import Cut, TokenRecords
    from sfumato.training.request import Request
    from sfumato.training.settings import Course, Privacy

# Independent streams of a run's randomness; the loop uses further streams below TRAINING.
INITIAL, ADAPTER, TRAINING, PUBLIC, VOCABULARY, FORMS = range(6)

Fit = Callable[[Randomness, "RunFolder", "WatchSteps | None"], Guarantee]


class Material(Protocol):
    """What a method trains on."""

    def lines(self) -> tuple[str, ...]:
        """A summary for the owner of the documents, in lines."""

    def public_bits(self) -> Sequence[NDArray[np.generic]]:
        """The public positions of private parts; empty without a policy."""


# Called with the plan and the material before the first step; may return a function that is called
# after every step.
Announce = Callable[["TrainingPlan", Any], "WatchSteps | None"]
ANNOUNCED_TO: ContextVar[Announce | None] = ContextVar("announced to", default=None)


@contextmanager
def announcing(announce: Announce) -> Iterator[None]:
    """Within this block, call ``announce`` for every training that begins."""
    token = ANNOUNCED_TO.set(announce)
    try:
        yield
    finally:
        ANNOUNCED_TO.reset(token)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A plan, the material it is for, and how to carry it out.

    ``fit`` takes the run's randomness, its folder, and a function that is called after every step.
    It trains the model, charges every step before its result is saved, and returns the plan's
    guarantee. ``in_teams`` says that it does so together with the other processes of a team; a
    process that does not lead has no folder then.
    """

    plan: TrainingPlan
    material: Material
    fit: Fit
    in_teams: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """The input of a method. The model is trained in place."""

    documents: Sequence[Document]
    model: LoadedModel
    privacy: Privacy
    course: Course
    kind: str = "causal"
    long: str = "split"
    protection: PolicyPromise | None = None
    objective: ObjectiveName | None = None

    @property
    def policy(self) -> Policy:
        """The policy that finds the private parts; only for methods that need one."""
        if self.protection is None:
            raise InvalidArgument("there is no policy; a method that uses one sets needs_policy")
        return self.protection.policy

    @property
    def cut(self) -> Cut:
        """How documents are cut into rows of the model's context."""
        from sfumato.training.records import Cut

        return Cut(context=self.model.context, unit=self.privacy.unit, long=self.long)

    def records(self) -> TokenRecords:
        """All documents as records, with their labels for a classifier or a tagger."""
        from sfumato.training.groups import weigh_groups

        return weigh_groups(self._records(), self.documents, self.course.group_weights)

    def _records(self) -> TokenRecords:
        from sfumato.training.objectives import make_objective
        from sfumato.training.records import (
            make_labeled_records,
            make_language_records,
            make_objective_records,
            make_tagged_records,
            weigh_classes,
        )

        tokenizer = self.model.tokenizer
        if self.kind == "classifier":
            classes = self.model.classes
            made = make_labeled_records(self.documents, tokenizer, self.cut, classes)
            if self.model.tree is not None:
                made = replace(made, levels=self.model.tree.levels)
            return weigh_classes(made, len(classes), self.course.class_weights)
        if self.kind == "tagger":
            return make_tagged_records(self.documents, tokenizer, self.cut, self.model.tags)
        objective = make_objective(self.model, self.objective)
        if objective is not None:
            return make_objective_records(self.documents, tokenizer, self.cut, objective)
        return make_language_records(self.documents, tokenizer, self.cut)


@dataclass(frozen=True)
class TrainingMethod(ABC):
    """A method of training; the fields of a subclass are its settings.

    ``kinds`` are the kinds of models that it can train (``models.kinds``); one that makes its own
    records, and not by ``Task.records``, takes causal ones alone, and predicts every token of
    them. A method without noise has no level.
    ``adds_up`` says that its plan is a ``Plan`` whose guarantee is for units that are there or not,
    as the steps of DP-SGD have it, so that other releases about the same units can be charged
    together with it. ``weighs_groups`` says that its steps multiply what a record adds by its share
    (``groups``), and that all noise is added to their sum. ``saves_memory`` says that its steps
    look at nothing but norms and sums, so that settings which save memory apply
    (``settings.Course``); ``rounds_products`` that of these at least the precision does.
    """

    name: ClassVar[str]
    saves_memory: ClassVar[bool] = False
    rounds_products: ClassVar[bool] = False
    needs_policy: ClassVar[bool] = False
    adds_noise: ClassVar[bool] = True
    adds_up: ClassVar[bool] = False
    weighs_groups: ClassVar[bool] = False
    kinds: ClassVar[tuple[str, ...]] = ("causal", "classifier", "masked", "seq2seq", "tagger")

    @property
    def needs_level(self) -> bool:
        """Whether a level must be given, which decides the noise."""
        return self.adds_noise

    @abstractmethod
    def prepare(self, task: Task) -> Prepared:
        """Plan, material and how to train; errors are raised here, before training."""

    def check(self, request: Request) -> None:
        """Refuse what this method cannot do, before anything is read."""
        if (request.protection is not None) != self.needs_policy:
            needed = "needs a policy" if self.needs_policy else "has no use for a policy"
            raise InvalidArgument(f"the method {self.name} {needed}")
        if request.kind not in self.kinds:
            labels = request.kind in ("classifier", "tagger")
            other = "predicts no token" if labels else "reads otherwise"
            raise InvalidArgument(
                f"the method {self.name} is for language models that read from left to right; a "
                f"model of kind {request.kind} {other}"
            )
        asked = request.chosen_objective
        if self.kinds == ("causal",) and asked is not None and asked.name != "causal":
            raise InvalidArgument(
                f"the method {self.name} predicts every token after those before it; leave out "
                f"`objective={str(asked)!r}`, or take the method private or plain"
            )
        self._check_course(request.course)
        if not self.adds_noise and request.privacy.epsilon != np.inf:
            raise InvalidArgument(
                f"the method {self.name} adds no noise and keeps no epsilon; leave it out"
            )

    def _check_course(self, course: Course) -> None:
        """Refuse settings that save memory where steps compute more than they are right for."""
        if self.saves_memory or course.is_usual:
            return
        if not self.rounds_products:
            raise InvalidArgument(
                f"`recompute=...`, `precision=...` and `device=...` are for methods that look at "
                f"norms and sums of gradients alone; {self.name} computes more than that in full "
                "precision. Leave them out, or take the method private"
            )
        if not replace(course, precision=FULL).is_usual:
            raise InvalidArgument(
                f"`recompute=...` and `device=...` are not for the method {self.name}, which takes "
                "steps of two kinds on one model; leave them out, or take the method private"
            )

    def promise(self, guarantee: Guarantee, protection: PolicyPromise | None) -> Guarantee:
        """The guarantee of the plan, restated for this method."""
        return guarantee if protection is None else protection.selective(guarantee)

    def as_dict(self, privacy: Privacy, course: Course) -> dict[str, object]:  # noqa: ARG002
        """For a run's settings, which are public: what must be the same on resuming.

        A field with ``repr=False`` is left out, so it is not compared on resuming.
        """
        return {"method_settings": shown_settings(self)}


def build_method(
    method: str | TrainingMethod, settings: Mapping[str, object] | None = None
) -> TrainingMethod:
    """A method by its name, with its own settings (text or values), or the given object."""
    if isinstance(method, str):
        built: TrainingMethod = configure(find("methods", method).load(), settings or {})
        refuse_a_borrowed_name(built)
        return built
    if settings:
        raise InvalidArgument(
            f"{', '.join(settings)} cannot be set on a method object; create the object with "
            "these settings"
        )
    refuse_a_borrowed_name(method)
    return method


def refuse_a_borrowed_name(method: TrainingMethod) -> None:
    """Refuse a user's class that has the name of a method of the catalog."""
    kind = type(method)
    known = entries("methods").get(method.name)
    if known is not None and code_of(kind) != () and known.load() is not kind:
        raise InvalidArgument(
            f"{method.name!r} is the name of another method; give the class {kind.__name__} a "
            "`name` of its own"
        )


def method_code(method: TrainingMethod, salt: str | None = None) -> dict[str, Any]:
    """Identifies the code of a user's method in a run's settings; empty for a built-in method.

    Name and settings are not enough: if a run were resumed with other code, its guarantee might not
    hold. So this lists the classes of the method, with a digest of the files that define them. Code
    may contain private data, and a run's folder is published, so the digest is slow and salted. It
    is None if the source cannot be read.
    """
    code = code_of(type(method))
    if code == ():
        return {}
    salt = salt or fresh_salt()
    digest = None if code is None else salted_digest(json.dumps(code), salt)
    classes = own_classes(type(method))
    return {"method_code": {"classes": classes, "salt": salt, "digest": digest}}


@dataclass(frozen=True, eq=False)
class TokenMaterial:
    """The records of the private steps, and those of the public ones.

    ``selected`` is the share of private tokens, shown to the owner of the documents only; ``cost``
    says what training on them will take, and ``reads`` what a classifier's head reads of each.
    """

    records: TokenRecords
    public: TokenRecords | None = None
    selected: float | None = None
    cost: str = ""
    reads: str = ""

    def lines(self) -> tuple[str, ...]:
        """A summary for the owner of the documents, in lines."""
        if self.public is None or self.selected is None:
            return tuple(filter(None, (self.records.counts.summary(), self.reads, self.cost)))
        return (
            f"public stream: {self.public.counts.summary()}",
            f"private stream: {self.records.counts.summary()}",
            f"{self.selected:.1%} of all tokens are private",
        )

    def public_bits(self) -> Sequence[NDArray[np.generic]]:
        """The positions of masks in the public text."""
        masked = self.records if self.public is None else self.public
        if masked.wanted is None:
            return ()
        return masked.first, masked.lengths, masked.wanted.astype(np.int64)


def prepare_steps(
    task: Task,
    material: TokenMaterial,
    between: Callable[[Randomness], Between] | None = None,
    *,
    plan: Plan | None = None,
    instead: Instead | None = None,
    release: GradientRelease | None = None,
) -> Prepared:
    """Prepare steps on records by a plan, by default that of DP-SGD.

    ``between`` makes the public training between the steps; ``instead`` has the weights that are
    updated, if other ones stand for them in a step. ``release`` is what a step releases, if that is
    not the plan's own but costs the same.
    """
    plan = plan or task.privacy.plan(len(material.records))

    def fit(
        randomness: Randomness, folder: RunFolder | None, watch: WatchSteps | None
    ) -> Guarantee:
        from sfumato.training import loop
        from sfumato.training.processes.team import current_team, shared_stream

        team = current_team()
        return loop.fit(
            task.model,
            material.records,
            plan,
            task.course,
            randomness=randomness.stream(TRAINING),
            folder=folder,
            watch=watch,
            between=None
            if between is None
            else between(shared_stream(team, randomness.stream(PUBLIC))),
            instead=instead,
            release=release,
        )

    return Prepared(plan, material, fit, in_teams=True)


def refuse_a_single_unit(task: Task, units: int) -> None:
    """Refuse a single unit: noise hides one unit among others."""
    if units < 2:
        raise BadInput(
            f"the policy {task.policy.name} finds something in one {task.privacy.unit} only; noise "
            "hides one among others, so two are needed at least. The method redacted trains "
            "without what is found"
        )


def private_places(material: Material) -> dict[str, str]:
    """Identifies what a policy finds, for a run's settings; empty without a policy.

    A policy's name is not enough, because it does not contain a pattern or a list of names. If a
    run were resumed with another one, text that it should protect would be treated as public. So
    this is a digest of the policy's bits, which are public: of the positions of masks in the public
    text, or of the amount of public text before each private stretch, and of nothing private.
    """
    bits = material.public_bits()
    if not bits:
        return {}
    digest = sha256()
    for one in bits:
        digest.update(len(one).to_bytes(8, "big") + np.ascontiguousarray(one).tobytes())
    return {"private_places": digest.hexdigest()[:16]}
