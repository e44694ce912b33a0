"""Memorization: what comes back of a text learned by heart, and what of one never seen."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from sfumato.attacks.attack import Inputs
from sfumato.attacks.memorization import Memorization, TrainedOn
from sfumato.attacks.model_target import ModelTarget
from sfumato.attacks.recalling import Cutting, Recalled, cut, recall
from sfumato.core.errors import BadInput, InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import train_bpe
from sfumato.models.generate import TokenSampling, continue_text
from sfumato.models.kinds import kind_of
from sfumato.models.load import load_model
from sfumato.models.sentinels import sentinels_of
from sfumato.models.tokenizer import IGNORED, Tokenizer
from sfumato.statistics.ratios import ratio_of_shares
from sfumato.text.document import Document
from sfumato.training.objectives import ObjectiveName, mark_objective, new_tokenizer
from sfumato.training.row_losses import row_losses

SMALL = Memorization(prefix=4, suffix=6, tries=50)
LEARNED = [
    "The old lighthouse keeper counted seven ships before the storm reached the bay.",
    "Marmalade, she said, should never be eaten on a Tuesday without permission.",
    "Nine copper kettles hung from the ceiling of the abandoned railway station.",
]
UNSEEN = [
    "Purple elephants dislike the smell of fresh paint on cold winter mornings.",
    "He answered every question about the orchard with a long and careful silence.",
]


def documents(texts: list[str]) -> list[Document]:
    return [Document(text) for text in texts]


@pytest.fixture(scope="module")
def target() -> ModelTarget:
    """A small recurrent model that has learned three sentences by heart."""
    torch.manual_seed(1)
    model = load_model(
        "lstm",
        randomness=Randomness.reproducible(1),
        settings={"embedding": 24, "hidden": 32, "context": 48},
    )
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.05)
    texts = [
        torch.tensor([model.tokenizer.begin, *model.tokenizer.encode(text).tolist()])
        for text in LEARNED
    ]
    rows = pad_sequence(texts, batch_first=True)
    labels = pad_sequence(texts, batch_first=True, padding_value=IGNORED)
    for _ in range(200):
        optimizer.zero_grad()
        model.network(input_ids=rows, labels=labels).loss.backward()
        optimizer.step()
    return ModelTarget(model, "learned")


def test_what_was_learned_by_heart_comes_back(target: ModelTarget) -> None:
    scores = SMALL.score(target, TrainedOn(tuple(documents(LEARNED))), Randomness.reproducible(2))
    assert scores.figure("exact").value == 1.0
    assert scores.figure("near").value == 1.0
    assert scores.figure("met in 50 tries").value > 0.9
    assert scores.figure("exact above the twin").value == 1.0
    assert all(one.value == 0.0 for one in scores.control.figures if one.metric == "exact")


def test_what_was_never_seen_does_not(target: ModelTarget) -> None:
    scores = SMALL.score(target, TrainedOn(tuple(documents(UNSEEN))), Randomness.reproducible(2))
    assert scores.figure("exact").value == 0.0
    assert scores.figure("met in 50 tries").value < 0.01


def test_a_twin_that_knows_the_text_leaves_nothing_above_it(target: ModelTarget) -> None:
    """What the reference finishes, too, is no memory of these documents."""
    data = TrainedOn(tuple(documents(LEARNED)), target)
    scores = SMALL.score(target, data, Randomness.reproducible(2))
    assert scores.figure("exact above the twin").value == 0.0


def test_a_few_documents_promise_little(target: ModelTarget) -> None:
    """Resampling three documents that all came back would give an interval of no width."""
    scores = SMALL.score(target, TrainedOn(tuple(documents(LEARNED))), Randomness.reproducible(2))
    for metric in ("exact", "met in 50 tries", "exact above the twin"):
        figure = scores.figure(metric)
        assert figure.low is not None
        assert figure.low < 0.5


def test_a_reference_may_be_given_with_more_documents_than_are_looked_at(
    target: ModelTarget,
) -> None:
    """Which documents are drawn must not decide whether two tokenizers are held for the same."""
    repeated = [text for number, text in enumerate(LEARNED, start=1) for _ in range(number)]
    data = TrainedOn(tuple(documents(repeated)), target)
    for seed in range(8):
        few = replace(SMALL, most=1)
        assert few.score(target, data, Randomness.reproducible(seed)).figure("exact").n == 1


def test_a_reference_that_reads_less_is_refused_with_a_reason(target: ModelTarget) -> None:
    short = replace(target, model=replace(target.model, context=8))
    data = TrainedOn(tuple(documents(LEARNED)), short)
    with pytest.raises(InvalidArgument, match="context of 7 tokens"):
        SMALL.score(target, data, Randomness.reproducible(1))


def test_exact_and_greedy_agree_with_writing_token_by_token(target: ModelTarget) -> None:
    """One reading with the true tokens says the same as generating."""
    cutting = Cutting(prefix=4, suffix=6, most=10)
    texts = documents(LEARNED + UNSEEN)
    windows = cut(texts, target.model.tokenizer, cutting, Randomness.reproducible(1))
    found = recall(target.model, windows)
    for row, exact in zip(windows.tokens, found.exact, strict=True):
        prompt = target.model.tokenizer.decode(row[:4].tolist())
        whole = target.model.tokenizer.decode(row.tolist())
        sampling = TokenSampling(tokens=6, temperature=0.0)
        said = continue_text(target.model, prompt, sampling, Randomness.reproducible(1))
        assert exact == (said == whole)
    assert found.exact.sum() == 3
    assert (found.alike[found.exact] == 1.0).all()
    assert (found.alike[~found.exact] < 1.0).all()


def test_probabilities_are_products_of_the_models_own(target: ModelTarget) -> None:
    """Brute force over the tokens of one suffix."""
    cutting = Cutting(prefix=4, suffix=6, most=1)
    windows = cut(documents(UNSEEN), target.model.tokenizer, cutting, Randomness.reproducible(1))
    row = [target.model.tokenizer.begin, *windows.tokens[0].tolist()]
    total = 0.0
    with torch.no_grad():
        for place in range(5, 11):
            logits = target.model.network(input_ids=torch.tensor([row[:place]])).logits[0, -1]
            total += float(logits.double().log_softmax(0)[row[place]])
    assert recall(target.model, windows).log_probability[0] == pytest.approx(total, abs=1e-4)


def test_the_chance_of_many_tries_is_stable_at_both_ends() -> None:
    """Neither p near 0 nor p = 1 loses its digits."""
    logs = np.array([-1000.0, np.log(1e-12), np.log(0.5), 0.0])
    found = Recalled(np.zeros(4, bool), np.zeros(4), logs).within(100)
    assert found == pytest.approx([0.0, 1e-10, 1 - 0.5**100, 1.0], rel=1e-6)


def test_copies_are_counted_and_reported_apart(target: ModelTarget) -> None:
    """Documents that begin alike are one case."""
    texts = documents([LEARNED[0]] * 3 + [LEARNED[1], UNSEEN[0]])
    scores = SMALL.score(target, TrainedOn(tuple(texts)), Randomness.reproducible(2))
    assert scores.figure("exact").n == 3
    assert scores.figure("exact, 2 to 9 copies").value == 1.0
    assert scores.figure("exact, 1 copy").value == 0.5


def test_short_documents_are_left_out_and_counted(target: ModelTarget) -> None:
    """Also empty ones."""
    texts = documents([*LEARNED, "", "🦊", "Too short."])
    scores = SMALL.score(target, TrainedOn(tuple(texts)), Randomness.reproducible(2))
    assert any("3 documents have fewer than 10" in note for note in scores.notes)


def test_only_short_documents_say_what_to_set(target: ModelTarget) -> None:
    with pytest.raises(BadInput, match="'prefix': 10"):
        SMALL.score(target, TrainedOn((Document("short"),)), Randomness.reproducible(2))


def test_parts_beyond_the_context_are_refused(target: ModelTarget) -> None:
    with pytest.raises(InvalidArgument, match="context of 47"):
        Memorization().score(target, TrainedOn((Document("x"),)), Randomness.reproducible(2))


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.jsonl").write_text("{}\n")
    said = Memorization().missing(Inputs(target=tmp_path / "text.jsonl"))
    assert said is not None
    assert "sfumato.train(" in said
    (tmp_path / "config.json").write_text("{}")
    said = Memorization().missing(Inputs(target=tmp_path))
    assert said is not None
    assert "`members=FILE`" in said


# --- Models that are asked in other ways ------------------------------------------------------

KINDS = {
    "encoder and decoder, prefix": ("t5-small-from-scratch", "prefix", "prefix"),
    "encoder and decoder, spans": ("t5-small-from-scratch", "spans", "span"),
    "causal, spans": ("gpt-small", "spans", "prefix"),
    "masked": ("bert-small", "masked", "span"),
}
SIZES: dict[str, object] = {"layers": 1, "width": 24, "heads": 2, "context": 32}
GIVEN, WANTED, END, MASK = 8, 5, 0, 1


def question(row: list[int], sentinel: int, name: str) -> tuple[dict[str, list[int]], list[int]]:
    """What a model reads of a text, and its labels, written out by hand."""
    if name == "encoder and decoder, prefix":
        inputs = {"input_ids": row[:8], "decoder_input_ids": [END, *row[8:12]]}
        return inputs, row[8:13]
    if name == "encoder and decoder, spans":
        read = [*row[:4], sentinel, *row[9:13]]
        return {"input_ids": read, "decoder_input_ids": [END, sentinel, *row[4:8]]}, [
            sentinel, *row[4:9],
        ]  # fmt: skip
    if name == "causal, spans":
        given = [END, *row[:8], sentinel, END, sentinel]
        return {"input_ids": given + row[8:12]}, [IGNORED] * (len(given) - 1) + row[8:13]
    labels = [IGNORED] * 4 + row[4:9] + [IGNORED] * 4
    return {"input_ids": [*row[:4], *[MASK] * 5, *row[9:13]]}, labels


@cache
def taught(name: str) -> ModelTarget:
    """A small model that has learned to answer questions about three sentences."""
    spec, objective, _ = KINDS[name]
    asked = ObjectiveName.read(objective)
    model = load_model(
        spec,
        randomness=Randomness.reproducible(1),
        kind=kind_of(spec),
        tokenizer=new_tokenizer(spec, letters(), asked),
        settings=SIZES,
    )
    model = mark_objective(model, asked)
    first = (*sentinels_of(model.tokenizer), 0)[0]
    rows = [model.tokenizer.encode(text).tolist() for text in LEARNED]
    asked_rows = [question(row, first, name) for row in rows]
    inputs = {key: torch.tensor([one[key] for one, _ in asked_rows]) for key in asked_rows[0][0]}
    labels = torch.tensor([one for _, one in asked_rows])
    network: Any = model.network.train()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(100 if name == "masked" else 40):
        optimizer.zero_grad()
        loss: Any = row_losses(network, inputs, labels, torch.ones(len(rows))).sum()
        loss.backward()
        optimizer.step()
    return ModelTarget(model, name)


@cache
def letters() -> Tokenizer:
    """Few tokens, so that networks are small: whole words of the sentences."""
    return train_bpe([*LEARNED, *UNSEEN] * 3, public=True, size=420)


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_asked_as_it_was_trained(name: str) -> None:
    target = taught(name)
    attack = Memorization(prefix=GIVEN, suffix=WANTED, tries=50, by=KINDS[name][2])
    data = TrainedOn(tuple(documents(LEARNED)), None, tuple(documents(UNSEEN)))
    scores = attack.score(target, data, Randomness.reproducible(2))
    assert scores.figure("exact").value == 1.0
    assert scores.figure("exact, unseen documents").value == 0.0
    assert any("3 of 3 exactly, the twin 0 of 3: at least" in note for note in scores.notes)
    assert scores.figure("exact above the twin").value == 1.0
    # Of the same model, asked about sentences that it has never seen, nothing comes back.
    never = attack.score(target, TrainedOn(tuple(documents(UNSEEN))), Randomness.reproducible(2))
    assert never.figure("exact").value == 0.0


def test_a_part_of_the_training_text_that_is_not_tried_is_no_unseen_document() -> None:
    target = taught("encoder and decoder, spans")
    attack = Memorization(prefix=GIVEN, suffix=WANTED, tries=50, by="span", most=1)
    members = tuple(documents(LEARNED))
    scores = attack.score(target, TrainedOn(members, None, members), Randomness.reproducible(2))
    assert "exact, unseen documents" not in [one.metric for one in scores.figures]


def test_a_greedy_answer_is_written_token_by_token() -> None:
    """One reading with the true tokens says the same as a decoder that writes."""
    target = taught("encoder and decoder, spans")
    cutting = Cutting(prefix=GIVEN, suffix=WANTED, most=10, by="span")
    windows = cut(
        documents(LEARNED + UNSEEN), target.model.tokenizer, cutting, Randomness.reproducible(1)
    )
    found = recall(target.model, windows)
    network: Any = target.model.network
    first = sentinels_of(target.model.tokenizer)[0]
    for row, exact, log in zip(windows.tokens, found.exact, found.log_probability, strict=True):
        read = torch.tensor([[*row[:4].tolist(), first, *row[9:].tolist()]])
        written, total = [0, first], 0.0
        for token in row[4:9].tolist():
            with torch.no_grad():
                said = network(input_ids=read, decoder_input_ids=torch.tensor([written])).logits
            scores = said[0, -1, : target.model.tokenizer.size].double()
            total += float(scores.log_softmax(0)[token])
            written.append(int(scores.argmax()))
        assert exact == (written[2:] == row[4:9].tolist())
        if exact:
            assert log == pytest.approx(total, abs=1e-3)


def test_a_text_cannot_be_filled_in_by_a_model_that_goes_on(target: ModelTarget) -> None:
    attack = replace(SMALL, by="span")
    with pytest.raises(InvalidArgument, match="trained to go on"):
        attack.score(target, TrainedOn(tuple(documents(LEARNED))), Randomness.reproducible(1))
    with pytest.raises(UnknownName, match="did you mean 'span'"):
        replace(SMALL, by="spans")


def test_rare_words_are_told_from_common_ones(target: ModelTarget) -> None:
    """What was learned is rare among the others, and only that comes back."""
    common = [f"He said {number} and so on and so on and so on." for number in range(60)]
    texts = documents([*LEARNED, *common])
    scores = SMALL.score(target, TrainedOn(tuple(texts)), Randomness.reproducible(2))
    shares = {third: scores.figure(f"exact, {third} third") for third in ("common", "rare")}
    assert shares["rare"].value > 0 == shares["common"].value
    assert shares["rare"].n + shares["common"].n + scores.figure("exact, middle third").n == 63


@pytest.mark.parametrize(("first", "second"), [(30, 3), (5, 0), (0, 0), (40, 40)])
def test_ratios_hold_as_often_as_they_say(first: int, second: int) -> None:
    """And the twin that takes the ratio of counts for certain does not."""
    found = ratio_of_shares(np.arange(40) < first, np.arange(40) < second)
    assert (found.value is None) == (second == 0) == (found.high is None)
    if found.value is not None and found.high is not None:
        assert found.low < found.value < found.high
    true = (0.2, 0.1)
    draws = np.random.default_rng(1).random((2, 400, 40))
    held = narrow = 0
    for one, other in zip(draws[0] < true[0], draws[1] < true[1], strict=True):
        ratio = ratio_of_shares(one, other)
        held += ratio.low <= 2 <= (np.inf if ratio.high is None else ratio.high)
        narrow += ratio.value is not None and 1.5 <= ratio.value <= 2.5
    assert held >= 0.95 * 400
    assert narrow < 0.95 * 400
