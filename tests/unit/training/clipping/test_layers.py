"""Every supported layer against a loop over records, over shapes, rows shared by records or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers.models.gemma.modeling_gemma import GemmaRMSNorm
from transformers.models.llama.modeling_llama import LlamaRMSNorm
from transformers.pytorch_utils import Conv1D

from naive_gradients import TOLERANCE, worst_difference
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping import slots
from sfumato.training.clipping.layers import linear, tied
from sfumato.training.clipping.layers.embedding import TableSlot
from sfumato.training.clipping.layers.linear import keep_gradient
from sfumato.training.clipping.layers.tied import TiedSlot
from sfumato.training.clipping.rounding import bound_formed

VOCABULARY = 11


@dataclass(frozen=True)
class Shape:
    rows: int
    places: int
    left: int
    right: int
    seed: int
    exact: bool = False  # in double precision

    @property
    def tolerance(self) -> float:
        return 1e-10 if self.exact else TOLERANCE


shapes = st.builds(
    Shape,
    rows=st.integers(1, 5),
    places=st.integers(1, 12),
    left=st.integers(
        8, 14
    ),  # of two or three numbers, once normalized, little but rounding is left
    right=st.integers(1, 9),
    seed=st.integers(0, 10_000),
    exact=st.booleans(),
)


class OutputOfLstm(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.lstm = LSTM(shape.left, shape.right)

    def forward(self, rows: Tensor) -> Tensor:
        outputs, (hidden, cell) = self.lstm(rows)
        return torch.cat([outputs, hidden.transpose(0, 1), cell.transpose(0, 1)], 1)


class WithState(nn.Module):
    """An LSTM whose first state comes out of another layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.first = nn.Linear(shape.left, shape.right)
        self.lstm = LSTM(shape.left, shape.right)

    def forward(self, rows: Tensor) -> Tensor:
        state = self.first(rows[:, 0])[None]
        outputs: Tensor = self.lstm(rows, (state, state.tanh()))[0]
        return outputs


class Twice(nn.Module):
    """One layer, called twice, on inputs of different lengths."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.layer = nn.Linear(shape.left, shape.left)
        self.norm = nn.LayerNorm(shape.left)

    def forward(self, rows: Tensor) -> Tensor:
        once = self.norm(self.layer(rows))
        outputs: Tensor = self.norm(self.layer(once[:, :1].tanh())) + once
        return outputs


class Elsewhere(nn.Module):
    """Two layers with one weight."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(shape.left, shape.left), nn.Linear(shape.left, shape.left)
        self.other.weight = self.one.weight

    def forward(self, rows: Tensor) -> Tensor:
        outputs: Tensor = self.other(self.one(rows).tanh())
        return outputs


def elementwise(norm: nn.Module) -> nn.Module:
    """Weights that are not all one, and something below to pass gradients on to."""
    for parameter in norm.parameters():
        nn.init.uniform_(parameter, 0.5, 1.5)
    width = next(norm.parameters()).shape[0]
    return nn.Sequential(nn.Linear(width, width), norm)


LAYERS: dict[str, Callable[[Shape], nn.Module]] = {
    "linear": lambda s: nn.Linear(s.left, s.right),
    "linear without bias": lambda s: nn.Linear(s.left, s.right, bias=False),
    "two linear layers": lambda s: nn.Sequential(nn.Linear(s.left, 5), nn.Tanh(), nn.Linear(5, 3)),
    "conv1d": lambda s: Conv1D(s.right, s.left),
    "layer norm": lambda s: elementwise(nn.LayerNorm(s.left)),
    "layer norm without bias": lambda s: elementwise(nn.LayerNorm(s.left, bias=False)),
    "rms norm of torch": lambda s: elementwise(nn.RMSNorm(s.left, eps=1e-5)),
    "rms norm of llama": lambda s: elementwise(LlamaRMSNorm(s.left)),
    "rms norm of gemma": lambda s: elementwise(GemmaRMSNorm(s.left)),
    "lstm": OutputOfLstm,
    "lstm with a state": WithState,
    "a layer called twice": Twice,
    "a weight in two layers": Elsewhere,
}
TOKEN_LAYERS: dict[str, Callable[[Shape], nn.Module]] = {
    "embedding": lambda s: nn.Embedding(VOCABULARY, s.left),
    "embedding with padding": lambda s: nn.Embedding(VOCABULARY, s.left, padding_idx=2),
    "tied": lambda s: Tied(s.left),
    "tied and called twice": lambda s: Tied(s.left, again=True),
    "positions": lambda s: Positions(s.left, shape=(1, -1)),
    "positions without an axis for rows": lambda s: Positions(s.left, shape=(-1,)),
}


