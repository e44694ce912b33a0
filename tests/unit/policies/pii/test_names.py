"""The list of names: what is in it, and that it can be read whatever the accents."""

from __future__ import annotations

from importlib.resources import files

import pytest

from sfumato.policies.pii.names import list_names, plain, sections


def test_the_list_is_small_and_says_where_it_comes_from() -> None:
    data = files("sfumato.policies.pii").joinpath("names.txt").read_bytes()
    assert len(data) <= 150_000
    assert b"public domain" in data[:700]


def test_every_entry_is_in_the_form_in_which_it_is_looked_up() -> None:
    names = list_names()
    for section in (names.alone, names.paired, names.surnames, names.words):
        assert len(section) > 2_000
        assert all(plain(name) == name for name in section)


def test_no_name_is_in_two_sections() -> None:
    names = list_names()
    assert not names.alone & names.paired
    assert not names.alone & names.words


@pytest.mark.parametrize("name", ["deborah", "anneke", "fatima", "wojciech", "kwame", "keiko"])
def test_given_names_of_many_languages_stand_alone(name: str) -> None:
    assert name in list_names().alone


@pytest.mark.parametrize(
    "word", ["may", "mark", "rose", "will", "grant", "paris", "sydney", "hope"]
)
def test_names_that_are_words_or_places_need_company(word: str) -> None:
    assert word not in list_names().alone


@pytest.mark.parametrize(
    ("word", "expected"),
    [("Łukasz", "lukasz"), ("Zoë", "zoe"), ("GROß", "gross"), ("Øyvind", "oyvind"), ("Ann", "ann")],
)
def test_words_are_looked_up_without_accents(word: str, expected: str) -> None:
    assert plain(word) == expected


def test_sections_leave_comments_out() -> None:
    assert sections("# note\n[a]\nx y\n[b]\nz\n") == {"a": ["x", "y"], "b": ["z"]}
