"""Tokenizers from counts: as good as the library's from texts, and exact for every text."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models

from plugins import installed
from sfumato.core.errors import InvalidArgument, UnknownName
from sfumato.core.randomness import Randomness
from sfumato.corpora.customersim import generate_customersim
from sfumato.models.bpe import as_tokenizer, learn_merges, with_digits_apart
from sfumato.models.learned import INSIDE, Bpe, WordPiece, byte_words, find_kind, spell_bytes
from sfumato.models.merges import learn_pairs
from sfumato.models.tokenizer import Tokenizer

TEXTS = [one.document.text for one in generate_customersim(60, Randomness.reproducible(1))]
COUNTS = Counter(word for text in TEXTS for word in byte_words(text))
HARD = "‿ein ##x 😀  \n\t ü\x00 <|endoftext|> ١٢ 12ab " + INSIDE


def tokens(tokenizer: Tokenizer) -> int:
    return sum(map(len, tokenizer.encode_many(TEXTS)))


@pytest.fixture(scope="module", params=[Bpe(), WordPiece()], ids=lambda one: one.name)
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(scope="module")
def learned(kind: Any) -> Tokenizer:
    made: Tokenizer = kind.learn(COUNTS, 900)
    return made


def test_a_tokenizer_has_the_size_that_was_asked_for(kind: Any, learned: Tokenizer) -> None:
    assert learned.size == 900
    assert kind.learn({}, kind.smallest).size == kind.smallest
    with pytest.raises(InvalidArgument, match="size="):
        kind.learn(COUNTS, kind.smallest - 1)


@settings(max_examples=25)
@given(st.text())
def test_all_text_comes_back(text: str) -> None:
    for made in (BPE, WORDPIECE):
        assert made.decode(made.encode(text)) == text


BPE, WORDPIECE = Bpe().learn(COUNTS, 700), WordPiece().learn(COUNTS, 900)


def test_hard_text_comes_back_and_numbers_stay_digits(learned: Tokenizer) -> None:
    assert learned.decode(learned.encode(HARD)) == HARD
    for long in ("x" * 30_000, "ü" * 999, "-" * 129):  # no word is too long to be cut into pieces
        assert learned.decode(learned.encode(long)) == long
    assert len(learned.encode("5551234")) == 7


def test_counts_do_what_texts_do_in_the_library() -> None:
    ours = Bpe().learn(COUNTS, 900)
    theirs = as_tokenizer(learn_merges(TEXTS, size=900), name="theirs")
    assert abs(tokens(ours) / tokens(theirs) - 1) < 0.002
    shared = set(ours.backend.get_vocab()) & set(theirs.backend.get_vocab())
    assert len(shared) > 800  # equally frequent pairs are joined in another order


def test_only_ratios_of_counts_matter_and_fractions_are_counts() -> None:
    halves = {word: count / 2 for word, count in COUNTS.items()}
    assert Bpe().learn(halves, 500).backend.get_vocab() == (
        Bpe().learn(dict(reversed(COUNTS.items())), 500).backend.get_vocab()
    )


def test_pairs_are_joined_as_a_naive_loop_joins_them() -> None:
    words = {tuple(word): count for word, count in list(COUNTS.items())[:80]}
    words[tuple("aaaaa")] = 7
    words[tuple("ababab")] = 5
    assert learn_pairs(words, 60) == naive_pairs(words, 60)


def naive_pairs(words: dict[tuple[str, ...], int], wanted: int) -> list[tuple[str, str]]:
    pieces = {word: list(word) for word in words}
    found: list[tuple[str, str]] = []
    made: set[str] = set()
    while len(made) < wanted:
        counts: Counter[tuple[str, str]] = Counter()
        for word, now in pieces.items():
            for pair in pairwise(now):
                counts[pair] += words[word]
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        found.append(best)
        made.add("".join(best))
        for word, now in pieces.items():
            joined: list[str] = []
            for piece in now:
                if joined and (joined[-1], piece) == best:
                    joined[-1] = "".join(best) + "\0"  # not to be joined again in this round
                else:
                    joined.append(piece)
            pieces[word] = [one.rstrip("\0") for one in joined]
    return found


def test_words_are_cut_by_a_rule_of_each_text_alone() -> None:
    assert byte_words("In 14 days, ja?") == ["In", "Ġdays", "Ġja"]
    assert byte_words("") == []
    assert [spell_bytes(word) for word in byte_words("Grüße an 😀")] == ["Grüße", " an", " 😀"]


def library_words(text: str) -> list[str]:
    cutting = with_digits_apart(models.BPE()).pre_tokenizer
    return [word for word, _ in cutting.pre_tokenize_str(text) if len(word) > 1]


# Characters that a version of Unicode has added are letters for one library and none for another.
KNOWN = st.text(st.characters(exclude_categories=["Cn", "Cs"]))


@given(KNOWN | st.text(alphabet="ab '\n\t 1½١.,-’üß😀\u00a0\u2009s") | st.just(TEXTS[0]))
def test_words_are_those_of_the_library(text: str) -> None:
    assert byte_words(text) == library_words(text)


def test_kinds_are_found_by_name_and_added_by_others(tmp_path: Path) -> None:
    assert find_kind("bpe") == Bpe()
    with pytest.raises(UnknownName, match="did you mean 'wordpiece'"):
        find_kind("word-piece")
    source = """
        from dataclasses import dataclass
        from typing import ClassVar

        from sfumato.models import Bpe

        @dataclass(frozen=True)
        class Shouting(Bpe):
            '''Counts words in capitals only.'''

            name: ClassVar[str] = "shouting"

            def cut(self, text):
                return super().cut(text.upper())
    """
    with installed(tmp_path, "tokenizers", "shouting = shouting_kind:Shouting", source):
        assert find_kind("shouting").cut("a hat") == ["ĠHAT"]
