"""A whole training run from what a user asked for: corpus, model, plan, folder.

``train_model`` makes records and a plan, trains the model, and writes a run folder. Called again
with the same request, it resumes a run that was killed.

Care
    Everything in the folder is public: settings, versions, the plan with the number of units, a
    digest of the vocabulary (which is public), and the time at which the corpus was last changed,
    so that a run is not resumed on another corpus. For a method that is not part of sfumato, the
    folder also has the names of its classes and a slow, salted digest of their code. There is no
    digest of the corpus: with one, whoever finds the folder could test guesses about the text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.accounting.budget.payment import Payment
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.models.adapters import Adapters
from sfumato.models.devices import require_device
from sfumato.models.kinds import KINDS
from sfumato.models.load import LoadedModel, load_model, mark_separator, save_model
from sfumato.models.lora import Lora
from sfumato.models.pooling import SAID, check_pooling
from sfumato.models.precision import set_precision
from sfumato.models.private_tokenizer import PrivateTokenizer
from sfumato.models.recomputing import recompute
from sfumato.models.tokenizer import Tokenizer, load_tokenizer
from sfumato.models.trainable import ALL, LORA, Trainable
from sfumato.statistics.class_tree import ClassTree
from sfumato.text.document import Document
from sfumato.training.cost import with_cost
from sfumato.training.folder import RunFolder
from sfumato.training.groups import check_groups, levels_by_group
from sfumato.training.methods.base import (
    ADAPTER,
    ANNOUNCED_TO,
    INITIAL,
    VOCABULARY,
    Announce,
    Material,
    Prepared,
    Task,
    TokenMaterial,
    TrainingMethod,
    method_code,
    private_places,
    refuse_a_borrowed_name,
)
from sfumato.training.methods.forms_plan import FormsPlan
from sfumato.training.methods.private import Private
from sfumato.training.methods.promise import PolicyPromise
from sfumato.training.objectives import (
    ObjectiveName,
    choose_objective,
    mark_objective,
    new_tokenizer,
)
from sfumato.training.payment import Bill
from sfumato.training.plan import Plan, TrainingPlan
from sfumato.training.processes.likeness import refuse_other_work, share_weights
from sfumato.training.processes.meetings import failing_together, led
from sfumato.training.processes.team import Team, current_team, leads
from sfumato.training.records import LONG
from sfumato.training.run import Run
from sfumato.training.settings import BALANCED, Course, Privacy
from sfumato.training.vocabulary import (
    PrivateVocabulary,
    learn_vocabulary,
    parts_of,
    promise_together,
)


@dataclass(frozen=True, kw_only=True)
class Request:
    """Model and training; ``tokenizer`` is public or a release, an object or the folder of one.

    ``vocabulary`` is a private tokenizer that is learned first, from the training text.

    ``kind`` is that of the model (``models.kinds``), and ``objective`` what it has to predict, by
    default what is usual for the kind. ``classes`` are those that a classifier tells apart, or the
    types that a tagger finds; with a ``class_separator`` they are paths in a public tree.

    ``control_codes`` are the labels whose codes the documents begin with, if they do
    (``control_codes.py``).

    ``corpus`` says how the corpus is read and when it was last changed; nothing about its text.
    """

    model: str
    privacy: Privacy
    method: TrainingMethod = field(default_factory=Private)
    protection: PolicyPromise | None = None
    course: Course = field(default_factory=Course)
    kind: str = "causal"
    classes: tuple[str, ...] = ()
    class_separator: str = ""
    control_codes: tuple[str, ...] = ()
    objective: str | None = None
    long: str = "split"
    lora_rank: int | None = None
    trainable: str | None = None
    pooling: str | None = None
    tokenizer: str | Tokenizer | PrivateTokenizer | None = None
    vocabulary: PrivateVocabulary | None = None
    settings: dict[str, object] = field(default_factory=dict)
    corpus: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        one_of("kind", self.kind, KINDS)
        self.chosen_objective  # noqa: B018  # an error if it does not fit the kind
        one_of("long", self.long, LONG)
        if self.lora_rank is not None:
            at_least("lora_rank", self.lora_rank, 1)
        self.trained  # noqa: B018  # an error if it is wrong
        check_pooling(self.pooling, self.kind)
        self._check_classes()
        check_groups(self)
        refuse_a_borrowed_name(self.method)
        self.method.check(self)
        if self.vocabulary is not None:
            self.vocabulary.check(self)

    @property
    def chosen_objective(self) -> ObjectiveName | None:
        """What a language model has to predict."""
        return choose_objective(self.objective, self.kind)

    @property
    def trained(self) -> Trainable:
        """Which weights are trained."""
        return Trainable.choose(self.trainable, self.lora_rank)

    def _check_classes(self) -> None:
        if self.class_separator:
            if self.kind != "classifier":
                raise InvalidArgument("`class_separator=...` is for classifiers; leave it out")
            ClassTree(self.classes, self.class_separator)  # an error if they are no paths
        weights = self.course.class_weights
        if not weights:
            return
        if self.kind != "classifier":
            raise InvalidArgument("`class_weights=...` is for classifiers; leave it out")
        if weights == BALANCED and self.method.adds_noise:
            raise InvalidArgument(
                "`class_weights='balanced'` counts the labels, which are private: every weight "
                "would show how many records of its class there are, and nothing is charged for "
                f"it. Give the method {self.method.name} numbers that do not come from these "
                "labels, one for each class, such as `class_weights=(1, 3)`"
            )
        if weights != BALANCED and len(weights) != len(self.classes):
            raise InvalidArgument(
                f"`class_weights=...` has {len(weights)} numbers for {len(self.classes)} classes; "
                "give one for each, in the order of `classes=...`"
            )

    def randomness(self) -> Randomness:
        """Secure, unless a seed was given."""
        return Randomness.secure() if self.seed is None else Randomness.reproducible(self.seed)

    def load(self, randomness: Randomness) -> LoadedModel:
        """The model before training: what is not trained is frozen, or has factors beside it."""
        model = load_model(
            self.model,
            randomness=randomness.stream(INITIAL),
            kind=self.kind,
            classes=self.classes,
            tokenizer=self._tokenizer(),
            settings=self.settings,
            pooling=self.pooling,
        )
        model = mark_objective(model, self.chosen_objective)
        if self.class_separator:
            model = mark_separator(model, self.class_separator)
        rank = self.trained.rank(self.lora_rank)
        if self.trained.size:
            small = Adapters(size=self.trained.size)
            small.attach(model.network, randomness.stream(ADAPTER), model.new)
            return self._in_little_memory(model)
        if rank is None:
            fixed = self.trained.freeze(model.network, model.new)
            return self._in_little_memory(replace(model, fixed=fixed))
        adapter = Lora(rank=rank)
        adapted: Any = adapter.attach(model.network, randomness.stream(ADAPTER), model.new)
        return self._in_little_memory(replace(model, network=adapted))

    def _in_little_memory(self, model: LoadedModel) -> LoadedModel:
        """The model, set to save memory if that is asked for: once it is known what is frozen."""
        require_device(self.course.device)
        recompute(model.network, self.course.recompute)
        set_precision(model.network, self.course.precision)
        return model

    def _tokenizer(self) -> Tokenizer | None:
        given = self.tokenizer
        if isinstance(given, str):
            given = load_tokenizer(Path(given))
        if isinstance(given, PrivateTokenizer):
            # Whoever made it may have put them together by hand.
            given = replace(given.tokenizer, guarantee=given.guarantee)
        return new_tokenizer(self.model, given, self.chosen_objective)

    @property
    def cut_long(self) -> str:
        """How long documents are treated; a classifier reads one row, so it always truncates."""
        return "truncate" if self.kind == "classifier" else self.long

    def task(self, model: LoadedModel, documents: Sequence[Document]) -> Task:
        """The input of the method."""
        return Task(
            documents=documents,
            model=model,
            privacy=self.privacy,
            course=self.course,
            kind=self.kind,
            long=self.cut_long,
            protection=self.protection,
            objective=self.chosen_objective,
        )

    def promised(self, guarantee: Guarantee, tokenizer: Tokenizer) -> Guarantee:
        """The guarantee of a plan, restated for the method, its policy and the tokenizer."""
        stated = self.method.promise(guarantee, self.protection)
        own = tokenizer.guarantee
        if own is None:
            return stated
        named = stated.not_covering(
            "the text that the tokenizer was learned from, for which it has a guarantee of its "
            f"own (ε ≤ {at_most(own.epsilon, 4)}, δ ≤ {at_most(own.delta, 3)}); if it is this "
            "text, the levels add up"
        )
        # The model holds the tokenizer: what undoes the noise of one undoes it in both.
        return named if own.for_release else named.reproducible()

    def public(self, model: LoadedModel, plan: TrainingPlan) -> dict[str, Any]:
        """The public settings for the run folder; they must be the same on resuming."""
        return {
            "model": self.model,
            "kind": self.kind,
            "classes": list(self.classes),
            **({"class_separator": model.separator} if model.separator else {}),
            # Older runs predict every token, and say nothing about it.
            **({"objective": model.objective} if model.objective else {}),
            **({"control_codes": list(self.control_codes)} if self.control_codes else {}),
            "long": self.cut_long,
            "lora_rank": self.trained.rank(self.lora_rank),
            **({} if self.trained.part in (ALL, LORA) else {"trainable": str(self.trained)}),
            # What the head reads may come from the encoder's folder: it is named as it was found.
            **({"pooling": model.pooling} if model.pooling else {}),
            "tokenizer": model.tokenizer.name,
            "vocabulary": _digest(model.tokenizer),
            "model_settings": {key: _as_text(value) for key, value in self.settings.items()},
            "epsilon": write_number(self.privacy.epsilon),
            "corpus": self.corpus,
            "plan": plan.as_dict(),
            "course": dict(self.course.as_dict()),
            # A run cannot be resumed with another seed; results with a seed are not for release
            # anyway.
            "seed": self.seed,
            **({"record": self.privacy.record} if self.privacy.record else {}),
            "method": self.method.name,
            "policy": None if self.protection is None else self.protection.policy.name,
        } | self.method.as_dict(self.privacy, self.course)


def train_model(
    request: Request,
    documents: Sequence[Document],
    folder: RunFolder,
    *,
    resume: bool = False,
    announce: Announce | None = None,
    payment: Payment | None = None,
) -> Run:
    """Train as requested and write a run folder.

    ``announce`` is called with plan and material before the first step, and may return a function
    that is called after every step. With a ``payment`` all of it is paid before any noise is drawn.
    """
    team = current_team()
    with failing_together(team):
        if not leads(team):
            return _assist(team, request, documents, folder)
        return _lead(team, request, documents, folder, (resume, announce, payment))


def _lead(
    team: Team,
    request: Request,
    documents: Sequence[Document],
    folder: RunFolder,
    how: tuple[bool, Announce | None, Payment | None],
) -> Run:
    """The work of the process that has the folder, and speaks; of the only one, mostly."""
    resume, announce, payment = how
    announce = announce or ANNOUNCED_TO.get()
    folder.refuse(resume=resume)
    code = _same_code(request.method, folder)
    randomness = request.randomness()
    bill = None if payment is None else Bill.opened(payment, request, documents, folder)
    if bill is not None:
        bill.pay_first()
    request, learned, asked = _with_vocabulary(request, documents, folder, randomness)
    led(team, lambda: (learned, request.privacy))
    model, prepared = _prepared(team, request, documents, randomness)
    plan = prepared.plan
    # A tokenizer that was learned for this run is charged, and not named beside.
    counted = model.tokenizer if learned is None else replace(model.tokenizer, guarantee=None)
    promised = _together(request.promised(plan.guarantee(), counted), plan, learned)
    settings = request.public(model, plan) | asked | code | private_places(prepared.material)
    if bill is not None:
        settings |= bill.pay(plan, promised)
    # A tokenizer that was drawn just now stands there already.
    folder.begin(settings, resume=resume or learned is not None)
    if led(team, lambda: folder.finished):
        if bill is not None:
            bill.settle()  # in case it was killed just before
        trained = load_model(str(folder.model), randomness=randomness, kind=request.kind)
        stated = _stamp(promised, randomness)
        return Run(folder, stated, plan, already_finished=True, loaded=trained)
    watch = None
    if announce:
        watch = announce(plan, _described(model, plan, prepared.material, request.course))
    proven = prepared.fit(randomness, folder, watch)
    guarantee = _together(request.promised(proven, counted), plan, learned)
    if not folder.model.is_dir():
        save_model(model, folder.model)
    folder.add_results(_compute_spending(plan, guarantee if learned else None))
    beside = plan.as_in_the_paper()
    by_group = levels_by_group(plan, request.course.group_weights) if learned is None else {}
    # From here on the run counts as finished.
    folder.write_guarantee(
        guarantee,
        {"plan": plan.as_dict(), "epsilon_planned": write_number(request.privacy.epsilon)}
        | ({"as_in_the_paper": beside} if beside else {})
        | ({"epsilon_by_group": by_group} if by_group else {})
        | _parts(guarantee, plan, learned),
    )
    folder.clear()
    if bill is not None:
        bill.settle()
    return Run(folder, guarantee, plan, loaded=model)


def _assist(team: Team, request: Request, documents: Sequence[Document], folder: RunFolder) -> Run:
    """The work of any other process of a team: the same steps, and nothing on the disk."""
    randomness = request.randomness()
    learned, left = led(team, _told_by_the_leader)
    if learned is not None:
        request = replace(request, tokenizer=learned.tokenizer, vocabulary=None, privacy=left)
    model, prepared = _prepared(team, request, documents, randomness)
    plan = prepared.plan
    counted = model.tokenizer if learned is None else replace(model.tokenizer, guarantee=None)
    if led(team, _told_by_the_leader):
        stated = _together(request.promised(plan.guarantee(), counted), plan, learned)
        return Run(folder, _stamp(stated, randomness), plan, already_finished=True)
    proven = prepared.fit(randomness, None, None)  # type: ignore[arg-type]  # as ``in_teams`` says
    guarantee = _together(request.promised(proven, counted), plan, learned)
    return Run(folder, guarantee, plan, loaded=model)


def _told_by_the_leader() -> Any:
    raise AssertionError("it is not this process that leads")


def _prepared(
    team: Team, request: Request, documents: Sequence[Document], randomness: Randomness
) -> tuple[LoadedModel, Prepared]:
    """The model before training, and what the method makes of the documents; alike in a team."""
    model = request.load(randomness)
    share_weights(team, model.network)
    prepared = request.method.prepare(request.task(model, documents))
    if team.size > 1 and not prepared.in_teams:
        raise InvalidArgument(
            f"the method {request.method.name} has a loop of its own, which is for one process; "
            "start it in one, or let it train by `prepare_steps`"
        )
    settings = request.public(model, prepared.plan) | private_places(prepared.material)
    refuse_other_work(team, documents, settings | {"corpus": None})
    return model, prepared


def _with_vocabulary(
    request: Request, documents: Sequence[Document], folder: RunFolder, randomness: Randomness
) -> tuple[Request, PrivateTokenizer | None, dict[str, Any]]:
    """The request with its private tokenizer, if it asks for one, and settings that say so."""
    wanted = request.vocabulary
    if wanted is None:
        if folder.tokenizer.is_dir():
            raise CannotResume(
                f"{folder.path} holds a run with a private tokenizer; resume with the same "
                "`tokenizer_epsilon=...`, or choose another folder"
            )
        return request, None, {}
    learned, left = learn_vocabulary(
        wanted, documents, request.privacy, folder, randomness.stream(VOCABULARY), request.corpus
    )
    ready = replace(request, tokenizer=learned.tokenizer, vocabulary=None, privacy=left)
    return (
        ready,
        learned,
        {"tokenizer_release": wanted.as_dict() | {"noise": learned.noise.as_dict()}},
    )


def _together(
    guarantee: Guarantee, plan: TrainingPlan, learned: PrivateTokenizer | None
) -> Guarantee:
    if learned is None:
        return guarantee
    return promise_together(guarantee, _dp_sgd(plan), learned)


def _parts(
    guarantee: Guarantee, plan: TrainingPlan, learned: PrivateTokenizer | None
) -> dict[str, Any]:
    if isinstance(plan, FormsPlan):
        return {"parts": plan.parts()}
    return {} if learned is None else {"parts": parts_of(guarantee, _dp_sgd(plan), learned)}


def _dp_sgd(plan: TrainingPlan) -> Plan:
    if type(plan) is not Plan:
        raise InvalidArgument("only the releases of DP-SGD are composed with a tokenizer's")
    return plan


def _described(
    model: LoadedModel, plan: TrainingPlan, material: Material, course: Course
) -> Material:
    """The material, whose summary also says what the head reads and what training will cost."""
    costed = with_cost(model, plan, material, course)
    if not model.pooling or not isinstance(costed, TokenMaterial):
        return costed
    return replace(costed, reads=SAID[model.pooling])


def _same_code(method: TrainingMethod, folder: RunFolder) -> dict[str, Any]:
    """The digest of the method's code for a run's settings; other code cannot resume the run."""
    begun = folder.settings() if folder.config.is_file() else {}
    if begun.get("method", method.name) != method.name:
        return method_code(method)  # refused later, because of its name
    kept = begun.get("method_code")
    try:
        asked = method_code(method, kept["salt"] if isinstance(kept, dict) else None)
    except (KeyError, ValueError, TypeError):
        asked = method_code(method)  # a damaged record counts as missing
    told = asked.get("method_code")
    if told is None or not begun:
        return asked
    if told["digest"] is None:
        raise CannotResume(
            f"the source of the method {method.name} cannot be read, so it cannot be checked "
            f"that it is the one that began the run in {folder.path}; choose another folder, and "
            "keep the class in a file to be able to resume"
        )
    if told != kept:
        raise CannotResume(
            f"{folder.path} holds a run with another code of the method {method.name} "
            f"({', '.join(told['classes'])}); resume with the code that began it, or choose "
            "another folder"
        )
    return asked


def _compute_spending(plan: TrainingPlan, whole: Guarantee | None) -> list[dict[str, Any]]:
    """The cost of a run as result rows; nothing in them depends on the text.

    ``whole`` is what is proven of more than the plan, if there is more.
    """
    level = plan.epsilon() if whole is None else whole.epsilon
    values: dict[str, float | str] = {"steps": plan.steps, "epsilon": write_number(level)}
    if plan.private:
        values["delta"] = plan.delta if whole is None else whole.delta
    return [
        {"metric": metric, "value": value, "low": None, "high": None, "n": plan.units}
        for metric, value in values.items()
    ]


def _as_text(value: object) -> str:
    """A setting of a model as on a command line, from which it can be read again."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _stamp(guarantee: Guarantee, randomness: Randomness) -> Guarantee:
    return guarantee if randomness.for_release else guarantee.reproducible()


def _digest(tokenizer: Tokenizer) -> str:
    """Identifies a vocabulary: with another one, the same token numbers mean another text."""
    vocabulary = sorted(tokenizer.backend.get_vocab().items())
    return sha256(json.dumps(vocabulary).encode()).hexdigest()[:16]
