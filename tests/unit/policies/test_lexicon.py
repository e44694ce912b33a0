"""Entries are found on word boundaries, fast for long lists, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.errors import MalformedRecord, StorageFailed, UndecodableText
from sfumato.policies.lexicon import LONGEST_PHRASE, Lexicon
from sfumato.text.document import Document


def found(lexicon: Lexicon, text: str) -> list[str]:
    return [text[span.start : span.end] for span in lexicon.find(Document(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Meet ADA at noon", ["ADA"]),
        ("Adamant people", []),
        ("new  york and New-York", ["new  york", "New-York"]),
        ("in New York City now", ["New York City"]),
        ("Zoe\u0308 came", ["Zoe\u0308"]),
        ("nothing here", []),
        ("", []),
    ],
)
def test_words_and_phrases_are_found_on_word_boundaries(text: str, expected: list[str]) -> None:
    assert found(Lexicon(("ada", "New York", "new york city", "Zo\u00eb")), text) == expected


def test_case_counts_when_asked() -> None:
    assert found(Lexicon(("May",), case_sensitive=True), "may I in May") == ["May"]


def test_a_phrase_at_the_end_of_the_text_is_not_read_past() -> None:
    assert found(Lexicon(("ada lovelace byron", "ada")), "it was ada") == ["ada"]


def test_a_file_has_one_entry_per_line(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_bytes("\ufeffAda\r\n\r\n  Charles Babbage \n".encode())
    assert found(Lexicon.from_file(path), "ada and charles babbage") == ["ada", "charles babbage"]


def test_errors_name_the_line_and_never_the_entry(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("fine\n" + "secret " * (LONGEST_PHRASE + 1))
    with pytest.raises(MalformedRecord, match="line 2") as caught:
        Lexicon.from_file(path)
    assert "secret" not in str(caught.value)
    with pytest.raises(MalformedRecord, match="entry 1"):
        Lexicon(("!!!",))


def test_a_file_that_cannot_be_read_is_refused_without_its_bytes(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"nowhere\.txt"):
        Lexicon.from_file(tmp_path / "nowhere.txt")
    path = tmp_path / "latin.txt"
    path.write_bytes(b"secret \xff\n")
    with pytest.raises(UndecodableText) as caught:
        Lexicon.from_file(path)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_entries_stay_out_of_repr() -> None:
    lexicon = Lexicon(("secretword",))
    assert "secretword" not in repr(lexicon)
    assert lexicon.name == "lexicon"


def test_a_hundred_thousand_entries_cost_one_look_per_word() -> None:
    class Counting(dict[str, tuple[int, ...]]):
        looks = 0

        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            Counting.looks += 1
            return super().get(key, default)

    lexicon = Lexicon(tuple(f"name{number}" for number in range(100_000)))
    lengths, phrases = lexicon._index
    lexicon.__dict__["_index"] = (Counting(lengths), phrases)
    text = " ".join(f"name{number} other" for number in range(99_990, 100_010))
    assert len(lexicon.find(Document(text))) == 10
    assert Counting.looks == 40


@given(st.text(max_size=60), st.text(max_size=60))
def test_an_entry_is_found_in_any_text_around_it(before: str, after: str) -> None:
    text = f"{before} quixotic {after}"
    assert "quixotic" in found(Lexicon(("Quixotic",)), text)
