"""Guesses among candidates: exact without noise, at chance with much, never above a proof."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from naive_gradients import gradients_of_records
from sfumato.accounting.directional import match_kappa
from sfumato.attacks.gradients import candidates
from sfumato.attacks.gradients.candidates import (
    FROM_SUM,
    GradientCandidates,
    Gradients,
    expected,
    gradients_of,
    proven,
    simulate,
)
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.arrays import Floats
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from sfumato.verbs.attack import attack
from sfumato.verbs.train import train
from unit.training.runs import small_model, some_documents

TEXTS = [Document(one.text) for one in some_documents(10)]


@pytest.fixture(scope="module")
def target() -> ModelTarget:
    return ModelTarget(small_model(), "digest")


def scored(target: ModelTarget, **settings: object) -> Scores:
    attack = GradientCandidates(**settings)  # type: ignore[arg-type]
    return attack.score(target, TEXTS, Randomness.reproducible(3))


@pytest.mark.parametrize("noise", ["gaussian", "directional"])
def test_right_without_noise_and_at_chance_with_much(target: ModelTarget, noise: str) -> None:
    found = scored(target, noise=noise, sigma=(1e-3, 300.0), releases=300)
    clear, hidden = (one.value for one in found.figures)
    assert clear > 0.99
    assert hidden == pytest.approx(0.1, abs=0.03)
    assert found.chance[found.figures[0].metric] == 0.1
    # The null: to name another text is no better than chance.
    assert found.control.figures[0].value <= 0.01
    assert found.control.figures[1].value == pytest.approx(0.1, abs=0.03)
    assert "text" not in str(found.details)


@pytest.mark.parametrize("clip_norm", [None, 0.5])
def test_no_more_than_proven_and_both_noises_alike(
    target: ModelTarget, clip_norm: float | None
) -> None:
    gaussian = scored(target, sigma=(0.2, 0.5), clip_norm=clip_norm, releases=2000)
    for one, beside in zip(gaussian.figures, gaussian.details["levels"], strict=True):
        assert one.value <= beside["proven_at_most"] + 0.02
    if clip_norm is None:
        turned = scored(target, sigma=(0.2, 0.5), noise="directional", releases=2000)
        for one, other in zip(gaussian.figures, turned.figures, strict=True):
            assert one.value == pytest.approx(other.value, abs=0.05)


def test_a_concentration_that_is_not_rescaled_with_the_dimension_is_found_out(
    target: ModelTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin that keeps the κ of a model with a hundredth of the weights: far more noise."""
    honest = scored(target, sigma=(0.2,), noise="directional", releases=500).figures[0]
    kept = lambda sigma, dimension: match_kappa(sigma, dimension // 100)  # noqa: E731
    monkeypatch.setattr(candidates, "match_kappa", kept)
    twin = scored(target, sigma=(0.2,), noise="directional", releases=500).figures[0]
    assert twin.value < honest.value - 0.15


def test_gradients_are_those_of_the_training_loss(target: ModelTarget) -> None:
    found = gradients_of(target, TEXTS[:3], 12)
    tokenizer, network = target.model.tokenizer, target.model.network

    def loss(under: torch.nn.Module, rows: torch.Tensor) -> torch.Tensor:
        from sfumato.training.records import Cut, make_language_records

        cut = Cut(context=12, unit="example", long="truncate")
        records = make_language_records(TEXTS[:3], tokenizer, cut)
        losses = []
        for row in rows.tolist():
            logits = under(input_ids=torch.from_numpy(records.inputs(row)[None].astype(np.int64)))
            labels = torch.from_numpy(records.labels(row).astype(np.int64))
            losses.append(torch.nn.functional.cross_entropy(logits.logits[0], labels))
        return torch.stack(losses)

    naive = gradients_of_records(network, loss, torch.arange(3))
    flat = torch.stack([torch.cat([one.flatten() for one in each.values()]) for each in naive])
    np.testing.assert_allclose(found.gram, (flat @ flat.T).numpy(), rtol=1e-4)
    assert found.dimension == flat.shape[1]


def orthogonal(count: int) -> Floats:
    return np.eye(count)


@pytest.mark.parametrize("sigma", [0.2, 0.5])
def test_simulated_releases_agree_with_the_closed_form(sigma: float) -> None:
    gram = orthogonal(32)
    settings = GradientCandidates(releases=400)
    products = simulate(gram, 10**6, settings, sigma, Randomness.reproducible(5))
    right = float((products.argmax(2) == np.arange(32)[:, None]).mean())
    assert right == pytest.approx(expected(gram, sigma), abs=0.02)
    assert right <= proven(32, sigma)


def test_clipped_gradients_keep_their_lengths_below_the_norm() -> None:
    found = Gradients(np.diag([0.25, 4.0]), 10)
    assert np.diag(found.scaled(1.0)).tolist() == [0.25, 1.0]
    assert np.diag(found.scaled(None)).tolist() == [1.0, 1.0]


def test_what_cannot_be_is_refused(target: ModelTarget) -> None:
    with pytest.raises(BadInput, match="different documents"):
        GradientCandidates().score(target, TEXTS[:1] * 9, Randomness.reproducible(1))
    with pytest.raises(InvalidArgument, match="directions only"):
        GradientCandidates(noise="directional", clip_norm=1.0)
    with pytest.raises(InvalidArgument, match="sigma"):
        GradientCandidates(sigma=(0.0,))
    with pytest.raises(InvalidArgument, match="sigma"):
        GradientCandidates(sigma=())
    with pytest.raises(InvalidArgument, match="noise='run'"):
        GradientCandidates(observer="sum")
    with pytest.raises(InvalidArgument, match="leave clip_norm out"):
        GradientCandidates(noise="run", clip_norm=1.0)
    with pytest.raises(InvalidArgument, match="the target is none"):
        GradientCandidates(noise="run").score(target, TEXTS, Randomness.reproducible(1))


def of_run(target: ModelTarget, method: str, observer: str = "draw") -> float:
    """Right guesses against a step of 16 records with noise of 0.2."""
    dimension = gradients_of(target, TEXTS, 32).dimension
    multiplier = 0.2 if method != "directional" else dimension**0.5 / match_kappa(0.2, dimension)
    plan = {
        "stages": [{"noise_multiplier": multiplier, "batch_size": 16}],
        "clipping": {"kind": "fixed", "norm": 1e-3},
        "dimension": dimension,
    }
    run = replace(target, settings={"method": method, "plan": plan})
    found = scored(run, noise="run", observer=observer, releases=1000)
    assert "knows that the record is in it" in found.knowledge
    (figure,), (level,) = found.figures, found.details["levels"]
    assert figure.metric == "right guesses"
    # A sum of directional draws is proven to tell no more than one of them, and nothing better.
    alone = method == "directional" or level["sigma"] == pytest.approx(0.2)
    proof = proven(len(TEXTS), 0.2 if alone else level["sigma"])
    assert level["proven_at_most"] == pytest.approx(proof, rel=1e-2)
    return figure.value


def test_a_run_is_attacked_with_its_own_noise(target: ModelTarget) -> None:
    """Clipped far below every length, or reduced to directions, the three are one mechanism."""
    by_hand = scored(target, sigma=(0.2, 0.8), releases=1000)
    alone, among_others = (one.value for one in by_hand.figures)
    assert among_others < alone - 0.3
    for method in ("private", "per-record", "directional"):
        assert of_run(target, method) == pytest.approx(alone, abs=0.05)
    # A sum of 16 draws has four times the noise; noise that is added once has not.
    assert of_run(target, "private", "sum") == pytest.approx(alone, abs=0.05)
    for method in ("per-record", "directional"):
        assert of_run(target, method, "sum") == pytest.approx(among_others, abs=0.05)
    assert of_run(target, "plain") > 0.99


def test_a_run_that_trained_a_head_shows_the_head_alone(tmp_path: Path) -> None:
    notes = tmp_path / "notes.tsv"
    rows = "".join(f"{place % 2}\tword {place} of {place * 7}\n" for place in range(12))
    notes.write_text("label\ttext\n" + rows)
    sizes: dict[str, object] = {"layers": 1, "width": 8, "heads": 2, "context": 16}
    run = train(
        notes, tmp_path / "run", method="per-record", model="gpt-small", trainable="head",
        settings={**sizes, "per-record.sigma": 0.5}, classes=[0, 1],
        label_field="label", epochs=1, batch_size=4, seed=1,
    )  # fmt: skip
    found = attack(
        "gradient-candidates", run, members=notes, settings={"noise": "run", "releases": 20},
        label_field="label",
    )  # fmt: skip
    assert found.details["dimension"] == 2 * 8 + 2 * 8
    # The run's head and its draws, by both observers: sums of four draws have twice the noise.
    both = attack(
        "gradient-candidates", run, members=notes, label_field="label",
        settings={"noise": "run", "releases": 200, "observer": "both"}, seed=3,
    )  # fmt: skip
    draw, summed = (both.figure(name).value for name in ("right guesses", FROM_SUM))
    assert set(both.chance) == {"right guesses", FROM_SUM}
    assert len(both.control.figures) == 2
    assert draw > summed + 0.05
    levels = (both.details["levels"], both.details["levels_of_sums"])
    assert [one["sigma"] for (one,) in levels] == pytest.approx([0.5, 1.0], rel=1e-3)
