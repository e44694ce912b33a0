"""What a step releases: the gradients of training, its bounds, its noise; by hand or of a run."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from sfumato.accounting.directional import match_kappa
from sfumato.attacks.gradients import release as releases
from sfumato.attacks.gradients.release import (
    Batch,
    Gradient,
    gradient_of,
    in_double,
    release,
    special_tokens,
)
from sfumato.attacks.gradients.step import Step, step_of_run
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from unit.attacks.gradients.models import decoder, encoder, sentences

TOKENS = 16
# Training takes lengths for up to a hundredth longer than they are, to be safe from rounding.
SHORTENED = 0.01


def flat(gradient: Gradient) -> torch.Tensor:
    return torch.cat([one.flatten().double() for one in gradient.values()])


def apart(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / other.norm())


def batch_of(target: ModelTarget, count: int) -> Batch:
    return Batch.of(target.model, sentences(count), TOKENS)


@pytest.fixture(scope="module", params=[encoder, decoder])
def target(request: pytest.FixtureRequest) -> ModelTarget:
    made: ModelTarget = request.param()
    return made


def seen(batch: Batch, seed: int = 3, **settings: Any) -> torch.Tensor:
    step = Step(batch=len(batch), **settings)
    return flat(release(batch, step, Randomness.reproducible(seed)).gradient)


def test_gradients_are_those_of_the_usual_loss(target: ModelTarget) -> None:
    batch = batch_of(target, 2)
    network: Any = target.model.network.eval()
    for row in batch.rows:
        network.zero_grad()
        logits = network(input_ids=row.input_ids).logits
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), row.labels.reshape(-1)
        )
        loss.backward()  # type: ignore[no-untyped-call]
        expected = {n: p.grad for n, p in network.named_parameters() if p.grad is not None}
        found = gradient_of(target.model, row)
        assert found.keys() == expected.keys()
        for name, one in expected.items():
            torch.testing.assert_close(found[name], one, rtol=1e-3, atol=1e-6)
    network.zero_grad()


def test_bounds(target: ModelTarget) -> None:
    batch = batch_of(target, 2)
    each = torch.stack([flat(gradient_of(target.model, row)) for row in batch.rows])
    norms = each.norm(dim=1)
    directions = (each / norms[:, None]).sum(0)
    # In units of the bound; the two gradients may nearly cancel.
    assert float((seen(batch, noise="none") - directions).norm()) < len(batch) * SHORTENED
    assert apart(seen(batch, noise="none", bound="whole"), each.sum(0)) < 1e-6
    bound = float(norms.mean())
    clipped = (each / torch.clamp(norms, min=bound)[:, None]).sum(0)
    found = seen(batch, bound="clipped", clip_norm=bound)
    assert float((found - clipped).norm()) < len(batch) * SHORTENED


@pytest.mark.parametrize("noise", ["gaussian", "per-record", "directional"])
def test_noise_has_the_deviation_that_the_step_states(target: ModelTarget, noise: str) -> None:
    batch = batch_of(target, 3)
    clear = seen(batch, noise="none")
    step = Step(noise=noise, sigma=0.5, batch=3)
    left = seen(batch, noise=noise, sigma=0.5) - clear
    assert float(left.std()) == pytest.approx(step.deviation, rel=0.03)
    assert step.deviation == pytest.approx(0.5 * (1 if noise == "gaussian" else math.sqrt(3)))


def test_a_concentration_that_is_not_rescaled_with_the_dimension_is_found_out(
    target: ModelTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin that keeps the κ of a hundredth of the weights has ten times the noise."""
    batch = batch_of(target, 1)
    clear = seen(batch, noise="none")
    kept = lambda sigma, dimension: match_kappa(sigma, dimension // 100)  # noqa: E731
    monkeypatch.setattr(releases, "match_kappa", kept)
    left = seen(batch, noise="directional", sigma=0.5) - clear
    assert float(left.std()) > 5 * Step(noise="directional", sigma=0.5).deviation


def test_clipped_noise_is_in_units_of_the_bound(target: ModelTarget) -> None:
    batch = batch_of(target, 1)
    clear = seen(batch, bound="clipped", clip_norm=0.1)
    noisy = seen(batch, bound="clipped", clip_norm=0.1, sigma=0.3)
    assert float((noisy - clear).std()) == pytest.approx(0.3, rel=0.03)


def test_only_what_is_trained_is_released() -> None:
    target = encoder()
    network: Any = target.model.network
    network.bert.requires_grad_(False)
    found = release(batch_of(target, 1), Step(noise="none"), Randomness.reproducible(1))
    assert set(found.gradient) == {"classifier.weight", "classifier.bias"}
    assert found.dimension == 64 * 2 + 2
    network.requires_grad_(False)
    with pytest.raises(InvalidArgument, match="no parameter"):
        release(batch_of(target, 1), Step(noise="none"), Randomness.reproducible(1))


def test_double_precision_changes_little_and_not_the_given_model(target: ModelTarget) -> None:
    batch = batch_of(target, 1)
    precise = Batch.of(in_double(target.model), sentences(1), TOKENS)
    found = release(precise, Step(noise="none"), Randomness.reproducible(1))
    assert {one.dtype for one in found.gradient.values()} == {torch.float64}
    assert apart(flat(found.gradient), seen(batch, noise="none")) < SHORTENED
    assert next(iter(target.model.network.parameters())).dtype is torch.float32


def test_texts_are_without_special_tokens(target: ModelTarget) -> None:
    batch = batch_of(target, 2)
    tokenizer = target.model.tokenizer
    for document, tokens, length in zip(sentences(2), batch.texts(), batch.lengths, strict=True):
        assert tokenizer.decode(tokens) == document.text
        assert not special_tokens(target.model) & set(tokens)
        assert length > len(tokens)
    assert batch.labels == ((0, 1) if target.model.classes else ())


PLAN = {
    "stages": [
        {"steps": 1, "batch_size": 8, "noise_multiplier": 2.0},
        {"steps": 1, "batch_size": 4, "noise_multiplier": 0.5},
    ],
    "clipping": {"kind": "fixed", "norm": 0.25},
}


def test_steps_of_runs() -> None:
    private = step_of_run({"method": "private", "plan": PLAN})
    assert private == Step(sigma=0.5, batch=4, bound="clipped", clip_norm=0.25)
    assert step_of_run({"method": "plain", "plan": PLAN}).bound == "whole"
    per_record = step_of_run({"method": "per-record", "plan": PLAN})
    assert (per_record.noise, per_record.sigma, per_record.bound) == (
        "per-record",
        0.5,
        "direction",
    )
    turned = step_of_run({"method": "directional", "plan": PLAN | {"dimension": 400}})
    # Its κ is √400/0.5 = 40, and the matched noise gives back the same.
    assert match_kappa(turned.sigma, 400) == pytest.approx(40.0)
    assert private.silent().said == "without noise"


@pytest.mark.parametrize(
    ("method", "changed", "why"),
    [
        ("private", {"plan": PLAN | {"unit": "author"}}, "an author wrote"),
        ("private", {"course": {"divisor": 32.0}}, "divisor or weights"),
        ("private", {"course": {"class_weights": [1.0, 3.0]}}, "divisor or weights"),
        (
            "private",
            {"plan": PLAN | {"clipping": {"kind": "adaptive", "norm": 1.0}}},
            "follows its gradients",
        ),
    ],
)
def test_runs_whose_records_have_other_gradients_are_refused(
    method: str, changed: dict[str, Any], why: str
) -> None:
    """What such a step shows is not what would be computed here."""
    with pytest.raises(InvalidArgument, match=why):
        step_of_run({"method": method, "plan": PLAN} | changed)


def test_directions_have_no_length_that_weights_could_change() -> None:
    given = {"method": "per-record", "plan": PLAN, "course": {"divisor": 32.0}}
    assert step_of_run(given).noise == "per-record"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="takes noise, clipping"):
        step_of_run(None)
    with pytest.raises(InvalidArgument, match="method interleaved"):
        step_of_run({"method": "interleaved", "plan": PLAN})
    with pytest.raises(BadInput, match="damaged"):
        step_of_run({"method": "private", "plan": {}})
    with pytest.raises(InvalidArgument, match="directions only"):
        Step(noise="directional", bound="clipped")
    with pytest.raises(InvalidArgument, match="no unit"):
        Step(bound="whole", sigma=1.0)
    with pytest.raises(InvalidArgument, match="give one"):
        Step(noise="none", sigma=1.0)
    with pytest.raises(InvalidArgument, match="for a step of 2"):
        release(batch_of(decoder(), 1), Step(batch=2), Randomness.reproducible(1))
