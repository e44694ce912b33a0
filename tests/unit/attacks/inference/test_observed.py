"""Word by word: what stands where, and documents that do not fit named by their number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.inference.observed import pair_words
from sfumato.core.errors import BadInput
from sfumato.text.document import Document
from sfumato.text.words import Words

VOCABULARY = {"cd", "e", "...", "o'clock!", "x.y", "a b"}


def known(word: str) -> bool:
    return word in VOCABULARY


def replacements(before: str, after: str) -> list[str]:
    pair = pair_words([Document(before)], [Document(after)], known)[0]
    gaps = [pair.gap(index) for index in range(len(pair.words))]
    words = Words.of(before)
    edges = [0, *words.ends]
    assert gaps == [before[end:start] for end, start in zip(edges, words.starts, strict=False)]
    return [pair.replacement(index) for index in range(len(words))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", []),
        ("  !", "  !", []),
        ("Room 12.", "Room nine.", ["Room", "nine"]),
        ("12.ab", "cd.ab", ["cd", "ab"]),  # as one segment after, two before
        ("we ate", "... o'clock!", ["...", "o'clock!"]),
        ("we, ate", "a b, x.y", ["a b", "x.y"]),
        ("日本", "cde", ["cd", "e"]),  # no gap between them
    ],
)
def test_places_are_found(before: str, after: str, expected: list[str]) -> None:
    assert replacements(before, after) == expected


@given(st.lists(st.tuples(st.sampled_from(["one", "2", "three"]), st.sampled_from(
    [" ", ". ", ", ", "\n", "-"])), max_size=8), st.data())  # fmt: skip
def test_any_text_of_replaced_words_is_read(
    pieces: list[tuple[str, str]], data: st.DataObject
) -> None:
    chosen = [
        data.draw(
            st.sampled_from(
                sorted({*VOCABULARY, word}),
            )
        )
        for word, _ in pieces
    ]
    before = "".join(word + gap for word, gap in pieces)
    after = "".join(word + gap for word, (_, gap) in zip(chosen, pieces, strict=True))
    # Other readings may exist; whichever is found has the same gaps and covers the whole.
    found = replacements(before, after)
    assert len(found) == len(pieces)
    assert all(known(new) or new == old for new, (old, _) in zip(found, pieces, strict=True))


@pytest.mark.parametrize("after", ["secret text here", "My ID is cd", "My  ID is 7.", "e"])
def test_another_text_is_refused_by_its_number(after: str) -> None:
    documents = [Document("fine"), Document("My ID is 145572.")]
    with pytest.raises(BadInput, match="document 2 cannot be") as caught:
        pair_words(documents, [Document("fine"), Document(after)], known)
    assert "145572" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_numbers_and_ids_must_agree() -> None:
    with pytest.raises(BadInput, match=r"the originals are 2 documents and .* has 1"):
        pair_words([Document("a"), Document("b")], [Document("a")], known)
    one, other = Document("a", id="secret-1"), Document("a", id="secret-2")
    with pytest.raises(BadInput, match="document 1 has another id") as caught:
        pair_words([one], [other], known)
    assert "secret" not in str(caught.value)
    assert pair_words([one], [Document("a")], known)
