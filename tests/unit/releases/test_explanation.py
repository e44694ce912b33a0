"""Explaining one text to whoever owns it."""

from __future__ import annotations

import pytest

from sfumato.cli.main import main
from sfumato.releases.explanation import explain_text
from sfumato.releases.privatizer import Privatizer


def test_each_selected_word_has_a_cause_a_replacement_and_a_probability() -> None:
    privatizer = Privatizer(policy="digits", mechanism="laplace", epsilon=1e6)
    explanation = explain_text(privatizer, "Room 12, code 145572", draws=50)
    room, code = explanation.words
    assert room.kept is not None
    assert code.kept is not None
    assert (room.original, room.replacement, room.kept.value) == ("12", "12", 1.0)
    assert (room.rule, room.label, room.known) == ("digits", "NUMBER", True)
    assert (code.known, code.kept.value) == (False, 0.0)
    assert explanation.text.startswith("Room 12, code ")
    assert "145572" not in explanation.text


def test_kept_unknown_words_stay_for_certain() -> None:
    privatizer = Privatizer(policy="digits", mechanism="laplace", epsilon=1.0, unknown="keep")
    explanation = explain_text(privatizer, "code 145572", draws=50)
    assert explanation.words[0].kept is not None
    assert explanation.words[0].kept.value == 1.0
    assert any("1 selected" in line for line in explanation.guarantee.uncovered)


def test_a_baseline_is_explained_stretch_by_stretch_without_a_probability() -> None:
    privatizer = Privatizer(policy="pii", mechanism="redact")
    explanation = explain_text(privatizer, "Ask Ada Lovelace, or 555-0142.")
    name, number = explanation.words
    assert (name.original, name.replacement, name.label) == ("Ada Lovelace", "[PERSON]", "PERSON")
    assert (name.kept, name.known, name.epsilon) == (None, None, None)
    assert (number.original, number.replacement) == ("555-0142", "[PHONE]")
    assert name.rule
    assert name.reason
    assert explanation.text == "Ask [PERSON], or [PHONE]."
    assert explanation.guarantee.sentence().startswith(
        "For every stretch that the policy 'pii' selects"
    )


def test_levels_are_explained_with_the_level_of_each_word() -> None:
    privatizer = Privatizer(levels=[(1e6, "everything"), (0.1, "digits")])
    explanation = explain_text(privatizer, "Room 12", draws=20)
    room, number = explanation.words
    assert (room.epsilon, room.rule, room.kept.value if room.kept else 0) == (
        1e6,
        "everything",
        1.0,
    )
    assert (number.epsilon, number.rule) == (0.1, "digits")
    assert number.kept is not None
    assert number.kept.value < 0.9
    assert explanation.text == f"room {number.replacement}"


def test_surrogates_and_words_stand_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["explain", "Ada Lovelace paid 45", "-p", "pii", "-p", "digits", "--epsilon", "3"]
    assert main(given) == 0
    said = capsys.readouterr().out
    assert "stays with" in said
    assert "level" in said
    assert "sfumato privatize IN --dry-run" in said
    assert main(["explain", "nothing to see"]) == 0
    assert "Nothing is selected" in capsys.readouterr().out
