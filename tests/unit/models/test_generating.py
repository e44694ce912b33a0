"""What a model says: drawn by its own chances, ended by its own end, spelled as it was meant."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.models.generate import TokenSampling, _draw, continue_text
from sfumato.models.load import LoadedModel, load_model
from sfumato.models.tokenizer import Tokenizer
from unit.models import folders
from unit.training.runs import small_model, tokenizer


class Recites(torch.nn.Module):
    """A network that says one text, token by token, and then the end."""

    def __init__(self, text: str, *, extra: int = 0) -> None:
        super().__init__()
        self.text = [0, *tokenizer().encode(text).tolist(), 0]
        self.outputs = tokenizer().size + extra
        self.longest = 0

    def forward(self, input_ids: Tensor) -> Any:
        said = input_ids[0].tolist()
        self.longest = max(self.longest, len(said))
        logits = torch.zeros(1, len(said), self.outputs)
        # It finds its place by the last two tokens, so a short context is enough.
        place = next(
            (at for at in range(len(self.text)) if self.text[: at + 1][-2:] == said[-2:]),
            len(self.text) - 2,
        )
        logits[0, -1, self.text[place + 1]] = 50.0
        logits[0, -1, tokenizer().size :] = 100.0  # stands for no token
        return SimpleNamespace(logits=logits)


def reciting(text: str, *, context: int = 64, extra: int = 0) -> LoadedModel:
    network: Any = Recites(text, extra=extra)
    return LoadedModel(network, tokenizer(), context)


GREEDY = TokenSampling(temperature=0, tokens=40)


@pytest.mark.parametrize("text", ["all is text", "12 – ß 😀 漢", "a\nb\t c  "])
@pytest.mark.parametrize("said", [0, 3])
def test_a_text_is_continued_to_its_end(text: str, said: int) -> None:
    found = continue_text(reciting(text), text[:said], GREEDY, Randomness.secure())
    assert found == text


def test_no_more_tokens_than_asked_for_and_no_more_context_than_there_is() -> None:
    model = reciting("all is text, and text is all", context=5)
    short = continue_text(model, "", replace(GREEDY, tokens=3), Randomness.secure())
    assert short == tokenizer().decode(tokenizer().encode("all is text, and text is all")[:3])
    network: Any = model.network
    continue_text(model, "", GREEDY, Randomness.secure())
    assert network.longest == 5


def test_outputs_that_stand_for_no_token_are_never_said() -> None:
    for sampling in (GREEDY, TokenSampling(tokens=40, temperature=0.01)):
        assert continue_text(reciting("all", extra=7), "", sampling, Randomness.secure()) == "all"


def test_the_same_seed_says_the_same() -> None:
    model = small_model()
    first, again, other = (
        continue_text(model, "a", TokenSampling(tokens=20), Randomness.reproducible(seed))
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert first.startswith("a")


def test_a_classifier_does_not_write() -> None:
    model = small_model("gpt-small", kind="classifier", classes=("a", "b"))
    with pytest.raises(InvalidArgument, match="a classifier does not write"):
        continue_text(model, "a", TokenSampling(), Randomness.secure())


def test_a_prompt_is_needed_where_nothing_stands_before_a_document() -> None:
    bare = Tokenizer(tokenizer().backend.__class__(tokenizer_object=tokenizer().backend._tokenizer))
    model = replace(reciting("all is text"), tokenizer=bare)
    with pytest.raises(InvalidArgument, match="the prompt is empty"):
        continue_text(model, "", GREEDY, Randomness.secure())


def test_word_pieces_keep_the_space_between_prompt_and_continuation(tmp_path: Path) -> None:
    from transformers import BertTokenizer

    spec = folders.with_word_pieces(folders.bert(), tmp_path / "bert")
    backend = BertTokenizer.from_pretrained(spec)
    of = Tokenizer(backend, "pieces")

    class Says(torch.nn.Module):
        def forward(self, input_ids: Tensor) -> Any:
            logits = torch.zeros(1, input_ids.shape[1], of.size)
            logits[0, -1, folders.WORDS.index("film")] = 9.0
            return SimpleNamespace(logits=logits)

    network: Any = Says()
    model = LoadedModel(network, of, 16)
    said = continue_text(model, "the", replace(GREEDY, tokens=2), Randomness.secure())
    assert said == "the film film"


# --- drawing -----------------------------------------------------------------------------------

SCORES = torch.tensor([0.0, 2.0, -1.0, 2.5], dtype=torch.float64)


def shares(scores: Tensor, sampling: TokenSampling, steps: int = 4000) -> list[float]:
    """How much of [0, 1) leads to each token: exact up to 1/steps."""
    counts = torch.zeros(len(scores))
    for step in range(steps):
        counts[_draw(scores, sampling, (step + 0.5) / steps)] += 1
    return (counts / steps).tolist()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_drawn_by_their_chances(temperature: float) -> None:
    found = shares(SCORES, TokenSampling(temperature=temperature))
    assert found == pytest.approx((SCORES / temperature).softmax(0).tolist(), abs=1e-3)


def test_only_the_likeliest_are_drawn_from() -> None:
    found = shares(SCORES, TokenSampling(top=2))
    expected = SCORES[[1, 3]].softmax(0).tolist()
    assert found == pytest.approx([0, expected[0], 0, expected[1]], abs=1e-3)
    assert shares(SCORES, TokenSampling(top=1)) == [0, 0, 0, 1]
    assert shares(SCORES, TokenSampling(top=99)) == shares(SCORES, TokenSampling())


def test_temperature_zero_and_nearly_zero_take_the_likeliest() -> None:
    for temperature in (0.0, 1e-300, 1e-9):
        for chance in (0.0, 0.5, math.nextafter(1, 0)):
            assert _draw(SCORES, TokenSampling(temperature=temperature), chance) == 3


def test_a_token_without_a_chance_is_never_drawn() -> None:
    scores = torch.tensor([1.0] * 7 + [float("-inf")], dtype=torch.float64)
    assert _draw(scores, TokenSampling(), math.nextafter(1, 0)) == 6
    assert _draw(scores.flip(0), TokenSampling(), 0.0) == 1


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"tokens": 0}, "tokens=0"),
        ({"temperature": -1.0}, "temperature=-1.0 must not be negative"),
        ({"temperature": math.inf}, "finite"),
        ({"top": 0}, "top=0"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidArgument, match=complaint):
        TokenSampling(**settings)


def test_a_model_from_a_folder_goes_on(tmp_path: Path) -> None:
    folder = folders.with_our_tokenizer(folders.llama(), tmp_path / "llama")
    model = load_model(str(folder), randomness=Randomness.reproducible(1))
    said = continue_text(model, "The patient", TokenSampling(tokens=5), Randomness.reproducible(2))
    assert said.startswith("The patient")
    assert len(said) > len("The patient")
