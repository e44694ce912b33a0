"""A whole training run, from what a user asked for to a finished folder.

``train_model`` makes records and a plan, trains the model, and writes a run folder. Called again
with the same request, it resumes a run that was killed.

Care
    Everything in the folder is public: what ``Request.public`` says, versions, and for a method
    that is not part of sfumato the names of its classes and a slow, salted digest of their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sfumato.accounting.budget.payment import Payment
from sfumato.core.errors import CannotResume, InvalidArgument
from sfumato.core.json import write_number
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.load import LoadedModel, load_model, save_model
from sfumato.models.pooling import SAID
from sfumato.models.private_tokenizer import PrivateTokenizer
from sfumato.text.document import Document
from sfumato.training.cost import with_cost
from sfumato.training.folder import RunFolder
from sfumato.training.groups import levels_by_group
from sfumato.training.methods.base import (
    ANNOUNCED_TO,
    VOCABULARY,
    Announce,
    Material,
    Prepared,
    TokenMaterial,
    TrainingMethod,
    method_code,
    private_places,
)
from sfumato.training.methods.forms_plan import FormsPlan
from sfumato.training.payment import Bill
from sfumato.training.plan import Plan, TrainingPlan
from sfumato.training.processes.likeness import refuse_other_work, share_weights
from sfumato.training.processes.meetings import failing_together, led
from sfumato.training.processes.team import Team, current_team, leads
from sfumato.training.request import Request
from sfumato.training.run import Run
from sfumato.training.settings import Course
from sfumato.training.vocabulary import (
    learn_vocabulary,
    parts_of,
    promise_together,
)


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


def _stamp(guarantee: Guarantee, randomness: Randomness) -> Guarantee:
    return guarantee if randomness.for_release else guarantee.reproducible()
