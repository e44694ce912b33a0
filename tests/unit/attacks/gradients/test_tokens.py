"""Bags of words from embeddings' gradients: exact without noise, false alarms as stated with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.attacks.gradients import tokens as module
from sfumato.attacks.gradients.release import Batch, release
from sfumato.attacks.gradients.step import Step
from sfumato.attacks.gradients.tokens import GradientTokens, Tables
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from unit.attacks.gradients.models import decoder, encoder, sentences
from unit.training.runs import small_model, some_documents

RELEASES = 16
# Random weights of an encoder's shape leave its embeddings about a hundredth of what others have.
FINE = {"encoder": 0.01, "tied": 1.0, "untied": 1.0}
SHAPES = {
    "encoder": encoder,
    "tied": decoder,
    "untied": lambda: decoder(tie_word_embeddings=False),
}


@pytest.fixture(scope="module", params=SHAPES)
def target(request: pytest.FixtureRequest) -> ModelTarget:
    return SHAPES[request.param]()


def scored(target: ModelTarget, count: int = 12, **settings: Any) -> Scores:
    attack = GradientTokens(**settings)
    return attack.score(target, sentences(count), Randomness.reproducible(3))


@pytest.mark.parametrize("batch", [1, 3])
def test_exact_without_noise_and_null_at_chance(target: ModelTarget, batch: int) -> None:
    found = scored(target, noise="none", batch=batch)
    assert {one.value for one in found.figures} == {1.0}
    for one in found.control.figures:
        assert one.value == pytest.approx(found.chance[one.metric], abs=0.15)
        assert one.value < 0.6
    assert found.control.figures[-1].value == 0


@pytest.mark.parametrize("shape", SHAPES)
def test_fewer_words_with_more_noise_and_both_noises_alike(shape: str) -> None:
    target = SHAPES[shape]()
    levels = tuple(FINE[shape] * one for one in (0.002, 0.02, 0.2))
    gaussian = values(scored(target, 6, sigma=levels))
    turned = values(scored(target, 6, sigma=levels, noise="directional"))
    assert gaussian[0] > 0.8
    assert gaussian[0] > gaussian[1] > gaussian[2]
    assert gaussian[2] < 0.2
    assert gaussian == pytest.approx(turned, abs=0.2)


def values(found: Scores) -> list[float]:
    return [one.value for one in found.figures if one.metric.startswith("F1")]


def false_words(target: ModelTarget, sigma: float) -> float:
    """The mean number of words that are named, and were not read."""
    attack = GradientTokens(false_alarms=2.0)
    counts = []
    for place, document in enumerate(sentences(RELEASES)):
        batch = Batch.of(target.model, [document], 16)
        seen = release(batch, Step(sigma=sigma), Randomness.reproducible(place))
        (found,) = attack.rebuild(seen, Randomness.reproducible(1))
        counts.append(len(set(found) - set(batch.texts()[0])))
    return float(np.mean(counts))


@pytest.mark.parametrize("shape", SHAPES)
def test_false_alarms_are_as_stated(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two are expected at most; a twin that takes the noise for smaller names too many."""
    target, sigma = SHAPES[shape](), 0.02 * FINE[shape]
    # Of a Poisson mean of 32 in all, 56 or more have a probability below 1e-4.
    assert false_words(target, sigma) < 3.5
    monkeypatch.setattr(Step, "deviation", property(lambda self: 0.85 * self.sigma))
    assert false_words(target, sigma) > 3.5


def test_positions_help() -> None:
    """Both rows hold the same vector, so a table of positions finds words that one alone misses."""
    target = encoder()
    found, alone = [], []
    for place, document in enumerate(sentences(24)):
        batch = Batch.of(target.model, [document], 16)
        seen = release(batch, Step(sigma=2e-4), Randomness.reproducible(place))
        tables = Tables.of(seen, 16)
        assert len(tables.positions) == 16
        wanted = set(batch.texts()[0])
        without = Tables(tables.words, tables.positions[:0], shared=False)
        found.append(len(wanted & set(tables.names(2e-4, 0.5).tolist())))
        alone.append(len(wanted & set(without.names(2e-4, 0.5).tolist())))
    assert np.sum(found) > 1.1 * np.sum(alone)


def test_levels_of_long_positions_agree_with_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = np.array([2e4, 9e4])
    sums = offsets + 64 + np.array([900.0, 2500.0])
    exact = module._long_sums(sums, 64, offsets)
    monkeypatch.setattr(module, "_CERTAIN", 1e3)
    assert module._long_sums(sums, 64, offsets) == pytest.approx(exact, abs=0.02)


def test_a_recurrent_model_has_no_positions() -> None:
    target = ModelTarget(small_model(settings={"embedding": 16, "hidden": 16}), "digest")
    found = GradientTokens(noise="none", tokens=12).score(
        target, some_documents(8), Randomness.reproducible(1)
    )
    assert found.figure("exact bags of words without noise").value == 1


def test_what_cannot_be_is_refused() -> None:
    frozen = encoder()
    network: Any = frozen.model.network
    network.get_input_embeddings().requires_grad_(False)
    with pytest.raises(InvalidArgument, match="not trained"):
        scored(frozen)
    with pytest.raises(InvalidArgument, match="as many places"):
        scored(decoder(n_embd=16), noise="none", batch=4)
    with pytest.raises(InvalidArgument, match="false_alarms"):
        GradientTokens(false_alarms=0)
