"""What is not supported is named; what is recorded is everything, and nothing twice."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from naive_gradients import TOLERANCE, worst_difference
from sfumato.core.errors import InvalidArgument, UnsupportedLayer
from sfumato.training.clipping.layers.norms import is_elementwise
from sfumato.training.clipping.recording import Recording

pytestmark = pytest.mark.usefixtures("compared_rows")


def two_layers() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3))


def sums_of(model: nn.Module, rows: int = 3) -> tuple[Recording, Tensor]:
    torch.manual_seed(1)
    return Recording(model), torch.randn(rows, 6, 4)


def losses(output: Tensor) -> Tensor:
    return output.sin().flatten(1).sum(1)


# --- layers that are not supported ------------------------------------------------------------


class OwnWeight(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.gate = nn.Parameter(torch.ones(3, 4))

    def forward(self, rows: Tensor) -> Tensor:
        outputs: Tensor = self.inner(rows) * self.gate.sum(0)
        return outputs


class ScaledEmbedding(nn.Embedding):
    def forward(self, tokens: Tensor) -> Tensor:
        return 2 * super().forward(tokens)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.Conv2d(4, 4, 1)), r"1\.weight \(Conv2d\)"),
        (nn.Sequential(nn.LSTM(4, 4)), r"0\.weight_hh_l0 \(LSTM\)"),
        (nn.Sequential(nn.BatchNorm1d(4)), r"0\.weight \(BatchNorm1d\)"),
        (nn.Sequential(nn.GroupNorm(2, 4)), r"0\.weight \(GroupNorm\)"),
        (nn.Sequential(nn.LayerNorm((3, 4))), r"0\.weight \(LayerNorm\)"),
        (nn.Sequential(nn.PReLU()), r"0\.weight \(PReLU\)"),
        (nn.Sequential(ScaledEmbedding(5, 4)), r"0\.weight \(ScaledEmbedding\)"),
        (OwnWeight(), r"gate \(OwnWeight\)"),
        (nn.MultiheadAttention(4, 2), r"in_proj_weight \(MultiheadAttention\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_layer_that_is_not_supported_is_named(model: nn.Module, name: str) -> None:
    with pytest.raises(UnsupportedLayer, match=name):
        Recording(model)


def test_a_layer_that_is_frozen_need_not_be_supported() -> None:
    model = OwnWeight()
    model.gate.requires_grad_(False)
    recording, rows = sums_of(model)
    recording.backward(losses(model(rows)))
    assert set(recording.slots) == {"inner.weight", "inner.bias"}


@pytest.mark.parametrize(
    "setting", [{"max_norm": 1.0}, {"scale_grad_by_freq": True}, {"sparse": True}]
)
def test_tables_whose_gradient_depends_on_other_rows_are_refused(setting: dict[str, float]) -> None:
    with pytest.raises(UnsupportedLayer, match=next(iter(setting))):
        Recording(nn.Sequential(nn.Embedding(5, 4, **setting)))  # type: ignore[arg-type]


def test_half_precision_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"model\.float\(\)"):
        Recording(two_layers().bfloat16())


def test_a_model_with_nothing_to_train_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no trainable"):
        Recording(two_layers().requires_grad_(False))


class Tail(nn.Module):
    """Its own kind of normalization, which looks at the rest of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, rows: Tensor) -> Tensor:
        return self.weight * rows / rows.std(0, keepdim=True)


def test_a_normalization_is_tried_out_before_it_is_trusted() -> None:
    assert is_elementwise(nn.ParameterList()) is False
    assert not is_elementwise(Tail())
    with pytest.raises(UnsupportedLayer, match=r"weight \(Tail\)"):
        Recording(Tail())


# --- uses that would be missed ----------------------------------------------------------------


