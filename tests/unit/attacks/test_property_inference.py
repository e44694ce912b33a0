"""Properties of all training texts together: told where they show, at chance where they do not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sfumato
from sfumato.attacks.attack import Attempt, Inputs, chapter_of, run_attack
from sfumato.attacks.model_target import ModelTarget, open_model
from sfumato.attacks.properties import attack as attack_module
from sfumato.attacks.properties import shadows as shadows_module
from sfumato.attacks.properties.attack import ACCURACY, TARGET, PropertyInference, Suspicion
from sfumato.attacks.properties.predicate import Predicate
from sfumato.attacks.properties.shadows import (
    PublicText,
    ShadowPlan,
    draw_shadows,
    noisy_recipe,
)
from sfumato.attacks.properties.telling import held_out, summarize
from sfumato.core.errors import BadInput, InvalidArgument, MissingInput, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from sfumato.training.execution import train_model
from sfumato.training.folder import RunFolder
from unit.attacks.membership.small import public_words, request

SEED = Randomness.reproducible
ATTACK = PropertyInference(property="kind=a", shares=(0.1, 0.9), shadows=8, questions=12)
LAYOUT = Layout(label_field="kind")


def texts(count: int, share: float, seed: int) -> list[Document]:
    """Documents of kind a and b, whose words differ."""
    random, words = np.random.default_rng(seed), public_words()
    found = []
    for number in range(count):
        kind = number < round(share * count)
        some = words[:150] if kind else words[500:650]
        found.append(Document(" ".join(random.choice(some, 5)), labels=("a" if kind else "b",)))
    return found


def write(path: Path, documents: list[Document]) -> Path:
    rows = (json.dumps({"text": one.text, "kind": one.labels[0]}) for one in documents)
    path.write_text("\n".join(rows))
    return path


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    folder = tmp_path_factory.mktemp("properties")
    members = texts(24, 0.9, 1)
    train_model(request(epochs=4), members, RunFolder(folder / "run"))
    return Inputs(
        target=folder / "run",
        members=write(folder / "members.jsonl", members),
        others=write(folder / "others.jsonl", texts(160, 0.5, 2)),
        cache=folder / "cache",
        layout=LAYOUT,
    )


@pytest.fixture(scope="module")
def found(inputs: Inputs) -> Scores:
    return run_attack(ATTACK, inputs, SEED(1))


def test_the_share_is_told_by_models_that_were_trained_with_it(found: Scores) -> None:
    assert found.figure(ACCURACY).value == 1.0
    assert found.figure(ACCURACY).n == 8
    assert found.figure(TARGET).value == 1.0
    assert found.figure(TARGET).low is None
    assert found.details["verdict"] == "high"
    assert found.details["documents"] == 24
    for control in found.control.figures:
        assert control.low is not None
        assert control.high is not None
        assert control.low <= 0.5 <= control.high
    assert "8 models with 24 documents" in found.knowledge
    assert any("In truth the share is 0.917" in note for note in found.notes)
    assert not any("group privacy" in note for note in found.notes)
    picture = ATTACK.chart(found).content("svg").decode()
    assert ">accuracy<" in picture
    attempt = Attempt(method="plain", scores=found)
    assert chapter_of(ATTACK.name, PropertyInference, [attempt]) is not None


def test_the_next_attack_trains_no_model_again(
    inputs: Inputs, found: Scores, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a shadow was trained again")

    monkeypatch.setattr("sfumato.training.execution.train_model", refuse)
    steps: list[tuple[int, int]] = []
    again = run_attack(ATTACK, inputs, SEED(2), lambda *step: steps.append(step))
    assert again.details["log_odds"] == pytest.approx(found.details["log_odds"])
    assert steps[-1] == (9, 9)
    assert inputs.cache is not None
    (draws,) = inputs.cache.rglob("draws.npz")
    kept = draws.read_bytes()
    draws.write_bytes(b"damaged")
    with pytest.raises(StorageFailed, match="damaged"):
        run_attack(ATTACK, inputs, SEED(2))
    draws.write_bytes(kept)


def answers(
    *, effect: float, seed: int, count: int = 32, questions: int = 20
) -> dict[str, np.ndarray]:
    """Made-up answers of shadows: the high share moves questions with the property."""
    random = np.random.default_rng(seed)
    number = np.arange(count)
    high, half = number // 2 % 2 == 1, number % 2
    has = np.arange(questions) % 2 == 0
    rows = random.normal(size=(count, questions)) + random.normal(size=(count, 1))
    rows += effect * np.outer(high, has)
    return {"rows": rows, "high": high, "half": half, "has": has}


def accuracy(world: dict[str, np.ndarray]) -> float:
    rows, weights = summarize(world["rows"], world["has"], 1)
    told = held_out(rows, world["high"], world["half"], weights)
    return float(((told > 0) == world["high"]).mean())


def test_a_moved_mean_is_found_though_models_differ_by_themselves() -> None:
    assert accuracy(answers(effect=2.0, seed=1)) > 0.9


def test_half_of_the_text_has_shadows_that_share_no_document_with_the_other() -> None:
    public = texts(200, 0.4, 3)
    has = np.array([one.labels == ("a",) for one in public])
    plan = ShadowPlan(shares=(0.25, 0.75), count=16, documents=40, questions=20)
    drawn = draw_shadows(PublicText(tuple(public), has), plan, SEED(4))
    sides = [set(drawn.chosen[drawn.half == which].ravel().tolist()) for which in (0, 1)]
    assert not sides[0] & sides[1]
    assert not (sides[0] | sides[1]) & set(drawn.questions.tolist())
    size = drawn.chosen.shape[1]
    assert size == 35  # three quarters of the 35 documents with the property, by 0.75
    for chosen, high in zip(drawn.chosen, drawn.high, strict=True):
        assert len(set(chosen.tolist())) == size
        assert has[chosen].sum() == round((0.75 if high else 0.25) * size)
    assert has[drawn.questions].mean() == 0.5


def test_documents_with_a_word_or_a_value_are_told(inputs: Inputs) -> None:
    some = [Document("A Refund, please"), Document("refunds are late"), Document("")]
    assert Predicate.read("word:Refund").holds(inputs, Path(), some).tolist() == [
        True,
        False,
        False,
    ]
    for wrong in ("refund", "word:", "word:two words", "=DE", "country="):
        with pytest.raises(InvalidArgument, match="COLUMN=VALUE"):
            Predicate.read(wrong)


def test_a_classifier_is_asked_for_its_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def measure(model: ModelTarget, documents: list[Document], *_: object) -> str:
        del model
        asked.append(documents[0].labels)
        return "table"

    monkeypatch.setattr(attack_module, "measure_target", measure)
    monkeypatch.setattr(attack_module, "losses", lambda _: np.log(np.array([2.0, 4.0])))
    public = PublicText((Document("one"), Document("two")), np.array([True, False]))
    model = type("Model", (), {"classes": ("x", "y", "z")})
    target = ModelTarget(model, "digest")  # type: ignore[arg-type]
    ask = attack_module._asker(Suspicion(public=public), target)
    row = ask(np.array([0, 1]))(target)
    assert asked == [("x",), ("y",)]
    assert row == pytest.approx([0.0, 0.0, -np.log(3), -np.log(3)])


def test_shadows_have_the_noise_of_the_target_and_its_level_promises_nothing(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = open_model(inputs.target)
    assert plain.settings is not None
    plan = dict(plain.settings["plan"])
    plan |= {"delta": 0.01, "accountant": "pld"}
    plan["clipping"] = {"kind": "fixed", "norm": 0.5, "quantile": 0.5, "count_noise": None}
    plan["stages"] = [{"steps": 3, "batch_size": 8, "noise_multiplier": one} for one in (0.5, 1.0)]
    settings = {**plain.settings, "plan": plan, "method": "private", "epsilon": 8.0}
    target = replace(
        plain, settings=settings, epsilon=8.0, delta=0.01, notion="approximate differential privacy"
    )
    recipe, noisy = noisy_recipe(target)
    assert noisy
    assert recipe.privacy.epsilon == 8.0
    assert recipe.privacy.noise_schedule == (1.0, 2.0)
    assert recipe.privacy.clipping.norm == 0.5
    other, noisy = noisy_recipe(replace(target, settings={**settings, "method": "selective"}))
    assert not noisy
    assert np.isinf(other.privacy.epsilon)
    # Trained shadows are not needed to say what is proven.
    monkeypatch.setattr(shadows_module, "train_shadow", lambda *_: plain)
    public = PublicText(tuple(texts(160, 0.5, 2)), np.arange(160) < 80)
    found = ATTACK.score(target, Suspicion(public=public, truth=0.5), SEED(1))
    assert [one.metric for one in found.figures] == [ACCURACY]
    said = "\n".join(found.notes)
    assert "0.5, near neither of the two" in said
    assert "19 of 24 must be replaced, that is 38 steps" in said
    assert "ε = 304" in said
    for changed, steps in (({"neighbors": "replacement"}, "is 19 steps"), ({"unit": "author"}, "")):
        changed_target = replace(target, settings={**settings, "plan": plan | changed})
        notes = ATTACK.score(changed_target, Suspicion(public=public, truth=0.5), SEED(1)).notes
        assert [steps in one for one in notes if "group privacy" in one] == [True] * bool(steps)


def test_what_cannot_be_attacked_is_said(inputs: Inputs) -> None:
    for given, word in (
        (replace(inputs, others=None), "others=FILE"),
        (replace(inputs, target=inputs.target / "model"), "does not say how"),
        (replace(inputs, target=inputs.target / "nowhere"), "neither the folder"),
    ):
        with pytest.raises(MissingInput, match=word):
            run_attack(ATTACK, given, SEED(1))
    with pytest.raises(MissingInput, match="'property': 'word:refund'"):
        sfumato.attack("property-inference", inputs.target, others=inputs.others)
    with pytest.raises(BadInput, match="too few"):
        run_attack(replace(ATTACK, property="word:nowhere"), inputs, SEED(1))
    for settings, word in (
        ({"shares": (0.8, 0.2)}, "low one first"),
        ({"shares": (0.5,)}, "low one first"),
        ({"shadows": 12}, "multiple of 8"),
        ({"property": "refund"}, "word:WORD"),
    ):
        with pytest.raises(InvalidArgument, match=word):
            replace(ATTACK, **settings)
