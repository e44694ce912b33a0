"""Taggers: labels at the first tokens of pieces, and losses that depend on their record alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from naive_gradients import TOLERANCE, norm, worst_difference
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.models.load import LoadedModel, load_model, save_model
from sfumato.models.tagging import Aligned, find_spans, first_tokens
from sfumato.models.tokenizer import IGNORED
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.text.tagging import bio
from sfumato.training.batches import PhysicalBatch, physical_batches
from sfumato.training.clipping.clippers import Flat
from sfumato.training.clipping.recording import Recording
from sfumato.training.records import Cut, TokenRecords, make_tagged_records
from sfumato.training.row_losses import row_losses
from unit.training.runs import tokenizer

CONTEXT = 12
TAGS = bio(["PER", "LOC"])
SIZES: dict[str, object] = {"layers": 1, "width": 8, "heads": 2, "context": CONTEXT}


def document(text: str, *spans: tuple[str, str], author: str | None = None) -> Document:
    places = [(text.index(words), words, label) for words, label in spans]
    found = Spans.of(Span(start, start + len(words), label) for start, words, label in places)
    return Document(text, author=author, spans=found)


# One of two rows, one that is short, one with nothing but blanks, and one outside of all spans.
DOCUMENTS = [
    document("Ada of Rome at text", ("Ada", "PER"), ("Rome", "LOC"), author="a"),
    document("to Bo", ("Bo", "PER"), author="b"),
    document("   ", author="c"),
    document("nothing at all", author="b"),
]


def records(documents: Sequence[Document] = DOCUMENTS, unit: str = "example") -> TokenRecords:
    return make_tagged_records(documents, tokenizer(), Cut(context=CONTEXT, unit=unit), TAGS)


def made(name: str = "bert-small") -> LoadedModel:
    model = load_model(
        name, randomness=Randomness.reproducible(3), kind="tagger", classes=["PER", "LOC"],
        tokenizer=tokenizer(), settings=SIZES,
    )  # fmt: skip
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for parameter in model.network.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def batch_of(made_of: TokenRecords) -> PhysicalBatch:
    ((batch,),) = physical_batches(made_of, range(len(made_of)), most_tokens=1000)
    return batch


# --- Labels -----------------------------------------------------------------------------------


def test_the_first_token_of_a_piece_has_its_label() -> None:
    (text,) = [document("Call Ada Lovelace, now", ("Ada Lovelace", "PER"))]
    aligned = Aligned.of(text.text, tokenizer())
    labels = aligned.labels(text.spans, {name: place for place, name in enumerate(TAGS)})
    labeled = [place for place, label in enumerate(labels.tolist()) if label != IGNORED]
    assert labeled == aligned.firsts, "each piece has a token of its own"
    assert [TAGS[labels[place]] for place in labeled] == ["O", "B-PER", "I-PER", "O", "O"]
    for place, (start, _) in zip(aligned.firsts, aligned.pieces, strict=True):
        first, last = tokenizer().places(text.text)[place]
        assert first <= start < last
    said = [TAGS[label] if label != IGNORED else "I-LOC" for label in labels]
    assert aligned.spans(said) == Spans((Span(5, 17, "PER"),)), "other tokens are not asked"


def test_pieces_that_share_a_token_share_its_label() -> None:
    assert first_tokens([(0, 2), (2, 5)], [(0, 2), (2, 3), (3, 4), (4, 5)]) == [0, 1, 1, 1]
    aligned = Aligned(np.zeros(2, dtype=np.uint16), [(0, 2), (2, 3), (3, 4)], [0, 1, 1])
    assert aligned.spans(["O", "B-PER"]) == Spans((Span(2, 4, "PER"),))
    missing = Aligned(np.zeros(1, dtype=np.uint16), [(0, 2), (3, 4)], [0, -1])
    assert missing.spans(["B-PER"]) == Spans((Span(0, 2, "PER"),))


def test_a_long_document_is_one_record_in_several_rows() -> None:
    found = records()
    assert [len(found.rows_of(record)) for record in range(4)] == [2, 1, 1, 1]
    whole = Aligned.of(DOCUMENTS[0].text, tokenizer())
    read = np.concatenate([found.inputs(row) for row in found.rows_of(0)])
    assert read.tolist() == whole.tokens.tolist()
    assert found.predictions.tolist() == [5, 2, 0, 3]
    assert found.counts.split == 1
    short = make_tagged_records(DOCUMENTS, tokenizer(), Cut(context=CONTEXT, long="truncate"), TAGS)
    assert [len(short.rows_of(record)) for record in range(4)] == [1, 1, 1, 1]
    of_authors = records(unit="author")
    assert of_authors.predictions.tolist() == [5, 5, 0]


def test_special_tokens_stand_around_every_row() -> None:
    plain, framed = records(), replace(tokenizer())
    framed.__dict__["frame"] = ((7,), (8, 9))
    found = make_tagged_records(DOCUMENTS, framed, Cut(context=CONTEXT), TAGS)
    assert found.targets is not None
    assert found.context == CONTEXT
    assert found.lengths.max() <= CONTEXT
    for row in range(len(found.lengths)):
        tokens, labels = found.inputs(row).tolist(), found.targets.of(row)
        assert (tokens[0], tokens[-2:]) == (7, [8, 9])
        assert labels[[0, -2, -1]].tolist() == [IGNORED] * 3
    assert found.predictions.tolist() == plain.predictions.tolist()
    with pytest.raises(InvalidArgument, match="leaves no room"):
        make_tagged_records(DOCUMENTS, framed, Cut(context=3), TAGS)


def test_another_type_is_refused_by_number() -> None:
    with pytest.raises(BadInput, match=r"document 2 has a span .* none of the tags \(PER, LOC\)"):
        records([DOCUMENTS[0], document("to Secret", ("Secret", "Secret"))])


# --- Losses and clipping ----------------------------------------------------------------------


def honest(batch: PhysicalBatch, model: nn.Module, rows: Tensor) -> Tensor:
    return row_losses(model, batch.inputs(rows), batch.labels[rows], batch.weights[rows])


def by_batch(batch: PhysicalBatch, model: nn.Module, rows: Tensor) -> Tensor:
    """The twin: a mean over the labeled places of all rows that are there."""
    labels = batch.labels[rows]
    share = torch.full((len(rows),), 1.0 / max(1, int((labels != IGNORED).sum())))
    return row_losses(model, batch.inputs(rows), labels, share)


def test_a_loss_is_the_mean_over_the_labeled_places_of_its_record() -> None:
    model, batch = made().network, batch_of(records())
    losses = honest(batch, model, torch.arange(len(batch.owner))).detach()
    logits = model(**batch.inputs()).logits.detach()
    for record in range(4):
        rows = batch.owner == record
        places = batch.labels[rows] != IGNORED
        chosen = logits[rows][places].log_softmax(-1)
        wanted = -chosen.gather(1, batch.labels[rows][places][:, None]).sum() / max(
            1, int(places.sum())
        )
        assert float(losses[rows].sum()) == pytest.approx(float(wanted), abs=1e-5)
    assert float(losses[batch.owner == 2].sum()) == 0, "nothing is labeled there"


@pytest.mark.parametrize("name", ["bert-small", "gpt-small"])
def test_norms_and_clipped_sums_are_those_of_a_loop(name: str) -> None:
    model, batch = made(name).network, batch_of(records())
    rows = len(batch.owner)
    found = worst_difference(
        model, lambda network, some: honest(batch, network, some), rows, batch.owner
    )
    assert max(found) <= TOLERANCE


def test_twin_that_divides_by_the_places_of_the_batch_is_found() -> None:
    model, batch = made().network, batch_of(records())
    rows = len(batch.owner)
    found = worst_difference(
        model, lambda network, some: by_batch(batch, network, some), rows, batch.owner
    )
    assert max(found) > 100 * TOLERANCE


def without_first(
    made_of: TokenRecords, model: nn.Module, *, together: bool, bound: float
) -> float:
    """By how much the clipped sum changes without the first record."""
    sums = []
    for chosen in (range(len(made_of)), range(1, len(made_of))):
        ((batch,),) = physical_batches(made_of, chosen, most_tokens=1000)
        owner = batch.owner if together else torch.arange(len(batch.owner))
        recording = Recording(model)
        found = recording.backward(
            honest(batch, model, torch.arange(len(batch.owner))), owner if together else None
        )
        scales = Flat(bound).scales(recording.measure(found).bounds())
        sums.append(dict(recording.weighted_sums(scales, found)))
        recording.close()
    return norm({name: sums[0][name] - sums[1][name] for name in sums[0]})


def test_the_rows_of_a_record_are_clipped_together() -> None:
    """Twice the same row: without the record, the sum changes by the bound, and not by two."""
    again = "Ada and Bob "  # as long as a row
    size = len(tokenizer().encode(again))
    twice = document(again * 2, ("Ada", "PER"))
    found = make_tagged_records([twice, *DOCUMENTS], tokenizer(), Cut(context=size), TAGS)
    assert len(found.rows_of(0)) == 2
    settings = SIZES | {"context": size}
    model = load_model(
        "bert-small", randomness=Randomness.reproducible(1), kind="tagger",
        classes=["PER", "LOC"], tokenizer=tokenizer(), settings=settings,
    ).network  # fmt: skip
    bound = 1e-3
    assert without_first(found, model, together=True, bound=bound) <= bound * 1.0001
    assert without_first(found, model, together=False, bound=bound) > bound * 1.5


# --- Models -----------------------------------------------------------------------------------


def test_what_a_tagger_finds_does_not_depend_on_other_texts(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    model = made()
    texts = [one.text for one in DOCUMENTS] + ["", "Ada " * 9]
    together = find_spans(model, texts)
    assert [find_spans(model, [text])[0] for text in texts] == together
    assert together[2] == together[4] == Spans()
    assert any(len(one) for one in together)
    folder = tmp_path_factory.mktemp("tagger") / "saved"
    save_model(model, folder)
    again = load_model(str(folder), randomness=Randomness.reproducible(1), kind="tagger")
    assert again.tags == TAGS
    assert again.new == ()
    assert find_spans(again, texts) == together
    assert again.network.config.id2label == dict(enumerate(TAGS)), "as other programs expect"
    with pytest.raises(InvalidArgument, match="finds PER, LOC, and not PER"):
        load_model(
            str(folder), randomness=Randomness.reproducible(1), kind="tagger", classes=["PER"]
        )


def test_types_must_be_named() -> None:
    for wrong in ([], ["O"], [""], ["x", "x"]):
        with pytest.raises(InvalidArgument):
            load_model(
                "bert-small", randomness=Randomness.reproducible(1), kind="tagger", classes=wrong,
                tokenizer=default_tokenizer(), settings=SIZES,
            )  # fmt: skip
    with pytest.raises(InvalidArgument, match="lstm has no head"):
        load_model(
            "lstm", randomness=Randomness.reproducible(1), kind="tagger", classes=["PER"],
            tokenizer=tokenizer(),
        )  # fmt: skip
