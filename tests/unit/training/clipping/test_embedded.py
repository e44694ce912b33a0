"""A gradient in two parts: neither adds more than its norm, and both pay for their noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from clipping_adversary import SHORT, Case, canceled, drawn, opposed
from sfumato.accounting.events import jointly
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.encoder_classifier import (
    EncoderClassifierConfig,
    EncoderForSequenceClassification,
)
from sfumato.training.clipping import embedded, rounding
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.embedded import EmbeddedRelease
from sfumato.training.clipping.release import StepNoise
from sfumato.training.steps import PrivateStep

MOST = 1 + 1e-6
DIRECTIONS = 3


def chance(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def some_basis(model: nn.Module, *, seed: int = 0, stretch: float = 1.0) -> dict[str, Tensor]:
    """Orthonormal directions over all parameters together, perhaps stretched."""
    trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
    total = sum(one.numel() for one in trained.values())
    rows = torch.linalg.qr(torch.randn(total, DIRECTIONS, generator=chance(seed)))[0].t() * stretch
    parts = torch.split(rows, [one.numel() for one in trained.values()], dim=1)
    return {
        name: part.reshape(DIRECTIONS, *one.shape)
        for (name, one), part in zip(trained.items(), parts, strict=True)
    }


def private_step(case: Case, release: EmbeddedRelease, noise: float = 0.0) -> PrivateStep:
    return PrivateStep(
        case.model,
        torch.optim.SGD(case.model.parameters(), lr=0.0),
        release=release,
        noise_multiplier=noise,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(0),
    )


def added(case: Case, release: EmbeddedRelease) -> tuple[float, float]:
    """What one record adds to both sums, as multiples of their norms."""
    step = private_step(case, release)
    try:
        step.backward(case.losses(case.entered, case.pull))
        embedding = release._embedded
        assert embedding is not None
        residual = torch.cat([one.double().flatten() for one in step._sums.values()])
        return (
            float(embedding.norm()) / release.embedding.clip_norm,
            float(residual.norm()) / release.residual.clip_norm,
        )
    finally:
        step.close()


def searched() -> list[Case]:
    """Records that are ordinary, cancel by search, and repeat with opposite signs."""
    first = drawn("linear", (1, 6, 12), chance(7))
    found = canceled(drawn("linear", (1, 6, 12), chance(7)), steps=40)
    return [first, found, opposed(found, 16, 1e-4, 1.0), opposed(first, 24, 1e-5, 1e4)]


def within_one_direction(case: Case) -> dict[str, Tensor]:
    """A basis that holds the whole gradient of a record, or nearly."""
    step = private_step(case, EmbeddedRelease(1.0, 1.0))
    records = step.recording.backward(case.losses(case.entered, case.pull))
    found = {name: one.clone() for name, one in step.recording.gradients(records).items()}
    step.close()
    length = math.sqrt(sum(float(one.double().square().sum()) for one in found.values()))
    return {name: one / length for name, one in found.items()}


def test_no_record_adds_more_than_the_norm_of_a_part() -> None:
    most = [0.0, 0.0]
    for case in searched():
        bases = [some_basis(case.model, stretch=stretch) for stretch in (1.0, 1.01, 30.0)]
        for basis in (*bases, within_one_direction(case)):
            release = EmbeddedRelease(SHORT, SHORT / 3)
            release.basis = basis
            most = [max(*both) for both in zip(most, added(case, release), strict=True)]
    assert min(most) > 0.9
    assert max(most) <= MOST


@pytest.mark.parametrize("part", ["embedding", "residual"])
def test_a_part_that_is_not_clipped_is_caught(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = searched()[0]
    release = EmbeddedRelease(SHORT, SHORT / 3)
    release.basis = some_basis(case.model)
    honest = Flat.scales

    def scales(self: Flat, norms: Tensor) -> Tensor:
        return torch.ones_like(norms) if self is getattr(release, part) else honest(self, norms)

    monkeypatch.setattr(Flat, "scales", scales)
    assert max(added(case, release)) > 2


def test_without_clipping_both_parts_are_the_gradient() -> None:
    case = drawn("linear", (4, 3, 12), chance(1))
    wanted = torch.autograd.grad(
        case.losses(case.entered, case.pull).sum(), list(case.model.parameters())
    )
    release = EmbeddedRelease(1e6, 1e6)
    release.basis = some_basis(case.model)
    step = private_step(case, release)
    step.backward(case.losses(case.entered, case.pull))
    step.step()
    for one, gradient in zip(case.model.parameters(), wanted, strict=True):
        torch.testing.assert_close(one.grad, gradient, atol=1e-4, rtol=1e-4)
    # The same for a record in several pieces.
    for rows in (slice(0, 2), slice(2, 4)):
        with step.one_record():
            part = Case(case.model, case.entered[rows], case.pull[rows])
            step.backward(part.losses(part.entered, part.pull))
    step.step()
    for one, gradient in zip(case.model.parameters(), wanted, strict=True):
        torch.testing.assert_close(one.grad, gradient, atol=1e-4, rtol=1e-4)
    step.close()


def noise_of_parts(multiplier: float) -> tuple[float, float]:
    """The standard deviations of an empty step's noise, in units of both norms."""
    release = EmbeddedRelease(5.0, 2.0)
    release.basis = {"weight": torch.eye(400, 8000).reshape(400, 80, 100)}
    sums = [torch.zeros(80, 100)]
    release.finish(sums, 1.0, StepNoise(multiplier, Randomness.reproducible(6)))
    within, outside = torch.split(sums[0].flatten(), [400, 7600])
    return float(within.std()) / 5.0, float(outside.std()) / 2.0


