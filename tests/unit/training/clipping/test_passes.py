"""Blocks that are computed again, and two backward passes in place of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from clipping_adversary import MODELS, canceled, contribution, drawn, opposed
from naive_gradients import gradients_of_records, norm
from sfumato.core.errors import (
    CoupledRows,
    InvalidArgument,
    UnsteadyGradient,
    UnsupportedLayer,
)
from sfumato.core.randomness import Randomness
from sfumato.models.recomputing import recompute
from sfumato.training.clipping import passes, recording
from sfumato.training.clipping.clippers import Adaptive, Flat
from sfumato.training.clipping.layers.linear import RecordedLinear
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.clipping.recording import Recording
from sfumato.training.steps import PrivateStep, make_private

WORDS = 37
TOKENS = torch.randint(0, WORDS, (5, 9), generator=torch.Generator().manual_seed(1))
OWNER = torch.tensor([4, 4, 1, 2, 3])
MOST = 1 + 1e-6


def gpt2(dropout: float = 0.1) -> nn.Module:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=WORDS, n_positions=16, n_embd=12, n_layer=2, n_head=2, bos_token_id=0,
            eos_token_id=0, resid_pdrop=dropout, embd_pdrop=dropout, attn_pdrop=dropout,
        )
    )  # fmt: skip


def adapted(dropout: float = 0.1) -> nn.Module:
    config = LoraConfig(r=2, lora_dropout=dropout, target_modules=["c_attn"], fan_in_fan_out=True)
    model: nn.Module = get_peft_model(gpt2(dropout), config)
    for one in model.parameters():
        if one.requires_grad:
            nn.init.normal_(one, std=0.1)
    return model


def llama(dropout: float = 0.1) -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS, hidden_size=12, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16,
            tie_word_embeddings=True, attention_dropout=dropout,
        )
    )  # fmt: skip


def t5(dropout: float = 0.1) -> nn.Module:
    return T5ForConditionalGeneration(
        T5Config(
            vocab_size=WORDS, d_model=12, d_kv=6, d_ff=20, num_layers=2, num_heads=2,
            dropout_rate=dropout,
        )
    )  # fmt: skip


MAKERS = {"gpt2": gpt2, "lora": adapted, "llama": llama, "t5": t5}


def losses_of(model: nn.Module, some: Tensor | slice = slice(None)) -> Tensor:
    tokens = TOKENS[some]
    inputs: dict[str, Any] = {"input_ids": tokens, "use_cache": False}
    if isinstance(model, T5ForConditionalGeneration):
        inputs["decoder_input_ids"] = tokens[:, :6]
        return record_losses(model(**inputs).logits, tokens[:, :6])
    return record_losses(model(**inputs).logits, next_tokens(tokens))


def made(make: Callable[[float], nn.Module], dropout: float, what: str) -> nn.Module:
    torch.manual_seed(0)
    model = make(dropout).double().train()
    recompute(model, what)
    return model


def private(model: nn.Module, *, two_passes: bool, clip_norm: float = 0.5) -> PrivateStep:
    return make_private(
        model,
        torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.0),
        clipper=Flat(clip_norm),
        noise_multiplier=0.0,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(0),
        two_passes=two_passes,
    )


def clipped_sum(make: Callable[[float], nn.Module], what: str) -> dict[str, Tensor]:
    model = made(make, 0.1, what)
    step = private(model, two_passes=what == "all")
    torch.manual_seed(7)
    step.backward(losses_of(model), OWNER)
    step.step()
    step.close()
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


def apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert one.keys() == other.keys()
    return norm({name: one[name] - other[name] for name in one}) / norm(one)


@pytest.mark.parametrize("name", MAKERS)
def test_the_clipped_sum_is_the_same_whatever_is_computed_again(name: str) -> None:
    """With dropout, tied tables, layers inside and outside of blocks, records of several rows."""
    plain = clipped_sum(MAKERS[name], "nothing")
    assert apart(plain, clipped_sum(MAKERS[name], "blocks")) < 1e-11
    assert apart(plain, clipped_sum(MAKERS[name], "all")) < 1e-11


@pytest.mark.parametrize("name", MAKERS)
def test_norms_and_sums_of_two_passes_are_those_of_a_loop_over_records(name: str) -> None:
    model = made(MAKERS[name], 0.0, "all")
    naive = gradients_of_records(model, losses_of, OWNER)
    lengths = torch.tensor([norm(one) for one in naive], dtype=torch.float64)
    scales = (lengths.median() / lengths).clamp(max=1.0)
    recorded = Recording(model, two_passes=True)
    records = recorded.backward(losses_of(model), OWNER)
    assert torch.allclose(recorded.measure(records).norms(), lengths, rtol=1e-9)
    sums = dict(recorded.weighted_sums(scales, records))
    recorded.close()
    expected = {
        key: sum((float(scale) * one[key] for scale, one in zip(scales, naive, strict=True)))
        for key in naive[0]
    }
    assert apart(expected, sums) < 1e-9  # type: ignore[arg-type]


def test_twin_blocks_recomputed_with_other_dropout_are_told_apart() -> None:
    def forgetful(dropout: float) -> nn.Module:
        model = gpt2(dropout)
        settings = {"use_reentrant": False, "preserve_rng_state": False}
        model.gradient_checkpointing_enable(settings)  # type: ignore[operator]
        return model

    assert apart(clipped_sum(gpt2, "nothing"), clipped_sum(forgetful, "nothing")) > 1e-3


def test_twin_a_use_that_is_recorded_twice_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, collect = clipped_sum(llama, "blocks"), RecordedLinear.collect

    def twice(self: RecordedLinear, entered: Tensor | None, gradient: Tensor) -> None:
        collect(self, entered, gradient)
        collect(self, entered, gradient)

    monkeypatch.setattr(RecordedLinear, "collect", twice)
    assert apart(plain, clipped_sum(llama, "blocks")) > 1e-3
    with pytest.raises(UnsupportedLayer, match="more often"):
        clipped_sum(llama, "all")


class Growing(nn.Module):
    """A block that gives more whenever it is computed again; nothing of torch's can know."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.factor, self.seen = factor, [0]

    def forward(self, rows: Tensor) -> Tensor:
        def block(entered: Tensor) -> Tensor:
            self.seen[0] += 1
            result: Tensor = self.layer(entered * self.factor ** max(0, self.seen[0] - 2))
            return result

        outputs: Tensor = checkpoint(block, rows, use_reentrant=False)
        return outputs


