"""Broader words of a public hierarchy: what hides, and what does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sfumato.core.errors import BadInput, InvalidArgument, MissingModel
from sfumato.core.randomness import Randomness
from sfumato.mechanisms import hierarchy
from sfumato.mechanisms.generalize import Generalize
from sfumato.mechanisms.hierarchy import Listed, WordNetNouns
from sfumato.text.span import Span, Stretch


def replaced(made: Generalize, *texts: str) -> list[str]:
    stretches = [Stretch(0, len(one), one, Span(0, len(one), "THING")) for one in texts]
    return made.replace(stretches, Randomness.secure())


def test_a_word_becomes_a_broader_one_and_what_is_unknown_a_mask() -> None:
    assert replaced(Generalize(), "Aspirin", "acute bronchitis", "Ada Lovelace", "") == [
        "painkiller", "infection", "[THING]", "[THING]",
    ]  # fmt: skip
    assert replaced(Generalize(steps=2), "aspirin", "nurse") == ["medicine", "worker"]
    # More steps than the hierarchy is high: its top.
    assert replaced(Generalize(steps=9), "aspirin") == ["thing"]


def hidden(made: Generalize, words: list[str]) -> dict[str, int]:
    """How many of some words share each output."""
    found = replaced(made, *words)
    return {one: found.count(one) for one in found}


WORDS = [
    "aspirin",
    "ibuprofen",
    "codeine",
    "morphine",
    "penicillin",
    "doxycycline",
    "insulin",
    "statin",
]


def test_words_of_one_generalization_look_the_same() -> None:
    assert hidden(Generalize(among=8), WORDS) == {"medicine": len(WORDS)}
    # Nothing that is broad enough: a mask, and no narrower word.
    assert replaced(Generalize(among=10_000), "aspirin") == ["[THING]"]


def test_twin_without_among_a_few_words_stand_out() -> None:
    assert min(hidden(Generalize(), WORDS).values()) < 4


def crowds(made: Generalize) -> dict[str, int]:
    """How many words of the whole hierarchy share each output that is no mask."""
    found = hidden(made, list(made.tree.words()))
    found.pop("[THING]", None)
    return found


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("among", [1, 2, 3, 5, 20, 60])
def test_so_many_words_share_every_generalization(steps: int, among: int) -> None:
    found = crowds(Generalize(steps=steps, among=among))
    assert found
    assert min(found.values()) >= among


def test_twin_words_that_stand_below_need_not_share_it(tmp_path: Path) -> None:
    path = tmp_path / "tree.tsv"
    path.write_text("a1\ta\na2\ta\na3\ta\na\ttop\n", encoding="utf-8")
    made = Generalize(hierarchy=str(path), among=3)
    # Four words stand below the top, and three of them are generalized further down.
    assert replaced(made, "a1", "a2", "a3", "a") == ["a", "a", "a", "[THING]"]
    assert crowds(Generalize(hierarchy=str(path), among=4)) == {"top": 4}
    assert min(crowds(Generalize(hierarchy=str(path))).values()) == 1


def test_nothing_is_promised_and_what_shows_is_said() -> None:
    stated = Generalize().guarantee()
    assert not stated.for_release
    assert any("told apart for certain" in leak for leak in stated.leaks)


def test_a_hierarchy_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tree.tsv"
    path.write_text("# mine\nOak\tTree\n", encoding="utf-8")
    assert replaced(Generalize(hierarchy=str(path)), "oak") == ["tree"]
    path.with_name("bad.tsv").write_text("oak tree\n", encoding="utf-8")
    with pytest.raises(BadInput, match="a tab"):
        replaced(Generalize(hierarchy=str(path.with_name("bad.tsv"))), "oak")
    with pytest.raises(BadInput, match="back to itself"):
        Listed({"a": "b", "b": "a"})
    with pytest.raises(InvalidArgument, match="steps"):
        Generalize(steps=0)


def test_without_wordnet_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise LookupError

    monkeypatch.setattr("nltk.corpus.wordnet", SimpleNamespace(ensure_loaded=missing))
    hierarchy.load_hierarchy.cache_clear()
    with pytest.raises(MissingModel, match="NLTK_DATA"):
        replaced(Generalize(hierarchy="wordnet"), "aspirin")


@pytest.mark.resources
def test_wordnet(resources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk
    from nltk.corpus import wordnet

    monkeypatch.setattr(nltk.data, "path", [str(resources / "nltk_data")])
    tree = WordNetNouns(wordnet)
    aspirin = tree.place("aspirin")
    assert aspirin is not None
    assert tree.called(tree.broader(aspirin) or "") == "analgesic"
    assert tree.place("xqzzt") is None
    # A word is generalized by its first sense, whatever was looked up before it.
    made = Generalize(hierarchy="wordnet")
    assert replaced(made, "antidiuretic", "medicine") == ["medicine", "medical science"]
    assert replaced(made, "medicine") == ["medical science"]


class _Synset:
    """A synset that names those above it in a given order, as a set of nltk's may."""

    def __init__(self, name: str, offset: int, above: list[_Synset]) -> None:
        self._name, self._offset, self._above = name, offset, above

    def name(self) -> str:
        return self._name

    def offset(self) -> int:
        return self._offset

    def hypernyms(self) -> list[_Synset]:
        return self._above


def test_of_several_broader_words_it_is_the_same_in_every_process() -> None:
    first, second = _Synset("analgesic.n.01", 7, []), _Synset("salicylate.n.01", 9, [])
    for above in ([first, second], [second, first]):
        aspirin = _Synset("aspirin.n.01", 8, above)
        tree = WordNetNouns(SimpleNamespace(NOUN="n", synsets=lambda *_, one=aspirin, **__: [one]))
        assert tree.broader(tree.place("aspirin") or "") == "analgesic.n.01"
