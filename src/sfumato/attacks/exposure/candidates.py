"""Candidates as tokens: every one read in the same way, and which of its tokens are scored.

Why the comparison is fair
    A candidate is tokenized as a whole text, template and all, as the canary was when the model
    learned it: a tokenizer may join a digit with its neighbor, with the space before it or with
    the full stop behind it. The canary is one of the candidates and gets no treatment of its own.
    What is scored is the sum over

    - all tokens behind those with which every candidate begins. The tokens in front are common to
      all; they would add the same number to each score.
    - up to those with which every candidate ends. That is where the secret ends, if no candidate's
      last character is joined with what follows; otherwise it is further back, at the end of the
      template if need be, so that the same characters are scored for all.

Care
    Scores are sums, not means over tokens. A tokenizer cuts numbers into unequal numbers of tokens,
    and a mean would prefer those in many pieces.

All numbers of a space as tokens, without tokenizing each of them.

Why it gives the same
    If no token of the vocabulary holds a digit together with another character, every digit is a
    token of its own, whatever stands around it, and nothing is joined across it. So two texts that
    differ in digits only have the same tokens everywhere else, and the tokens of ten texts, one for
    each digit, are those of all. A tokenizer could still treat some digits apart before it looks
    for tokens; so some hundred numbers all over the space are tokenized as a check, and if one
    comes out otherwise, or if the vocabulary joins digits, all texts are tokenized one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.exposure.spaces import SLOTS, SecretSpace
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.corpora.canaries import Canary
from sfumato.models.tokenizer import Tokenizer

NOTHING = -1
PROBES = 500
# What SentencePiece calls the token of a single byte.
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_DIGIT = re.compile(r"[0-9]")

Matrix = NDArray[np.int32]


def substitute(
    tokenizer: Tokenizer, text: Callable[[str], str], space: SecretSpace
) -> Matrix | None:
    """A row of tokens for each secret, in their order; None if it cannot be had this way.

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


TEXTS_AT_ONCE = 20_000


@dataclass(frozen=True, eq=False)
class TokenizedSecrets:
    """What all begin with, and the scored tokens of each, filled up with ``NOTHING``."""

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
    """Tokenize whole texts, and find what is common to all at both ends."""
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
    # A text may be the beginning of another in tokens; something of each must remain to be scored.
    shared = _leading(matrix, int(lengths.min()) - 1)
    tail = _trailing(matrix, lengths, int(lengths.min()) - shared - 1)
    kept = lengths - tail
    matrix = matrix[:, : int(kept.max())].copy()
    matrix[np.arange(matrix.shape[1]) >= kept[:, None]] = NOTHING
    scored = matrix[:, shared:]
    if (scored == scored[0]).all():
        raise BadInput(
            "the tokenizer of this model writes all candidates alike, so the model cannot tell "
            "them apart; the secrets must be made of characters that it knows"
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
    """With how many tokens all rows begin alike, up to a number."""
    for place in range(most):
        if (matrix[:, place] != matrix[0, place]).any():
            return place
    return max(most, 0)


def _trailing(matrix: Matrix, lengths: NDArray[np.int_], most: int) -> int:
    """With how many tokens all rows end alike, up to a number."""
    every = np.arange(len(matrix))
    for count in range(1, most + 1):
        last = matrix[every, lengths - count]
        if (last != last[0]).any():
            return count - 1
    return max(most, 0)
