"""Studies that a budget pays for: every release once, and none before all of them fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paid_work import new_payment
from sfumato.accounting.budget import Amount, Budget, Limit
from sfumato.core.errors import BudgetExceeded, IncomparableGuarantees, InvalidArgument
from sfumato.releases.payment import Payment
from sfumato.studies import worker
from sfumato.studies.folder import StudyFolder
from sfumato.studies.runner import StudyOutcome, run_study
from small_study import SMALL, small_study

pytestmark = pytest.mark.usefixtures("small_vectors")

MODELS = """
[corpus]
kind = "customersim"
count = 8
lines = 1
seed = 3

[model]
name = "lstm"
settings = {hidden = 4, embedding = 4, context = 16}
epochs = 0.5
batch_size = 4
accountant = "rdp"

[[methods]]
name = "DP-SGD"
training = "private"
epsilon = [2, 4]
"""


def paying(folder: Path, account: str, limit: Limit) -> Payment:
    made = new_payment(folder, Limit.of("level", 1.0))
    with Budget.at(made.budget, made.key) as budget:
        budget.open(account, limit)
    return Payment(made.budget, account, made.key)


def spent(payment: Payment) -> tuple[Amount, int]:
    with Budget.at(payment.budget, payment.key) as budget:
        account = budget.show(payment.account)
    return account.spent, account.charges


def run(text: str, folder: Path, payment: Payment | None, *, resume: bool = False) -> StudyOutcome:
    return run_study(
        small_study(folder, text), folder / "study", workers=0, resume=resume, payment=payment
    )


def test_every_model_with_noise_is_a_release_and_is_charged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment = paying(tmp_path, "corpus:dialogues", Limit.of("approximate", 6.0, delta=0.3))
    found = run(MODELS, tmp_path, payment)
    assert found.complete
    cells = [one for one in StudyFolder(tmp_path / "study").cells() if one.kind == "run"]
    stated = {one.method: one.guarantee for one in cells if one.guarantee}
    assert [one["for_release"] for one in stated.values()] == [False, True]  # the anchor is not
    whole, charges = spent(payment)
    assert (charges, 5.9 < whole.level <= 6.0) == (2, True)
    with Budget.at(payment.budget, payment.key) as budget:
        assert budget.show(payment.account).held == Amount(0)
    assert run(MODELS, tmp_path, payment, resume=True).complete
    assert spent(payment) == (whole, charges)
    # A cell that was paid for and lost its record goes on where it was.
    for one in cells:
        StudyFolder(tmp_path / "study").record(one.key).unlink()
    assert run(MODELS, tmp_path, payment, resume=True).complete
    assert spent(payment) == (whole, charges)
    drawn: list[object] = []
    monkeypatch.setattr(worker, "compute", drawn.append)
    with pytest.raises(BudgetExceeded, match=r"this release costs 0\.99.* and .* is left"):
        run(MODELS.replace("[2, 4]", "[1, 2, 4]"), tmp_path, payment, resume=True)
    assert drawn == []
    assert spent(payment) == (whole, charges)


def test_private_texts_are_charged_at_every_attempt_and_no_other_cell_is(tmp_path: Path) -> None:
    payment = paying(tmp_path, "text:memo", Limit.of("level", 25.0))
    assert run(
        SMALL, tmp_path, payment
    ).complete  # two levels, two seeds, and masks, which are free
    assert spent(payment) == (Amount.charged(20.0), 4)
    folder = StudyFolder(tmp_path / "study")
    for one in folder.cells():
        if one.level == 1.0 and one.kind == "release":
            record = json.loads(folder.record(one.key).read_text())
            folder.record(one.key).write_text(json.dumps(record | {"state": "failed"}))
            break
    assert run(SMALL, tmp_path, payment, resume=True).complete
    assert spent(payment) == (Amount.charged(21.0), 5)
    # Without a budget, cells are drawn from seeds: others than those that were paid for.
    assert run(SMALL, tmp_path, None, resume=True).complete
    assert spent(payment) == (Amount.charged(21.0), 5)


def test_what_cannot_be_charged_is_refused_before_the_first_cell(tmp_path: Path) -> None:
    payment = paying(tmp_path, "corpus:memo", Limit.of("level", 25.0))
    with pytest.raises(IncomparableGuarantees, match="parts of a text"):
        run(SMALL, tmp_path, payment)
    assert spent(payment) == (Amount(0), 0)
    several = (
        SMALL.replace("[corpus]", "[corpora.a]") + '[corpora.b]\nkind = "customersim"\ncount=2\n'
    )
    with pytest.raises(InvalidArgument, match="speaks of one corpus"):
        run(several, tmp_path, payment, resume=True)


def test_vectors_are_charged_before_they_are_drawn(tmp_path: Path) -> None:
    vectors = SMALL.split("[[methods]]")[0] + (
        '[[methods]]\nname = "noise"\nrepresentation = "laplace"\nepsilon = [1, 9]\n'
        "[measures.vectors]\npairs = 20\n"
    )
    payment = paying(tmp_path, "corpus:dialogues", Limit.of("level", 25.0))
    assert run(vectors, tmp_path, payment).complete
    assert spent(payment) == (Amount.charged(20.0), 4)
    cells = [one for one in StudyFolder(tmp_path / "study").cells() if one.kind == "vectors"]
    stated = {one.method: one.guarantee for one in cells if one.guarantee}
    assert stated["noise"]["for_release"] is True
    assert stated["random output"]["for_release"] is False
    with pytest.raises(BudgetExceeded):
        run(vectors.replace("[1, 9]", "[1, 9, 5]"), tmp_path, payment, resume=True)
