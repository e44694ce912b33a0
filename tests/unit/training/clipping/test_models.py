"""Whole models against a loop over records, and against Opacus where it supports the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from naive_gradients import TOLERANCE, norm, worst_difference
from sfumato.models.lstm_layer import LSTM
from sfumato.training.clipping.clippers import Automatic, Flat
from sfumato.training.clipping.layers import linear
from sfumato.training.clipping.losses import next_tokens, record_losses
from sfumato.training.clipping.recording import Recording

VOCABULARY = 37


def gpt2(*, tied: bool = True, attention: str = "sdpa") -> nn.Module:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=VOCABULARY, n_positions=16, n_embd=12, n_layer=2, n_head=2,
            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
            tie_word_embeddings=tied, attn_implementation=attention,  # type: ignore[call-arg]
        )
    )  # fmt: skip


def llama(*, tied: bool = True) -> nn.Module:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=12, intermediate_size=20, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, max_position_embeddings=16,
            tie_word_embeddings=tied,
        )
    )  # fmt: skip


def qwen3() -> nn.Module:
    """Normalizes queries and keys, each head by itself: input of four axes."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=VOCABULARY, hidden_size=12, intermediate_size=20, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=1, head_dim=6, max_position_embeddings=16,
        )
    )  # fmt: skip


def bert_config() -> BertConfig:
    return BertConfig(
        vocab_size=VOCABULARY, hidden_size=12, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=20, max_position_embeddings=16, num_labels=3,  # type: ignore[call-arg]
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip


class LstmModel(nn.Module):
    def __init__(self, *, tied: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 10)
        self.lstm = LSTM(10, 10)
        self.decoder = nn.Linear(10, VOCABULARY)
        if tied:
            self.decoder.weight = self.embedding.weight

    def forward(self, tokens: Tensor) -> Tensor:
        outputs: Tensor = self.decoder(self.lstm(self.embedding(tokens))[0])
        return outputs


def lora() -> nn.Module:
    settings = LoraConfig(
        r=3, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, init_lora_weights=False
    )
    return get_peft_model(gpt2(), settings)


def bias_only() -> nn.Module:
    model = gpt2()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "gpt2, tied": gpt2,
    "gpt2, tied, eager attention": lambda: gpt2(attention="eager"),
    "gpt2": lambda: gpt2(tied=False),
    "llama, tied": llama,
    "llama": lambda: llama(tied=False),
    "qwen3": qwen3,
    "bert classifier": lambda: BertForSequenceClassification(bert_config()),
    "bert, masked": lambda: BertForMaskedLM(bert_config()),
    "lstm": LstmModel,
    "lstm, tied": lambda: LstmModel(tied=True),
    "lora": lora,
    "biases": bias_only,
}


