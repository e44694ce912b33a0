"""Search finds texts from their gradients: LAMP most of them, DLG fewer; none from another's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sfumato.attacks.attack import Inputs
from sfumato.attacks.gradients.matching import dummies
from sfumato.attacks.gradients.matching.attack import GradientMatching
from sfumato.attacks.gradients.matching.dummies import DummyGradients
from sfumato.attacks.gradients.matching.search import Effort, Search, list_labelings
from sfumato.attacks.gradients.release import Batch, Seen, gradient_of, release, special_tokens
from sfumato.attacks.gradients.step import Step
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.results.scores import Scores
from unit.attacks.gradients.models import decoder, encoder, sentences

TARGET = encoder(hidden_size=32, num_attention_heads=2, num_hidden_layers=1)
QUICK = GradientMatching(most=3, tokens=12, moves=50, starts=8, rounds=2, edits=12)
SOURCE = Randomness.reproducible(1)


def scored(attack: GradientMatching) -> Scores:
    return attack.score(TARGET, sentences(3, length=5), SOURCE)


def seen_of(place: int = 0) -> tuple[Seen, list[int]]:
    batch = Batch.of(TARGET.model, [sentences(3, length=5)[place]], 12)
    return release(batch, Step(), SOURCE), batch.texts()[0]


@pytest.fixture(scope="module")
def lamp() -> Scores:
    return scored(QUICK)


def test_lamp_finds_the_words_and_the_null_is_at_chance(lamp: Scores) -> None:
    assert lamp.figure("ROUGE-1 without noise").value >= 0.7
    assert lamp.figure("tokens in place without noise").value >= 0.6
    for one in lamp.control.figures:
        assert (one.low or 0.0) <= lamp.chance[one.metric] + 0.05
    assert "label" in lamp.knowledge


def test_dlg_finds_less(lamp: Scores) -> None:
    found = scored(replace(QUICK, variant="dlg"))
    least = lamp.figure("ROUGE-1 without noise").value - 0.3
    assert found.figure("ROUGE-1 without noise").value <= least


def test_noise_leaves_nothing() -> None:
    found = scored(replace(QUICK, sigma=(0.1,), moves=10, rounds=0))
    assert found.figure("ROUGE-1 at σ = 0.1").value <= 0.25


def test_labels_can_be_searched() -> None:
    """The start that fits best has the true label: the head's gradient changes its sign with it."""
    seen, text = seen_of()
    judge = QUICK.judge(seen, SOURCE)
    search = Search(judge, Effort(starts=2))
    for label in (0, 1):
        gradient = judge.dummies.gradient([judge.dummies.embed(text)], [label])
        made = dict(zip(judge.dummies.names, gradient, strict=True))
        own = Search(replace(judge, released=list(made.values())), search.effort)
        _, chosen = own.start([len(text)], list_labelings(1, 2), SOURCE)
        assert list(chosen) == [label]


def test_gradients_of_the_true_embeddings_are_those_of_training() -> None:
    seen, text = seen_of()
    made = DummyGradients.of(seen, SOURCE)
    gradient = made.gradient([made.embed(text)], seen.labels)
    row = Batch.of(TARGET.model, [sentences(3, length=5)[0]], 12).rows[0]
    true = gradient_of(TARGET.model, row)
    for name, one in zip(made.names, gradient, strict=True):
        assert torch.allclose(one, true[name], atol=1e-6, rtol=1e-3), name


def test_a_language_model_is_asked_for_its_nearest_tokens() -> None:
    target = decoder(n_embd=32, n_head=2, n_layer=1)
    document = replace(sentences(1, length=5)[0], labels=())
    batch = Batch.of(target.model, [document], 12)
    seen = release(batch, Step(), SOURCE)
    made = DummyGradients.of(seen, SOURCE)
    assert "transformer.wte.weight" not in made.names
    gradient = made.gradient([made.embed(batch.texts()[0])], ())
    true = gradient_of(target.model, batch.rows[0])
    for name, one in zip(made.names, gradient, strict=True):
        assert torch.allclose(one, true[name], atol=1e-5, rtol=1e-3), name


def test_gradients_that_are_rounding_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Biases of keys have no influence; a twin that compares them compares noise."""
    seen, _ = seen_of()
    assert not any(name.endswith("key.bias") for name in DummyGradients.of(seen, SOURCE).names)
    monkeypatch.setattr(dummies, "_ROUNDING", -1.0)
    assert any(name.endswith("key.bias") for name in DummyGradients.of(seen, SOURCE).names)


def test_gradients_of_zero_end_in_some_text_and_no_error() -> None:
    seen, text = seen_of()
    nothing = {name: torch.zeros_like(one) for name, one in seen.gradient.items()}
    quick = replace(QUICK, moves=2, starts=1, rounds=0, sweeps=0)
    (found,) = quick.rebuild(replace(seen, gradient=nothing), SOURCE)
    assert len(found) == len(text)
    assert not special_tokens(TARGET.model) & set(found)


def test_the_attacked_model_stays_as_it_is() -> None:
    network = TARGET.model.network
    before = (network.config._attn_implementation, network.training)
    replace(QUICK, moves=1, starts=1, rounds=0, sweeps=0).rebuild(seen_of()[0], SOURCE)
    assert (network.config._attn_implementation, network.training) == before


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="dlg has no prior"):
        GradientMatching(variant="dlg", prior="folder")
    with pytest.raises(InvalidArgument, match="variant"):
        GradientMatching(variant="best")
    with pytest.raises(InvalidArgument, match="labelings"):
        list_labelings(9, 2)
    lstm = load_model("lstm", randomness=SOURCE, settings={"hidden": 8, "embedding": 8})
    with pytest.raises(InvalidArgument, match="takes tokens only"):
        QUICK.refuse(replace(TARGET, model=lstm))
    lacking = replace(QUICK, prior=str(tmp_path / "none")).missing(Inputs(target=tmp_path))
    assert lacking is not None
    assert "no folder" in lacking
