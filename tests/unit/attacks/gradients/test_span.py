"""Texts from the span of what attention read: exact without noise, nothing with much."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.attacks.gradients.attention import AttentionLayer, Span, attention_layers
from sfumato.attacks.gradients.span import GradientSpan
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.scores import Scores
from sfumato.text.document import Document
from unit.attacks.gradients.models import decoder, sentences, turned_decoder
from unit.attacks.gradients.models import encoder as any_encoder

REPEATED = [
    Document("the dog saw the cat and the cat saw the dog"),
    Document("to be or not to be that is not the thing"),
    Document("a man is a man and a tree is a tree"),
    Document("we run and run and run until we stop"),
]


def encoder() -> ModelTarget:
    """Of three layers: after the last one only the first place is read."""
    return any_encoder(num_hidden_layers=3)


def scored(target: ModelTarget, texts: list[Document], **settings: Any) -> Scores:
    attack = GradientSpan(**{"noise": "none"} | settings)
    return attack.score(target, texts, Randomness.reproducible(3))


@pytest.mark.parametrize(
    ("made", "batch"), [(encoder, 1), (decoder, 1), (decoder, 4), (turned_decoder, 1)]
)
def test_exact_without_noise_and_null_at_chance(made: Any, batch: int) -> None:
    found = scored(made(), sentences(8), batch=batch)
    assert {one.value for one in found.figures} == {1.0}
    for one in found.control.figures:
        assert (one.low or 0.0) <= found.chance[one.metric] <= (one.high or 0.0)
        assert one.value < 0.3
    assert "text" not in str(found.details)


def test_a_rank_that_layers_share_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are repeated read the same in the first layer, where positions do not count."""
    target = turned_decoder()
    assert scored(target, REPEATED).figure("exact texts without noise").value == 1
    honest, ranks = Span.of, []

    def twin(layer: AttentionLayer, gradient: dict[str, Tensor], deviation: float) -> Span:
        found = honest(layer, gradient, deviation)
        ranks.append(found.rank)
        first = ranks[-1 if len(ranks) % 2 else -2]
        return Span(found.basis[:, :first], found.least)

    monkeypatch.setattr(Span, "of", twin)
    assert scored(target, REPEATED).figure("exact texts without noise").value == 0


def test_queries_keys_and_values_show_more_than_queries() -> None:
    """The least singular value of the three is far above that of the queries alone."""
    from sfumato.attacks.gradients.release import Batch, release
    from sfumato.attacks.gradients.step import Step

    target = encoder()
    batch = Batch.of(target.model, sentences(1), 16)
    seen = release(batch, Step(noise="none"), Randomness.reproducible(1))
    first = attention_layers(target.model.network)[0]
    places = batch.lengths[0]
    whole = torch.linalg.svdvals(first.stacked(seen.gradient))[places - 1]
    queries = seen.gradient[first.weights[0]].double()
    assert float(whole) > 10 * float(torch.linalg.svdvals(queries)[places - 1])


@pytest.mark.parametrize("made", [encoder, decoder])
def test_noise_hides_texts_and_both_noises_do_alike(made: Any) -> None:
    levels = (1e-9, 0.1)
    by_noise = [
        scored(made(), sentences(6), sigma=levels, noise=noise)
        for noise in ("gaussian", "directional")
    ]
    for found in by_noise:
        assert found.figure("ROUGE-1 at σ = 1e-09").value > 0.9
        assert found.figure("ROUGE-1 at σ = 0.1").value < 0.1


def test_two_texts_of_an_encoder_are_told_apart_often() -> None:
    found = scored(encoder(), sentences(4), batch=2)
    assert found.figure("ROUGE-1 without noise").value > 2 * found.chance["ROUGE-1 without noise"]


def test_a_batch_that_fills_the_span_shows_nothing_and_is_no_sign_of_safety() -> None:
    found = scored(decoder(n_embd=16), sentences(8), batch=4)
    assert found.figure("ROUGE-1 without noise").value == 0
    assert "In 2 of 2 steps" in found.notes[0]
    assert "no sign of safety" in found.notes[0]
    assert not scored(decoder(), sentences(4)).notes


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="1 layers of attention"):
        scored(decoder(n_layer=1), sentences(4))
    frozen = encoder()
    network: Any = frozen.model.network
    network.bert.requires_grad_(False)
    with pytest.raises(InvalidArgument, match="not all trained"):
        scored(frozen, sentences(4))
    with pytest.raises(InvalidArgument, match="threshold"):
        GradientSpan(threshold=0.0)
