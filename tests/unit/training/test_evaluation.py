"""Evaluation agrees with a loop over single tokens, and selects tokens by their characters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from properties.texts import many_spans, texts
from sfumato.core.errors import BadInput
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer
from sfumato.policies.parsing import combine_policies
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.training import evaluation
from sfumato.training.evaluation import (
    measure_predictions,
    predict_labels,
    predict_tokens,
    select_tokens,
)
from unit.models import folders
from unit.training.runs import CONTEXT, SETTINGS, small_model, some_documents, tokenizer

LSTM, GPT = small_model(), small_model("gpt-small")


@torch.no_grad()
def one_by_one(model: LoadedModel, text: str) -> tuple[list[float], list[bool]]:
    """−ln p of each token, from a call of its own with nothing but what came before in its row."""
    end = model.tokenizer.end
    assert end is not None
    stream = [end, *model.tokenizer.encode(text).tolist(), end]
    losses, right = [], []
    model.network.eval()
    for place in range(1, len(stream) if text else 0):
        begin = (place - 1) // model.context * model.context
        before = torch.tensor([stream[begin:place]])
        logits = model.network(input_ids=before).logits[0, -1].double()
        losses.append(float(-logits.log_softmax(0)[stream[place]]))
        right.append(int(logits.argmax()) == stream[place])
    return losses, right


def test_losses_are_those_of_one_token_after_the_other() -> None:
    documents = [*some_documents(8, longest=90), Document(""), Document("😀 7 Straße")]
    for model in (LSTM, GPT):
        found = predict_tokens(model, documents)
        assert len(found) == len(documents)
        for document, one in zip(documents, found, strict=True):
            losses, right = one_by_one(model, document.text)
            assert one.losses == pytest.approx(losses, rel=1e-5)
            assert one.right.tolist() == right
        assert max(len(one.losses) for one in found) > 2 * CONTEXT  # some are read in pieces


@settings(max_examples=15)
@given(st.lists(texts, min_size=1, max_size=4).filter(any))
def test_losses_of_any_text(several: list[str]) -> None:
    for text, one in zip(
        several, predict_tokens(LSTM, [Document(t) for t in several]), strict=True
    ):
        losses, right = one_by_one(LSTM, text)
        assert one.losses == pytest.approx(losses, rel=1e-5)
        assert one.right.tolist() == right


def test_how_documents_are_batched_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = some_documents(8, longest=90)
    told: list[int] = []
    whole = predict_tokens(GPT, documents, told.append)
    assert told == sorted(told)
    assert told[-1] == len(documents)
    monkeypatch.setattr(evaluation, "TOKENS_AT_ONCE", 1)
    for one, other in zip(whole, predict_tokens(GPT, documents), strict=True):
        assert one.losses == pytest.approx(other.losses, rel=1e-5)


def test_dropout_is_off_and_no_gradient_is_kept() -> None:
    model = small_model(settings={"dropout": 0.9})
    model.network.train()
    first, again = (predict_tokens(model, some_documents())[3].losses for _ in range(2))
    assert (first == again).all()
    assert all(one.grad is None for one in model.network.parameters())


def test_a_corpus_without_text_is_refused() -> None:
    with pytest.raises(BadInput, match="holds no documents"):
        predict_tokens(LSTM, [])


# --- classifiers -------------------------------------------------------------------------------


def test_a_classifier_is_measured_on_labels() -> None:
    model = small_model("gpt-small", kind="classifier", classes=("bad", "good"))
    documents = [
        Document("all is text " * (1 + number), labels=(("bad", "good")[number % 2],))
        for number in range(6)
    ]
    found = predict_labels(model, documents)
    for document, one in zip(documents, found, strict=True):
        tokens = model.tokenizer.encode(document.text)[: model.context].astype(int)
        with torch.no_grad():
            logits = model.network(input_ids=torch.tensor(tokens)[None]).logits[0].double()
        wanted = model.classes.index(document.labels[0])
        assert one.losses == pytest.approx([float(-logits.log_softmax(0)[wanted])], rel=1e-5)
        assert one.right.tolist() == [int(logits.argmax()) == wanted]
    share, *others = measure_predictions(model, documents, Randomness.reproducible(1))
    assert share.metric == "accuracy"
    assert [one.metric for one in others][:2] == ["matthews", "f1, macro"]
    assert share.n == 6
    assert share.value == np.mean([one.right[0] for one in found])
    with pytest.raises(BadInput, match="document 2 has no label"):
        predict_labels(model, [documents[0], Document("whose?")])


def test_a_language_model_is_measured_by_perplexity_and_accuracy() -> None:
    documents = some_documents()
    found = {
        one.metric: one for one in measure_predictions(LSTM, documents, Randomness.reproducible(1))
    }
    losses = np.concatenate([one.losses for one in predict_tokens(LSTM, documents)])
    assert found.keys() == {"perplexity", "accuracy"}
    assert found["perplexity"].value == pytest.approx(np.exp(losses.mean()))
    assert found["perplexity"].n == len(losses)


# --- selected tokens ---------------------------------------------------------------------------


@dataclass(frozen=True)
class These:
    """A policy that selects given characters."""

    spans: Spans
    name: str = "these"

    def find(self, document: Document) -> Spans:
        length = len(document.text)
        return Spans.of(
            Span(min(one.start, length), min(one.end, length), one.label) for one in self.spans
        )


def by_bytes(of: Tokenizer, text: str, selected: set[int]) -> list[bool]:
    """Which tokens hold a selected character, by counting bytes; the end is none of them."""
    owner = [place for place, one in enumerate(text) for _ in one.encode()]
    flags, begin = [], 0
    for spelled in of.backend.convert_ids_to_tokens(of.encode(text).tolist()):
        held = set(owner[begin : begin + len(spelled)])  # a byte is spelled as one character
        flags.append(bool(held & selected))
        begin += len(spelled)
    assert begin == len(owner)
    return [*flags, False] if flags else []


@given(text=texts, spans=many_spans)
def test_selected_tokens_are_those_that_hold_a_selected_character(text: str, spans: Spans) -> None:
    policy = These(spans)
    selected = {
        place for span in policy.find(Document(text)) for place in range(span.start, span.end)
    }
    for of in (tokenizer(), default_tokenizer()):
        model = replace(LSTM, tokenizer=of)
        (flags,) = select_tokens(model, [Document(text)], policy)
        assert flags.tolist() == by_bytes(of, text, selected)


@pytest.mark.parametrize(
    ("text", "selected", "expected"),
    [
        ("a 12 b", (2, 4), ["1", "2"]),
        ("a 12 b", (2, 3), ["1"]),
        ("a 12 b", (0, 0), []),
        ("x😀y", (1, 2), ["😀"]),
        ("x😀y", (0, 1), ["x"]),
        ("x😀y", (2, 3), ["y"]),
        ("Straße", (4, 5), ["ß"]),
    ],
)
def test_borders(text: str, selected: tuple[int, int], expected: list[str]) -> None:
    of = default_tokenizer()
    model = replace(LSTM, tokenizer=of)
    policy = These(Spans.of([Span(*selected, "x")]))
    (flags,) = select_tokens(model, [Document(text)], policy)
    tokens = of.encode(text)
    assert len(flags) == len(tokens) + 1
    chosen = of.decode(tokens[flags[:-1]])
    # Of a character that is spelled in several tokens all are chosen, so it comes back whole.
    assert all(piece in chosen for piece in expected)
    assert len(chosen) >= sum(map(len, expected))
    rest = of.decode(tokens[~flags[:-1]])
    assert not any(piece in rest for piece in expected)


def test_a_neighbor_of_a_span_is_not_chosen() -> None:
    of = default_tokenizer()
    model = replace(LSTM, tokenizer=of)
    (flags,) = select_tokens(
        model, [Document("My ID is 145572, thanks")], combine_policies(["digits"], [], {})
    )
    tokens = of.encode("My ID is 145572, thanks")
    assert of.decode(tokens[flags[:-1]]) == "145572"


def lengths(flags: list[NDArray[np.bool_]]) -> list[int]:
    return [len(one) for one in flags]


def test_there_is_a_flag_for_every_predicted_token() -> None:
    documents = [*some_documents(8, longest=90), Document("")]
    policy = combine_policies(["everything"], [], {})
    flags = select_tokens(LSTM, documents, policy)
    assert lengths(flags) == [len(one.losses) for one in predict_tokens(LSTM, documents)]
    assert all(one[:-1].any() and not one[-1] for one in flags if len(one))


def test_a_tokenizer_without_special_tokens_gives_away_the_first_token() -> None:
    of = Tokenizer(tokenizer().backend.__class__(tokenizer_object=tokenizer().backend._tokenizer))
    assert (of.begin, of.end) == (None, None)
    model = replace(small_model(settings=SETTINGS["lstm"]), tokenizer=of)
    documents = [Document("12 3"), Document("a longer text, 45")]
    flags = select_tokens(model, documents, combine_policies(["digits"], [], {}))
    assert lengths(flags) == [len(one.losses) for one in predict_tokens(model, documents)]
    assert flags[0].tolist() == [True, False, True]


def test_another_kind_of_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = folders.with_our_tokenizer(folders.llama(), tmp_path_factory.mktemp("model") / "here")
    model = load_model(str(folder), randomness=Randomness.reproducible(1))
    documents = some_documents(4)
    for document, one in zip(documents, predict_tokens(model, documents), strict=True):
        assert one.losses == pytest.approx(one_by_one(model, document.text)[0], rel=1e-4)
