"""``explain_word`` and ``compare_words``, and the options of ``explain`` for one word."""

from __future__ import annotations

import json

import pytest

import sfumato
from sfumato.cli.main import main
from sfumato.core.errors import InvalidArgument

TEXT = "Ask Ada Lovelace of Ohrdruf on 3 May 2021."


def test_a_word_by_itself() -> None:
    found = sfumato.explain_word("London", mechanism="laplace", epsilon=1e6, draws=20, seed=1)
    assert found.stays is not None
    assert (found.stays.value, found.known, found.epsilon) == (1.0, True, 1e6)


def test_a_word_of_a_text_is_treated_as_it_was_found() -> None:
    name = sfumato.explain_word("ada", text=TEXT)
    assert (name.word, name.label, name.epsilon) == ("Ada Lovelace", "PERSON", 0.0)
    assert len(name.examples) == 8
    assert "Ada Lovelace" not in name.examples
    places = [sfumato.explain_word(place, text=TEXT) for place in (1, 2, 3)]
    assert [one.word for one in places] == ["Ada Lovelace", "Ohrdruf", "3 May 2021"]
    assert places[2].epsilon == 0.1
    assert "days" in places[2].notes[0]


def test_a_type_may_be_named_without_a_text() -> None:
    assert sfumato.explain_word("Ada", label="PERSON", seed=3).epsilon == 0.0


def test_a_level_of_its_own_needs_the_text() -> None:
    levels = [(3.0, "digits"), (9.0, "everything")]
    found = sfumato.explain_word("12", text="Room 12", level=levels, mechanism="laplace", draws=10)
    assert found.epsilon == 3.0
    with pytest.raises(InvalidArgument, match="depends on the text"):
        sfumato.explain_word("12", level=levels, mechanism="laplace")


@pytest.mark.parametrize("word", ["Ask", "nowhere", 9, 0])
def test_what_is_not_replaced_cannot_be_looked_at(word: str | int) -> None:
    with pytest.raises(InvalidArgument, match="3 places") as raised:
        sfumato.explain_word(word, text=TEXT)
    assert str(word) not in str(raised.value) or isinstance(word, int)


def test_nothing_to_look_at() -> None:
    with pytest.raises(InvalidArgument, match="give the word"):
        sfumato.explain_word(1)
    with pytest.raises(InvalidArgument, match="give the word"):
        sfumato.explain_word("")


def test_two_mechanisms_at_equal_epsilon_and_equal_chance() -> None:
    found = sfumato.compare_words("London aspirin, London", epsilon=6, draws=20, seed=2)
    assert found.equal_chance is not None
    first, second = found.equal_epsilon
    same, equal = found.equal_chance
    assert same is first
    assert (first.epsilon, second.epsilon) == (6, 6)
    assert equal.epsilon < 6
    assert equal.public.median == pytest.approx(first.public.median, abs=1e-6)
    assert [one.word for one in equal.views] == ["London", "aspirin"]
    assert second.stays > 0.9 > first.stays
    assert "ondon" not in repr(found)
    assert "ondon" not in found._repr_html_()
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["reason"] is None


def test_where_no_level_does_as_much_that_is_said() -> None:
    found = sfumato.compare_words("London", ["laplace", "sanitize-plus"], epsilon=6, draws=10)
    assert found.equal_chance is None
    assert "ranges from 0.7000 to 0.7000" in (found.reason or "")


def test_comparisons_that_cannot_be_made() -> None:
    with pytest.raises(InvalidArgument, match="two are compared"):
        sfumato.compare_words("London", "laplace", epsilon=5)
    with pytest.raises(InvalidArgument, match="no word"):
        sfumato.compare_words("...", epsilon=5)
    with pytest.raises(InvalidArgument, match="too many"):
        sfumato.compare_words(" ".join(map(str, range(50))), epsilon=5)
    with pytest.raises(InvalidArgument, match="has no curve"):
        sfumato.compare_words("London", ["laplace", "redact"], epsilon=5)


def test_the_command_prints_bars_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["explain", "Ask London", "-m", "laplace", "-e", "20", "--draws", "30"]
    assert main([*command, "--word", "london", "--most", "3"]) == 0
    said = capsys.readouterr().out
    assert "█" in said
    assert "The guess is right with" in said
    assert main([*command, "--focus", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["word"] == "London"
    assert main([*command, "--focus", "2", "--word", "london"]) == 2
    assert main([*command, "--word", "Ohrdruf"]) == 2
    assert "Ohrdruf" not in capsys.readouterr().err


def test_the_command_prints_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", TEXT, "--focus", "1"]) == 0
    assert "For example" in capsys.readouterr().out