def losses_of(tokens: Tensor) -> Callable[[nn.Module, Tensor], Tensor]:
    mask = torch.ones_like(tokens)
    mask[0, tokens.shape[1] // 2 + 1 :] = 0  # one row is shorter
    labels = next_tokens(tokens, mask)

    def losses(model: nn.Module, rows: Tensor) -> Tensor:
        if isinstance(model, LstmModel):
            return record_losses(model(tokens[rows]), labels[rows])
        output = model(input_ids=tokens[rows], attention_mask=mask[rows])
        if isinstance(model, BertForSequenceClassification):
            return record_losses(output.logits, tokens[rows, 0] % 3)
        return record_losses(output.logits, labels[rows])

    return losses


def made(name: str, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    model = MODELS[name]()
    with torch.no_grad():
        for parameter in model.parameters():  # no bias is zero, no scale is one
            parameter.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def some_tokens(rows: int, places: int, seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, VOCABULARY, (rows, places), generator=draw)
    tokens[:, places // 2 :] = tokens[:, :1]  # words that are repeated
    return tokens


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=2)
@given(rows=st.integers(1, 4), places=st.integers(2, 10), seed=st.integers(0, 1000))
def test_norms_and_clipped_sums_are_those_of_a_loop(
    name: str, rows: int, places: int, seed: int
) -> None:
    losses = losses_of(some_tokens(rows, places, seed))
    assert max(worst_difference(made(name, seed), losses, rows)) <= TOLERANCE


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_one_author_are_clipped_together(name: str) -> None:
    losses = losses_of(some_tokens(5, 7, 3))
    owner = torch.tensor([4, 1, 4, 4, 0])
    assert max(worst_difference(made(name), losses, 5, owner)) <= TOLERANCE


@pytest.mark.parametrize("name", ["gpt2, tied", "llama, tied", "lstm, tied", "lora"])
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("clipper", [Flat(0.01), Flat(0.5), Automatic(0.5)])
def test_no_clipped_gradient_is_longer_than_the_bound(
    name: str, keep: bool, clipper: Flat | Automatic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear, "keep_gradient", lambda *_: keep)
    model = made(name)
    recording = Recording(model)
    for seed in range(6):
        tokens = some_tokens(1, 8, seed)
        records = recording.backward(losses_of(tokens)(model, torch.arange(1)))
        scales = clipper.scales(recording.measure(records).bounds())
        clipped = dict(recording.weighted_sums(scales, records))
        assert norm(clipped) <= clipper.clip_norm
    recording.close()


def test_without_the_cross_term_the_bound_is_exceeded(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.training.clipping.layers import tied

    monkeypatch.setattr(linear, "keep_gradient", lambda *_: False)
    monkeypatch.setattr(tied, "cross_terms", lambda tokens, *_: torch.zeros(len(tokens)))
    model, recording_lengths = made("gpt2, tied"), []
    recording = Recording(model)
    for seed in range(6):
        tokens = some_tokens(1, 8, seed)
        records = recording.backward(losses_of(tokens)(model, torch.arange(1)))
        scales = Flat(0.5).scales(recording.measure(records).bounds())
        clipped = dict(recording.weighted_sums(scales, records))
        recording_lengths.append(norm(clipped))
    assert max(recording_lengths) > 0.5 * 1.001


# --- Opacus -----------------------------------------------------------------------------------


class Translated(nn.Module):
    """GPT-2 as Opacus needs it: positions are looked up for each row."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        places = torch.arange(tokens.shape[1]).repeat(len(tokens), 1)
        logits: Tensor = self.model(input_ids=tokens, position_ids=places).logits
        return logits


def plain_losses(logits: Tensor, tokens: Tensor) -> Tensor:
    """Sum over a row's tokens, written without our own loss."""
    labels = next_tokens(tokens)
    each = functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
    return each.view(tokens.shape).sum(1) / (tokens.shape[1] - 1)


def ours(model: nn.Module, tokens: Tensor, weights: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    recording = Recording(model)
    records = recording.backward(record_losses(model(tokens), next_tokens(tokens)))
    norms = recording.measure(records).norms()
    sums = dict(recording.weighted_sums(weights, records))
    recording.close()
    return norms, sums


@pytest.mark.parametrize("model", [Translated(made("gpt2")), Translated(made("lora"))])
def test_gradients_are_those_of_opacus(model: nn.Module) -> None:
    tokens, weights = some_tokens(4, 8, 1), torch.tensor([0.1, 0.5, 0.7, 1.0])
    norms, sums = ours(model, tokens, weights)
    theirs = GradSampleModule(model, loss_reduction="sum")
    plain_losses(theirs(tokens), tokens).sum().backward()  # type: ignore[no-untyped-call]
    samples = {
        name: one.grad_sample  # type: ignore[attr-defined]
        for name, one in model.named_parameters()
        if one.requires_grad
    }
    theirs.to_standard_module()
    lengths = [norm({name: one[row] for name, one in samples.items()}) for row in range(4)]
    assert norms.tolist() == pytest.approx(lengths, rel=TOLERANCE)
    assert set(sums) == set(samples)
    error = {name: sums[name] - torch.tensordot(weights, samples[name], dims=1) for name in sums}
    assert norm(error) <= TOLERANCE * max(lengths)


def test_norms_are_those_of_opacus_in_its_ghost_mode() -> None:
    model, tokens = Translated(made("gpt2")), some_tokens(4, 8, 1)
    norms, _ = ours(model, tokens, torch.ones(4))
    theirs = GradSampleModuleFastGradientClipping(
        model, loss_reduction="sum", max_grad_norm=1.0, use_ghost_clipping=True
    )
    plain_losses(theirs(tokens), tokens).sum().backward()  # type: ignore[no-untyped-call]
    assert norms.tolist() == pytest.approx(theirs.get_norm_sample().tolist(), rel=TOLERANCE)
    theirs.to_standard_module()
