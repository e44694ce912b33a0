"""A private step: sums over micro-batches, noise once, every parameter moves, nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.optim import SGD
from transformers import GPT2Config, GPT2LMHeadModel

from naive_gradients import TOLERANCE, clip_scale, gradients_of_records, norm
from sfumato.core.errors import InvalidArgument, UndefinedGradient, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipper, Flat
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.steps import PrivateStep, make_private

VOCABULARY = 23


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(VOCABULARY, 6), LSTM(6, 6)
        self.norm, self.decoder = nn.LayerNorm(6), nn.Linear(6, VOCABULARY)

    def forward(self, input_ids: Tensor) -> Tensor:
        logits: Tensor = self.decoder(self.norm(self.lstm(self.embedding(input_ids))[0]))
        return logits


def gpt2() -> nn.Module:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_positions=8, n_embd=8, n_layer=1, n_head=2,
            bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip


def lora() -> nn.Module:
    return get_peft_model(
        gpt2(),
        LoraConfig(r=2, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True),
    )


MODELS: dict[str, Callable[[], nn.Module]] = {"recurrent": Recurrent, "gpt2": gpt2, "lora": lora}


def private(
    model: nn.Module, *, clipper: Clipper | None = None, noise: float = 0.0, rate: float = 1.0
) -> PrivateStep:
    return make_private(
        model,
        SGD([one for one in model.parameters() if one.requires_grad], lr=rate),
        clipper=clipper or Flat(0.5),
        noise_multiplier=noise,
        expected_batch_size=4,
        randomness=Randomness.reproducible(11),
    )


def tokens_of(rows: int, seed: int = 0) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(0, VOCABULARY, (rows, 6), generator=draw)


def losses_of(model: nn.Module, tokens: Tensor) -> Tensor:
    output = model(input_ids=tokens)
    logits = output if isinstance(output, Tensor) else output.logits
    return record_losses(logits, next_tokens(tokens))


def gradient(model: nn.Module) -> dict[str, Tensor]:
    return {
        name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None
    }


def clipped_mean(
    model: nn.Module, tokens: Tensor, owner: Tensor, bound: float
) -> dict[str, Tensor]:
    """The clipped sum over records, by a loop, divided by the expected batch size, 4."""
    naive = gradients_of_records(model, lambda under, rows: losses_of(under, tokens[rows]), owner)
    scaled = [{k: v * clip_scale(bound, norm(one)) for k, v in one.items()} for one in naive]
    return {name: torch.stack([one[name] for one in scaled]).sum(0) / 4 for name in scaled[0]}


def far_apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert set(one) == set(other)
    return norm({name: one[name] - other[name] for name in one})


@pytest.mark.parametrize("name", MODELS)
def test_after_one_step_every_trainable_parameter_has_moved_and_no_other(name: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name]()
    before = {key: one.detach().clone() for key, one in model.named_parameters()}
    step = private(model, noise=1.0)
    step.backward(losses_of(model, tokens_of(3)))
    step.step()
    for key, one in model.named_parameters():
        assert torch.equal(before[key], one) != one.requires_grad, key


@pytest.mark.parametrize("name", ["recurrent", "gpt2"])
def test_even_without_noise_every_parameter_moves(name: str) -> None:
    torch.manual_seed(0)
    model = MODELS[name]()
    before = {key: one.detach().clone() for key, one in model.named_parameters()}
    step = private(model)
    step.backward(losses_of(model, tokens_of(3)))
    step.step()
    for key, one in model.named_parameters():
        assert not torch.equal(before[key], one), key


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_micro_batches_add_up_to_the_clipped_sum(pieces: int) -> None:
    torch.manual_seed(0)
    model, tokens = Recurrent(), tokens_of(5)
    expected = clipped_mean(model, tokens, torch.arange(5), 0.5)
    step = private(model)
    for piece in tokens.chunk(pieces):
        step.backward(losses_of(model, piece))
    step.step()
    assert far_apart(gradient(model), expected) <= TOLERANCE


def test_rows_of_one_owner_are_clipped_as_one() -> None:
    torch.manual_seed(0)
    model, tokens, owner = Recurrent(), tokens_of(5), torch.tensor([7, 3, 7, 7, 1])
    expected = clipped_mean(model, tokens, owner, 0.5)
    step = private(model)
    step.backward(losses_of(model, tokens), owner)
    step.step()
    assert far_apart(gradient(model), expected) <= TOLERANCE


def test_a_record_of_several_batches_is_clipped_as_one() -> None:
    torch.manual_seed(0)
    model, tokens, owner = Recurrent(), tokens_of(7), torch.tensor([0, 0, 0, 0, 0, 1, 2])
    expected = clipped_mean(model, tokens, owner, 0.5)
    step = private(model)
    with step.one_record():
        for piece in tokens[:5].split(2):  # type: ignore[no-untyped-call]
            step.backward(losses_of(model, piece))
    step.backward(losses_of(model, tokens[5:]))
    step.step()
    assert far_apart(gradient(model), expected) <= TOLERANCE


def test_twin_that_clips_the_batches_of_a_record_one_by_one_is_caught() -> None:
    torch.manual_seed(0)
    model, tokens, owner = Recurrent(), tokens_of(5), torch.zeros(5, dtype=torch.long)
    expected = clipped_mean(model, tokens, owner, 0.5)
    step = private(model)
    for place, piece in enumerate(tokens.split(2)):  # type: ignore[no-untyped-call]
        step.backward(losses_of(model, piece), torch.full((len(piece),), place))
    step.step()
    assert far_apart(gradient(model), expected) > 100 * TOLERANCE
    assert 4 * norm(gradient(model)) > 0.5, "the record exceeds its bound"


def test_one_record_never_moves_the_sum_by_more_than_the_bound() -> None:
    torch.manual_seed(0)
    model, tokens = gpt2().eval(), tokens_of(4)
    for clipper in (Flat(0.3), Automatic(0.3), Adaptive(0.3)):
        released = []
        for rows in (tokens, tokens[1:]):
            step = private(model, clipper=clipper, rate=1e-9)
            step.backward(losses_of(model, rows))
            step.step()
            released.append(gradient(model))
            step.close()
        assert 4 * far_apart(*released) <= 0.3 * (1 + 1e-6)


def test_an_empty_batch_takes_a_step_of_noise() -> None:
    torch.manual_seed(0)
    model = Recurrent()
    before = {key: one.detach().clone() for key, one in model.named_parameters()}
    private(model, noise=1.0).step()
    for key, one in model.named_parameters():
        assert not torch.equal(before[key], one), key


def test_noise_does_not_depend_on_what_is_in_the_batch() -> None:
    torch.manual_seed(0)
    model = Recurrent()
    found = []
    for rows in (0, 3):
        for noise in (0.0, 2.0):
            step = private(model, noise=noise, rate=1e-9)
            if rows:
                step.backward(losses_of(model, tokens_of(rows)))
            step.step()
            found.append(gradient(model))
            step.close()
    empty, noisy_empty, full, noisy_full = found
    noises = [{k: b[k] - a[k] for k in a} for a, b in ((empty, noisy_empty), (full, noisy_full))]
    assert far_apart(*noises) <= 1e-5 * norm(noises[0])


def test_every_step_has_noise_of_its_own_and_a_seed_gives_it_again() -> None:
    torch.manual_seed(0)
    model = Recurrent()
    runs = []
    for _ in range(2):
        step = private(model, noise=1.0, rate=1e-9)
        steps = []
        for _ in range(2):
            step.step()
            steps.append(gradient(model))
        runs.append(steps)
        step.close()
    assert far_apart(runs[0][0], runs[0][1]) > 0.1
    assert far_apart(runs[0][0], runs[1][0]) == 0
    assert far_apart(runs[0][1], runs[1][1]) == 0


def test_noise_does_not_depend_on_the_number_of_threads() -> None:
    model, found, before = Recurrent(), [], torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        step = private(model, noise=1.0, rate=1e-9)
        step.step()
        found.append(gradient(model))
        step.close()
    torch.set_num_threads(before)
    assert far_apart(*found) == 0


def test_a_schedule_sets_noise_and_batch_size_of_a_step() -> None:
    model = Recurrent()
    found = []
    for noise, size in ((1.0, 4.0), (2.0, 4.0), (1.0, 8.0)):
        step = private(model, noise=1.0, rate=1e-9)
        step.step(noise_multiplier=noise, expected_batch_size=size)
        found.append(norm(gradient(model)))
        step.close()
    assert found[1] == pytest.approx(2 * found[0], rel=1e-6)
    assert found[2] == pytest.approx(found[0] / 2, rel=1e-6)


def test_adaptive_clipping_follows_the_norms_with_noise_on_the_count() -> None:
    torch.manual_seed(0)
    model, tokens = Recurrent(), tokens_of(4)
    bounds = {}
    for noise in (1e-9, 2.0):
        step = private(model, clipper=Adaptive(100.0, count_noise=noise), rate=1e-9)
        step.backward(losses_of(model, tokens))
        step.step()
        bounds[noise] = step.release.sensitivity
        step.close()
    # All four are within the bound: the share is 1, the bound shrinks by exp(−0.2·(1 − 0.5)).
    assert bounds[1e-9] == pytest.approx(100 * torch.e ** (-0.1), rel=1e-6)
    assert bounds[2.0] != pytest.approx(bounds[1e-9], rel=1e-3)


def test_public_steps_can_be_taken_in_between() -> None:
    torch.manual_seed(0)
    model, tokens = Recurrent(), tokens_of(3)
    step = private(model)
    with step.pause():
        loss = losses_of(model, tokens).mean()
        loss.backward()  # type: ignore[no-untyped-call]
    assert all(one.grad is not None for one in model.parameters())
    step.optimizer.step()
    step.backward(losses_of(model, tokens))
    step.step()


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_record_without_a_finite_gradient_stops_training_and_leaves_no_trace(
    value: float,
) -> None:
    torch.manual_seed(0)
    model, tokens = Recurrent(), tokens_of(3)
    step = private(model)
    factors = torch.tensor([1.0, value, 1.0])
    with pytest.raises(UndefinedGradient, match="a record in this batch") as found:
        step.backward(losses_of(model, tokens) * factors)
    assert not any(digit in str(found.value) for digit in "0123456789")
    step.step()
    assert norm(gradient(model)) == 0


def test_an_optimizer_of_other_parameters_is_refused() -> None:
    model = Recurrent()
    settings = {"noise_multiplier": 1.0, "expected_batch_size": 4.0}
    for parameters, reason in (
        (model.lstm.parameters(), r"does not have embedding\.weight"),
        ([*model.parameters(), nn.Parameter(torch.ones(2))], "1 trainable parameters"),
    ):
        with pytest.raises(InvalidArgument, match=reason):
            make_private(
                model,
                SGD(parameters, lr=1.0),
                clipper=Flat(1.0),
                randomness=Randomness.secure(),
                **settings,  # type: ignore[arg-type]
            )


def test_a_layer_that_is_not_supported_is_named_before_training() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    with pytest.raises(UnsupportedLayer, match=r"1\.weight \(BatchNorm1d\)"):
        private(model)


@pytest.mark.parametrize(("noise", "size"), [(-1.0, 4.0), (1.0, 0.0), (float("nan"), 4.0)])
def test_settings_without_sense_are_refused(noise: float, size: float) -> None:
    model = Recurrent()
    with pytest.raises(InvalidArgument):
        make_private(
            model,
            SGD(model.parameters(), lr=1.0),
            clipper=Flat(1.0),
            noise_multiplier=noise,
            expected_batch_size=size,
            randomness=Randomness.secure(),
        )
    with pytest.raises(InvalidArgument):
        private(model).step(noise_multiplier=noise, expected_batch_size=size)


def test_a_record_in_two_pieces_is_refused_within_a_step_only() -> None:
    torch.manual_seed(0)
    model, tokens, owner = Recurrent(), tokens_of(3), torch.tensor([7, 7, 8])
    step = private(model)
    step.backward(losses_of(model, tokens), owner)
    before = {name: one.clone() for name, one in step._sums.items()}
    with pytest.raises(InvalidArgument, match="was given to backward before"):
        step.backward(losses_of(model, tokens), torch.tensor([9, 10, 8]))
    assert all(torch.equal(one, before[name]) for name, one in step._sums.items())
    step.step()
    step.backward(losses_of(model, tokens), owner)


def test_a_record_within_a_record_is_refused() -> None:
    step = private(Recurrent())
    with pytest.raises(InvalidArgument, match="open already"), step.one_record(), step.one_record():
        pass


@pytest.mark.parametrize("rows", [3, 41])
def test_no_error_tells_how_many_rows_there_are_or_how_long(rows: int) -> None:
    model, tokens = Recurrent(), tokens_of(rows)
    step = private(model)
    said = []
    too_many = torch.zeros(rows + 1, dtype=torch.long)
    for wrong, owner in (
        (losses_of(model, tokens).sum(), None),
        (losses_of(model, tokens)[:-1], None),
        (losses_of(model, tokens), too_many),
        (losses_of(model, tokens).detach(), None),
        (losses_of(model, tokens) * torch.inf, None),
    ):
        with pytest.raises((InvalidArgument, UndefinedGradient)) as found:
            step.backward(wrong, owner)
        said.append(str(found.value))
    assert not any(digit in "".join(said) for digit in "0123456789")


def test_a_wild_count_keeps_the_adapted_bound_a_number() -> None:
    for count in (1e300, -1e300):
        bound = Adaptive(1.0, count_noise=1.0)
        for _ in range(100):
            bound = bound.updated(count, 1.0)
        assert 1e-21 < bound.clip_norm < 1e21


def test_a_step_in_the_middle_of_a_record_is_refused() -> None:
    model = Recurrent()
    step = private(model)
    with pytest.raises(InvalidArgument, match="still open"), step.one_record():
        step.step()
    with pytest.raises(InvalidArgument, match="same owner"), step.one_record():
        step.backward(losses_of(model, tokens_of(2)), torch.tensor([0, 1]))
