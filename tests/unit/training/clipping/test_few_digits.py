"""Models computed in bfloat16: what is clipped is what is added, in float32."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from clipping_adversary import MODELS, Case, canceled, contribution, drawn, opposed
from naive_gradients import norm
from sfumato.core.errors import CoupledRows, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_network import LstmConfig, LstmForCausalLM
from sfumato.models.precision import set_precision
from sfumato.models.recomputing import recompute
from sfumato.training.clipping import rounding
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.layers import linear
from sfumato.training.clipping.layers.linear import MatrixSlot, Places
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.clipping.recording import Recording
from sfumato.training.clipping.rounding import MeasuredNorms
from sfumato.training.clipping.slots import Records
from sfumato.training.row_losses import row_losses
from sfumato.training.steps import PrivateStep, make_private

WORDS = 37
TOKENS = torch.randint(0, WORDS, (4, 9), generator=torch.Generator().manual_seed(1))
MOST = 1 + 1e-6
# Those that autocast computes in fewer digits; the others are in the tests of full precision.
ROUNDED = ("linear", "conv1d", "shared", "tied", "lora", "layer norm", "rms norm", "embedding")


def llama(**more: Any) -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS, hidden_size=12, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16, **more,
        )
    )  # fmt: skip


def adapted() -> nn.Module:
    torch.manual_seed(0)
    config = LoraConfig(r=2, target_modules=["q_proj", "v_proj"])
    model: nn.Module = get_peft_model(llama(), config)
    for one in model.parameters():
        if one.requires_grad:
            nn.init.normal_(one, std=0.1)
    return model


def private(model: nn.Module, *, two_passes: bool = False) -> PrivateStep:
    return make_private(
        model,
        torch.optim.SGD([one for one in model.parameters() if one.requires_grad], lr=0.0),
        clipper=Flat(0.5),
        noise_multiplier=0.0,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(0),
        two_passes=two_passes,
    )


def losses_of(model: nn.Module) -> Tensor:
    return record_losses(model(input_ids=TOKENS, use_cache=False).logits, next_tokens(TOKENS))


def gradient(model: nn.Module, *, two_passes: bool = False) -> dict[str, Tensor]:
    step = private(model, two_passes=two_passes)
    try:
        step.backward(losses_of(model))
        step.step()
    finally:
        step.close()
    return {name: one.grad for name, one in model.named_parameters() if one.grad is not None}


def apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> float:
    assert one.keys() == other.keys()
    return norm({name: one[name] - other[name] for name in one}) / norm(one)


# --- whole models -----------------------------------------------------------------------------


@pytest.mark.usefixtures("compared_rows")
@pytest.mark.parametrize("what", ["nothing", "blocks", "all"])
def test_low_rank_factors_beside_frozen_weights_of_few_digits(what: str) -> None:
    expected, model = gradient(adapted()), adapted()
    recompute(model, what)
    set_precision(model, "bf16")
    kinds = {one.requires_grad: one.dtype for one in model.parameters()}
    assert kinds == {True: torch.float32, False: torch.bfloat16}
    found = gradient(model, two_passes=what == "all")
    assert 0 < apart(expected, found) < 0.05
    assert all(one.dtype == torch.float32 for one in found.values())


def test_every_weight_may_be_trained_in_few_digits() -> None:
    found = []
    for precision in ("float32", "bf16"):
        torch.manual_seed(0)
        model = llama(tie_word_embeddings=True)
        set_precision(model, precision)
        found.append(gradient(model))
    assert 0 < apart(*found) < 0.05
    assert all(one.dtype == torch.float32 for one in found[1].values())


def test_what_is_recorded_are_the_numbers_that_were_multiplied() -> None:
    torch.manual_seed(0)
    layer, entered = nn.Linear(6, 5), torch.randn(2, 3, 6)
    recording = Recording(layer)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(entered)
    recording.backward((output * torch.randn(2, 3, 5)).float().flatten(1).sum(1))
    slot = recording.slots["weight"]
    assert isinstance(slot, MatrixSlot)
    left, right = slot.pair()
    assert left.dtype == right.dtype == torch.float32
    assert torch.equal(right, entered.bfloat16().float())
    assert torch.equal(left, left.bfloat16().float())
    assert output.dtype == torch.bfloat16
    recording.close()


def test_the_hook_ends_with_the_call_whatever_happens() -> None:
    torch.manual_seed(0)
    model = llama()
    set_precision(model, "bf16")
    with pytest.raises(ValueError, match="input_ids"):
        model(nothing_of_the_kind=1)
    assert not torch.is_autocast_enabled("cpu")
    model(input_ids=TOKENS)
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_few_digits_end_with_a_call_that_is_interrupted(raised: type[BaseException]) -> None:
    class Interrupted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, rows: Tensor) -> Tensor:
            if rows.numel() == 0:
                raise raised
            found: Tensor = self.layer(rows)
            return found

    model = Interrupted()
    set_precision(model, "bf16")
    with pytest.raises(raised):
        model(torch.zeros(0, 2))
    assert not torch.is_autocast_enabled("cpu")
    assert torch.is_autocast_cache_enabled()
    assert model(torch.ones(1, 2)).dtype == torch.bfloat16


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one)), copy.copy]
)
def test_a_copy_of_a_network_of_few_digits_has_few_digits_and_its_own_weights(
    how: Callable[[nn.Module], nn.Module],
) -> None:
    model = nn.Linear(2, 2)
    set_precision(model, "bf16")
    copied = how(model)
    copied._parameters = {name: nn.Parameter(0 * one) for name, one in model.named_parameters()}
    found, other = model(torch.ones(1, 2)), copied(torch.ones(1, 2))
    assert found.dtype == other.dtype == torch.bfloat16
    assert found.any()
    assert not other.any()
    assert type(copied).__name__ == "Linear"


class Undressed(nn.Linear):
    """A layer that leaves out what cannot be kept."""

    def __init__(self) -> None:
        super().__init__(2, 2)
        self.note = lambda: None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "note"}


def test_a_network_of_few_digits_is_kept_as_it_keeps_itself() -> None:
    model = Undressed()
    for _ in range(2):  # twice is once
        set_precision(model, "bf16")
    kept = pickle.loads(pickle.dumps(model))
    assert not hasattr(kept, "note")
    assert kept(torch.ones(1, 2)).dtype == torch.bfloat16


def test_a_network_of_few_digits_is_freed_when_nobody_has_it() -> None:
    model = nn.Sequential(nn.Linear(2, 2))
    set_precision(model, "bf16")
    seen = weakref.ref(model)
    gc.disable()
    try:
        del model
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.usefixtures("compared_rows")
def test_rows_that_see_each_other_are_found_in_few_digits() -> None:
    class Centered(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, rows: Tensor) -> Tensor:
            found: Tensor = self.layer(rows - rows.mean(0, keepdim=True).detach())
            return found

    model = Centered()
    set_precision(model, "bf16")
    step = private(model)
    with pytest.raises(CoupledRows):
        step.backward(model(torch.randn(4, 6, 4)).float().square().flatten(1).sum(1))
    step.close()


def test_trained_weights_of_few_digits_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="must be float32 or float64"):
        Recording(llama().bfloat16())


# --- somebody who wants it to fail ------------------------------------------------------------


def rounded(case: Case) -> Case:
    """Numbers that bfloat16 has: what was made to cancel still cancels."""
    entered, pull = (one.bfloat16().float() for one in (case.entered, case.pull))
    return Case(case.model, entered, pull, case.tokens)


def climbed(case: Case, steps: int) -> float:
    """The longest contribution that a search by small changes finds."""
    chance = torch.Generator().manual_seed(5)
    best, longest = case, contribution(case, few_digits=True)
    for _ in range(steps):
        entered, pull = (
            one * (1 + 2**-7 * torch.randint(-1, 2, one.shape, generator=chance))
            for one in (best.entered, best.pull)
        )
        tried = rounded(Case(case.model, entered, pull, case.tokens))
        found = contribution(tried, few_digits=True)
        if found > longest:
            best, longest = tried, found
    return longest


@pytest.mark.parametrize("name", ROUNDED)
def test_nobody_adds_more_than_the_clipping_norm_in_few_digits(name: str) -> None:
    assert name in MODELS
    case = drawn(name, (1, 6, 12), torch.Generator().manual_seed(3))
    for one in (case, opposed(case, 16, 2**-6, 1e3), opposed(case, 64, 2**-7, 1.0)):
        assert contribution(rounded(one), few_digits=True) <= MOST
    for two_passes in (False, True):
        assert contribution(canceled(case, 30), few_digits=True, two_passes=two_passes) <= MOST


@pytest.mark.parametrize("name", ["linear", "lora", "tied"])
def test_a_search_finds_no_record_above_the_bound(name: str) -> None:
    case = drawn(name, (1, 4, 12), torch.Generator().manual_seed(4))
    assert climbed(rounded(opposed(case, 8, 2**-7, 1.0)), 25) <= MOST


def norm_in_few_digits(places: Places) -> MeasuredNorms:
    """The twin: the same inner products, computed in the precision of the model."""
    left, right = places.left.bfloat16(), places.right.bfloat16()
    grams = [torch.bmm(one, one.transpose(1, 2)) for one in (left, right)]
    square = (grams[0] * grams[1]).sum((1, 2)).double().clamp(min=1e-12)
    return MeasuredNorms(square, torch.zeros_like(square), square.sqrt(), torch.float32)


def sum_in_few_digits(left: Tensor, right: Tensor) -> Tensor:
    """The twin: one place after the other, each sum rounded to three digits."""
    total = torch.zeros(left.shape[1], right.shape[1], dtype=torch.bfloat16)
    for one, other in zip(left, right, strict=True):
        total = total + torch.outer(one, other).bfloat16()
    return total.float()


def test_twins_that_measure_or_add_in_few_digits_exceed_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = nn.Linear(16, 16, bias=False)
    chance = torch.Generator().manual_seed(0)
    # Places that nearly cancel, and many that are too short to change a large sum.
    numbers = [torch.randn(1, 2, 16, generator=chance) for _ in range(20)]
    pairs = [rounded(opposed(Case(model, one, one), 3, 2**-7, 1.0)) for one in numbers]
    assert max(contribution(one, few_digits=True) for one in pairs) <= MOST
    with monkeypatch.context() as patched:
        patched.setattr(linear, "measure_product", norm_in_few_digits)
        assert max(contribution(one, few_digits=True) for one in pairs) > 1.01
    pull = torch.full((2, 151, 16), -(2.0**-9))
    pull[0, 0] = 1.0  # a sum that starts with 1 in three digits never gets smaller
    lost, owner = Case(model, torch.ones(2, 151, 16), pull), torch.zeros(2, dtype=torch.long)
    assert contribution(lost, owner, few_digits=True) <= MOST
    with monkeypatch.context() as patched:
        patched.setattr(linear, "multiply", sum_in_few_digits)
        assert contribution(lost, owner, few_digits=True) > 1.01


def test_measuring_within_a_call_under_autocast_is_in_full_precision() -> None:
    """Rows are compared within a call of the model, where autocast is on."""
    with torch.autocast("cpu", torch.bfloat16), rounding.fully():
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


# --- shapes that no machine here can hold -----------------------------------------------------


def test_shapes_and_precision_of_seven_billion_weights() -> None:
    """On tensors without numbers, in place of a graphics card; nothing is run."""
    from sfumato.training.footprint import never_compared, pretend

    config = LlamaConfig(num_hidden_layers=1)  # of 32 like this
    with torch.device("meta"):
        model: Any = get_peft_model(
            LlamaForCausalLM(config),
            LoraConfig(r=8, target_modules=["q_proj", "v_proj"]),
        )
    recompute(model, "blocks")
    set_precision(model, "bf16")
    with FakeTensorMode(allow_non_fake_inputs=True):
        pretend(model)
        tokens = torch.zeros(2, 64, dtype=torch.long)
        recording = Recording(model)
        with never_compared(recording):
            logits = model(input_ids=tokens, use_cache=False).logits
        losses = record_losses(logits, tokens)
        assert (logits.dtype, losses.dtype) == (torch.bfloat16, torch.float32)
        recording.gather(losses.sum(), Records(2))
        sums = dict(recording.weighted_sums(torch.ones(2), Records(2)))
    for name, one in model.named_parameters():
        assert one.dtype == (torch.float32 if one.requires_grad else torch.bfloat16)
        if one.requires_grad:
            assert (sums[name].shape, sums[name].dtype) == (one.shape, torch.float32)


def test_a_gpt2_whose_output_layer_gives_losses() -> None:
    from sfumato.models.load import slice_losses
    from sfumato.training.row_losses import row_losses

    found = []
    for precision in ("float32", "bf16"):
        torch.manual_seed(0)
        config = GPT2Config(
            vocab_size=WORDS, n_positions=16, n_embd=12, n_layer=1, n_head=2, resid_pdrop=0.0,
            embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
        model: Any = GPT2LMHeadModel(config)
        slice_losses(model)
        set_precision(model, precision)
        step = private(model)
        inputs = {"input_ids": TOKENS}
        losses = row_losses(model, inputs, next_tokens(TOKENS), torch.full((4,), 0.125))
        assert losses.dtype == torch.float32
        step.backward(losses)
        step.step()
        step.close()
        with step.pause(), torch.no_grad():  # and asked in the ordinary way
            row_losses(model, inputs, next_tokens(TOKENS), torch.full((4,), 0.125))
        found.append({n: one.grad for n, one in model.named_parameters() if one.grad is not None})
    assert 0 < apart(*found) < 0.05


def lstm(*, tied: bool) -> Any:
    torch.manual_seed(0)
    config = LstmConfig(
        vocab_size=WORDS, embedding_size=12, hidden_size=12, tie_word_embeddings=tied
    )
    return LstmForCausalLM(config)


def lstm_losses(model: Any) -> Tensor:
    labels = next_tokens(TOKENS)
    return row_losses(model, {"input_ids": TOKENS}, labels, torch.full((4,), 3.0))


@pytest.mark.parametrize("tied", [False, True])
def test_a_recurrent_model_computes_its_scores_alone_in_few_digits(tied: bool) -> None:
    """Also in plain steps, where nothing is recorded."""
    found = []
    for precision in ("float32", "bf16"):
        model = lstm(tied=tied)
        set_precision(model, precision)
        lstm_losses(model).sum().backward()  # type: ignore[no-untyped-call]
        found.append({name: one.grad for name, one in model.named_parameters()})
        with torch.no_grad():
            assert model.lstm(torch.zeros(1, 2, 12))[0].dtype == torch.float32
    assert 1e-4 < apart(*found) < 0.05
    assert all(one.dtype == torch.float32 for one in found[1].values())


@pytest.mark.usefixtures("compared_rows")
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("bound", [0.01, 1e6])
def test_a_recurrent_model_is_clipped_by_what_is_added(tied: bool, bound: float) -> None:
    """With few digits, too: one row adds at most the bound, and all it has if that is less."""
    model = lstm(tied=tied)
    set_precision(model, "bf16")
    step = make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        clipper=Flat(bound),
        noise_multiplier=0.0,
        expected_batch_size=1.0,
        randomness=Randomness.reproducible(0),
    )
    labels = next_tokens(TOKENS[:1])
    step.backward(row_losses(model, {"input_ids": TOKENS[:1]}, labels, torch.full((1,), 3.0)))
    step.step()
    step.close()
    added = {name: one.grad for name, one in model.named_parameters()}
    unbound = lstm(tied=tied)
    losses = row_losses(unbound, {"input_ids": TOKENS[:1]}, labels, torch.full((1,), 3.0))
    losses.sum().backward()  # type: ignore[no-untyped-call]
    length = norm({name: one.grad for name, one in unbound.named_parameters()})
    assert norm(added) == pytest.approx(min(bound, length), rel=0.02)
    assert norm(added) <= bound * MOST


def test_networks_that_gain_nothing_are_refused() -> None:
    for network in (nn.Sequential(nn.Conv1d(2, 2, 1)), nn.LSTM(2, 2)):
        with pytest.raises(InvalidArgument, match="is for language models"):
            set_precision(network, "bf16")
        set_precision(network, "float32")


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_rows_are_compared_with_slack_where_scores_are_rounded(precision: str) -> None:
    """Also if the output layer is frozen, so that nothing of it is recorded."""
    model = lstm(tied=False)
    model.decoder.requires_grad_(False)
    set_precision(model, precision)
    step = private(model)
    step.backward(lstm_losses(model))
    assert step.recording.batch.coarse is (precision == "bf16")
    step.close()
