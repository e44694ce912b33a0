"""Objectives: what is hidden, that nothing of a text is lost, and that records share no draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.sentinels import sentinels_of, with_sentinels
from sfumato.models.tokenizer import IGNORED
from sfumato.text.document import Document
from sfumato.training.batches import physical_batches
from sfumato.training.corruption import Hiding, draw_spans, hidden_parts
from sfumato.training.objectives import (
    Objective,
    ObjectiveName,
    choose_objective,
    kind_to_train,
    make_objective,
)
from sfumato.training.records import Cut, TokenRecords, make_objective_records
from unit.training.runs import some_documents, tokenizer

CONTEXT = 16
SIZES: dict[str, dict[str, object]] = {
    "gpt-small": {"layers": 1, "width": 8, "heads": 2, "context": CONTEXT},
    "bert-small": {"layers": 1, "width": 8, "heads": 2, "context": CONTEXT},
    "t5-small-from-scratch": {
        "layers": 1, "width": 8, "heads": 2, "inner": 8, "context": CONTEXT,
    },
}  # fmt: skip
CASES = (
    ("gpt-small", "prefix"),
    ("gpt-small", "spans"),
    ("gpt-small", "spans:0.5:1"),
    ("bert-small", "masked"),
    ("t5-small-from-scratch", "prefix"),
    ("t5-small-from-scratch", "spans"),
)


@cache
def model(name: str) -> LoadedModel:
    return load_model(
        name,
        randomness=Randomness.reproducible(1),
        kind=kind_to_train(name, None),
        tokenizer=with_sentinels(tokenizer(), 6),
        settings=SIZES[name],
    )


def objective(name: str, text: str) -> Objective:
    found = make_objective(model(name), ObjectiveName.read(text))
    assert found is not None
    return found


def records(name: str, text: str, *, unit: str = "example", count: int = 8) -> TokenRecords:
    cut = Cut(context=CONTEXT, unit=unit)
    made = objective(name, text)
    return make_objective_records(some_documents(count), tokenizer(), cut, made)


def rows_of(drawn: TokenRecords, record: int) -> list[tuple[list[int], list[int]]]:
    assert drawn.targets is not None
    return [
        (drawn.inputs(row).tolist(), drawn.targets.of(row).tolist())
        for row in drawn.rows_of(record)
    ]


@given(
    st.integers(1, 60), st.floats(0.01, 0.99), st.floats(1, 9), st.integers(1, 8), st.integers(0)
)
def test_a_row_is_what_is_read_and_what_was_hidden(
    length: int, share: float, mean: float, most: int, seed: int
) -> None:
    hiding = Hiding(share, mean, most)
    hidden = draw_spans(length, hiding, Randomness.reproducible(seed))
    tokens, spans = hiding.counts(length)
    assert hidden.sum() == tokens
    begins = hidden & ~np.concatenate([[False], hidden[:-1]])
    assert begins.sum() == spans <= most
    sentinels = range(1000, 1000 + most)
    read, written = hidden_parts(np.arange(length), hidden, sentinels)
    whole: list[int] = []
    for token in read:
        if token < 1000:
            whole.append(token)
        else:  # what stands after this sentinel, up to the next one
            after = written[written.index(token) + 1 :]
            ends = [place for place, one in enumerate(after) if one >= 1000]
            whole += after[: ends[0] if ends else None]
    assert whole == list(range(length))


def test_spans_are_where_and_as_long_as_they_may_be() -> None:
    """Also at the beginning and before the end; every token is hidden equally often, nearly."""
    hiding, source = Hiding(0.3, 2.0, 9), Randomness.reproducible(3)
    drawn = np.array([draw_spans(12, hiding, source.stream(number)) for number in range(4000)])
    assert drawn[:, 0].mean() > 0.15
    assert 0.2 < drawn[:, 1:-1].mean(0).min() < drawn[:, 1:-1].mean(0).max() < 0.4


@pytest.mark.parametrize(("name", "text"), CASES)
def test_no_token_of_a_text_is_lost_and_examples_fit(name: str, text: str) -> None:
    built = records(name, text)
    drawn, everyone = built.drawn(range(len(built)), Randomness.reproducible(5))
    assert drawn.targets is not None
    apart = "t5" in name
    special = {0, 1, *sentinels_of(model(name).tokenizer)}
    assert (drawn.targets.first is not None) == apart
    for record, document in enumerate(some_documents(8)):
        wanted = sorted(t for t in tokenizer().encode(document.text).tolist() if t not in special)
        seen: list[int] = []
        for read, labels in rows_of(drawn, record):
            assert len(read) <= CONTEXT
            assert len(labels) <= CONTEXT
            predicted = [one for one in labels if one != IGNORED]
            assert predicted
            if apart:
                seen += read + labels
            elif text == "masked":
                assert len(read) == len(labels)
                seen += [b if b != IGNORED else a for a, b in zip(read, labels, strict=True)]
            elif text == "prefix":
                assert labels[-len(predicted) :] == predicted, "the loss begins once, and stays"
                assert predicted[:-1] == read[len(read) - len(predicted) + 1 :]
            else:
                assert len(read) == len(labels)
                given = read[: len(read) - len(predicted) + 1]
                seen += given + predicted
        if text != "prefix" or apart:
            assert sorted(one for one in seen if one not in special) == wanted
        assert drawn.predictions[record] == sum(
            one != IGNORED for _, labels in rows_of(drawn, record) for one in labels
        )
    for group in physical_batches(drawn, everyone, most_tokens=3 * CONTEXT):
        for batch in group:
            written = 0 if batch.written is None else batch.written.numel()
            assert batch.input_ids.numel() + written <= 3 * CONTEXT


def test_a_decoder_reads_its_labels_one_place_later() -> None:
    built = records("t5-small-from-scratch", "spans")
    drawn, everyone = built.drawn(range(len(built)), Randomness.reproducible(5))
    for group in physical_batches(drawn, everyone, most_tokens=1000):
        for batch in group:
            written, labels = batch.inputs()["decoder_input_ids"], batch.labels
            counted = labels[:, :-1] != IGNORED
            assert (written[:, 0] == 0).all()
            assert (written[:, 1:][counted] == labels[:, :-1][counted]).all()


Draw = Callable[[TokenRecords, Any, Randomness], tuple[TokenRecords, Any]]


def in_turn(built: TokenRecords, chosen: Any, randomness: Randomness) -> tuple[TokenRecords, Any]:
    """A twin: one stream for a whole batch, as a loader would draw that knows no records."""

    class Shared(Randomness):
        def stream(self, index: int) -> Randomness:  # noqa: ARG002
            return randomness

    return built.drawn(chosen, Shared(1))


def couples(draw: Draw, name: str, text: str, unit: str) -> bool:
    """Whether leaving a record out of a batch changes an example of another one."""
    built = records(name, text, unit=unit)
    everyone = list(range(len(built)))
    whole, places = draw(built, everyone, Randomness.reproducible(9))
    for gone in everyone:
        rest = [one for one in everyone if one != gone]
        drawn, others = draw(built, rest, Randomness.reproducible(9))
        for record, place in zip(rest, others, strict=True):
            if rows_of(whole, places[record]) != rows_of(drawn, place):
                return True
    return False


@pytest.mark.parametrize("unit", ["example", "author"])
@pytest.mark.parametrize(("name", "text"), CASES)
def test_a_record_changes_the_examples_of_no_other(name: str, text: str, unit: str) -> None:
    assert not couples(TokenRecords.drawn, name, text, unit)
    assert couples(in_turn, name, text, unit)


def test_each_step_hides_something_else() -> None:
    built = records("t5-small-from-scratch", "spans")
    source = Randomness.reproducible(1)
    first, second, again = (
        rows_of(built.drawn([1, 2], source.stream(step))[0], 1) for step in (0, 1, 0)
    )
    assert first == again != second


def test_the_weight_of_a_row_is_its_own_records_alone() -> None:
    """The mean over what a record has to predict, or the sum over a public number."""
    built = records("t5-small-from-scratch", "prefix", unit="author")
    drawn, everyone = built.drawn(range(len(built)), Randomness.reproducible(5))
    for divisor in (None, 7.0):
        for group in physical_batches(drawn, everyone, most_tokens=1000, divisor=divisor):
            for batch in group:
                own = drawn.predictions[batch.owner.numpy()]
                expected = 1 / own if divisor is None else np.full_like(own, 1 / divisor)
                assert batch.weights.numpy() == pytest.approx(expected)


def test_bert_masks_most_changes_some_and_keeps_some() -> None:
    made, source = objective("bert-small", "masked:0.5"), Randomness.reproducible(1)
    row = np.full(1000, 200, dtype=np.uint16)
    read, labels, first = made.example(row, source)
    assert first is None
    hidden = labels != IGNORED
    assert hidden.sum() == 500
    assert (read[~hidden] == 200).all()
    assert 0.7 < (read[hidden] == 1).mean() < 0.9
    assert 0.04 < (read[hidden] == 200).mean() < 0.18


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("causal", "seq2seq", "encoder and decoder, which takes spans or prefix"),
        ("masked", "causal", "causal network, which takes"),
        ("spans", "masked", "masked network"),
        ("spans", "classifier", "a classifier predicts labels"),
        ("spans:2:3", "causal", "between 0 and 1"),
        ("spans:0.1:0.5", "causal", "1 or more"),
        ("prefix:3", "causal", "must be causal"),
        ("spans:x", "causal", "must be causal"),
        ("denoise", "causal", "must be causal"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, kind: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        choose_objective(text, kind)


def test_without_sentinels_there_are_no_spans_and_without_room_no_rows() -> None:
    bare = replace(model("gpt-small"), tokenizer=tokenizer())
    with pytest.raises(InvalidArgument, match="needs sentinels"):
        make_objective(bare, ObjectiveName("spans"))
    with pytest.raises(InvalidArgument, match="context=3 leaves no room"):
        objective("gpt-small", "spans").room(3)


def test_a_text_that_spells_a_sentinel_is_text() -> None:
    made = with_sentinels(tokenizer(), 2)
    assert with_sentinels(made) is made
    assert not set(made.encode("<extra_id_0>").tolist()) & set(sentinels_of(made))
    assert tokenizer().size == made.size - 2, "the original is left as it was"


def test_a_padded_decoder_says_the_same() -> None:
    """What follows a row's labels is padding that no place of it sees."""
    built = make_objective_records(
        [Document("nothing at all is about a public text"), Document("a text")],
        tokenizer(), Cut(context=CONTEXT), objective("t5-small-from-scratch", "prefix"),
    )  # fmt: skip
    drawn, _ = built.drawn([0, 1], Randomness.reproducible(5))
    network: Any = model("t5-small-from-scratch").network.eval()
    ((both,),) = physical_batches(drawn, [0, 1], most_tokens=1000)
    with torch.no_grad():
        whole = network(**both.inputs()).logits
        for record in (0, 1):
            ((alone,),) = physical_batches(drawn, [record], most_tokens=1000)
            places = alone.labels.shape[1]
            row = both.owner.tolist().index(record)
            assert torch.allclose(
                whole[row, :places], network(**alone.inputs()).logits[0], atol=1e-5
            )