class Tied(nn.Module):
    def __init__(self, width: int, *, again: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.head.weight = self.table.weight
        self.again = again

    def forward(self, tokens: Tensor) -> Tensor:
        outputs: Tensor = self.head(self.middle(self.table(tokens)))
        if self.again:
            outputs = outputs + self.head(self.table(tokens[:, :1]).tanh())
        return outputs


class Positions(nn.Module):
    """Positions are looked up once for all rows, as in GPT-2 and BERT."""

    def __init__(self, width: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(16, width)
        self.middle = nn.Linear(width, width)
        self.shape = shape

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1]).view(self.shape)
        outputs: Tensor = self.middle((self.tokens(tokens) + self.places(places)).tanh())
        return outputs


def compared(model: nn.Module, entered: Tensor, owner: Tensor | None) -> tuple[float, ...]:
    weights = torch.linspace(0.5, 2.0, 997)

    def losses(under: nn.Module, rows: Tensor) -> Tensor:
        given = entered[rows]
        if given.is_floating_point():
            given = given.to(next(under.parameters()).dtype)
        outputs: Tensor = under(given).flatten(1)
        return (outputs.sin() * weights[: outputs.shape[1]]).sum(1)

    return worst_difference(model, losses, len(entered), owner)


def prepared(shape: Shape) -> torch.Generator:
    torch.manual_seed(shape.seed)
    return torch.Generator().manual_seed(shape.seed)


def in_precision(model: nn.Module, shape: Shape) -> nn.Module:
    return model.double() if shape.exact else model


def owners(shape: Shape, draw: torch.Generator, shared: bool) -> Tensor | None:
    return torch.randint(0, shape.rows, (shape.rows,), generator=draw) if shared else None


@pytest.mark.parametrize("name", LAYERS)
@settings(max_examples=8)
@given(shape=shapes, shared=st.booleans())
def test_norms_and_sums_are_those_of_a_loop(name: str, shape: Shape, shared: bool) -> None:
    draw = prepared(shape)
    model = LAYERS[name](shape)
    entered = torch.randn(shape.rows, shape.places, shape.left, generator=draw)
    errors = compared(in_precision(model, shape), entered, owners(shape, draw, shared))
    assert max(errors) <= shape.tolerance


@pytest.mark.parametrize("name", TOKEN_LAYERS)
@settings(max_examples=8)
@given(shape=shapes, shared=st.booleans())
def test_norms_and_sums_of_tables_are_those_of_a_loop(
    name: str, shape: Shape, shared: bool
) -> None:
    draw = prepared(shape)
    model = TOKEN_LAYERS[name](shape)
    # Few different tokens, so that most are repeated.
    tokens = torch.randint(0, 4, (shape.rows, shape.places), generator=draw)
    tokens[tokens == 3] = VOCABULARY - 1
    errors = compared(in_precision(model, shape), tokens, owners(shape, draw, shared))
    assert max(errors) <= shape.tolerance


