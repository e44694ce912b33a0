"""A language model as generator, and a sentence encoder for the votes; both are tiny."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import sfumato
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.synthesis.embedding import Embedding
from sfumato.synthesis.generator import build_generator
from sfumato.synthesis.model import ModelGenerator, _draw
from sfumato.synthesis.pool import PoolGenerator
from unit.mechanisms.rewriting.test_temperature import t5
from unit.models.folders import bert, gpt2, with_our_tokenizer, with_word_pieces

pytestmark = pytest.mark.usefixtures("small_vectors")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("models")
    torch.manual_seed(3)
    found = {}
    for name, model in (("causal", gpt2()), ("apart", t5())):
        for parameter in model.parameters():
            parameter.data *= 6
        found[name] = str(with_our_tokenizer(model, place / name))
    found["encoder"] = str(with_word_pieces(bert(), place / "encoder"))
    return found


@pytest.mark.parametrize("kind", ["causal", "apart"])
def test_a_model_writes_and_varies(folders: dict[str, str], kind: str) -> None:
    made = ModelGenerator(model=folders[kind], tokens=5, batch=3, prompt="A {label} film:")
    first = made.invent("good", 7, Randomness.reproducible(1))
    assert len(first) == 7
    assert first == made.invent("good", 7, Randomness.reproducible(1))
    assert len(set(first)) > 1
    assert all("\n" not in one and one.isprintable() for one in first)
    varied = made.vary(["The film was good", "A film"], "good", 5, Randomness.reproducible(2))
    assert len(varied) == 5
    assert made.vary([], "good", 5, Randomness.reproducible(2)) == []
    assert made.public_facts()["model"] == kind


def test_prompts_by_label(folders: dict[str, str], tmp_path: Path) -> None:
    table = tmp_path / "prompts.toml"
    table.write_text('good = "What I loved:"\n')
    made = ModelGenerator(model=folders["causal"], prompts=str(table))
    assert made._prompt("good") == "What I loved:"
    with pytest.raises(InvalidArgument, match="no prompt for the label 'bad'"):
        made._prompt("bad")
    table.write_text("good = 3\n")
    with pytest.raises(BadInput, match="a prompt for each label"):
        ModelGenerator(model=folders["causal"], prompts=str(table))._prompt("good")


def test_what_a_model_cannot_do_is_refused(folders: dict[str, str]) -> None:
    with pytest.raises(InvalidArgument, match="name its folder"):
        ModelGenerator()
    with pytest.raises(InvalidArgument, match="once, where the text stands"):
        ModelGenerator(model="m", variation="again")
    with pytest.raises(InvalidArgument, match="leave no room for a prompt"):
        ModelGenerator(model=folders["causal"], tokens=40).invent("", 1, Randomness.secure())


def test_tokens_are_drawn_from_the_likeliest() -> None:
    scores = np.array([0.0, 5.0, 4.0, -1.0])
    drawn = {_draw(scores, 1.0, 2, chance) for chance in np.linspace(0, 0.99, 50)}
    assert drawn == {1, 2}
    assert {_draw(scores, 0.01, 4, chance) for chance in np.linspace(0, 0.99, 50)} == {1}


def test_the_encoder_of_the_votes_is_that_of_the_pool(
    folders: dict[str, str], tmp_path: Path
) -> None:
    pool = tmp_path / "pool.txt"
    pool.write_text("the film was good\na film was bad\nthe film\nbad badly\ngood\n")
    own = build_generator("pool", {"pool": str(pool)}, encoder=folders["encoder"])
    assert isinstance(own, PoolGenerator)
    assert own.encoder == folders["encoder"]
    named = {"pool": str(pool), "encoder": "other"}
    other = build_generator("pool", named, encoder=folders["encoder"])
    assert isinstance(other, PoolGenerator)
    assert other.encoder == "other"


def test_private_texts_are_encoded_alone(folders: dict[str, str]) -> None:
    embedding = Embedding.of(folders["encoder"], [])
    texts = ["the film was good", "bad", "a film the film was badly bad"]
    together = embedding.private(texts, lambda _: None)
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(embedding.private([text], lambda _: None)[0], row)
    assert np.allclose(embedding.public(texts), together, atol=1e-5)


def test_all_of_it_together(folders: dict[str, str], tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    lines = [{"text": f"the film was {'good' if n % 2 else 'bad'}"} for n in range(300)]
    source.write_text("".join(json.dumps(one) + "\n" for one in lines))
    made = sfumato.synthesize(
        source,
        tmp_path / "out.jsonl",
        generator="model",
        settings={"model": folders["causal"], "tokens": 4, "prompt": "The film"},
        encoder=folders["encoder"],
        epsilon=4,
        texts=3,
        candidates=8,
    )
    assert made.summary["settings"]["encoder"] == "encoder"
    assert made.texts == len((tmp_path / "out.jsonl").read_text().splitlines()) == 3


@pytest.mark.resources
def test_a_real_model_writes_and_paraphrases(resources: Path) -> None:
    model = str(resources / "models" / "stories15m")
    made = ModelGenerator(model=model, tokens=10, top=20, prompt="Once upon a time, there was a")
    texts = made.invent("", 6, Randomness.reproducible(1))
    assert len(set(texts)) > 3
    assert all(len(one.split()) >= 3 for one in texts)
    assert len(made.vary(texts[:2], "", 3, Randomness.reproducible(2))) == 3
