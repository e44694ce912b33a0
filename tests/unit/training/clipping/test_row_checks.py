"""Rows that influence each other are refused, however they do; rows that do not are let through."""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn.functional import dropout, one_hot, scaled_dot_product_attention
from torch.optim import SGD
from torch.utils.checkpoint import checkpoint
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from low_costs import FIRST_BATCHES
from sfumato.core.errors import CoupledRows, InvalidArgument, UnsupportedLayer
from sfumato.core.randomness import Randomness
from sfumato.models.lstm_network import LstmConfig, LstmForCausalLM
from sfumato.training.clipping import recording, replays, row_checks
from sfumato.training.clipping.clippers import Adaptive, Automatic, Clipper, Flat
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.clipping.row_checks import SLACK_IN_OTHER_SHAPES, CheckSchedule, RowSplit
from sfumato.training.steps import PrivateStep, make_private

pytestmark = pytest.mark.usefixtures("compared_rows")

ROWS, PLACES, WIDTH, VOCABULARY = 10, 6, 4, 37


def private(model: nn.Module, *, seed: int = 0, clipper: Clipper | None = None) -> PrivateStep:
    return make_private(
        model,
        SGD(model.parameters(), lr=0.1),
        clipper=clipper or Flat(1.0),
        noise_multiplier=1.0,
        expected_batch_size=4.0,
        randomness=Randomness.reproducible(seed),
    )


def some_rows(seed: int, rows: int = ROWS, *, positive: bool = False) -> Tensor:
    drawn = torch.randn(rows, PLACES, WIDTH, generator=torch.Generator().manual_seed(seed))
    return drawn.abs() if positive else drawn


def losses(outputs: Tensor) -> Tensor:
    return outputs.sin().flatten(1).sum(1)


def train(
    model: nn.Module, *, steps: int = 2, rows: int = ROWS, positive: bool = False, seed: int = 0
) -> None:
    """A user's own loop, of which nothing is known but calls and losses."""
    step = private(model, seed=seed)
    try:
        for number in range(steps):
            step.backward(losses(model(some_rows(number, rows, positive=positive))))
            step.step()
    finally:
        step.close()


# --- models in which rows influence each other ------------------------------------------------