def grown(factor: float) -> float:
    torch.manual_seed(0)
    model, rows = Growing(factor), torch.randn(1, 6, 4)  # a single row is not compared
    step = private(model, two_passes=True)
    try:
        step.backward(model(rows).square().flatten(1).sum(1))
        step.step()
    finally:
        step.close()
    return norm({name: one.grad for name, one in model.named_parameters() if one.grad is not None})


@pytest.mark.parametrize("factor", [2.0, 1.05, float("nan")])
def test_a_second_pass_with_other_numbers_adds_nothing(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert grown(1.0) <= 0.5 * MOST
    with pytest.raises(UnsteadyGradient, match="other numbers than the first"):
        grown(factor)
    # The twin: without the second measurement, a record would add more than the clipping norm.
    monkeypatch.setattr(recording, "refuse_other_numbers", lambda *_: None)
    assert not grown(factor) <= 0.5 * MOST


def test_after_a_refused_pass_the_step_cannot_be_taken() -> None:
    torch.manual_seed(0)
    model = Growing(2.0)
    step = private(model, two_passes=True)
    with pytest.raises(UnsupportedLayer):
        step.backward(model(torch.randn(1, 6, 4)).square().flatten(1).sum(1))
    with pytest.raises(InvalidArgument, match="failed halfway"):
        step.step()
    step.close()


def test_rounding_that_differs_a_little_has_its_room() -> None:
    assert grown(1 + 1e-5) <= 0.5 * MOST


@pytest.mark.parametrize("name", MODELS)
def test_nobody_adds_more_than_the_clipping_norm_in_two_passes(name: str) -> None:
    chance = torch.Generator().manual_seed(3)
    case = drawn(name, (1, 6, 12), chance)
    assert contribution(case, two_passes=True) <= MOST
    assert contribution(opposed(case, 8, 1e-3, 1e3), two_passes=True) <= MOST
    assert contribution(canceled(case, 30), two_passes=True) <= MOST


def test_records_that_cancel_are_measured_closely_in_a_further_pass() -> None:
    case = opposed(drawn("linear", (1, 6, 256), torch.Generator().manual_seed(0)), 8, 1e-4, 1.0)
    seen: list[int] = []
    before = passes.PassingSlot.begin

    def begin(self: passes.PassingSlot, asked: passes.Pass) -> None:
        seen.append(0 if self.doubtful is None else len(self.doubtful))
        before(self, asked)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(passes.PassingSlot, "begin", begin)
        assert 0 < contribution(case, two_passes=True) <= MOST
    assert sum(seen) > 0


def test_losses_of_two_calls_are_refused() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4))
    step = private(model, two_passes=True)
    rows = torch.randn(1, 6, 4)
    with pytest.raises(UnsupportedLayer, match="losses of one call"):
        step.backward((model(rows) + model(2 * rows)).flatten(1).sum(1))
    step.close()


