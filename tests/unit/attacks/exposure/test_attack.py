"""The attack as a whole: what it finds, what it says, and what it asks for."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from sfumato.attacks import attack as protocol
from sfumato.attacks.attack import Inputs
from sfumato.attacks.exposure import attack as module
from sfumato.attacks.exposure.attack import Exposure
from sfumato.attacks.exposure.ranks import NoLaw
from sfumato.catalog import find
from sfumato.core.errors import InvalidArgument, MissingInput, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import (
    Canary,
    Manifest,
    PlantedCanary,
    insert_canaries,
    plan_insertions,
)
from sfumato.models.load import load_model, save_model
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from unit.attacks.exposure.subjects import (
    PLANTED_TIMES,
    SECRET,
    TEMPLATE,
    bytes_only,
    canaries,
    joining,
    overfitted,
    target,
    tiny,
)

BITS = math.log2(10**4)
CONTROL_SECRETS = ("0170", "9035", "6644", "2718")


def planted() -> tuple[PlantedCanary, ...]:
    return canaries((SECRET, PLANTED_TIMES), *((secret, 0) for secret in CONTROL_SECRETS))


def scored(attack: Exposure, data: Sequence[PlantedCanary] | None = None) -> Scores:
    return attack.score(target(overfitted()), data or planted(), Randomness.reproducible(7))


def near_chance(scores: Scores) -> bool:
    """Whether all controls are within twice their intervals, which is four standard errors."""
    return all(
        one.low is not None
        and one.high is not None
        and abs(one.value - scores.chance[one.metric]) < one.high - one.low
        for one in scores.control.figures
    )


@pytest.fixture(scope="module")
def exact() -> Scores:
    return scored(Exposure())


def test_an_overfitted_model_exposes_the_secret_wholly(exact: Scores) -> None:
    figure = exact.figure(f"exposure at {PLANTED_TIMES} repetitions")
    assert figure.value == pytest.approx(BITS)
    assert figure.n == 1
    assert exact.figure("largest exposure").value == pytest.approx(BITS)
    assert exact.figure("chance of the largest (at most)").value == pytest.approx(1e-4)
    (best,) = (one for one in exact.details["canaries"] if one["repetitions"])
    assert best["rank"] == 1


def test_canaries_never_planted_are_controls_in_the_run(exact: Scores) -> None:
    figure = exact.figure("exposure at 0 repetitions")
    assert figure.n == len(CONTROL_SECRETS)
    assert figure.low is not None
    assert figure.high is not None
    assert 0 <= figure.low <= figure.value <= figure.high <= BITS
    assert figure.value < 8


def test_the_control_scores_chance_on_the_same_model(exact: Scores) -> None:
    assert [one.n for one in exact.control.figures] == [2000, 2000]
    assert near_chance(exact)
    assert exact.chance["exposure"] == pytest.approx(1 / math.log(2), abs=2e-3)
    assert exact.chance["share of 4 bits or more"] == 1 / 16


def test_scores_can_be_written_and_hold_no_other_text(exact: Scores) -> None:
    content = json.loads(json.dumps(exact.as_dict(), allow_nan=False))
    assert len(content["details"]["canaries"]) == 5
    assert exact.seconds > 0
    assert {one["template"] for one in content["details"]["canaries"]} == {TEMPLATE}


def test_a_sample_finds_the_same_up_to_its_reach() -> None:
    scores = scored(Exposure(method="sampled", samples=1000, controls=500))
    figure = scores.figure(f"exposure at {PLANTED_TIMES} repetitions (sampled)")
    assert figure.value == pytest.approx(math.log2(1001))
    assert figure.low is not None
    assert figure.high is not None
    assert figure.low < math.log2(1001)
    assert figure.high == pytest.approx(BITS)
    assert any("cannot show more than 9.97 bits" in note for note in scores.notes)
    assert near_chance(scores)


def test_a_fitted_law_goes_beyond_the_sample_and_says_so() -> None:
    scores = scored(Exposure(method="extrapolated", samples=1000, controls=200))
    figure = scores.figure(f"exposure at {PLANTED_TIMES} repetitions (extrapolated)")
    assert math.log2(1000) < figure.value <= BITS
    (best,) = (one for one in scores.details["canaries"] if one["repetitions"])
    assert best["beyond_the_sample"]
    assert any("tail of the fitted distribution" in note for note in scores.notes)
    with pytest.raises(InvalidArgument, match="has no figure"):
        scores.figure("largest exposure")


def test_auto_enumerates_what_is_small_and_samples_the_rest() -> None:
    data = (*canaries((SECRET, 3)), *canaries(("4821482100", 3), template="Code {}"))
    scores = scored(Exposure(samples=200, controls=100), data)
    methods = [(one["space"], one["method"]) for one in scores.details["canaries"]]
    assert methods == [(10**4, "exact"), (10**10, "sampled"), (10**10, "extrapolated")]
    assert {one.metric for one in scores.figures} >= {
        "exposure at 3 repetitions",
        "exposure at 3 repetitions (sampled)",
        "exposure at 3 repetitions (extrapolated)",
    }


def test_auto_goes_on_without_a_law(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise NoLaw("there is none")

    monkeypatch.setattr(module, "MOST_EXACT", 100)
    monkeypatch.setattr(module, "by_law", none)
    scores = scored(Exposure(samples=200, controls=100))
    assert {one["method"] for one in scores.details["canaries"]} == {"sampled"}
    assert any("there is none" in note for note in scores.notes)
    with pytest.raises(NoLaw):
        scored(Exposure(method="extrapolated", samples=200))


def test_all_templates_have_candidates_of_their_own() -> None:
    data = (*canaries((SECRET, 2)), *canaries((SECRET, 2), template="I owe {} to you"))
    scores = scored(Exposure(controls=51), data)
    assert [one["method"] for one in scores.details["canaries"]] == ["exact"] * 2
    assert [len(one["exposures"]) for one in scores.details["never_planted"]] == [26, 26]
    assert scores.figure("exposure at 2 repetitions").n == 2


def test_other_secrets_than_numbers_have_the_space_of_their_pattern() -> None:
    data = canaries(("4-b", 2))
    scores = scored(Exposure(pattern="#-@", controls=50), data)
    assert scores.details["canaries"][0]["space"] == 260


def test_a_seed_gives_the_same_scores(exact: Scores) -> None:
    again = scored(Exposure())
    assert again.figures == exact.figures
    assert again.details == exact.details


def test_progress_reaches_its_end() -> None:
    seen: list[tuple[int, int]] = []
    data = (*canaries((SECRET, 1)), *canaries(("123456789", 1)))
    Exposure(samples=150, controls=20).score(
        target(overfitted()), data, Randomness.reproducible(1), lambda *now: seen.append(now)
    )
    assert seen[-1][0] == seen[-1][1] == 10**4 + 150 + 1 + 10 + 10
    assert [now for now, _ in seen] == sorted(now for now, _ in seen)


def test_joined_digits_go_through_the_whole_attack() -> None:
    scores = Exposure(controls=500).score(
        target(tiny("gpt-small", joining())), canaries(("1237", 1)), Randomness.reproducible(2)
    )
    assert near_chance(scores)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model on disk, and a manifest beside it."""
    save_model(tiny("lstm", bytes_only()), tmp_path / "model")
    documents = [Document("One. Two."), Document("Three. Four.")]
    secrets = (Canary(TEMPLATE, "123"), Canary(TEMPLATE, "456"))
    schedule = plan_insertions(2, [2, 0], Randomness.reproducible(1))
    places = tuple(
        place for _, some in insert_canaries(documents, schedule, secrets) for place in some
    )
    manifest = Manifest(secrets, schedule, places)
    (tmp_path / "canaries.json").write_text(json.dumps(manifest.as_dict()))
    return tmp_path