class Coupled(nn.Module):
    """Two layers, and between them what one of the functions below does to a batch."""

    def __init__(self, between: Callable[[Coupled, Tensor], Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.before, self.after = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)
        self.between, self.calls = between, 0

    def forward(self, rows: Tensor) -> Tensor:
        self.calls += 1
        outputs: Tensor = self.after(self.between(self, self.before(rows)).tanh())
        return outputs


def nothing(_: Coupled, inner: Tensor) -> Tensor:
    return inner


def detached_mean(_: Coupled, inner: Tensor) -> Tensor:
    return inner - inner.detach().mean(0)


def only_while_training(model: Coupled, inner: Tensor) -> Tensor:
    return detached_mean(model, inner) if model.training else inner


def capacity(_: Coupled, inner: Tensor) -> Tensor:
    """Each of four experts takes so many places of a batch, first come, first served."""
    expert = one_hot(inner.detach().argmax(-1).flatten(), WIDTH)
    waiting = (expert.cumsum(0) * expert).sum(1).view(inner.shape[:2])
    return inner * (waiting <= 8)[..., None]


def middle_rows(_: Coupled, inner: Tensor) -> Tensor:
    middle = inner[1:-1]
    return torch.cat([inner[:1], middle - middle.detach().mean(0), inner[-1:]])


def middle_gradients(_: Coupled, inner: Tensor) -> Tensor:
    middle = inner[1:-1]
    return torch.cat([inner[:1], middle - middle.mean(0), inner[-1:]])


def later(model: Coupled, inner: Tensor) -> Tensor:
    return detached_mean(model, inner) if model.calls > 1 else inner


def batch_size(_: Coupled, inner: Tensor) -> Tensor:
    return inner * 10 / len(inner)


def backward_only(_: Coupled, inner: Tensor) -> Tensor:
    """Results stay, and the lengths of gradients; their signs hang on the batch."""
    signed = inner * (1000 * inner.detach().mean((0, 1))).sin().sign()
    return signed - signed.detach() + inner.detach()


class Hooked(nn.Module):
    """Gradients are brought to one length over the whole batch on their way back."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.before, self.after = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, rows: Tensor) -> Tensor:
        inner = self.before(rows).tanh()
        if inner.requires_grad:
            inner.register_hook(lambda gradient: gradient / gradient.norm())
        outputs: Tensor = self.after(inner)
        return outputs


class Negatives(nn.Module):
    """Rows see of each other, or by what they are, only numbers below zero."""

    def __init__(self, *, own: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.own = nn.Linear(WIDTH, 3), own

    def forward(self, rows: Tensor) -> Tensor:
        if self.own:
            rows = torch.where(rows < 0, rows - rows.abs().mean(0).detach(), rows)
        else:
            rows = rows - rows.clamp(max=0).detach().mean(0)
        outputs: Tensor = self.layer(rows)
        return outputs


COUPLED: dict[str, Callable[[], nn.Module]] = {
    "detached mean": lambda: Coupled(detached_mean),
    "detached mean, in training only": lambda: Coupled(only_while_training),
    "capacity": lambda: Coupled(capacity),
    "middle rows": lambda: Coupled(middle_rows),
    "middle rows, by gradients": lambda: Coupled(middle_gradients),
    "from the second call": lambda: Coupled(later),
    "number of rows": lambda: Coupled(batch_size),
    "sign of gradients": lambda: Coupled(backward_only),
    "length of all gradients": Hooked,
}


@pytest.mark.parametrize("name", COUPLED)
def test_rows_that_influence_each_other_are_refused(name: str) -> None:
    for seed in range(3):
        with pytest.raises(CoupledRows, match="other rows") as found:
            train(COUPLED[name](), seed=seed)
        assert not any(digit in str(found.value) for digit in "0123456789")
        assert isinstance(found.value, UnsupportedLayer)


@pytest.mark.parametrize("own", [True, False])
def test_influence_of_negative_numbers_is_refused_though_there_are_none_yet(own: bool) -> None:
    with pytest.raises(CoupledRows, match="other rows"):
        train(Negatives(own=own), positive=True)


@pytest.mark.parametrize("steps", [1, 4])
def test_rows_that_do_not_are_let_through(steps: int) -> None:
    train(Coupled(nothing), steps=steps)
    train(Coupled(nothing), steps=steps, positive=True)


def test_a_batch_of_one_row_proves_nothing() -> None:
    model = Coupled(detached_mean)
    step = private(model)
    for number in range(4):
        step.backward(losses(model(some_rows(number, 1))))
    with pytest.raises(CoupledRows):
        model(some_rows(5, 2))


def test_numbers_that_are_not_finite_prove_nothing() -> None:
    model = Coupled(detached_mean)
    step = private(model)
    for number in range(4):
        model(some_rows(number) * torch.inf)
    with pytest.raises(CoupledRows):
        model(some_rows(4))
    step.close()


def test_a_later_influence_is_found_by_the_coin(monkeypatch: pytest.MonkeyPatch) -> None:
    class Late(Coupled):
        def forward(self, rows: Tensor) -> Tensor:
            self.between = detached_mean if self.calls >= 10 else nothing
            return super().forward(rows)

    train(Late(nothing), steps=20)
    monkeypatch.setattr(row_checks, "RARELY", 0.3)
    with pytest.raises(CoupledRows):
        train(Late(nothing), steps=60)


def test_a_coin_is_tossed_for_every_batch_once_the_first_ones_are_compared() -> None:
    schedule = CheckSchedule(Randomness.reproducible(0))
    assert schedule.due()
    schedule.passed()
    assert schedule.due()
    schedule.passed()
    tossed = [schedule.due() for _ in range(20_000)]
    assert 1 <= sum(tossed) <= 80  # 20 on average, with a fixed seed


@pytest.mark.parametrize("rows", [2, 3, 9])
def test_half_of_the_rows_stays_and_every_other_is_replaced(rows: int) -> None:
    coin, counts = Randomness.reproducible(1), torch.zeros(rows)
    for _ in range(200):
        split = RowSplit.drawn(rows, coin)
        counts += split.looked_at
        assert len(split.kept) == rows // 2
        same = split.replaced == torch.arange(rows)
        assert torch.equal(same, split.looked_at)
        assert torch.equal(split.signs != 0, split.looked_at)
    assert bool((counts > 0).all()), "every row is looked at some time"


# --- twins: a check that looks less closely misses one of them --------------------------------


def test_twin_that_looks_at_the_first_and_the_last_row_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drawn(rows: int, coin: Randomness, *, flipped: bool = False) -> RowSplit:
        split = original(rows, coin, flipped=flipped)
        kept = torch.tensor([0, rows - 1])
        replaced = (torch.arange(rows) + 1) % rows
        replaced[kept] = kept
        signs = torch.zeros(rows).index_fill(0, kept, 1.0)
        return RowSplit(kept, replaced, signs, split.flipped)

    original = RowSplit.drawn
    monkeypatch.setattr(RowSplit, "drawn", drawn)
    train(COUPLED["middle rows"]())
    with pytest.raises(CoupledRows):
        train(COUPLED["detached mean"]())


@pytest.mark.parametrize("name", ["detached mean", "capacity", "from the second call"])
def test_twin_that_looks_at_gradients_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "check_call", lambda *_: True)
    train(COUPLED[name]())
    with pytest.raises(CoupledRows):
        train(COUPLED["middle rows, by gradients"]())


def test_twin_that_never_leaves_rows_out(monkeypatch: pytest.MonkeyPatch) -> None:
    same = row_checks.Coupling.SAME
    monkeypatch.setattr(row_checks._Comparison, "left_out", lambda _: same)
    train(COUPLED["number of rows"]())


def test_twin_that_keeps_all_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = replays.ModelInputs.taken
    monkeypatch.setattr(
        replays.ModelInputs,
        "taken",
        lambda self, rows, flipped: taken(self, rows, torch.zeros_like(flipped)),
    )
    train(Negatives(own=False), positive=True)


def test_twin_that_compares_the_first_call_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_checks, "FIRST", 1)
    train(COUPLED["from the second call"]())


def test_twin_that_compares_norms_but_no_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(recorded: Any, *_: Any) -> list[tuple[str, Tensor]]:
        recorded.clear()
        return []

    monkeypatch.setattr(recording.Recording, "weighted_sums", without)
    train(COUPLED["sign of gradients"](), steps=1)


# --- losses -----------------------------------------------------------------------------------


class Batch:
    """Rows of different lengths, and the ways to a loss that are right and wrong."""

    def __init__(self, seed: int, rows: int = ROWS) -> None:
        source = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(1, VOCABULARY, (rows, PLACES), generator=source)
        lengths = torch.randint(2, PLACES + 1, (rows, 1), generator=source)
        self.mask = (torch.arange(PLACES) < lengths).long()
        self.labels = next_tokens(self.tokens, self.mask)

    def own(self, model: nn.Module, some: Tensor) -> Tensor:
        return record_losses(model(self.tokens[some]), self.labels[some])

    def by_tokens(self, model: nn.Module, some: Tensor) -> Tensor:
        sums = record_losses(model(self.tokens[some]), self.labels[some], divisor=1.0)
        return sums / self.mask[some].sum()

    def by_rows(self, model: nn.Module, some: Tensor) -> Tensor:
        return self.own(model, some) / len(some)

    def weighted(self, model: nn.Module, some: Tensor) -> Tensor:
        found = self.own(model, some)
        return found * (found.detach() / found.detach().max())


def reader() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(VOCABULARY, 8), nn.Dropout(0.2), nn.Linear(8, VOCABULARY))


def train_reader(way: str, *, checked: bool = True, clipper: Clipper | None = None) -> None:
    model = reader()
    step = private(model, clipper=clipper)
    for number in range(2):
        batch = Batch(number)
        if checked:
            step.check_rows(lambda some: getattr(batch, way)(model, some), ROWS)  # noqa: B023
        step.backward(getattr(batch, way)(model, torch.arange(ROWS)))
        step.step()
    step.close()


@pytest.mark.parametrize("clipper", [Flat(0.1), Automatic(1.0), Adaptive(5.0)])
@pytest.mark.parametrize("way", ["by_tokens", "by_rows", "weighted"])
def test_a_loss_that_hangs_on_the_batch_is_refused(way: str, clipper: Clipper) -> None:
    with pytest.raises(CoupledRows, match="public constant") as found:
        train_reader(way, clipper=clipper)
    assert not any(digit in str(found.value) for digit in "0123456789")


@pytest.mark.parametrize("clipper", [Flat(0.1), Automatic(1.0), Adaptive(5.0)])
def test_a_loss_that_hangs_on_its_row_is_let_through(clipper: Clipper) -> None:
    train_reader("own", clipper=clipper)


@pytest.mark.parametrize("way", ["by_tokens", "by_rows"])
def test_without_the_way_to_a_loss_nobody_can_see_what_it_is_divided_by(way: str) -> None:
    """As the how-to says."""
    train_reader(way, checked=False)


@pytest.mark.parametrize("name", ["detached mean", "capacity", "middle rows"])
def test_a_model_is_compared_through_its_losses_as_well(name: str) -> None:
    rows, model = some_rows(0), COUPLED[name]()
    step = private(model)
    with pytest.raises(CoupledRows, match="the loss of a row"):
        step.check_rows(lambda some: losses(model(rows[some])), ROWS)


def test_the_second_batch_is_compared_through_its_losses_too() -> None:
    rows, model = some_rows(0), COUPLED["from the second call"]()
    step = private(model)
    step.check_rows(lambda some: losses(model(rows[some])), ROWS)
    model(rows)
    with pytest.raises(CoupledRows, match="the loss of a row"):
        step.check_rows(lambda some: losses(model(rows[some])), ROWS)


def test_a_check_of_losses_spares_the_call_after_it_and_no_other() -> None:
    calls: list[int] = []
    model, batch = reader(), Batch(0)
    step = private(model)
    model.register_forward_hook(lambda *_: calls.append(len(calls)))
    everything = torch.arange(ROWS)
    for _ in range(3):  # the first two are compared
        step.check_rows(lambda some: batch.own(model, some), ROWS)
    before = len(calls)
    batch.own(model, everything)
    assert len(calls) == before + 1
    batch.own(model, everything)
    assert len(calls) > before + 2


def test_losses_that_are_not_those_of_the_rows_asked_for_are_refused() -> None:
    model, batch = reader(), Batch(0)
    with pytest.raises(InvalidArgument, match="one number for each row that was asked for"):
        private(model).check_rows(lambda _: batch.own(model, torch.arange(ROWS)), ROWS)


@pytest.mark.parametrize(
    ("share", "seen"), [(SLACK_IN_OTHER_SHAPES / 2, False), (20 * SLACK_IN_OTHER_SHAPES, True)]
)
def test_what_stays_unseen_is_as_small_as_is_said(share: float, seen: bool) -> None:
    """A factor of the batch that differs by less than the slack passes, one beyond it does not."""
    rows, model = some_rows(0), Coupled(nothing)
    step = private(model)

    def shared(some: Tensor) -> Tensor:
        return losses(model(rows[some])) * (1 + share * len(some) / ROWS)

    with pytest.raises(CoupledRows) if seen else nullcontext():
        step.check_rows(shared, ROWS)


# --- honest models ----------------------------------------------------------------------------


def gpt2() -> nn.Module:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_positions=16, n_embd=12, n_layer=2, n_head=2,
            resid_pdrop=0.2, embd_pdrop=0.2, attn_pdrop=0.2, bos_token_id=0, eos_token_id=0,
            tie_word_embeddings=True,
        )
    )  # fmt: skip


def llama() -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=12, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16,
            attention_dropout=0.2,
        )
    )  # fmt: skip


def bert() -> nn.Module:
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=VOCABULARY, hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=20, max_position_embeddings=16, num_labels=3,  # type: ignore[call-arg]
            hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2,
        )
    )  # fmt: skip


def lora() -> nn.Module:
    return get_peft_model(
        gpt2(),
        LoraConfig(
            r=3, target_modules=["c_attn"], fan_in_fan_out=True, init_lora_weights=False,
            lora_dropout=0.2,
        ),
    )  # fmt: skip


def lstm(*, tied: bool = False) -> nn.Module:
    return LstmForCausalLM(
        LstmConfig(
            vocab_size=VOCABULARY, embedding_size=8, hidden_size=8, dropout=0.2,
            tie_word_embeddings=tied,
        )
    )  # fmt: skip


HONEST: dict[str, Callable[[], nn.Module]] = {
    "gpt2": gpt2,
    "llama": llama,
    "bert": bert,
    "lora": lora,
    "lstm": lstm,
    "lstm, tied": lambda: lstm(tied=True),
}


@pytest.mark.parametrize("checked", [True, False], ids=["losses", "calls"])
@pytest.mark.parametrize("name", HONEST)
def test_honest_models_with_dropout_masks_and_padding_pass(
    name: str, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_checks, "RARELY", 1.0)
    torch.manual_seed(0)
    model = HONEST[name]().train()
    step = private(model)
    for number, rows in enumerate((2, 7, PLACES)):  # as many places as rows, too
        batch = Batch(number, rows)

        def losses_of(some: Tensor, batch: Batch = batch) -> Tensor:
            masks = batch.mask[some]
            logits = model(input_ids=batch.tokens[some], attention_mask=masks).logits
            of_class = logits.dim() == 2
            return record_losses(logits, batch.tokens[some, 0] % 3 if of_class else
                                 batch.labels[some])  # fmt: skip

        if checked:
            step.check_rows(losses_of, rows)
        step.backward(losses_of(torch.arange(rows)))
        step.step()
    step.close()


def test_the_state_of_a_recurrent_network_goes_with_its_row() -> None:
    torch.manual_seed(0)
    model = lstm().train()
    step = private(model)
    for number in range(2):
        batch = Batch(number)
        states = torch.randn(2, 1, ROWS, 8)
        logits = model(input_ids=batch.tokens, state=(states[0], states[1])).logits
        step.backward(record_losses(logits, batch.labels))
    step.close()


class Stateless(nn.Module):
    """Takes what the house's models do not: nested input, plain lists, results in a tuple."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, 3)

    def forward(
        self, given: dict[str, Any], sizes: list[int], shared: Tensor, flag: str = "yes"
    ) -> tuple[Tensor, Tensor, str]:
        inner = given["rows"] * given["scales"][0][:, None, None] + shared
        outputs: Tensor = dropout(self.layer(inner), 0.3, self.training)
        cut = torch.arange(outputs.shape[1]) < torch.tensor(sizes)[:, None]
        return outputs * cut[..., None], outputs.mean(), flag


def test_rows_are_found_in_whatever_a_model_is_called_with() -> None:
    torch.manual_seed(0)
    model = Stateless()
    step = private(model)
    for number in range(3):
        given = {"rows": some_rows(number), "scales": [torch.rand(ROWS)]}
        outputs, *_ = model(given, [1 + row % PLACES for row in range(ROWS)], torch.ones(WIDTH))
        step.backward(losses(outputs))
    step.close()


class Recomputed(nn.Module):
    """Dropout within a part that is computed again on the way back."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, rows: Tensor) -> Tensor:
        def inside(one: Tensor) -> Tensor:
            outputs: Tensor = self.second(dropout(one, 0.5, self.training))
            return outputs

        outputs: Tensor = checkpoint(inside, self.first(rows), use_reentrant=False)
        return outputs


def test_parts_that_are_computed_again_keep_their_draws() -> None:
    train(Recomputed(), steps=3)


class Skipping(nn.Module):
    """Draws from all sources there are, whether to skip a layer and what to add."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3)

    def forward(self, rows: Tensor) -> Tensor:
        inner = self.first(rows)
        inner = inner * (random.random() + np.random.random()) + torch.randn_like(inner)
        outputs: Tensor = self.second(inner)
        return outputs


def test_draws_of_any_source_are_no_influence_of_rows() -> None:
    train(Skipping(), steps=3)


def test_a_model_that_takes_no_other_rows_is_refused() -> None:
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(WIDTH, 3)

        def forward(self, rows: Tensor) -> Tensor:
            outputs: Tensor = self.layer(rows.view(ROWS, PLACES, WIDTH))
            return outputs

    with pytest.raises(CoupledRows, match="fails when other rows") as found:
        train(Fixed())
    assert not any(digit in str(found.value) for digit in "0123456789")


# --- chance -----------------------------------------------------------------------------------


def test_draws_that_are_held_still_are_the_same_for_all_rows() -> None:
    rows = torch.ones(5, 4)
    with replays.still_draws():
        for kept in (
            torch.native_dropout(rows, 0.5, train=True)[0],
            torch.rand(5, 4),
            torch.rand_like(rows),
            torch.empty(5, 4).bernoulli_(0.3),
            torch.empty(5, 4).normal_(),
        ):
            assert torch.equal(kept, rows)
        dropped = dropout(rows, 0.5)
        assert torch.equal(dropped, dropped[:1].expand(5, 4))
        attended = scaled_dot_product_attention(rows, rows, rows, dropout_p=0.5)
        assert torch.allclose(attended, attended[:1].expand(5, 4))
        assert torch.randint(7, (5,)).tolist() == [0] * 5
        assert torch.randperm(1).tolist() == [0]


class Dropping(nn.Module):
    """A factor of the number of rows, beside dropout."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.drop = nn.Linear(WIDTH, 3), nn.Dropout(0.5)

    def forward(self, rows: Tensor) -> Tensor:
        outputs: Tensor = self.drop(self.layer(rows)) / len(rows)
        return outputs


def test_dropout_does_not_hide_an_influence_of_the_number_of_rows() -> None:
    with pytest.raises(CoupledRows, match="are left out"):
        train(Dropping())


def test_twin_that_lets_dropout_go_on_misses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_checks, "still_draws", nullcontext)
    train(Dropping())


# --- comparisons leave no trace ---------------------------------------------------------------


class Counting(nn.Module):
    """Has all that a call could leave behind: buffers, attributes, draws."""

    passing: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.calls = nn.Linear(WIDTH, 3), 0
        self.drop = nn.Dropout(0.5)
        self.register_buffer("passing", torch.zeros(()), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        self.calls += 1
        self.passing += 1
        outputs: Tensor = self.drop(self.layer(rows))
        return outputs * (1 + 1 / self.calls) * random.random()


def trained(monkeypatch: pytest.MonkeyPatch, often: float) -> tuple[Counting, list[Tensor]]:
    monkeypatch.setattr(row_checks, "FIRST", round(often) * 2)
    monkeypatch.setattr(row_checks, "RARELY", often)
    model = Counting()
    step = private(model)
    torch.manual_seed(5)
    random.seed(5)
    for number in range(4):
        rows = some_rows(number)
        if number > 1:
            step.check_rows(lambda some: losses(model(rows[some])), ROWS)  # noqa: B023
        step.backward(losses(model(rows)))
        step.step()
    step.close()
    kept = [one.detach().clone() for one in model.parameters()]
    return model, [*kept, torch.rand(3), torch.tensor(random.random())]


def test_comparisons_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (one, first), (other, second) = trained(monkeypatch, 0.0), trained(monkeypatch, 1.0)
    assert all(torch.equal(*both) for both in zip(first, second, strict=True))
    assert one.calls == other.calls == 4
    assert float(one.passing) == float(other.passing) == 4


def test_comparisons_between_a_call_and_its_losses_change_nothing() -> None:
    found = []
    for checked in (True, False):
        model = reader().eval()
        step, batch = private(model), Batch(0)
        found_losses = batch.own(model, torch.arange(ROWS))
        if checked:
            step.check_rows(lambda some: batch.own(model, some), ROWS)  # noqa: B023
        step.backward(found_losses)
        found.append(step._sums)
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[1])


def test_nothing_is_compared_in_a_pause() -> None:
    model = Coupled(detached_mean)
    step = private(model)
    with step.pause():
        losses(model(some_rows(0))).sum().backward()  # type: ignore[no-untyped-call]
        step.check_rows(lambda some: losses(model(some_rows(0)[some])), ROWS)
    assert model.calls == 1


def test_the_package_compares_as_many_batches_as_these_tests_ask_for() -> None:
    shipped = runpy.run_path(row_checks.__file__)
    assert shipped["FIRST"] == FIRST_BATCHES == row_checks.FIRST