def test_a_layer_that_is_called_but_not_used_is_no_obstacle() -> None:
    class Idle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, rows: Tensor) -> Tensor:
            self.layer(rows)
            used: Tensor = self.layer(rows.cos())
            return used

    torch.manual_seed(0)
    model, rows = Idle(), torch.randn(1, 6, 4)
    step = private(model, two_passes=True)
    step.backward(model(rows).square().flatten(1).sum(1))
    step.step()
    step.close()
    assert norm({n: p.grad for n, p in model.named_parameters() if p.grad is not None}) > 0.49


@pytest.mark.usefixtures("compared_rows")
def test_rows_that_see_each_other_are_found_in_two_passes() -> None:
    class Centered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.layer(rows - rows.mean(0, keepdim=True).detach())
            return found

    model = Centered()
    step = private(model, two_passes=True)
    with pytest.raises(CoupledRows):
        step.backward(model(torch.randn(4, 6, 4)).square().flatten(1).sum(1))
    step.close()


def test_a_record_in_several_batches_is_clipped_as_one() -> None:
    found = []
    for two_passes in (False, True):
        torch.manual_seed(0)
        model, rows = nn.Sequential(nn.Linear(4, 4)), torch.randn(2, 6, 4)
        step = private(model, two_passes=two_passes)
        with step.one_record():
            for some in torch.split(rows, 1):
                step.backward(model(some).square().flatten(1).sum(1))
        step.step()
        step.close()
        found.append({n: one.grad for n, one in model.named_parameters() if one.grad is not None})
    assert apart(found[0], found[1]) < 1e-6


def test_what_looks_at_gradients_themselves_is_refused() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    recorded = Recording(model, two_passes=True)
    records = recorded.backward(model(torch.randn(2, 3, 4)).square().flatten(1).sum(1))
    for ask in (
        lambda: recorded.gradients(records),
        lambda: recorded.gram(records),
        lambda: recorded.inner_products(dict(model.named_parameters()), records),
    ):
        with pytest.raises(InvalidArgument, match="train in one pass"):
            ask()
    recorded.close()
    release: Any = object()
    with pytest.raises(InvalidArgument, match="train in one pass"):
        PrivateStep(
            model,
            torch.optim.SGD(model.parameters(), lr=0.0),
            release=release,
            noise_multiplier=1.0,
            expected_batch_size=1.0,
            randomness=Randomness.reproducible(0),
            two_passes=True,
        )


def test_adaptive_clipping_works_in_two_passes() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4))
    step = make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        clipper=Adaptive(1e-3, count_noise=1e-6),
        noise_multiplier=0.0,
        expected_batch_size=2.0,
        randomness=Randomness.reproducible(0),
        two_passes=True,
    )
    step.backward(model(torch.randn(2, 6, 4)).square().flatten(1).sum(1))
    step.step()
    step.close()
    assert step.release.sensitivity > 1e-3  # all were longer
