"""Explaining one text to whoever owns it."""

from __future__ import annotations

from sfumato.releases.explanation import explained
from sfumato.releases.privatizer import Privatizer


def test_each_selected_word_has_a_cause_a_replacement_and_a_probability() -> None:
    privatizer = Privatizer(policy="digits", epsilon=1e6)
    explanation = explained(privatizer, "Room 12, code 145572", draws=50)
    room, code = explanation.words
    assert (room.original, room.replacement, room.kept.value) == ("12", "12", 1.0)
    assert (room.rule, room.label, room.known) == ("digits", "NUMBER", True)
    assert (code.known, code.kept.value) == (False, 0.0)
    assert explanation.text.startswith("Room 12, code ")
    assert "145572" not in explanation.text


def test_kept_unknown_words_stay_for_certain() -> None:
    privatizer = Privatizer(policy="digits", epsilon=1.0, unknown="keep")
    explanation = explained(privatizer, "code 145572", draws=50)
    assert explanation.words[0].kept.value == 1.0
    assert any("1 selected" in line for line in explanation.guarantee.uncovered)
