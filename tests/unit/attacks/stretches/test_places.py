"""Documents are cut where something was found, whatever was put in there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.attacks.stretches.places import align, cut_documents, places_of
from sfumato.core.errors import BadInput
from sfumato.policies.lexicon import Lexicon
from sfumato.text.document import Document

POLICY = Lexicon(("ada", "bob", "7"))


def test_the_replacement_is_what_stands_between_what_stayed() -> None:
    before = [Document("Ask Ada at 7, or Bob."), Document("Nobody here.")]
    after = [Document("Ask [NAME] at noon, or Mr B. of C."), Document("Nobody here.")]
    found = places_of(cut_documents(before, after, POLICY))
    assert [(one.original, one.replacement) for one in found] == [
        ("Ada", "[NAME]"), ("7", "noon"), ("Bob", "Mr B. of C")]  # fmt: skip
    assert [one.document for one in found] == [0, 0, 0]
    assert found[0].around == ("ask", "at")
    assert found[2].elsewhere == {"ask", "at", "or"}


def test_other_originals_or_another_policy_are_refused() -> None:
    with pytest.raises(BadInput, match="document 1: the text around"):
        cut_documents([Document("Ask Ada.")], [Document("Tell Eve.")], POLICY)
    with pytest.raises(BadInput, match="the same documents"):
        cut_documents([Document("Ask Ada.")], [], POLICY)


def test_of_several_cuts_the_one_of_like_lengths_is_taken() -> None:
    # " at " occurs twice; the name is short and the place is long.
    assert align(["", " at ", "."], [3, 12], "Eve at home at last.") == ["Eve", "home at last"]
    assert align(["", " at ", "."], [12, 3], "Eve at home at last.") == ["Eve at home", "last"]


def test_nothing_found_and_nothing_left() -> None:
    assert align(["same"], [], "same") == []
    assert align(["same"], [], "same and more") is None
    assert align(["", ""], [3], "") == [""]


@given(
    st.lists(st.text("ab ", max_size=5), min_size=1, max_size=5),
    st.data(),
)
def test_a_text_made_of_the_pieces_is_always_cut(pieces: list[str], data: st.DataObject) -> None:
    between = [data.draw(st.text("ab ", max_size=6)) for _ in pieces[1:]]
    text = pieces[0] + "".join(a + b for a, b in zip(between, pieces[1:], strict=True))
    found = align(pieces, [len(one) for one in between], text)
    assert found is not None
    again = pieces[0] + "".join(a + b for a, b in zip(found, pieces[1:], strict=True))
    assert again == text
    # Like lengths were there to be found, so they are.
    assert sum(abs(len(a) - len(b)) for a, b in zip(found, between, strict=True)) == 0
