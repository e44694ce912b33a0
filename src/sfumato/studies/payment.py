"""A study that a budget pays for.

Guarantee
    Every private text, every file of noisy vectors and every model with noise in a charged study is
    a release that its account has paid for before its noise was drawn, and finished ones are not
    charged again. A study whose releases do not all fit is refused before the first of them.

Why it holds
    Without a budget the cells of a study draw from its seeds, so nothing in it is for release. With
    one, the cells that are releases draw from the system instead, under keys of their own: a cell
    that was computed from a seed is never taken for one that was paid for. Each pays for itself
    when it begins: a training run as every training run does, and resumed without a second charge;
    a privatized text, and vectors, at each attempt, because each draws anew.

Care
    Anchors, models without noise and all figures are as private as the corpus, with a budget as
    without. Whoever chooses by figures what to release tells something that nobody paid for.
    What fits when the study begins may be spent by others meanwhile; then cells fail, and draw
    nothing.
"""

from __future__ import annotations

from sfumato.accounting.budget.charges import Claim
from sfumato.accounting.budget.shared import Budget
from sfumato.core.errors import InvalidArgument
from sfumato.core.json import read_object
from sfumato.core.randomness import Randomness
from sfumato.releases.payment import claim_on
from sfumato.studies.cell import CHARGED, RUN, VECTORS
from sfumato.studies.folder import DONE
from sfumato.studies.kinds.context import Context, texts
from sfumato.studies.kinds.target import has_a_level, privatizer, run_folder, run_request
from sfumato.studies.vectors import embedder_of
from sfumato.studies.worker import Work, compute_corpora


def require_all(work: Work) -> None:
    """Refuse a study whose releases do not all fit, before anything is drawn."""
    if work.payment is None:
        return
    if len(work.study.each) > 1:
        raise InvalidArgument(
            "an account speaks of one corpus, and this study has several; make a study of each"
        )
    compute_corpora(work)
    contexts = [
        work.context(cell)
        for cell in work.grid.distinct
        if cell.settings.get(CHARGED) and work.state(cell) != DONE
    ]
    due = [found for one in contexts if (found := _due(one)) is not None]
    with Budget.at(work.payment.budget, work.payment.key) as budget:
        budget.require(work.payment.account, due)


def _due(context: Context) -> tuple[Claim, str | None] | None:
    """What a cell will have to pay, and the key under which it has paid already, if it has."""
    if context.cell.kind == RUN:
        return _of_run(context)
    if context.cell.kind == VECTORS:
        made = embedder_of(context.study, context.cell.settings, None)
        return claim_on(texts(context).source, made.guarantee()), None
    stated = privatizer(context.study, context.cell).guarantee()
    return (claim_on(texts(context).source, stated), None) if has_a_level(stated) else None


def _of_run(context: Context) -> tuple[Claim, str | None] | None:
    from sfumato.training.payment import Bill

    if context.payment is None:
        return None
    request, folder = run_request(context), run_folder(context)
    documents = texts(context).documents(texts(context).train)
    # The plan may depend on what a tokenizer makes of the documents; nothing here draws noise.
    model = request.load(Randomness.secure())
    plan = request.method.prepare(request.task(model, documents)).plan
    bill = Bill.opened(context.payment, request, documents, folder)
    claim = bill.claim(plan, request.promised(plan.guarantee(), model.tokenizer))
    paid = read_object(folder.budget, "a code") if folder.budget.is_file() else {}
    return claim, paid.get("run")
