"""The tree against reading every candidate as a whole: the same scores, the same ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from sfumato.attacks.exposure import trie
from sfumato.attacks.exposure.candidates import Frame, SecretSpace, tokenize
from sfumato.attacks.exposure.ranks import at_least_as_likely
from sfumato.attacks.exposure.trie import Cached, Recurrent, Whole, reader_of, surprises
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import LoadedModel, load_model
from unit.attacks.exposure.subjects import (
    FRAME,
    bytes_only,
    every_text,
    joining,
    one_by_one,
    tiny,
)

Floats = NDArray[np.float64]
FOUR_DIGITS = SecretSpace("####")


def ranks(scores: Floats) -> list[int]:
    found: list[int] = at_least_as_likely(scores, scores).tolist()
    return found


def same_up_to_a_constant(one: Floats, other: Floats, tolerance: float = 1e-9) -> bool:
    """Reading as a whole also counts the prefix, which is the same for all."""
    return float(np.ptp(one - other)) < tolerance


@pytest.mark.parametrize("kind", ["lstm", "gpt-small"])
def test_it_equals_brute_force_on_four_digits(kind: str) -> None:
    """Some hundred secrets are read as a whole: they are all over the tree."""
    model = tiny(kind, bytes_only(), double=True)
    texts = every_text(FOUR_DIGITS)
    quick = surprises(model, tokenize(model.tokenizer, texts))[::29]
    slow = one_by_one(model, texts[::29], up_to=".")
    assert same_up_to_a_constant(quick, slow)
    assert ranks(quick) == ranks(slow)


@pytest.mark.parametrize("kind", ["lstm", "gpt-small"])
def test_it_equals_brute_force_where_secrets_have_unequal_numbers_of_tokens(kind: str) -> None:
    """And averaging over tokens instead of summing gives other ranks."""
    model = tiny(kind, joining(), double=True)
    texts = every_text(SecretSpace("###"))
    candidates = tokenize(model.tokenizer, texts)
    lengths = (candidates.tokens >= 0).sum(axis=1)
    assert len(set(lengths.tolist())) > 2
    quick = surprises(model, candidates)
    slow = one_by_one(model, texts)
    assert same_up_to_a_constant(quick, slow)
    assert ranks(quick) == ranks(slow)
    averaged = one_by_one(model, texts, mean=True)
    assert ranks(averaged) != ranks(slow)
    assert ranks(quick / lengths) != ranks(slow)


def test_a_single_candidate_read_alone_has_its_score() -> None:
    """Not even batched with others."""
    model = tiny("gpt-small", bytes_only(), double=True)
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("##")))
    scores = surprises(model, candidates)
    for number in (0, 42, 99):
        tokens = torch.tensor([[*candidates.prefix, *candidates.tokens[number].tolist()]])
        with torch.no_grad():
            logs = model.network(input_ids=tokens[:, :-1]).logits.log_softmax(2)[0]
        chosen = logs.gather(1, tokens[0, 1:, None])[len(candidates.prefix) - 1 :]
        assert scores[number] == pytest.approx(-float(chosen.sum()) / np.log(2), abs=1e-9)


def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("gpt-small", joining(), double=True)
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("###")))
    large = surprises(model, candidates)
    monkeypatch.setattr(trie, "LOGITS_AT_ONCE", 1)
    np.testing.assert_allclose(surprises(model, candidates), large, atol=1e-10)


@pytest.mark.parametrize("kind", ["lstm", "gpt-small"])
def test_workers_give_the_same_and_give_torch_its_threads_back(kind: str) -> None:
    model = tiny(kind, joining(), double=True)
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("###")))
    threads = torch.get_num_threads()
    found: dict[int, Floats] = {}
    seen: list[int] = []
    try:
        for count in (1, 3):
            torch.set_num_threads(count)
            found[count] = surprises(model, candidates, seen.append)
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(found[3], found[1], atol=1e-10)
    assert sum(seen) == 2000


def test_an_error_in_a_worker_comes_out() -> None:
    """Weights of one token only, so that it is met far down in the tree."""
    model = tiny("lstm", bytes_only())
    threads = torch.get_num_threads()
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("####")))
    with torch.no_grad():
        weights = next(model.network.get_input_embeddings().parameters())
        weights[int(candidates.tokens[7].max())] = torch.nan
    try:
        torch.set_num_threads(2)
        with pytest.raises(BadInput, match="diverged"):
            surprises(model, candidates)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_the_order_of_candidates_does_not_matter() -> None:
    model = tiny("lstm", joining(), double=True)
    texts = every_text(SecretSpace("###"))
    shuffled = np.random.default_rng(1).permutation(len(texts))
    direct = surprises(model, tokenize(model.tokenizer, texts))
    mixed = surprises(model, tokenize(model.tokenizer, [texts[place] for place in shuffled]))
    np.testing.assert_allclose(mixed, direct[shuffled], atol=1e-10)


def test_reading_on_is_reading_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader for networks without a state of their own."""
    model = tiny("gpt-small", joining(), double=True)
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("##")))
    quick = surprises(model, candidates)
    monkeypatch.setattr(trie, "reader_of", lambda network, _prefix: Whole(network))
    np.testing.assert_allclose(surprises(model, candidates), quick, atol=1e-10)


