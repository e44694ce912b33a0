"""Physical batches: whole records, bounded, padded on the right, weights from the record alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.models.load import load_model
from sfumato.text.document import Document
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.clipping.losses import record_losses
from sfumato.training.clipping.slots import Records
from sfumato.training.records import Cut, TokenRecords, make_labeled_records, make_language_records

CONTEXT = 8
WORDS = "the quick brown fox jumps over the lazy dog and runs into the wood behind the old house"


def corpus(sizes: list[int], *, unit: str = "example", authors: int = 3) -> TokenRecords:
    words = WORDS.split()
    documents = [
        Document(" ".join(words[place % 18] for place in range(size)), author=str(number % authors))
        for number, size in enumerate(sizes)
    ]
    return make_language_records(documents, default_tokenizer(), Cut(context=CONTEXT, unit=unit))


sizes = st.lists(st.integers(0, 60), min_size=1, max_size=12).filter(any)


@given(sizes=sizes, most=st.integers(CONTEXT, 80), unit=st.sampled_from(["example", "author"]))
def test_every_chosen_record_comes_once_and_whole(sizes: list[int], most: int, unit: str) -> None:
    records = corpus(sizes, unit=unit)
    chosen = np.arange(len(records))[::2]
    seen: dict[int, list[tuple[list[int], list[int]]]] = {}
    for group in physical_batches(records, chosen, most_tokens=most):
        owners = [set(batch.owner.tolist()) for batch in group]
        assert len(group) == 1 or all(one == owners[0] and len(one) == 1 for one in owners)
        assert not set.union(*owners) & set(seen), "a record stands in two groups"
        for batch in group:
            assert batch.input_ids.numel() <= most
            for row, owner in enumerate(batch.owner.tolist()):
                seen.setdefault(owner, []).append(real(batch, row))
    for record in chosen.tolist():
        rows = records.rows_of(record)
        held = [(records.inputs(row).tolist(), records.labels(row).tolist()) for row in rows]
        assert seen.pop(record, []) == held
    assert not seen


def real(batch: PhysicalBatch, row: int) -> tuple[list[int], list[int]]:
    """A row without its padding, which must be on the right, masked and without labels."""
    length = int(batch.attention_mask[row].sum())
    assert batch.attention_mask[row].tolist() == [1] * length + [0] * (
        batch.attention_mask.shape[1] - length
    )
    assert (batch.labels[row, length:] == -100).all()
    return batch.input_ids[row, :length].tolist(), batch.labels[row, :length].tolist()


@given(sizes=sizes, unit=st.sampled_from(["example", "author"]))
def test_the_weights_of_a_record_follow_from_its_own_length(sizes: list[int], unit: str) -> None:
    records = corpus(sizes, unit=unit)
    for group in physical_batches(records, range(len(records)), most_tokens=40):
        for batch in group:
            own = records.predictions[batch.owner.numpy()]
            assert np.allclose(batch.weights.numpy() * own, 1)
    for group in physical_batches(records, range(len(records)), most_tokens=40, divisor=4):
        assert all((batch.weights == 0.25).all() for batch in group)


Weigh = Callable[[PhysicalBatch], torch.Tensor]


def by_record(batch: PhysicalBatch) -> torch.Tensor:
    return batch.weights


def by_batch(batch: PhysicalBatch) -> torch.Tensor:
    """The twin: one over the tokens of the batch, as in the usual mean."""
    return torch.ones(len(batch.owner)) / batch.attention_mask.sum()


def losses(records: TokenRecords, chosen: list[int], weigh: Weigh) -> dict[int, float]:
    """The loss of each record, as a training step computes it."""
    model = load_model(
        "lstm", randomness=Randomness.reproducible(1), settings={"hidden": 8, "embedding": 8}
    )
    total: dict[int, float] = {}
    for group in physical_batches(records, chosen, most_tokens=200):
        for batch in group:
            with torch.no_grad():
                logits = model.network.eval()(
                    input_ids=batch.input_ids, attention_mask=batch.attention_mask
                ).logits
            rows = record_losses(logits, batch.labels, divisor=1) * weigh(batch)
            for owner, loss in zip(batch.owner.tolist(), rows.tolist(), strict=True):
                total[owner] = total.get(owner, 0) + loss
    return total


def worst_influence(weigh: Weigh) -> float:
    """By how much a record's loss depends on who else is in the batch, relatively."""
    records = corpus([3, 40, 7, 0, 55, 12])
    together = losses(records, [0, 1, 2, 3, 4, 5], weigh)
    assert sorted(together) == [0, 1, 2, 4, 5], "an empty record contributes nothing"
    alone = {record: losses(records, [record], weigh)[record] for record in together}
    return max(abs(together[record] / alone[record] - 1) for record in together)


def test_a_records_loss_is_the_same_in_any_company() -> None:
    assert worst_influence(by_record) < 1e-5


def test_a_mean_over_the_batch_is_caught() -> None:
    assert worst_influence(by_batch) > 0.1


def test_a_record_too_large_for_a_batch_is_a_group_of_its_own() -> None:
    records = corpus([60, 5, 60, 5], unit="author", authors=2)
    groups = list(physical_batches(records, [0, 1], most_tokens=2 * CONTEXT))
    assert [
        len({owner for batch in group for owner in batch.owner.tolist()}) for group in groups
    ] == [
        1,
        1,
    ]
    assert max(map(len, groups)) > 1


def test_records_of_like_length_share_a_batch() -> None:
    records = corpus([5, 1, 5, 1, 5, 1])
    groups = list(physical_batches(records, range(6), most_tokens=24))
    widths = [group[0].input_ids.shape[1] for group in groups]
    assert widths == sorted(widths)
    assert all(batch.attention_mask.all() for group in groups for batch in group)


def test_documents_of_one_row_are_clipped_at_once() -> None:
    """Whatever their lengths: one by one, norms would take many times as long."""
    records = corpus([4, 1, 3, 2, 4, 1])
    drawn = [5, 0, 4, 2, 1, 3]
    for group in physical_batches(records, drawn, most_tokens=30):
        for batch in group:
            assert Records.of(batch.owner, len(batch.owner)).each_row


def test_nobody_chosen_is_no_batch() -> None:
    records = corpus([3, 0])
    assert list(physical_batches(records, [], most_tokens=50)) == []
    assert list(physical_batches(records, [1], most_tokens=50)) == []


def test_a_classifiers_batch_has_one_label_per_row() -> None:
    documents = [Document("good film", labels=("good",)), Document("a bad one", labels=("bad",))]
    records = make_labeled_records(
        documents, default_tokenizer(), Cut(context=8, long="truncate"), ("bad", "good")
    )
    ((batch,),) = physical_batches(records, [0, 1], most_tokens=50)
    assert dict(zip(batch.owner.tolist(), batch.labels.tolist(), strict=True)) == {0: 1, 1: 0}
    assert batch.weights.tolist() == [1, 1]


def test_a_batch_must_hold_a_row_and_prints_no_tokens() -> None:
    records = corpus([3])
    with pytest.raises(InvalidArgument, match="most_tokens=7 must be at least 8"):
        next(physical_batches(records, [0], most_tokens=7))
    ((batch,),) = physical_batches(records, [0], most_tokens=50)
    assert repr(batch) == "PhysicalBatch()"