def test_the_noise_of_both_parts_together_is_what_is_charged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tolerances are eight standard errors wide: 1/√(2·400) and 1/√(2·7,600)."""

    def charged() -> bool:
        along, across = noise_of_parts(1.5)
        paid = 1.5 * math.sqrt(2)
        return along == pytest.approx(paid, rel=0.28) and across == pytest.approx(paid, rel=0.066)

    assert charged()
    assert jointly(1.5 * math.sqrt(2), 1.5 * math.sqrt(2)) == pytest.approx(1.5)
    assert EmbeddedRelease(5.0, 2.0).event(1.5, rate=0.1).noise_multiplier == 1.5
    monkeypatch.setattr(embedded, "PARTS", 1.0)  # a twin that charges for one part only
    assert not charged()


def refused(prepare: Callable[[EmbeddedRelease, nn.Module], None]) -> None:
    case = drawn("linear", (2, 3, 12), chance(1))
    release = EmbeddedRelease(1.0, 1.0)
    prepare(release, case.model)
    step = private_step(case, release)
    with pytest.raises(InvalidArgument, match="basis"):
        step.backward(case.losses(case.entered, case.pull))
    with pytest.raises(InvalidArgument, match="basis"):
        EmbeddedRelease(1.0, 1.0).finish([], 1.0, StepNoise(1.0, Randomness.reproducible(1)))
    step.close()


def test_a_step_needs_a_basis_for_all_its_weights() -> None:
    refused(lambda *_: None)

    def too_little(release: EmbeddedRelease, model: nn.Module) -> None:
        release.basis = {"weight": some_basis(model)["weight"]}

    refused(too_little)


def test_parameters_that_a_layer_finds_out_of_turn_keep_their_part_of_the_basis() -> None:
    """The table of relative positions of a T5 is found before the matrices that stand before it."""
    config = EncoderClassifierConfig(
        vocab_size=11, d_model=6, d_kv=3, d_ff=6, num_layers=1, num_heads=2,
        dropout_rate=0.0, is_encoder_decoder=False, use_cache=False,
    )  # fmt: skip
    torch.manual_seed(0)
    model = EncoderForSequenceClassification(config).train()
    tokens = torch.randint(1, 11, (3, 4), generator=chance(2))
    wanted = torch.autograd.grad(model(tokens).logits[:, 0].sum(), list(model.parameters()))
    release = EmbeddedRelease(1e6, 1e6)
    release.basis = some_basis(model)
    step = PrivateStep(
        model, torch.optim.SGD(model.parameters(), lr=0.0), release=release, noise_multiplier=0.0,
        expected_batch_size=1.0, randomness=Randomness.reproducible(0),
    )  # fmt: skip
    step.backward(model(input_ids=tokens).logits[:, 0])
    step.step()
    for one, gradient in zip(model.parameters(), wanted, strict=True):
        torch.testing.assert_close(one.grad, gradient, atol=1e-4, rtol=1e-3)
    release.basis = dict(reversed(some_basis(model).items()))
    with pytest.raises(InvalidArgument, match="basis"):
        step.backward(model(input_ids=tokens).logits[:, 0])
    step.close()


def test_a_large_matrix_is_clipped_no_further_than_a_small_one() -> None:
    """Four million squares in one sum of single precision would be in doubt by a third."""
    release = EmbeddedRelease(1.0, 1.0)
    release.basis = {"weight": torch.zeros(1, 2048, 2048)}
    noise = StepNoise(0.0, Randomness.reproducible(0))
    ((_, added),) = release.contribute_whole({"weight": torch.ones(2048, 2048)}, noise)
    assert 0.98 < float(added.double().norm()) <= 1.0


def test_a_batch_that_failed_and_is_given_again_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = drawn("linear", (1, 6, 12), chance(7))
    release = EmbeddedRelease(SHORT, SHORT / 3)
    release.basis = some_basis(case.model)
    step = private_step(case, release)
    honest = rounding.weigh

    def weigh(weights: Tensor, rows: Tensor) -> Tensor:
        if rows.dtype == torch.float32:  # the residuals, which are far larger
            raise MemoryError
        return honest(weights, rows)

    monkeypatch.setattr(embedded, "weigh", weigh)
    with pytest.raises(MemoryError):
        step.backward(case.losses(case.entered, case.pull))
    monkeypatch.undo()
    step.backward(case.losses(case.entered, case.pull))
    assert release._embedded is not None
    assert float(release._embedded.norm()) <= SHORT * MOST
    step.close()
