"""The space that comes with the package: small, useful, and free of personal data."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import numpy as np
import pytest

from sfumato.text.words import Words
from sfumato.vectors import load as embedded
from sfumato.vectors.load import default_space, load_vectors

DATA = Path(embedded.__file__).parent / "data"


def test_it_is_small_on_disk() -> None:
    files = [path for path in DATA.iterdir() if path.stem.startswith(embedded.NAME)]
    assert len(files) >= 2
    assert sum(path.stat().st_size for path in files) <= 8_000_000


def test_it_holds_about_sixty_thousand_words_in_fifty_dimensions() -> None:
    space = default_space()
    assert 55_000 <= len(space) <= 65_000
    assert space.dimension == 50
    assert space.name == "glove-6b-50d"


def test_it_is_loaded_once() -> None:
    assert default_space() is default_space()


def test_numbers_are_among_its_words() -> None:
    space = default_space()
    assert all(space.point_of(word) < space.unknown for word in ("7", "12", "100", "1999"))
    assert sum(word.isdigit() for word in space.words) > 500


def test_every_entry_is_exactly_one_word() -> None:
    # Otherwise a replaced text would not have as many words as the original.
    assert [word for word in default_space().words if list(Words.of(word)) != [word]] == []


def test_every_entry_stands_once_and_is_found_at_its_place() -> None:
    space = default_space()
    assert len(set(space.words)) == len(space)
    assert (space.points(space.words) == np.arange(len(space))).all()


@pytest.mark.parametrize(
    "pattern",
    [
        r"@",
        r"\d{7,}",
        r"(?:\d\D?){7,}",
        r"\w\.[a-z]{2,}",
        r"^www\W|^https?\W",
        r"[\s/\\]",
    ],
)
def test_no_entry_looks_like_an_address_a_long_number_or_a_host(pattern: str) -> None:
    # The raw list holds telephone numbers, e-mail addresses and web sites of real people.
    wrong = [word for word in default_space().words if re.search(pattern, word)]
    assert len(wrong) == 0


@pytest.mark.parametrize("word", ["the", "london", "aspirin", "monday", "paris"])
def test_common_words_are_known(word: str) -> None:
    space = default_space()
    assert space.point_of(word) == space.point_of(word.upper()) < space.unknown


def test_near_words_are_near_in_meaning() -> None:
    # Rows and words that had slipped against each other would not show in any other test.
    space = default_space()
    order = space.distances_from(space.point_of("monday")).argsort()[:5]
    assert {space.words[point] for point in order.tolist()} <= {
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"
    }  # fmt: skip


def test_the_centroid_is_not_an_output() -> None:
    space = default_space()
    assert space.unknown == len(space)
    assert space.distances_from(space.unknown).min() > 0.1


@pytest.mark.resources
def test_its_vectors_are_rows_of_glove(resources: Path) -> None:
    glove = load_vectors(resources / "vectors" / "glove-6b-50d.npy")
    space = default_space()
    for word in ("the", "london", "aspirin", "12"):
        mine, theirs = space.point_of(word), glove.point_of(word)
        assert (space.vectors[mine] == glove.vectors[theirs]).all()


def test_no_slur_can_stand_in_somebodys_text() -> None:
    # In rot13, so that nobody has to read them.
    hidden = "avttre shpx fuvg juber ovgpu"
    assert not set(codecs.decode(hidden, "rot13").split()) & set(default_space().words)
