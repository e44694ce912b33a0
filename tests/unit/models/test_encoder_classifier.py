"""The encoder of a T5 as a classifier: what it takes over and reads, and that it is clipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from naive_gradients import TOLERANCE, worst_difference
from sfumato.core.errors import CoupledRows, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models import encoder_classifier, pooling
from sfumato.models.head import HeadOnly
from sfumato.models.load import LoadedModel, load_model, save_model
from sfumato.text.document import Document
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.clipping import row_checks
from sfumato.training.clipping.clippers import Flat
from sfumato.training.records import Cut, make_labeled_records
from sfumato.training.row_losses import row_losses
from sfumato.training.steps import make_private
from unit.models import folders

CLASSES = ("bad", "good")
TEXTS = ("a film", "it was good", "the worst film of all, by far, and long", "no", "no no no no")
SMALL: dict[str, object] = {"layers": 2, "width": 12, "heads": 2, "inner": 16, "context": 24}


def loaded(spec: str | Path, **more: Any) -> LoadedModel:
    return load_model(
        str(spec),
        randomness=Randomness.reproducible(3),
        kind="classifier",
        classes=CLASSES,
        **more,
    )


def fresh() -> LoadedModel:
    model = loaded("t5-small-from-scratch", settings=SMALL)
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for one in model.network.parameters():
            one.add_(torch.randn(one.shape, generator=draw), alpha=0.1)
    return model


def rows(model: LoadedModel, texts: tuple[str, ...] = TEXTS) -> PhysicalBatch:
    documents = [Document(one, labels=(CLASSES[len(one) % 2],)) for one in texts]
    cut = Cut(context=model.context, long="truncate")
    records = make_labeled_records(documents, model.tokenizer, cut, CLASSES)
    ((batch,),) = physical_batches(records, range(len(texts)), most_tokens=1000)
    return batch


def test_a_pretrained_t5_lends_its_encoder(tmp_path: Path) -> None:
    before = folders.t5()
    folders.with_our_tokenizer(before, tmp_path / "t5")
    model = loaded(tmp_path / "t5")
    taken = dict(model.network.named_parameters())
    assert model.new == ("score.bias", "score.weight")
    for name, weight in before.state_dict().items():
        if name.startswith("encoder.block") or name == "shared.weight":
            assert torch.equal(taken[f"transformer.{name}"], weight)
    assert not [name for name in taken if "decoder" in name]


def test_a_trained_one_is_saved_and_says_the_same(tmp_path: Path) -> None:
    model = fresh()
    save_model(model, tmp_path / "saved")
    again = load_model(
        str(tmp_path / "saved"), randomness=Randomness.reproducible(1), kind="classifier"
    )
    batch = rows(model)
    with torch.no_grad():
        said, repeated = (one.network.eval()(**batch.inputs()).logits for one in (model, again))
    assert torch.equal(said, repeated)
    assert (again.classes, again.context, again.new) == (CLASSES, model.context, ())


def test_padding_has_no_part_in_it() -> None:
    model = fresh()
    batch = rows(model)
    with torch.no_grad():
        network: Any = model.network.eval()
        together = network(**batch.inputs()).logits
        for row in range(len(TEXTS)):
            count = int(batch.attention_mask[row].sum())
            alone = network(input_ids=batch.input_ids[row : row + 1, :count]).logits[0]
            assert torch.allclose(together[row], alone, atol=1e-5)


def test_norms_and_clipped_sums_are_those_of_a_loop() -> None:
    model = fresh()
    batch = rows(model)

    def losses(network: nn.Module, some: Tensor) -> Tensor:
        return row_losses(network, batch.inputs(some), batch.labels[some], batch.weights[some])

    assert max(worst_difference(model.network, losses, len(TEXTS))) <= TOLERANCE
    owner = torch.tensor([2, 0, 2, 2, 1])
    assert max(worst_difference(model.network, losses, len(TEXTS), owner)) <= TOLERANCE


def trained(model: LoadedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_checks, "FIRST", 2)
    network, batch = model.begin_training(), rows(model)
    step = make_private(
        network,
        torch.optim.SGD(network.parameters(), lr=0.01),
        clipper=Flat(clip_norm=1.0),
        noise_multiplier=0.5,
        expected_batch_size=4,
        randomness=Randomness.reproducible(1),
    )

    def losses(some: Tensor) -> Tensor:
        return row_losses(network, batch.inputs(some), batch.labels[some], batch.weights[some])

    try:
        for _ in range(2):
            step.check_rows(losses, len(TEXTS))
            step.backward(losses(torch.arange(len(TEXTS))))
            step.step()
    finally:
        step.close()


def test_rows_are_apart_and_a_mean_over_the_batch_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained(fresh(), monkeypatch)
    honest = pooling.pool

    def coupled(states: Tensor, counted: Tensor, how: str) -> Tensor:
        """The twin: every row divided by the longest one's length."""
        return honest(states, counted, how) * counted.sum(1, keepdim=True) / counted.sum(1).max()

    monkeypatch.setattr(encoder_classifier, "pool", coupled)
    with pytest.raises(CoupledRows):
        trained(fresh(), monkeypatch)


def test_its_head_is_trained_on_the_whole_network_and_reads_the_mean() -> None:
    """T5's layers also hand on their positions, so what they say cannot be computed in advance."""
    assert HeadOnly.of(fresh().network) is None
    with pytest.raises(InvalidArgument, match="leave it out"):
        loaded("t5-small-from-scratch", settings=SMALL, pooling="first")


def test_a_saved_one_is_not_loaded_as_a_language_model(tmp_path: Path) -> None:
    save_model(fresh(), tmp_path / "saved")
    with pytest.raises(InvalidArgument, match="is a classifier and predicts no words"):
        load_model(str(tmp_path / "saved"), randomness=Randomness.reproducible(3))
