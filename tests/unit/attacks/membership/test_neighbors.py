"""Neighbors differ in one word, and the rest is as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.membership.evidence import Evidence
from sfumato.attacks.membership.neighbors import (
    NEAREST,
    from_masked_model,
    from_vectors,
    load_masked,
)
from sfumato.attacks.membership.signals import neighborhood
from sfumato.core.errors import BadInput, InvalidArgument, MissingModel
from sfumato.core.randomness import Randomness
from sfumato.text.words import Words
from sfumato.vectors.space import Space
from unit.attacks.membership.small import table
from unit.models.folders import gpt2, masked_bert, with_our_tokenizer, with_word_pieces


def changed(text: str, other: str) -> list[tuple[str, str]]:
    """The words that differ."""
    pairs = zip(Words.of(text), Words.of(other), strict=True)
    return [(one, two) for one, two in pairs if one != two]


def test_one_word_is_replaced_by_a_near_one(small_space: Space) -> None:
    text = "Paris,\tthe cat! 🦊 and QUARK…"
    found = from_vectors([text], small_space, 9)[0]
    assert len(found) == len(set(found)) == 9
    for other in found:
        ((old, new),) = changed(text, other)
        assert old in {"Paris", "cat", "QUARK"}
        assert new.casefold() in small_space.words
        if new.isalpha():
            assert (old.istitle(), old.isupper()) == (new.istitle(), new.isupper())
        assert text.replace(old, new) == other
    first = dict(changed(text, other)[0] for other in found[:3])
    assert first["cat"] == "dog"
    assert first["Paris"].lower() in {"rome", "berlin", "madrid", "vienna", "lisbon", "athens"}


def test_places_are_spread_over_the_text(small_space: Space) -> None:
    text = " ".join(["rome"] * 50 + ["cat"] * 50)
    assert {changed(text, other)[0][0] for other in from_vectors([text], small_space, 4)[0]} == {
        "rome",
        "cat",
    }


def test_the_nearest_are_the_nearest(random_space: Space) -> None:
    word = random_space.words[20]
    distances = random_space.distances_from(20)
    nearest = [random_space.words[place] for place in np.argsort(distances)[1 : NEAREST + 1]]
    assert from_vectors([word], random_space, 99)[0] == nearest


@pytest.mark.parametrize("text", ["", "🦊🐻‍❄️ !!", "Atlantis xyzzy"])
def test_a_text_without_a_known_word_has_no_neighbors(small_space: Space, text: str) -> None:
    assert from_vectors([text, "cat"], small_space, 3)[0] == []


def test_the_signal_is_how_much_worse_the_neighbors_are() -> None:
    given = Evidence(texts=("a", "b"), target=table([-1.0], [-2.0]), around=np.array([4.0, np.nan]))
    found = neighborhood(given)
    assert found[0] == 3.0
    assert np.isnan(found[1])
    with pytest.raises(InvalidArgument, match="neighbors"):
        neighborhood(Evidence(texts=("a",), target=table([-1.0])))


def test_a_masked_model_replaces_one_word(tmp_path: Path) -> None:
    model = load_masked(with_word_pieces(masked_bert(), tmp_path))
    texts = ["the film was good", "badly", "", "🦊", "the film, the film! " * 20]
    found = from_masked_model(texts, model, 6, Randomness.reproducible(1))
    assert [len(some) for some in found] == [6, 0, 0, 0, 6]
    for text, some in zip(texts, found, strict=True):
        assert len(set(some)) == len(some)
        for other in some:
            ((old, new),) = changed(text, other)
            assert new in {"the", "film", "was", "good", "bad", "a"}
            assert old != new


def test_what_is_no_masked_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="masked language model"):
        load_masked(with_our_tokenizer(gpt2(), tmp_path / "gpt2"))
    with pytest.raises(MissingModel):
        load_masked(tmp_path / "nowhere")