class Functional(nn.Module):
    """Uses the weight of a layer past the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, rows: Tensor) -> Tensor:
        past = functional.linear(self.one(rows), self.other.weight)
        return past + torch.as_tensor(self.other(rows))


def test_a_weight_used_past_its_layer_is_named() -> None:
    recording, rows = sums_of(Functional())
    with pytest.raises(UnsupportedLayer, match=r"^other\.weight had an influence"):
        recording.backward(losses(recording.model(rows)))


def test_a_weight_that_is_thawed_later_is_named() -> None:
    model = two_layers()
    model[2].requires_grad_(False)
    recording, rows = sums_of(model)
    model[2].requires_grad_(True)
    with pytest.raises(UnsupportedLayer, match=r"^2\.weight, 2\.bias had an influence"):
        recording.backward(losses(model(rows)))


def test_a_weight_that_is_frozen_later_is_named() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    model[2].requires_grad_(False)
    with pytest.raises(InvalidArgument, match=r"2\.weight, 2\.bias was frozen"):
        recording.backward(losses(model(rows)))


def test_a_part_that_takes_no_part_is_named() -> None:
    model = nn.ModuleDict({"used": nn.Linear(4, 4), "idle": nn.Linear(4, 4)})

    class Half(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = model

        def forward(self, rows: Tensor) -> Tensor:
            outputs: Tensor = self.parts["used"](rows)
            return outputs

    recording, rows = sums_of(Half())
    with pytest.raises(UnsupportedLayer, match=r"parts\.idle\.weight, parts\.idle\.bias took no"):
        recording.backward(losses(recording.model(rows)))


def test_a_model_that_is_gone_around_is_noticed() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    model(rows)
    with pytest.raises(UnsupportedLayer, match="call the model itself"):
        recording.backward(losses(model[2](model[1](model[0](rows)))))


# --- rows that see each other -----------------------------------------------------------------


class Shares(nn.Module):
    """Rows see each other, in a way of choice."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.layer, self.how = nn.Linear(4, 4), how

    def forward(self, rows: Tensor) -> Tensor:
        inner: Tensor = self.layer(rows)
        if self.how == "mean":
            return inner - inner.mean(0, keepdim=True)
        if self.how == "to the next":
            return inner + torch.cat([torch.zeros_like(inner[:1]), inner[:-1]])
        if self.how == "to the one before":
            return inner + torch.cat([inner[1:], torch.zeros_like(inner[:1])])
        return inner


@pytest.mark.parametrize("how", ["mean", "to the next", "to the one before"])
def test_rows_that_see_each_other_are_noticed(how: str) -> None:
    recording, rows = sums_of(Shares(how))
    with pytest.raises(UnsupportedLayer, match="other rows"):
        recording.backward(losses(recording.model(rows)))


def test_rows_that_do_not_are_let_through() -> None:
    recording, rows = sums_of(Shares("not at all"))
    recording.backward(losses(recording.model(rows)))


def test_a_batch_of_one_row_does_not_count_as_a_check() -> None:
    recording, rows = sums_of(Shares("mean"))
    recording.backward(losses(recording.model(rows[:1])))
    with pytest.raises(UnsupportedLayer, match="other rows"):
        recording.backward(losses(recording.model(rows)))


class TimeFirst(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, rows: Tensor) -> Tensor:
        outputs: Tensor = self.layer(rows.transpose(0, 1)).transpose(0, 1)
        return outputs


def test_rows_must_be_the_first_axis() -> None:
    recording, rows = sums_of(TimeFirst())
    with pytest.raises(UnsupportedLayer, match=r"'layer' \(Linear\).*first axis") as found:
        recording.model(rows)
    assert not any(digit in str(found.value) for digit in "346")


def test_as_many_steps_as_rows_do_not_hide_that_time_comes_first() -> None:
    recording, rows = sums_of(TimeFirst(), rows=6)
    with pytest.raises(UnsupportedLayer, match="other rows"):
        recording.backward(losses(recording.model(rows)))