@pytest.mark.parametrize("name", ["linear", "lstm"])
def test_records_of_one_row_each_may_come_in_any_order(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in batches that are sorted by length; a twin that forgets the order is found out."""
    shape = Shape(rows=4, places=3, left=8, right=5, seed=2, exact=True)
    draw = prepared(shape)
    model = LAYERS[name](shape).double()
    entered = torch.randn(shape.rows, shape.places, shape.left, generator=draw)
    owner = torch.tensor([7, 2, 9, 4])
    assert max(compared(model, entered, owner)) <= shape.tolerance
    monkeypatch.setattr(slots.Records, "single_rows", lambda _: torch.arange(4))
    assert max(compared(model, entered, owner)) > 1e-3


def test_a_gram_matrix_without_the_cross_terms_of_tied_tables_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A twin that adds up the matrices of both uses; and one that takes small pieces is right."""
    torch.manual_seed(3)
    model, tokens = Tied(5).double(), torch.tensor([[1, 2, 1], [2, 2, 0], [4, 1, 2]])
    monkeypatch.setattr(slots, "PIECE", 16)  # several pieces of every table
    assert max(compared(model, tokens, None)) <= 1e-9

    def apart(
        slot: TiedSlot, records: slots.Records, direction: Tensor | None = None
    ) -> slots.Products:
        one, other = (part.products(records, direction) for part in (slot.matrix, slot.table))
        return slots.Products(one.among + other.among, one.along + other.along)

    monkeypatch.setattr(TiedSlot, "products", apart)
    assert compared(model, tokens, None)[-1] > 1e-3


@pytest.mark.parametrize("slot", [linear.MatrixSlot, TableSlot, TiedSlot])
def test_pieces_that_name_the_wrong_lines_are_found_out(
    slot: type[slots.Slot], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The inner products with a direction would be those with other lines of it."""
    torch.manual_seed(3)
    apart = nn.Sequential(nn.Embedding(VOCABULARY, 5), nn.Linear(5, 7))
    model = (Tied(5) if slot is TiedSlot else apart).double()
    tokens = torch.tensor([[1, 2, 1], [2, 2, 0], [4, 1, 2]])
    monkeypatch.setattr(slots, "PIECE", 16)
    assert max(compared(model, tokens, None)) <= 1e-9
    right = slot.pieces

    def shifted(one: slots.Slot, records: slots.Records) -> Iterator[slots.Piece]:
        for piece in right(one, records):
            every = torch.arange(len(one.parameter))
            yield slots.Piece(piece.gradients, (every[piece.lines] + 1) % len(every))

    monkeypatch.setattr(slot, "pieces", shifted)
    assert max(compared(model, tokens, None)) > 1e-3


@settings(max_examples=40)
@given(shape=shapes)
def test_both_ways_to_a_norm_agree(shape: Shape) -> None:
    draw = prepared(shape)
    left = torch.randn(shape.rows, shape.places, shape.left, generator=draw)
    right = torch.randn(shape.rows, shape.places, shape.right, generator=draw)
    product = bound_formed(torch.bmm(left.transpose(1, 2), right))
    found = linear.inner_products(linear.Places.of(left, right))
    assert found.square.tolist() == pytest.approx(product.square.tolist(), rel=1e-5)


@pytest.mark.parametrize("places", [1, 2, 7, 8])
def test_a_wide_symmetric_product_is_computed_by_halves(places: int) -> None:
    draw = torch.Generator().manual_seed(places)
    left = torch.randn(3, places, linear.WIDE, generator=draw)
    right = torch.randn(3, places, 5, generator=draw)
    product = bound_formed(torch.bmm(left.transpose(1, 2), right))
    found = linear.inner_products(linear.Places.of(left, right))
    assert found.square.tolist() == pytest.approx(product.square.tolist(), rel=1e-5)


@pytest.mark.parametrize("name", ["linear", "conv1d", "lstm", "a layer called twice", "tied"])
@pytest.mark.parametrize("kept", [True, False])
def test_gradients_that_are_kept_and_inner_products_give_the_same(
    name: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "keep_gradient", lambda *_: kept)
    monkeypatch.setattr(linear, "form_gradient", lambda *_: False)
    shape = Shape(rows=4, places=6, left=7, right=5, seed=3)
    draw = prepared(shape)
    if name in LAYERS:
        model, entered = LAYERS[name](shape), torch.randn(4, 6, 7, generator=draw)
    else:
        model, entered = TOKEN_LAYERS[name](shape), torch.randint(0, 3, (4, 6), generator=draw)
    for owner in (None, torch.tensor([1, 0, 1, 1])):
        assert max(compared(model, entered, owner)) <= TOLERANCE


def test_the_choice_follows_the_shape_of_the_batch() -> None:
    assert keep_gradient(rows=16, places=128, left=768, right=256)
    assert not keep_gradient(rows=16, places=8, left=768, right=256), "short rows"
    assert not keep_gradient(rows=16, places=128, left=50257, right=256), "a large table"
    assert not keep_gradient(rows=1000, places=128, left=768, right=256), "many rows"
    assert keep_gradient(rows=1000, places=512, left=768, right=256), "many rows, but long ones"


# --- twins that must be caught ----------------------------------------------------------------


def test_a_tied_table_without_its_cross_term_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "keep_gradient", lambda *_: False)
    shape = Shape(rows=4, places=9, left=6, right=6, seed=1)
    draw = prepared(shape)
    tokens = torch.randint(0, 3, (4, 9), generator=draw)
    model = Tied(6)
    assert compared(model, tokens, None)[0] <= TOLERANCE
    monkeypatch.setattr(tied, "cross_terms", lambda tokens, *_: torch.zeros(len(tokens)))
    assert compared(model, tokens, None)[0] > 100 * TOLERANCE


def test_one_bias_of_an_lstm_counted_once_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.training.clipping.layers.lstm import RecordedLSTM

    shape = Shape(rows=4, places=9, left=6, right=6, seed=1)
    draw = prepared(shape)
    whole = RecordedLSTM.write

    def forgetful(self: RecordedLSTM, name: str, *seen: Tensor) -> None:
        whole(self, name, *(one * (name != "bias_hh_l0") for one in seen))

    monkeypatch.setattr(RecordedLSTM, "write", forgetful)
    entered = torch.randn(4, 9, 6, generator=draw)
    assert compared(OutputOfLstm(shape), entered, None)[0] > 100 * TOLERANCE
