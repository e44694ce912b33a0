"""Attacks on vectors: at chance where nothing is told, far above it where all is, and bounded."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato
from sfumato.accounting.guessing import Level
from sfumato.attacks.attack import Inputs, run_attack
from sfumato.attacks.vectors.attributes import VectorAttributes
from sfumato.attacks.vectors.inversion import (
    BY_NEARNESS,
    LEARNED,
    READ_OFF,
    VectorInversion,
    _usual,
)
from sfumato.attacks.vectors.keywords import VectorKeywords
from sfumato.attacks.vectors.membership import VectorMembership
from sfumato.attacks.vectors.reidentification import ALONE, TOGETHER, VectorReidentification
from sfumato.attacks.vectors.target import open_vectors, tell_bound
from sfumato.core.errors import BadInput, MissingInput
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.results.measured import Measured
from sfumato.testing import check_attack
from sfumato.text.document import Document
from sfumato.vectors.load import default_space, public_words
from statistical import budget

COUNT = 60
TOPICS = {
    "sick": ["doctor", "fever", "hospital", "nurse", "pain", "medicine", "disease"],
    "well": ["football", "beach", "mountain", "holiday", "music", "dance", "song"],
}
EVERY = [
    VectorAttributes(folds=3),
    VectorInversion(vocabulary=600, guesses=2),
    VectorKeywords(count=3),
    VectorMembership(),
    VectorReidentification(),
]


def texts(count: int, seed: int) -> list[tuple[str, str]]:
    generator = np.random.default_rng(seed)
    rare = public_words(4000)[1500:]
    found = []
    for number in range(count):
        label = list(TOPICS)[number % 2]
        words = [*generator.choice(TOPICS[label], 3, replace=False), *generator.choice(rare, 2)]
        found.append((label, " ".join(map(str, words))))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small_vectors: None) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    for name, count, seed in (("in", COUNT, 1), ("others", 160, 2)):
        lines = [json.dumps({"text": text, "label": label}) for label, text in texts(count, seed)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    for name, epsilon in (("clear", 1e9), ("noise", 1e-9)):
        sfumato.embed(folder / "in.jsonl", folder / f"{name}.npy", epsilon=epsilon, seed=1)
        sfumato.embed(
            folder / "in.jsonl", folder / f"{name}-words.npy", epsilon=epsilon, seed=1,
            tokens=True, pad_to=4,
        )  # fmt: skip
    return folder


def inputs(folder: Path, name: str = "clear") -> Inputs:
    return Inputs(
        target=folder / f"{name}.npy",
        originals=folder / "in.jsonl",
        others=folder / "others.jsonl",
        layout=Layout(label_field="label"),
    )


def scored(folder: Path, attack: Any, name: str = "clear") -> Any:
    return run_attack(attack, inputs(folder, name), Randomness.reproducible(1))


def as_high(figure: Measured, chance: float) -> float:
    """Upper bound on how likely a figure is as high as this by chance (Hoeffding 1963).

    An area under the curve is a mean over pairs of which as many are independent as the smaller
    class has members; here that is a twelfth of all documents at least.
    """
    independent = figure.n // 12 if figure.metric == "auc" else figure.n
    above = max(0.0, figure.value - chance)
    return math.exp(-2 * independent * above**2)


@pytest.mark.parametrize("attack", EVERY, ids=lambda one: one.name)
def test_an_attack_conforms(folder: Path, attack: Any) -> None:
    check_attack(attack, inputs(folder))


@pytest.mark.parametrize("attack", EVERY, ids=lambda one: one.name)
def test_without_noise_an_attack_finds_what_its_control_does_not(folder: Path, attack: Any) -> None:
    found = scored(folder, attack)
    for one in found.figures:
        if one.metric in (BY_NEARNESS, TOGETHER):
            continue
        control = next((c for c in found.control.figures if c.metric == one.metric), None)
        assert one.low > found.chance[one.metric]
        assert control is None or one.low > control.value


@pytest.mark.parametrize("attack", EVERY, ids=lambda one: one.name)
def test_of_noise_alone_an_attack_finds_nothing(folder: Path, attack: Any) -> None:
    """Bounds on what noise gives: the level is next to 0, so no share can be above chance."""
    found = scored(folder, attack, "noise")
    shown = [one for one in found.figures if one.metric != "originals"]
    p_values = [as_high(one, found.chance[one.metric]) for one in shown]
    assert not budget.rejects("representations: attacks", "noise alone", p_values)
    # The twin: the same figures where nothing is hidden. (Of areas the bound is too wide here;
    # for these the intervals of the test above decide.)
    clear = scored(folder, attack)
    p_values = [as_high(one, clear.chance[one.metric]) for one in clear.figures]
    rejected = budget.rejects("representations: attacks", "noise alone", p_values)
    assert rejected or clear.figures[0].metric == "auc"


@pytest.mark.parametrize("noise", ["laplace", "gaussian", "binary"])
def test_a_share_that_is_re_identified_keeps_below_its_bound(folder: Path, noise: str) -> None:
    """At a level at which something is found; the twin claims that level for far less noise."""
    beyond = {}
    for name, level in (("honest", 2.0), ("twin", 400.0)):
        path = folder / f"{name}.npy"
        delta = 1e-6 if noise == "gaussian" else 0.0
        sfumato.embed(
            folder / "in.jsonl", path, epsilon=level, delta=delta, noise=noise, seed=2,
            overwrite=True,
        )  # fmt: skip
        side = json.loads((folder / f"{name}.npy.guarantee.json").read_text())
        side["settings"]["epsilon"] = 2.0
        (folder / f"{name}.npy.guarantee.json").write_text(json.dumps(side))
        found = scored(folder, VectorReidentification(), name)
        bound = found.details["bounds"][ALONE]
        assert 1 / COUNT < bound < 0.2
        hits = round(found.figure(ALONE).value * COUNT)
        p_value = budget.at_most(hits, COUNT, bound)
        beyond[name] = budget.rejects("representations: attacks", f"bound, {noise}", [p_value])
    assert beyond == {"honest": False, "twin": True}


def test_vectors_of_words_are_read_off(folder: Path) -> None:
    attack = VectorInversion(words=40)
    assert scored(folder, attack, "clear-words").figure(READ_OFF).value == 1.0
    noise = scored(folder, attack, "noise-words")
    assert noise.figure(READ_OFF).value < 0.3
    with pytest.raises(MissingInput, match="'vector-inversion' is for such files"):
        scored(folder, VectorMembership(), "clear-words")


def test_where_vectors_tell_nothing_the_usual_word_is_guessed() -> None:
    space = default_space()
    usual = _usual(space, ())
    assert usual.sum() == pytest.approx(1.0)
    assert usual.argmax() == 0 or usual.argmax() == space.unknown
    assert usual[space.unknown] > usual[5]  # signs and names are many
    # Public text of the kind says it better: the twin is Zipf's law alone.
    word = public_words(100)[60]
    public = [Document(f"zzxq {word} zzxq {word} {word}")] * 50
    learned = _usual(space, public)
    assert learned.sum() == pytest.approx(1.0)
    place = int(space.points([word])[0])
    assert learned.argmax() == place != usual.argmax()
    assert learned[place] == pytest.approx(0.6, abs=0.2)
    assert learned[space.unknown] == pytest.approx(0.4, abs=0.2)


def test_what_was_learned_finds_more_than_what_is_near(folder: Path) -> None:
    found = scored(folder, EVERY[1])
    assert found.figure(LEARNED).value > found.figure(BY_NEARNESS).value > 0


def test_a_control_of_membership_sees_texts_that_differ_by_themselves(
    folder: Path, tmp_path: Path
) -> None:
    other = tmp_path / "others.jsonl"
    lines = [json.dumps({"text": text, "label": "x"}) for label, text in texts(160, 5)
             if label == "well"]  # fmt: skip
    other.write_text("\n".join(lines))
    given = replace(inputs(folder), others=other)
    found = run_attack(VectorMembership(), given, Randomness.reproducible(1))
    assert found.control.figures[0].low is not None
    assert not found.control.figures[0].low <= 0.5 <= (found.control.figures[0].high or 0)


def test_what_is_missing_is_said(folder: Path, tmp_path: Path) -> None:
    attack = VectorMembership()
    assert "sfumato.embed" in str(attack.missing(Inputs(target=folder)))
    assert "originals=IN" in str(attack.missing(Inputs(target=folder / "clear.npy")))
    no_others = replace(inputs(folder), others=None)
    assert "others=FILE" in str(attack.missing(no_others))
    text = replace(inputs(folder), target=folder / "in.jsonl")
    assert "no file of vectors" in str(attack.missing(text))
    few = tmp_path / "few.jsonl"
    few.write_text((folder / "in.jsonl").read_text().split("\n")[0])
    with pytest.raises(BadInput, match="the same documents in the same order"):
        run_attack(attack, replace(inputs(folder), originals=few), Randomness.reproducible(1))
    with pytest.raises(BadInput, match="holds vectors, and this attack reads text"):
        sfumato.attack("reidentification", folder / "clear.npy", originals=folder / "in.jsonl")


def test_another_encoder_is_not_taken_for_the_right_one(folder: Path, tmp_path: Path) -> None:
    space = tmp_path / "few.txt"
    space.write_text("wine 1 2\nbeer 2 1\n")
    with pytest.raises(MissingInput, match="another one"):
        open_vectors(folder / "clear.npy", str(space))


def test_where_no_bound_follows_none_is_told() -> None:
    assert tell_bound(None, "the share", 1.0).startswith("No bound on the share follows")
    assert "excludes nothing" in tell_bound(Level(50.0), "the share", 0.99999)
    assert "0.731 at most" not in tell_bound(Level(1.0), "the share", 0.7311)
    assert "0.732 at most" in tell_bound(Level(1.0), "the share", 0.7311)
