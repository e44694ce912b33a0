"""Which original a rewritten document was made from: at chance without a weight, often with one."""

from __future__ import annotations

import math
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
import torch

import sfumato
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.reidentification import (
    BY_LAW,
    BY_LIKELIHOOD,
    BY_MEANING,
    BY_WORDS,
    Reidentification,
    Rewritten,
    most_right,
)
from sfumato.attacks.rewriting_laws import drawn_sentences, log_chances
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.rewriting.sentences import COUNT_LEAK, Sentences
from sfumato.mechanisms.rewriting.temperature import Temperature
from sfumato.results.scores import Scores
from sfumato.testing import check_attack
from sfumato.text.document import Document
from sfumato.vectors.load import public_words
from statistical import budget
from unit.models.folders import gpt2, llama, with_our_tokenizer

CHECK, COUNT = "attacks: rewritten", 60
SEED = Randomness.reproducible(1)


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
    with pytest.raises(MissingInput, match="'reidentification', 'authorship' and"):
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
    assert any(note.startswith("No bound") for note in found.notes)  # a seed undoes all of it
    other = str(with_our_tokenizer(llama(), tmp_path / "other"))
    with pytest.raises(BadInput, match="not the model"):
        sfumato.attack("reidentification", output, originals=source, settings={"model": other})


def test_the_law_of_a_writer_has_its_own_tokens(texts: list[str], tmp_path: Path) -> None:
    torch.manual_seed(3)
    folder = str(with_our_tokenizer(gpt2(), tmp_path / "writer"))
    public, other = tmp_path / "public.txt", tmp_path / "other.txt"
    public.write_text("red wine and cold water\n")
    other.write_text("red water and cold bread\n")
    source, output = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(texts[:4]) + "\n")
    settings = {"model": folder, "window": 2.0, "tokens": 2, "prompt": "{} :"}
    sfumato.privatize(
        source, output, mechanism="temperature", settings=settings | {"vocabulary": str(public)}
    )
    given = {"model": folder, "prompt": "{} :"}
    for wrong in ({}, {"vocabulary": str(other)}):
        with pytest.raises(BadInput, match="the file was written with"):
            sfumato.attack("reidentification", output, originals=source, settings=given | wrong)
    with pytest.raises(BadInput, match="another prompt"):
        sfumato.attack("reidentification", output, originals=source, settings={"model": folder})
    told = sfumato.attack(
        "reidentification", output, originals=source, settings=given | {"vocabulary": str(public)}
    )
    assert any(note.startswith("So a guess") for note in told.notes)


def shares_right(laws: Floats) -> tuple[float, float]:
    """How often the best guess is right from one output, and from all of them."""
    count, outputs = laws.shape
    orders = list(permutations(range(count)))
    alone = float(laws.max(axis=0).sum()) / count
    together = 0.0
    for drawn in product(range(outputs), repeat=count):
        weights = {
            order: math.prod(laws[original, drawn[place]] for place, original in enumerate(order))
            for order in orders
        }
        for place in range(count):
            together += max(
                sum(weight for order, weight in weights.items() if order[place] == original)
                for original in range(count)
            )
    return alone, together / (count * len(orders))


def level(laws: Floats) -> float:
    logs = np.log(laws)
    return float((logs[:, None] - logs[None]).max())


def test_who_looks_at_all_documents_is_right_more_often() -> None:
    alone, together = shares_right(np.array([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2]]))
    assert (round(alone, 4), round(together, 4)) == (0.7, 0.715)


def test_no_law_exceeds_the_bounds_and_one_reaches_the_first() -> None:
    generator = np.random.default_rng(4)
    for _ in range(60):
        count, outputs = generator.integers(2, 4), generator.integers(2, 4)
        laws = generator.random((count, outputs)) ** generator.choice([0.3, 1.0, 3.0]) + 1e-3
        laws /= laws.sum(axis=1, keepdims=True)
        alone, together = shares_right(laws)
        bounds = most_right(level(laws), int(count))
        assert alone <= bounds[0] * (1 + 1e-12)
        assert together <= bounds[1] * (1 + 1e-12)
    # Each original has an output of its own, e^ε times as likely as the others.
    worst = np.ones((3, 3)) + np.eye(3) * (np.exp(1.5) - 1)
    worst /= worst.sum(axis=1, keepdims=True)
    assert shares_right(worst)[0] == pytest.approx(most_right(1.5, 3)[0], rel=1e-12)
    # The twin: half of the level is no bound.
    assert shares_right(worst)[0] > most_right(0.75, 3)[0]


def test_a_bound_is_printed_only_where_it_holds(pool: str, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("\n".join(" ".join(["Ann has a dog."] * many) for many in range(1, 9)))

    def attack(**more: object) -> Scores:
        output = tmp_path / "out.txt"
        settings = {"pool": pool, "beta": 0.0, **more}
        sfumato.privatize(source, output, mechanism="sentences", settings=settings, overwrite=True)
        return sfumato.attack("reidentification", output, originals=source, settings={"pool": pool})

    # At a level of 0 all are found, by how many sentences they have: e^0/8 would be false.
    for more in ({}, {"most": 8}):
        found = attack(**more)
        assert found.figure(BY_LAW).value == 1.0 > most_right(0.0, 8)[0]
        (said,) = (note for note in found.notes if "No bound" in note)
        assert COUNT_LEAK in said
        assert not any(note.startswith("So a guess") for note in found.notes)
    filled = attack(most=8, fill=True)
    assert filled.figure(BY_LAW).value == pytest.approx(1 / 8)
    assert any(note.startswith("So a guess") and "0.125" in note for note in filled.notes)
    # The level of a sentence, and one with a δ, prove nothing of that kind.
    weak = (attack(beta=1.0), attack(beta=1.0, most=8, fill=True, delta=1e-6))
    assert all(any("No bound" in note for note in one.notes) for one in weak)


def test_counts_that_differ_are_refused() -> None:
    one = (Document("Hello."), Document("You."))
    with pytest.raises(BadInput, match="the same documents"):
        Reidentification().score(Rewritten(one), [one[0]], Randomness.reproducible(1))


def test_a_public_model_reads_which_original_fits(texts: list[str], tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = gpt2()
    for parameter in model.parameters():
        parameter.data *= 8
    folder = str(with_our_tokenizer(model, tmp_path / "reader"))
    originals = [Document(one) for one in texts[:10]]
    attack = Reidentification(reader=folder, read_tokens=4, prompt="{} :")
    # What the model would write after each original is what it expects after it.
    writer = Temperature(model=folder, window=12.0, tokens=4, prompt="{} :")
    new = writer.rewrite([one.text for one in originals], Randomness.reproducible(1))
    scores = attack.score(Rewritten(tuple(map(Document, new))), originals, SEED)
    assert scores.figure(BY_LIKELIHOOD).value > 0.3
    assert scores.control.figures[-1].value < 0.3
    assert scores.figure(BY_LIKELIHOOD).n == 10
    nothing = Rewritten(tuple(Document("the same for all") for _ in originals))
    blind = attack.score(nothing, originals, SEED)
    assert blind.figure(BY_LIKELIHOOD).value == pytest.approx(1 / 10)
    with pytest.raises(InvalidArgument, match="read_tokens"):
        Reidentification(read_tokens=0)
