"""What training will cost is told before it begins, and telling it changes nothing."""

from __future__ import annotations

import pytest
import torch

from sfumato.core.randomness import Randomness
from sfumato.training import cost
from sfumato.training.cost import Cost, estimate_cost, seconds_per_token, with_cost
from sfumato.training.loop import fit
from sfumato.training.methods.base import TokenMaterial
from unit.training.runs import small_model, small_plan, some_records


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_steps_and_tokens_are_those_of_the_plan(noise: float) -> None:
    plan, records = small_plan(batch_size=6, noise=noise), some_records()
    found = estimate_cost(small_model(), plan, TokenMaterial(records))
    assert found is not None
    assert found.steps == plan.steps == 7
    # Six of six records in each of seven steps.
    assert found.tokens == 7 * records.counts.tokens
    assert found.seconds > 0
    said = with_cost(small_model(), plan, TokenMaterial(records)).lines()
    assert said[0] == records.counts.summary()
    assert said[1].startswith(f"7 steps over {found.tokens:,} tokens: about ")


@pytest.mark.parametrize("noise", [1.0, 0.0])
def test_a_trial_leaves_weights_gradients_and_random_numbers_alone(noise: float) -> None:
    model = small_model()
    before = [one.detach().clone() for one in model.network.parameters()]
    state = torch.get_rng_state()
    assert seconds_per_token(model, small_plan(noise=noise)) is not None
    assert torch.equal(state, torch.get_rng_state())
    for one, kept in zip(model.network.parameters(), before, strict=True):
        assert torch.equal(one, kept)
        assert one.grad is None


def trained(*, tried: bool) -> list[torch.Tensor]:
    model, plan, records = small_model(), small_plan(batch_size=6), some_records()
    if tried:
        estimate_cost(model, plan, TokenMaterial(records))
    fit(model, records, plan, randomness=Randomness.reproducible(5))
    return [one.detach().clone() for one in model.network.parameters()]


def test_what_is_trained_after_a_trial_is_the_same() -> None:
    for one, other in zip(trained(tried=True), trained(tried=False), strict=True):
        assert torch.equal(one, other)


def test_a_trial_that_moves_the_weights_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: the trial takes a step."""
    honest = cost._time

    def stepping(network: torch.nn.Module, *rest: object, two_passes: bool) -> float:
        taken = honest(network, *rest, two_passes=two_passes)  # type: ignore[arg-type]
        with torch.no_grad():
            for one in network.parameters():
                one.add_(1e-3)
        return taken

    monkeypatch.setattr(cost, "_time", stepping)
    changed = zip(trained(tried=True), trained(tried=False), strict=True)
    assert not all(torch.equal(one, other) for one, other in changed)


def test_long_training_says_what_would_take_less() -> None:
    assert "fewer epochs" in Cost(steps=9, tokens=9, seconds=4000.0).line()
    assert "fewer epochs" not in Cost(steps=9, tokens=9, seconds=400.0).line()