def test_from_paths_to_scores(folder: Path) -> None:
    inputs = Inputs(target=folder / "model", canaries=folder / "canaries.json")
    scores = protocol.run_attack(Exposure(), inputs, Randomness.reproducible(1))
    assert [one.metric for one in scores.figures][:2] == [
        "exposure at 0 repetitions",
        "exposure at 2 repetitions",
    ]
    assert find("attacks", "exposure").load() is Exposure


def test_a_file_instead_of_a_model_is_explained(folder: Path) -> None:
    private = folder / "private.jsonl"
    private.write_text("{}\n")
    said = Exposure().missing(Inputs(target=private, canaries=folder / "canaries.json"))
    assert said is not None
    assert "this attack is on a model" in said
    assert "sfumato.plant_canaries(CORPUS" in said


def test_a_run_without_canaries_is_explained(folder: Path) -> None:
    inputs = Inputs(target=folder / "model")
    with pytest.raises(MissingInput, match=r"exposure: no canaries.*canaries='PLANTED") as caught:
        protocol.run_attack(Exposure(), inputs, Randomness.reproducible(1))
    assert "sfumato.train(PLANTED" in str(caught.value)
    absent = Exposure().missing(Inputs(target=folder / "model", canaries=folder / "no.json"))
    assert absent is not None
    assert "there is no manifest" in absent


def test_a_secret_of_an_unknown_space_is_explained(folder: Path) -> None:
    path = folder / "canaries.json"
    content = json.loads(path.read_text())
    content["canaries"][1] |= {
        "secret": "a7", "text": "My ID is a7.", "secret_space": None
    }  # fmt: skip
    path.write_text(json.dumps(content))
    inputs = Inputs(target=folder / "model", canaries=path)
    said = Exposure().missing(inputs)
    assert said is not None
    assert "'pattern': " in said
    assert Exposure(pattern="@#").missing(inputs) is None


def test_a_damaged_manifest_is_explained(folder: Path) -> None:
    path = folder / "canaries.json"
    path.write_text("[]")
    said = Exposure().missing(Inputs(target=folder / "model", canaries=path))
    assert said is not None
    assert str(path) in said


def test_settings_are_checked() -> None:
    with pytest.raises(UnknownName, match="did you mean 'exact'"):
        Exposure(method="exakt")
    with pytest.raises(InvalidArgument, match="samples=10 must be at least"):
        Exposure(samples=10)
    with pytest.raises(InvalidArgument, match="pattern"):
        Exposure(pattern="abc")
    with pytest.raises(InvalidArgument, match="up to 1,000,000 secrets"):
        scored(Exposure(method="exact"), canaries(("1234567", 1)))
    with pytest.raises(MissingInput, match="no canary"):
        Exposure().score(target(overfitted()), (), Randomness.reproducible(1))


def test_a_classifier_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(
        "gpt-small",
        randomness=Randomness.reproducible(1),
        kind="classifier",
        classes=("a", "b"),
        tokenizer=bytes_only(),
        settings={"layers": 1, "width": 8, "heads": 1, "context": 64},
    )
    monkeypatch.setattr(module, "open_model", lambda _path: target(model))
    with pytest.raises(MissingInput, match="classifier"):
        Exposure().opened(Inputs(target=folder / "model", canaries=folder / "canaries.json"))