class Forgetful:
    """A network whose cache does not hold what it has read."""

    def __init__(self, network: Any) -> None:
        self.network = network

    def __call__(self, **given: Any) -> Any:
        read = self.network(**given)
        for layer in read.past_key_values.layers:
            layer.values.zero_()
        return read


def test_the_reader_is_chosen_by_trying() -> None:
    gpt, lstm = tiny("gpt-small", bytes_only()).network, tiny("lstm", bytes_only()).network
    with torch.inference_mode():
        assert isinstance(reader_of(gpt.eval(), [0, 5, 6]), Cached)
        assert isinstance(reader_of(lstm.eval(), [0, 5, 6]), Recurrent)
        assert isinstance(reader_of(Forgetful(gpt), [0, 5, 6]), Whole)


def test_dropout_is_off() -> None:
    """A score must not hang on chance."""
    settings: dict[str, object] = {"layers": 1, "width": 8, "heads": 1, "dropout": 0.5}
    model = load_model(
        "gpt-small",
        randomness=Randomness.reproducible(1),
        tokenizer=bytes_only(),
        settings=settings,
    )
    model.network.train()
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("##")))
    assert np.array_equal(surprises(model, candidates), surprises(model, candidates))


def test_progress_counts_every_candidate_once() -> None:
    model = tiny("lstm", joining())
    seen: list[int] = []
    surprises(model, tokenize(model.tokenizer, every_text(SecretSpace("###"))), seen.append)
    assert sum(seen) == 1000


def test_a_text_longer_than_the_context_is_refused() -> None:
    model = replace(tiny("lstm", bytes_only()), context=12)
    candidates = tokenize(model.tokenizer, every_text(SecretSpace("##")))
    with pytest.raises(InvalidArgument, match="reads 12 at a time"):
        surprises(model, candidates)


def test_a_diverged_model_is_refused() -> None:
    model = tiny("lstm", bytes_only())
    with torch.no_grad():
        next(model.network.parameters()).fill_(torch.nan)
    with pytest.raises(BadInput, match="diverged"):
        surprises(model, tokenize(model.tokenizer, every_text(SecretSpace("##"))))


@pytest.mark.resources
def test_it_equals_brute_force_on_a_real_model(resources: Path) -> None:
    """A Llama with three digits: the ranks among some dozens of secrets all over the space."""
    model: LoadedModel = load_model(
        str(resources / "models" / "stories15m"), randomness=Randomness.reproducible(1)
    )
    model.network.double()
    frame = Frame(". ", "My ID is {}.")
    texts = every_text(SecretSpace("###"), frame)
    quick = surprises(model, tokenize(model.tokenizer, texts))
    some = list(range(3, 1000, 13))
    slow = one_by_one(model, [texts[place] for place in some], up_to=".")
    # Llama's norms are computed in single precision, whatever the type of the weights.
    assert same_up_to_a_constant(quick[some], slow, 1e-4)
    assert ranks(quick[some]) == ranks(slow)


def test_the_frame_is_the_same_for_all() -> None:
    assert FRAME.text("0042") == ". My ID is 0042."
