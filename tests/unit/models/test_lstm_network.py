"""The recurrent model: against torch's own layer, in steps, tied, saved and loaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.bpe import default_tokenizer
from sfumato.models.load import draw_weights_from, is_causal
from sfumato.models.lstm import Lstm
from sfumato.models.lstm_network import LstmForCausalLM

SMALL = Lstm(embedding=12, hidden=12)


def network(settings: Lstm = SMALL, seed: int = 1) -> Any:
    with draw_weights_from(Randomness.reproducible(seed)):
        return settings.build(default_tokenizer(), None).eval()


def rows(count: int = 3, length: int = 9) -> torch.Tensor:
    return torch.randint(0, 8192, (count, length), generator=torch.Generator().manual_seed(5))


def test_the_sizes_are_those_of_the_paper() -> None:
    built = Lstm().build(default_tokenizer(), None)
    shapes = {name: tuple(one.shape) for name, one in built.named_parameters()}
    assert shapes == {
        "embedding.weight": (8192, 200),
        "lstm.weight_ih_l0": (800, 200),
        "lstm.weight_hh_l0": (800, 200),
        "lstm.bias_ih_l0": (800,),
        "lstm.bias_hh_l0": (800,),
        "decoder.weight": (8192, 200),
        "decoder.bias": (8192,),
    }


def test_it_computes_what_torchs_layers_compute() -> None:
    ours, tokens = network(), rows()
    layer = nn.LSTM(12, 12, batch_first=True)
    layer.load_state_dict(ours.lstm.state_dict())
    expected = ours.decoder(layer(ours.embedding(tokens))[0])
    assert torch.allclose(ours(input_ids=tokens).logits, expected, atol=1e-6)


def test_a_shared_beginning_is_read_once() -> None:
    ours, tokens = network(), rows()
    whole, end = ours.step(tokens)
    first, state = ours.step(tokens[:, :4])
    rest, after = ours.step(tokens[:, 4:], state)
    assert torch.allclose(torch.cat([first, rest], 1), whole, atol=1e-6)
    assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(after, end, strict=True))


def test_the_state_matters() -> None:
    ours, tokens = network(), rows()
    _, state = ours.step(tokens[:, :4])
    assert not torch.allclose(ours.step(tokens[:, 4:], state)[0], ours.step(tokens[:, 4:])[0])


def test_padding_on_the_right_changes_nothing_and_elsewhere_is_refused() -> None:
    ours, tokens = network(), rows()
    padded = torch.cat([tokens, torch.zeros(3, 4, dtype=torch.long)], 1)
    mask = torch.cat([torch.ones_like(tokens), torch.zeros(3, 4, dtype=torch.long)], 1)
    logits = ours(input_ids=padded, attention_mask=mask).logits[:, :9]
    assert torch.allclose(logits, ours(input_ids=tokens).logits, atol=1e-6)
    with pytest.raises(InvalidArgument, match="padding on the right"):
        ours(input_ids=padded, attention_mask=mask.flip(1))


def test_the_loss_is_that_of_the_library() -> None:
    ours, tokens = network(), rows()
    labels = tokens.clone()
    labels[:, 6:] = -100
    output = ours(input_ids=tokens, labels=labels)
    expected = nn.functional.cross_entropy(
        output.logits[:, :5].reshape(-1, 8192), tokens[:, 1:6].reshape(-1)
    )
    assert output.loss.item() == pytest.approx(expected.item(), rel=1e-6)


@pytest.mark.parametrize("tied", [False, True])
def test_it_is_saved_as_safetensors_and_comes_back(tmp_path: Path, tied: bool) -> None:
    ours = network(replace(SMALL, tied=tied))
    ours.save_pretrained(tmp_path)
    assert (tmp_path / "model.safetensors").is_file()
    again: Any = LstmForCausalLM.from_pretrained(tmp_path)
    assert (again.decoder.weight is again.embedding.weight) == tied
    kept, loaded = ours.state_dict(), again.state_dict()
    assert kept.keys() == loaded.keys()
    assert all(torch.equal(one, loaded[name]) for name, one in kept.items())
    # Weights read from a file begin anywhere in memory, which changes the last bit of a sum.
    torch.testing.assert_close(again(input_ids=rows()).logits, ours(input_ids=rows()).logits)


def test_it_is_causal_and_the_check_would_notice_if_it_were_not() -> None:
    ours = network()
    assert is_causal(ours)
    forward = ours.forward

    def reversed_in_time(input_ids: torch.Tensor) -> Any:
        output = forward(input_ids=input_ids.flip(1))
        output.logits = output.logits.flip(1)
        return output

    ours.forward = reversed_in_time
    assert not is_causal(ours)


def test_weights_follow_from_the_stream_and_leave_torchs_own_alone() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    one, two, other = network(seed=1), network(seed=1), network(seed=2)
    assert torch.equal(torch.rand(2), expected)
    assert torch.equal(one.lstm.weight_hh_l0, two.lstm.weight_hh_l0)
    assert not torch.equal(one.lstm.weight_hh_l0, other.lstm.weight_hh_l0)


@pytest.mark.parametrize(
    "settings",
    [{"hidden": 0}, {"embedding": -1}, {"context": 0}, {"dropout": 1.5}, {"hidden": 2.5}],
)
def test_impossible_sizes_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=f"{next(iter(settings))}="):
        Lstm(**settings)


def test_tied_weights_need_equal_sizes_and_a_classifier_another_model() -> None:
    with pytest.raises(InvalidArgument, match="the embedding has 10 and the state 12"):
        network(Lstm(embedding=10, hidden=12, tied=True))
    with pytest.raises(InvalidArgument, match="language model only"):
        SMALL.build(default_tokenizer(), 2)


def test_dropout_is_used_in_training_only() -> None:
    ours = network(replace(SMALL, dropout=0.5))
    assert torch.equal(ours(input_ids=rows()).logits, ours(input_ids=rows()).logits)
    ours.train()
    assert not torch.equal(ours(input_ids=rows()).logits, ours(input_ids=rows()).logits)