class OneTokenEach(nn.Module):
    """A token per row, and positions for all rows, both without a second axis."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.places = nn.Embedding(7, 4), nn.Embedding(9, 4)

    def forward(self, rows: Tensor) -> Tensor:
        kinds = self.kinds(rows[:, 0])
        places = self.places(torch.arange(rows.shape[1]))
        together: Tensor = places + 0 * rows[..., None] + kinds[:, None]
        return together.sin()


@pytest.mark.parametrize("rows", [1, 3, 5])
def test_a_token_per_row_and_positions_of_all_rows_are_told_apart(rows: int) -> None:
    tokens = torch.tensor([[4], [2], [4], [6], [4]])[:rows].expand(rows, 3)
    model = OneTokenEach()
    errors = worst_difference(model, lambda under, some: losses(under(tokens[some])), rows)
    assert max(errors) <= TOLERANCE


# --- one backward pass ------------------------------------------------------------------------


class Checkpointed(nn.Module):
    def __init__(self, *, reentrant: bool) -> None:
        super().__init__()
        self.first, self.block = nn.Linear(4, 4), two_layers()
        self.norm = nn.RMSNorm(3)
        self.reentrant = reentrant

    def forward(self, rows: Tensor) -> Tensor:
        def inside(one: Tensor) -> Tensor:
            outputs: Tensor = self.norm(self.block(one))
            return outputs

        outputs: Tensor = checkpoint(inside, self.first(rows), use_reentrant=self.reentrant)
        return outputs


@pytest.mark.parametrize("reentrant", [True, False])
def test_layers_that_are_computed_again_in_the_backward_pass_are_recorded(reentrant: bool) -> None:
    torch.manual_seed(2)
    model, rows = Checkpointed(reentrant=reentrant), torch.randn(3, 6, 4)
    plain = nn.Sequential(model.first, model.block, model.norm)
    recording = Recording(plain)
    records = recording.backward(losses(plain(rows)))
    expected = recording.measure(records).norms()
    recording.close()
    recording = Recording(model)
    for _ in range(2):
        records = recording.backward(losses(model(rows)))
        assert recording.measure(records).norms().tolist() == pytest.approx(
            expected.tolist(), rel=1e-6
        )
    recording.close()


def test_parameters_get_no_gradient_of_their_own() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    recording.backward(losses(model(rows)))
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_sum_of_losses_is_refused() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    with pytest.raises(InvalidArgument, match="one number for each row"):
        recording.backward(losses(model(rows)).sum())
    with pytest.raises(InvalidArgument, match="one number for each row"):
        recording.backward(losses(model(rows)).sum()[None])


def test_the_model_is_left_as_it_was_found() -> None:
    model = two_layers()
    before = {name: vars(module).copy() for name, module in model.named_modules()}
    hooks = len(model._forward_hooks), len(model._forward_pre_hooks)
    recording, rows = sums_of(model)
    recording.backward(losses(model(rows)))
    assert all("forward" not in vars(module) for module in model.modules())
    recording.close()
    assert (len(model._forward_hooks), len(model._forward_pre_hooks)) == hooks
    assert {name: vars(module).keys() for name, module in model.named_modules()} == {
        name: one.keys() for name, one in before.items()
    }
    losses(model(rows)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_model_that_is_itself_a_layer_can_be_recorded_and_given_back() -> None:
    model = nn.Linear(4, 3)
    recording, rows = sums_of(model)
    records = recording.backward(losses(model(rows)))
    assert len(recording.measure(records).norms()) == 3
    with torch.no_grad():
        assert model(rows[0]).shape == (6, 3)
    recording.close()
    assert "forward" not in vars(model)


def test_a_pause_gives_ordinary_gradients() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    with recording.pause():
        losses(model(rows)).sum().backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_an_error_on_the_way_leaves_the_model_usable() -> None:
    model = two_layers()
    recording, rows = sums_of(model)
    with pytest.raises(RuntimeError):
        model(rows[..., :3])
    assert all("forward" not in vars(module) for module in model.modules())
    recording.backward(losses(model(rows)))


def test_dropout_draws_as_it_does_in_plain_training() -> None:
    torch.manual_seed(3)
    model, rows = (
        nn.Sequential(nn.Linear(4, 50), nn.Dropout(0.5), nn.Linear(50, 3)),
        torch.randn(3, 4),
    )
    torch.manual_seed(4)
    expected = model(rows)
    recording = Recording(model)
    torch.manual_seed(4)
    assert torch.equal(model(rows), expected)
    recording.close()
