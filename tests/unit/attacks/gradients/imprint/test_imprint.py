"""A planted network gives its text away; the published read-out breaks under a little noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from sfumato.attacks.gradients.imprint import planting
from sfumato.attacks.gradients.imprint.attack import GradientImprint
from sfumato.attacks.gradients.imprint.planting import Planted, Shape, plant
from sfumato.attacks.gradients.imprint.readout import read_tokens
from sfumato.attacks.gradients.release import Batch, Seen, release, special_tokens
from sfumato.attacks.gradients.step import Step
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from unit.attacks.gradients.models import decoder, encoder, sentences

SMALL = GradientImprint(sigma=(0.0, 3e-3), width=64, layers=3, window=16, most=8, tokens=16)
TARGETS = {"classifier": encoder(), "language model": decoder()}
PLACED = "tokens in place"


def scored(attack: GradientImprint, target: ModelTarget) -> Scores:
    return attack.score(target, sentences(8), Randomness.reproducible(2))


def stands_noise(found: Scores) -> bool:
    """What is asked of a strong read-out: nine tokens in ten at a noise of 0.003."""
    return found.figure(f"{PLACED} at σ = 0.003").value >= 0.9


@pytest.mark.parametrize("kind", TARGETS)
def test_windows_read_the_text_through_noise(kind: str) -> None:
    found = scored(SMALL, TARGETS[kind])
    assert found.figure(f"{PLACED} without noise").value >= 0.95
    assert stands_noise(found)
    for one in found.control.figures:
        assert (one.low or 0.0) <= found.chance[one.metric] <= (one.high or 0.0)
    assert "dishonest server" in found.knowledge
    assert found.figure(f"{PLACED} without noise").n == 8


@pytest.mark.parametrize("kind", TARGETS)
def test_the_published_read_out_must_not_pass_as_ours(kind: str) -> None:
    """Among too many bins it keeps those with the smallest biases, which are noise."""
    found = scored(replace(SMALL, readout="neighbors"), TARGETS[kind])
    assert found.figure(f"{PLACED} without noise").value >= 0.95
    assert found.figure(f"{PLACED} at σ = 0.003").value <= 0.05
    assert not stands_noise(found)


def planted(target: ModelTarget) -> Planted:
    return plant(target.model, Shape(width=64, layers=3), 16, Randomness.reproducible(4))


def seen_of(model: Planted, place: int = 0) -> tuple[Seen, list[int]]:
    documents = sentences(8)
    if not model.classes:
        documents = [replace(one, labels=()) for one in documents]
    batch = Batch.of(model, [documents[place]], 16)
    return release(batch, Step(), Randomness.reproducible(1)), batch.texts()[0]


def share_of_probes(model: Planted) -> float:
    seen, _ = seen_of(model)
    assert model.banks is not None
    probes = [seen.gradient[f"{name}.weight"].square().sum() for name in model.banks.names]
    return float(sum(probes) / sum(one.square().sum() for one in seen.gradient.values()))


@pytest.mark.parametrize("kind", TARGETS)
def test_nearly_all_of_the_gradient_is_in_the_probes(kind: str) -> None:
    assert share_of_probes(planted(TARGETS[kind])) > 0.8


def test_published_weights_leave_the_probes_next_to_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(planting, "WRITES", 1e-4)
    monkeypatch.setattr(planting, "HANDED_ON", 1.0)
    assert share_of_probes(planted(TARGETS["classifier"])) < 1e-4


def test_units_cancel_in_the_forward_pass() -> None:
    """A twin with one sign for all units drives the state far away from where it was planted."""
    model = planted(TARGETS["language model"])
    tokens = torch.tensor([[2, 9, 40, 77, 120]])

    def moved(network: Any) -> float:
        body = network.transformer
        with torch.inference_mode():
            states = body(input_ids=tokens, output_hidden_states=True).hidden_states
        # The last one is normalized already.
        return float((states[-2] - states[0]).abs().max() / states[0].std())

    assert moved(model.network) < 0.1
    network: Any = model.network
    with torch.no_grad():
        for block in network.transformer.h:
            block.mlp.c_proj.weight.abs_()
    assert moved(network) > 1.0


@pytest.mark.parametrize("kind", TARGETS)
def test_special_tokens_are_never_read(kind: str) -> None:
    model = planted(TARGETS[kind])
    for place in range(3):
        seen, text = seen_of(model, place)
        for window in (16, None):
            found = read_tokens(seen, model, window)
            assert len(found) == len(text)
            assert not special_tokens(model) & set(found)


@pytest.mark.parametrize("window", [16, None])
def test_gradients_of_zero_give_no_text_and_no_number_that_is_none(window: int | None) -> None:
    model = planted(TARGETS["classifier"])
    seen, _ = seen_of(model)
    nothing = {name: torch.zeros_like(one) for name, one in seen.gradient.items()}
    assert read_tokens(replace(seen, gradient=nothing), model, window) == []


def test_what_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="a batch must be 1"):
        GradientImprint(batch=2)
    with pytest.raises(InvalidArgument, match="readout"):
        GradientImprint(readout="best")
    seen, _ = seen_of(planted(TARGETS["classifier"]))
    honest = replace(seen, model=TARGETS["classifier"].model)
    with pytest.raises(InvalidArgument, match="not planted"):
        SMALL.rebuild(honest, Randomness.reproducible(1))
