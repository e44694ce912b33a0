"""One account pays for all work on a corpus: models, tokenizers, n-grams and synthetic texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import sfumato
from paid_work import Watch, account_of, keywords, new_payment, used
from sfumato.accounting.budget import Limit
from sfumato.accounting.budget.payment import Payment
from sfumato.core.errors import BudgetExceeded, IncomparableGuarantees, InvalidArgument
from sfumato.histograms import counts
from sfumato.synthesis import evolution
from sfumato.synthesis.prediction import ensemble, job
from sfumato.synthesis.written import label_counts
from sfumato.training.clipping import release
from unit.models.folders import gpt2, with_our_tokenizer

pytestmark = pytest.mark.usefixtures("small_vectors")

SYLLABLES = ("ba", "ke", "lo", "mi", "nu", "pra", "sto", "tri", "ven")
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES]
TINY = {"hidden": 4, "embedding": 4, "context": 16}
LABELED: dict[str, Any] = {"label_field": "label", "classes": ("bad", "good")}
DELTA = 1e-3

Work = Callable[..., Any]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("paid")
    rows = [
        {"text": f"the movie was {' '.join(WORDS)}", "label": "bad" if n % 3 else "good"}
        for n in range(140)
    ]
    (found / "notes.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    (found / "public.txt").write_text("\n".join(f"the movie was {one}" for one in "abcdefgh"))
    torch.manual_seed(3)
    with_our_tokenizer(gpt2(), found / "causal")
    return found


def work_of(place: Path, made: Path) -> dict[str, Work]:
    """Everything that draws noise, each with a level of 2 or more."""
    notes = place / "notes.jsonl"
    told = {"model": str(place / "causal"), "tokens": 2, "record_tokens": 4,
            "prompt": "{label}: {text} :"}  # fmt: skip
    return {
        "train": partial(
            sfumato.train, notes, made / "run", epsilon=4, delta=DELTA, epochs=0.1, batch_size=20,
            model="lstm", settings=TINY, accountant="rdp", control_codes=True, **LABELED,
        ),
        "ngrams": partial(sfumato.ngrams, notes, made / "n.jsonl", epsilon=2, n=2, delta=DELTA),
        "tokenizer": partial(
            sfumato.train_tokenizer, notes, made / "words", epsilon=20, delta=DELTA, size=400,
            words_per_document=85,
        ),
        "evolution": partial(
            sfumato.synthesize, notes, made / "a.jsonl", epsilon=9, delta=DELTA, texts=4,
            settings={"pool": str(place / "public.txt")}, **LABELED,
        ),
        "prediction": partial(
            sfumato.synthesize, notes, made / "b.jsonl", method="prediction", epsilon=60,
            delta=DELTA, labels="noised", settings=told,
            **LABELED,
        ),
    }  # fmt: skip


@pytest.fixture
def payment(tmp_path: Path) -> Payment:
    return new_payment(tmp_path, Limit.of("approximate", 120.0, delta=0.1))


@pytest.fixture
def watch(payment: Payment, monkeypatch: pytest.MonkeyPatch) -> Watch:
    found = Watch(payment)
    for module, name in (
        (release, "add_noise"),
        (counts, "draw_noise"),
        (evolution, "add_noise"),
        (job, "noisy_counts"),
        (ensemble.Ensemble, "write"),
        (label_counts, "noised_weights"),
    ):
        monkeypatch.setattr(module, name, found.over(getattr(module, name)))
    return found


def test_all_work_on_a_corpus_adds_up_in_one_account(
    place: Path, tmp_path: Path, payment: Payment, watch: Watch
) -> None:
    total = 0.0
    for number, work in enumerate(work_of(place, tmp_path).values(), start=1):
        watch.draws = 0
        done = work(**keywords(payment))
        total += done.guarantee.epsilon
        level, held, charges = used(payment)
        assert (held, charges) == (0.0, number)
        assert level == pytest.approx(total)
        assert watch.draws > 0
    written = partial(
        sfumato.write_corpus, tmp_path / "run", tmp_path / "w.jsonl", texts=2, tokens=3, batch=2,
        labels_epsilon=0.5, originals=place / "notes.jsonl", label_field="label",
        **keywords(payment),
    )  # fmt: skip
    written()
    assert used(payment)[0] == pytest.approx(total + 0.5)
    assert watch.unpaid == 0
    assert "one example of the other" in account_of(payment).sentence()
    # Begun again, it is charged again.
    written(overwrite=True)
    assert used(payment)[0] == pytest.approx(total + 1.0)


def test_what_does_not_fit_is_not_drawn(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poor = new_payment(tmp_path, Limit.of("approximate", 1.0, delta=0.1))
    (tmp_path / "made").mkdir()
    watch = Watch(poor)
    for module, name in ((release, "add_noise"), (counts, "draw_noise"), (evolution, "add_noise")):
        monkeypatch.setattr(module, name, watch.over(getattr(module, name)))
    for work in work_of(place, tmp_path / "made").values():
        with pytest.raises(BudgetExceeded, match=r"costs .* and 1 is left"):
            work(**keywords(poor))
    assert list((tmp_path / "made").iterdir()) == []  # nor is there a note of a draw
    assert (watch.draws, used(poor)) == (0, (0.0, 0.0, 0))


def test_the_watch_sees_twins_that_pay_afterwards(
    place: Path, tmp_path: Path, payment: Payment, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Payment, "pay", lambda *_: None)
    work = work_of(place, tmp_path)
    for name in ("ngrams", "tokenizer"):
        work[name](**keywords(payment))
    assert watch.unpaid == watch.draws > 0


def test_in_divergences_only_what_has_one_is_charged(place: Path, tmp_path: Path) -> None:
    rho = new_payment(tmp_path, Limit.of("rho", 40.0))
    work = work_of(place, tmp_path)
    for name in ("evolution", "prediction"):
        work[name](**keywords(rho))
    assert used(rho)[2] == 2
    for name, said in (("ngrams", "no divergence is finite"), ("train", "random batches")):
        with pytest.raises(IncomparableGuarantees, match=said):
            work[name](**keywords(rho))


def test_seeds_half_an_account_and_other_kinds_are_refused(
    place: Path, tmp_path: Path, payment: Payment
) -> None:
    for name, work in work_of(place, tmp_path).items():
        with pytest.raises(InvalidArgument, match="with a seed"):
            work(seed=1, **keywords(payment))
        with pytest.raises(InvalidArgument, match="charged by account"):
            work(budget=payment.budget)
        with pytest.raises(InvalidArgument, match="corpus:ID"):
            work(**keywords(payment) | {"account": "text:memo"})
        assert used(payment)[2] == 0, name


def test_what_a_model_writes_costs_nothing(tmp_path: Path, payment: Payment) -> None:
    with pytest.raises(InvalidArgument, match="costs nothing more than its training"):
        sfumato.write_corpus(tmp_path / "run", tmp_path / "w.jsonl", **keywords(payment))
