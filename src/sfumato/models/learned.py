"""Tokenizers that are learned from a table of words, and what every kind of them must do.

A kind cuts texts into the words that are counted, by a public rule, and learns pieces from counts.
It never sees a text when it learns, so a tokenizer that is learned from a private histogram shows
no more than the histogram does.

``bpe``
    Byte-level byte-pair encoding, as the tokenizer that comes with the package: the alphabet is the
    256 bytes, every digit is a token of its own, and all text comes back exactly.
``wordpiece``
    The same words, alphabet and pieces, but a text is cut greedily into the longest pieces that
    there are (Wu et al. 2016), and a piece that begins a word differs from the same one inside. As
    bytes are the alphabet, there is no unknown token. Pieces are chosen by how often they occur, as
    the tokenizers library does it, and not by likelihood.

Other packages add kinds by the entry point group ``sfumato.tokenizers``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Protocol

from sfumato.catalog import find
from sfumato.core.checks import at_least, extra
from sfumato.core.settings import configure
from sfumato.models.bpe import (
    SMALLEST,
    SPECIAL,
    as_tokenizer,
    assemble_tokenizer,
    with_digits_apart,
)
from sfumato.models.merges import learn_pairs
from sfumato.models.tokenizer import Tokenizer, refuse_half_characters

if TYPE_CHECKING:
    import regex

# Stands before a piece that does not begin a word. It is none of the characters that stand for
# bytes, so no word of a text can be taken for such a piece.
INSIDE = "‿"


# The bytes of a word that WordPiece looks at together; longer words are cut first.
LONGEST = 64


class TokenizerKind(Protocol):
    """What learns a tokenizer from counts; ``smallest`` is the least size it can have."""

    name: ClassVar[str]
    smallest: ClassVar[int]

    def cut(self, text: str) -> Iterable[str]:
        """The words of a text that are worth counting, by a public rule and this text alone."""
        ...

    def learn(self, counts: Mapping[str, float], size: int) -> Tokenizer:
        """A tokenizer of at most ``size`` tokens, from words as ``cut`` gives them."""
        ...


def find_kind(name: str) -> TokenizerKind:
    """A kind of tokenizer by its name."""
    made: TokenizerKind = configure(find("tokenizers", name).load(), {})
    return made


@dataclass(frozen=True)
class Bpe:
    """Byte-level byte-pair encoding."""

    name: ClassVar[str] = "bpe"
    smallest: ClassVar[int] = SMALLEST

    def cut(self, text: str) -> Iterable[str]:
        """Words with the space before them, as bytes; single bytes are tokens anyway."""
        return byte_words(text)

    def learn(self, counts: Mapping[str, float], size: int) -> Tokenizer:
        """Join the most frequent pairs of pieces."""
        at_least("size", size, self.smallest)
        pairs = learn_pairs({tuple(word): one for word, one in counts.items()}, size - SMALLEST)
        return as_tokenizer(assemble_tokenizer(pairs), name=f"bpe-{size}")


@dataclass(frozen=True)
class WordPiece:
    """Byte-level WordPiece."""

    name: ClassVar[str] = "wordpiece"
    smallest: ClassVar[int] = SMALLEST + 256

    def cut(self, text: str) -> Iterable[str]:
        """Words with the space before them, as bytes; single bytes are tokens anyway."""
        return byte_words(text)

    def learn(self, counts: Mapping[str, float], size: int) -> Tokenizer:
        """Join the most frequent pairs of pieces; only the pieces are kept."""
        at_least("size", size, self.smallest)
        words = {(word[0], *(INSIDE + one for one in word[1:])): n for word, n in counts.items()}
        pairs = learn_pairs(words, size - self.smallest, _join)
        from tokenizers import Regex, decoders, models, pre_tokenizers

        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        vocabulary: dict[str, int] = {}
        inside = [INSIDE + one for one in alphabet]
        for piece in (*SPECIAL, *alphabet, *inside, *(_join(*pair) for pair in pairs)):
            vocabulary.setdefault(piece, len(vocabulary))
        model = models.WordPiece(
            vocab=vocabulary,
            unk_token=SPECIAL[0],  # never used: all bytes are pieces
            max_input_chars_per_word=LONGEST,
            continuing_subword_prefix=INSIDE,
        )
        backend = with_digits_apart(model)
        # To find the longest piece at every place takes time with the square of a word's length.
        some = pre_tokenizers.Split(Regex(f".{{1,{LONGEST}}}"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([backend.pre_tokenizer, some])
        backend.decoder = decoders.Sequence([decoders.Replace(INSIDE, ""), decoders.ByteLevel()])
        backend.add_special_tokens(list(SPECIAL))
        return as_tokenizer(backend, name=f"wordpiece-{size}")


def byte_words(text: str) -> list[str]:
    """The words of a text as byte-level tokenizers see them, but for those of a single byte.

    The library cuts in the same way, but takes time with the square of a text's length.

    >>> byte_words("In 14 days, ja?")
    ['In', 'Ġdays', 'Ġja']
    """
    refuse_half_characters(text)
    digit_or_rest, words = _patterns()
    letters = _letters()
    found = (word for rest in digit_or_rest.findall(text) for word in words.findall(rest))
    spelled = (word.encode("utf-8") for word in found)
    return [word.decode("latin-1").translate(letters) for word in spelled if len(word) > 1]


def spell_bytes(word: str) -> str:
    """A word of ``byte_words`` as people read it."""
    extra("tokenizers", needed_for="a tokenizer", extra="train")
    from tokenizers import decoders

    return str(decoders.ByteLevel().decode([word]))


@cache
def _patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Digits, each for itself, and what is between them; and the words of GPT-2 in that."""
    import regex

    endings = "'s|'t|'re|'ve|'m|'ll|'d"
    runs = r" ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s+(?!\S)|\s+"
    return regex.compile(r"\p{N}|\P{N}++"), regex.compile(f"{endings}|{runs}")


@cache
def _letters() -> dict[int, str]:
    """The letter that stands for each byte: itself where that can be seen, else one from U+0100."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(seen)]
    return {byte: chr(0x100 + place) for place, byte in enumerate(others)}


def _join(left: str, right: str) -> str:
    return left + right.removeprefix(INSIDE)
