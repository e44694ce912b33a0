"""The candidates for a secret: everything it could have been, and how each is read as tokens.

A pattern describes the space of secrets: ``#`` stands for any digit, ``@`` for any small letter
from a to z, every other character for itself. What chance gives is known only if the secret was
drawn uniformly from this space, as ``sfumato data canaries`` draws it.

Why the comparison is fair
    A candidate is tokenized as a whole text with its template, as the canary was when the model
    learned it: a tokenizer may join a digit with its neighbor, with the space before it or with the
    full stop behind it. The canary is one of the candidates and gets no special treatment. The
    score is the sum over

    - all tokens behind those with which every candidate begins. The tokens in front are common to
      all and would add the same number to each score;
    - up to those with which every candidate ends. That is where the secret ends, if no candidate's
      last character is joined with what follows. Otherwise it is further back, at the end of the
      template if need be, so that the same characters are scored for all.

Why all numbers can be tokenized from ten
    If no token of the vocabulary holds a digit together with another character, every digit is a
    token of its own, whatever stands around it. So two texts that differ in digits only have the
    same tokens everywhere else, and ten texts, one for each digit, determine the tokens of all. A
    tokenizer could still treat some digits differently before it looks for tokens. So 500 numbers
    spread over the space are tokenized as a check; if one of them differs, or if the vocabulary
    joins digits, all texts are tokenized one by one.

Care
    Scores are sums, not means over tokens. A tokenizer cuts numbers into unequal numbers of tokens,
    and a mean would prefer those in many pieces.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from string import ascii_lowercase, digits

import numpy as np
from numpy.typing import NDArray

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.models.tokenizer import Tokenizer

SLOTS = {"#": digits, "@": ascii_lowercase}
NOTHING = -1
PROBES = 500
# What SentencePiece calls the token of a single byte.
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_DIGIT = re.compile(r"[0-9]")

Matrix = NDArray[np.int32]
TEXTS_AT_ONCE = 20_000


@dataclass(frozen=True)
class SecretSpace:
    """All secrets of a pattern, numbered from 0 in dictionary order.

    >>> space = SecretSpace("###")
    >>> space.size, space.secret(7), space.number("007")
    (1000, '007', 7)
    >>> SecretSpace("##-@").secret(27)
    '01-b'
    """

    pattern: str

    def __post_init__(self) -> None:
        if not self._alphabets:
            raise InvalidArgument(
                f"pattern={self.pattern!r} must hold # (any digit) or @ (any small letter)"
            )

    @classmethod
    def of(cls, canary: Canary, pattern: str = "") -> SecretSpace:
        """The space of a canary: all numbers with as many digits, or the space of the pattern."""
        if canary.secret_space is not None:
            return cls("#" * len(canary.secret))
        if pattern and cls(pattern).matches(canary.secret):
            return cls(pattern)
        why = f"does not fit pattern={pattern!r}" if pattern else "is not a number"
        raise InvalidArgument(
            f"the secret in {canary.template!r} {why}, so it is not known what else it could have "
            "been: say how it was drawn, such as `settings={'pattern': '##-@@@@'}`, where # is any "
            "digit and @ any letter from a to z; or plant numbers"
        )

    @cached_property
    def _alphabets(self) -> list[str]:
        return [SLOTS[character] for character in self.pattern if character in SLOTS]

    @cached_property
    def size(self) -> int:
        """How many secrets the space has."""
        return math.prod(len(alphabet) for alphabet in self._alphabets)

    @property
    def bits(self) -> float:
        """The largest exposure there can be."""
        return math.log2(self.size)

    def matches(self, secret: str) -> bool:
        """Whether a secret belongs to the space."""
        return len(secret) == len(self.pattern) and all(
            given in SLOTS.get(wanted, wanted)
            for given, wanted in zip(secret, self.pattern, strict=True)
        )

    def secret(self, number: int) -> str:
        """The secret of that number."""
        chosen: list[int] = []
        for alphabet in reversed(self._alphabets):
            number, place = divmod(number, len(alphabet))
            chosen.append(place)
        return self._filled(chosen[::-1])

    def number(self, secret: str) -> int:
        """The number of a secret."""
        found = 0
        for given, wanted in zip(secret, self.pattern, strict=True):
            if wanted in SLOTS:
                found = found * len(SLOTS[wanted]) + SLOTS[wanted].index(given)
        return found

    def drawn(self, count: int, randomness: Randomness) -> list[str]:
        """Independent secrets, each uniform over the space; repetitions are possible."""
        columns = [randomness.integers(len(one), count).tolist() for one in self._alphabets]
        return [self._filled(places) for places in zip(*columns, strict=True)]

    def corners(self) -> list[str]:
        """Secrets of which any two differ in every slot, one for each digit or letter."""
        most = max(len(alphabet) for alphabet in self._alphabets)
        return [
            self._filled([place % len(one) for one in self._alphabets]) for place in range(most)
        ]

    def _filled(self, places: Sequence[int]) -> str:
        rest = iter(zip(self._alphabets, places, strict=True))
        parts = []
        for character in self.pattern:
            if character in SLOTS:
                alphabet, place = next(rest)
                parts.append(alphabet[place])
            else:
                parts.append(character)
        return "".join(parts)


def substitute(
    tokenizer: Tokenizer, text: Callable[[str], str], space: SecretSpace
) -> Matrix | None:
    """A row of tokens for each secret, in order; None if this shortcut does not apply.

    ``text`` puts a secret into its frame.
    """
    slots = sum(character in SLOTS for character in space.pattern)
    if "@" in space.pattern or space.size <= PROBES or not digits_apart(tokenizer):
        return None
    corners = tokenizer.encode_many([text(secret) for secret in space.corners()])
    if len({len(row) for row in corners}) > 1:
        return None
    of_digit = np.array(corners).astype(np.int32)
    places = np.flatnonzero((of_digit != of_digit[0]).any(axis=0))
    if len(places) != slots:
        return None
    matrix = np.tile(of_digit[0], (space.size, 1))
    numbers = np.arange(space.size)
    for power, place in enumerate(reversed(places.tolist())):
        matrix[:, place] = of_digit[numbers // 10**power % 10, place]
    probes = np.linspace(0, space.size - 1, PROBES).astype(np.int64)
    expected = tokenizer.encode_many([text(space.secret(int(number))) for number in probes])
    same = all(
        np.array_equal(matrix[number], row) for number, row in zip(probes, expected, strict=True)
    )
    return matrix if same else None


def digits_apart(tokenizer: Tokenizer) -> bool:
    """Whether no token holds a digit together with another character."""
    special = set(tokenizer.backend.all_special_tokens)
    return all(
        len(token) == 1
        or token in special
        or _BYTE.fullmatch(token) is not None
        or _DIGIT.search(token) is None
        for token in tokenizer.backend.get_vocab()
    )


@dataclass(frozen=True, eq=False)
class TokenizedSecrets:
    """The tokens that all begin with, and the scored tokens of each, padded with ``NOTHING``."""

    prefix: tuple[int, ...]
    tokens: Matrix

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True)
class Frame:
    """The text around a secret: what stands before the canary, and its template."""

    before: str
    template: str

    def text(self, secret: str) -> str:
        """What the model reads."""
        return self.before + Canary(self.template, secret).text


def tokenize(tokenizer: Tokenizer, texts: Iterable[str]) -> TokenizedSecrets:
    """Tokenize whole texts, and cut off the tokens that all have in common at both ends."""
    return _cut(tokenizer, _matrix(tokenizer, texts))


def enumerate_candidates(
    tokenizer: Tokenizer, frame: Frame, space: SecretSpace
) -> TokenizedSecrets:
    """The same for all secrets of a space, in their order."""
    matrix = substitute(tokenizer, frame.text, space)
    if matrix is not None:
        return _cut(tokenizer, matrix)
    return tokenize(tokenizer, (frame.text(space.secret(number)) for number in range(space.size)))


def _cut(tokenizer: Tokenizer, matrix: Matrix) -> TokenizedSecrets:
    lengths = (matrix != NOTHING).sum(axis=1)
    # The tokens of a text may be a prefix of another's; at least one of each must be scored.
    shared = _leading(matrix, int(lengths.min()) - 1)
    tail = _trailing(matrix, lengths, int(lengths.min()) - shared - 1)
    kept = lengths - tail
    matrix = matrix[:, : int(kept.max())].copy()
    matrix[np.arange(matrix.shape[1]) >= kept[:, None]] = NOTHING
    scored = matrix[:, shared:]
    if (scored == scored[0]).all():
        raise BadInput(
            "the tokenizer of this model encodes all candidates alike, so the model cannot tell "
            "them apart; the secrets must consist of characters that it knows"
        )
    prefix = [] if tokenizer.begin is None else [tokenizer.begin]
    prefix += [int(token) for token in matrix[0, :shared]]
    if not prefix:
        raise InvalidArgument(
            "this model has no token to begin a document with, and the candidates differ from the "
            "first token on: put some text before the secret, such as `settings={'before': '. '}`"
        )
    return TokenizedSecrets(tuple(prefix), scored)


def _matrix(tokenizer: Tokenizer, texts: Iterable[str]) -> Matrix:
    blocks = [_block(tokenizer, some) for some in _pieces(texts)]
    width = max(block.shape[1] for block in blocks)
    return np.concatenate(
        [
            np.pad(block, ((0, 0), (0, width - block.shape[1])), constant_values=NOTHING)
            for block in blocks
        ]
    )


def _block(tokenizer: Tokenizer, texts: Sequence[str]) -> Matrix:
    rows = tokenizer.encode_many(texts)
    lengths = np.array([len(row) for row in rows])
    block = np.full((len(rows), int(lengths.max())), NOTHING, dtype=np.int32)
    block[np.arange(block.shape[1]) < lengths[:, None]] = np.concatenate(rows)
    return block


def _pieces(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while some := list(islice(rest, TEXTS_AT_ONCE)):
        yield some


def _leading(matrix: Matrix, most: int) -> int:
    """The number of leading tokens that all rows share, at most ``most``."""
    for place in range(most):
        if (matrix[:, place] != matrix[0, place]).any():
            return place
    return max(most, 0)


def _trailing(matrix: Matrix, lengths: NDArray[np.int_], most: int) -> int:
    """The number of trailing tokens that all rows share, at most ``most``."""
    every = np.arange(len(matrix))
    for count in range(1, most + 1):
        last = matrix[every, lengths - count]
        if (last != last[0]).any():
            return count - 1
    return max(most, 0)
