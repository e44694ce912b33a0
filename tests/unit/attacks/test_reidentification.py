"""Which original a rewritten document was made from: at chance without a weight, often with one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import sfumato
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.reidentification import (
    BY_LAW,
    BY_MEANING,
    BY_WORDS,
    Reidentification,
    Rewritten,
    drawn_sentences,
    log_chances,
)
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.sentences import Sentences
from sfumato.results.scores import Scores
from sfumato.testing import check_attack
from sfumato.text.document import Document
from sfumato.vectors.load import public_words
from statistical import budget
from unit.models.folders import gpt2, llama, with_our_tokenizer

CHECK, COUNT = "attacks: rewritten", 60


@pytest.fixture(scope="module")
def texts() -> list[str]:
    generator = np.random.default_rng(7)
    words = public_words(6000)[300:]
    return [" ".join(generator.choice(words, 6)) for _ in range(COUNT + 240)]


@pytest.fixture(scope="module")
def pool(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pool") / "pool.txt"
    path.write_text("\n".join(texts[COUNT:]))
    return str(path)


def attacked(texts: list[str], pool: str, beta: float, **more: object) -> Scores:
    made = Sentences(pool=pool, beta=beta, low=-0.2, high=0.7, **more)  # type: ignore[arg-type]
    originals = texts[:COUNT]
    new = made.rewrite(originals, Randomness.reproducible(3))
    told = {"mechanism": "sentences", "low": -0.2, "high": 0.7, **more, **made.public_facts()}
    target = Rewritten(tuple(map(Document, new)), made.guarantee().epsilon, "sentence", told)
    return Reidentification(pool=pool).score(
        target, list(map(Document, originals)), Randomness.reproducible(1)
    )


def evidence(scores: Scores, metric: str) -> float:
    share = scores.figure(metric).value
    return budget.at_most(round(share * COUNT), COUNT, scores.chance[metric])


def test_without_a_weight_everybody_is_at_chance(texts: list[str], pool: str) -> None:
    scores = attacked(texts, pool, 0.0)
    found = [evidence(scores, metric) for metric in (BY_MEANING, BY_LAW)]
    assert not budget.rejects(CHECK, "no weight", found)
    assert scores.figure(BY_LAW).value == pytest.approx(1 / COUNT)  # all originals fit alike


def test_a_large_weight_is_caught_and_the_law_knows_best(texts: list[str], pool: str) -> None:
    scores = attacked(texts, pool, 30.0)
    assert budget.rejects(CHECK, "large weight", [evidence(scores, BY_MEANING)])
    assert budget.rejects(CHECK, "large weight", [evidence(scores, BY_LAW)])
    assert scores.figure(BY_LAW).value >= scores.figure(BY_MEANING).value - 0.1
    for one in scores.control.figures:
        assert one.low is not None
        assert one.low <= 1 / COUNT
    assert any("ε ≤" in note and "source words kept" in note for note in scores.notes)


def test_documents_of_several_sentences_are_read_back(pool: str) -> None:
    made = Sentences(pool=pool, beta=20.0, low=-0.2, most=3, fill=True)
    originals = ["Red wine. Cold water. A third one.", "White house.", ""]
    new = made.rewrite(originals, Randomness.reproducible(1))
    places = {one: number for number, one in enumerate(made.text_pool.sentences)}
    assert [len(drawn_sentences(one, places) or ()) for one in new] == [3, 3, 3]
    logs = log_chances(made, new, originals)
    assert np.isfinite(logs).all()
    plain = Sentences(pool=pool, beta=20.0, low=-0.2)
    logs = log_chances(plain, plain.rewrite(originals, Randomness.reproducible(1)), originals)
    # How many sentences there are shows: no other original is possible.
    assert np.isfinite(logs).tolist() == np.eye(3, dtype=bool).tolist()
    unheard = log_chances(plain, ["nothing of the pool"], originals)
    assert unheard.tolist() == [[0.0, 0.0, 0.0]]


def test_it_runs_on_files_and_says_what_is_missing(
    texts: list[str], pool: str, tmp_path: Path
) -> None:
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(texts[:20]))
    sfumato.privatize(
        source, output, mechanism="sentences", settings={"pool": pool, "beta": 20, "low": -0.2}
    )
    check_attack(Reidentification(pool=pool), Inputs(target=output, originals=source))
    found = sfumato.attack("reidentification", output, originals=source)
    assert {one.metric for one in found.figures} == {BY_MEANING, BY_WORDS}
    with pytest.raises(MissingInput, match="originals"):
        run_attack(Reidentification(), Inputs(target=output), Randomness.secure())
    with pytest.raises(MissingInput, match="'reidentification' and"):
        sfumato.attack("token-inference", output, originals=source)
    other = tmp_path / "other.txt"
    other.write_text("One sentence.\nAnother one.\n")
    with pytest.raises(BadInput, match="not the pool"):
        sfumato.attack("reidentification", output, originals=source, settings={"pool": str(other)})
    masked = tmp_path / "masked.txt"
    sfumato.privatize(source, masked, policy="digits", mechanism="redact")
    with pytest.raises(InvalidArgument, match="leave out"):
        sfumato.attack("reidentification", masked, originals=source, settings={"pool": pool})


def test_a_writer_is_attacked_by_its_law(texts: list[str], tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = gpt2()
    for parameter in model.parameters():
        parameter.data *= 8
    folder = str(with_our_tokenizer(model, tmp_path / "writer"))
    settings = {"model": folder, "window": 12.0, "tokens": 6, "prompt": "{} :"}
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(texts[:16]))
    sfumato.privatize(source, output, mechanism="temperature", settings=settings, seed=1)
    found = sfumato.attack(
        "reidentification", output, originals=source, settings={"model": folder, "prompt": "{} :"}
    )
    # At a range of 24 a draw is nearly the best token, and tells what was read.
    assert found.figure(BY_LAW).value > 0.3
    assert found.control.figures[-1].value < 0.3
    with pytest.raises(InvalidArgument, match="leave out"):
        sfumato.attack("reidentification", output, originals=source, settings={"pool": str(source)})
    other = str(with_our_tokenizer(llama(), tmp_path / "other"))
    with pytest.raises(BadInput, match="not the model"):
        sfumato.attack("reidentification", output, originals=source, settings={"model": other})


def test_counts_that_differ_are_refused() -> None:
    one = (Document("Hello."), Document("You."))
    with pytest.raises(BadInput, match="the same documents"):
        Reidentification().score(Rewritten(one), [one[0]], Randomness.reproducible(1))
