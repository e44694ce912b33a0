"""Which tokens are scored, and that all candidates are read alike."""

from __future__ import annotations

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from sfumato.attacks.exposure.candidates import (
    NOTHING,
    Frame,
    SecretSpace,
    digits_apart,
    enumerate_candidates,
    substitute,
    tokenize,
)
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.corpora.canaries import Canary
from sfumato.models.bpe import default_tokenizer
from sfumato.models.tokenizer import Tokenizer
from unit.attacks.exposure.subjects import FRAME, bytes_only, every_text, joining


def test_single_digits_are_scored_and_nothing_else() -> None:
    candidates = tokenize(bytes_only(), every_text(SecretSpace("###")))
    assert candidates.tokens.shape == (1000, 3)
    read = bytes_only().decode(candidates.prefix[1:])
    assert candidates.prefix[0] == bytes_only().begin
    assert read == ". My ID is "
    assert bytes_only().decode(candidates.tokens[42]) == "042"


def test_a_digit_joined_with_its_neighbors_takes_them_along() -> None:
    """Some secrets take the space before them, others the full stop: then all are scored."""
    tokenizer = joining()
    candidates = tokenize(tokenizer, every_text(SecretSpace("###")))
    assert tokenizer.decode(candidates.prefix[1:]) == ". My ID is"
    for number in (127, 450, 991):
        scored = candidates.tokens[number]
        assert tokenizer.decode(scored[scored != NOTHING]) == f" {number}."


def test_every_candidate_is_tokenized_as_a_whole_text() -> None:
    """Prefix, scored tokens and tail together are what the tokenizer makes of the text."""
    tokenizer = joining()
    for frame in (FRAME, Frame("", "{} it is"), Frame("1", "2{}9. Yes 7.")):
        texts = every_text(SecretSpace("###"), frame)
        candidates = tokenize(tokenizer, texts)
        for text, scored in zip(texts, candidates.tokens, strict=True):
            whole = [tokenizer.begin, *tokenizer.encode(text).tolist()]
            read = [*candidates.prefix, *scored[scored != NOTHING].tolist()]
            assert whole[: len(read)] == read
            rest = tokenizer.decode(whole[len(read) :])
            assert frame.template.endswith(rest)


def test_a_sample_is_cut_at_the_same_places_as_the_whole_space() -> None:
    """Although all its secrets may end with the same digit, the corners show that others do not."""
    space = SecretSpace("###")
    whole = tokenize(bytes_only(), every_text(space))
    some = [FRAME.text(secret) for secret in ("120", "130", *space.corners())]
    assert np.array_equal(tokenize(bytes_only(), some).tokens[:2], whole.tokens[[120, 130]])


def test_a_tokenizer_that_does_not_know_digits_is_refused() -> None:
    vocabulary = {"[UNK]": 0, "my": 1, "id": 2, "is": 3}
    backend = Backend(models.WordLevel(vocab=vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    blind = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]"))
    with pytest.raises(BadInput, match="alike"):
        tokenize(blind, every_text(SecretSpace("##")))


def test_something_must_stand_before_the_secret() -> None:
    backend = Backend(models.BPE(vocab={str(d): d for d in range(10)}, merges=[]))
    bare = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend))
    with pytest.raises(InvalidArgument, match="'before': "):
        tokenize(bare, [f"{number:02}" for number in range(100)])


def test_a_space_numbers_its_secrets() -> None:
    space = SecretSpace("#@-#")
    assert space.size == 2600
    assert space.bits == pytest.approx(np.log2(2600))
    secrets = [space.secret(number) for number in range(space.size)]
    assert secrets == sorted(set(secrets))
    assert [space.number(secret) for secret in secrets] == list(range(space.size))
    assert all(space.matches(secret) for secret in secrets)
    assert not space.matches("1a+1")
    assert not space.matches("1a-11")


def test_corners_differ_in_every_slot() -> None:
    corners = SecretSpace("##-@").corners()
    assert corners[:3] == ["00-a", "11-b", "22-c"]
    assert len(corners) == 26
    assert SecretSpace("##").corners() == [f"{digit}{digit}" for digit in range(10)]


def test_drawn_secrets_belong_to_the_space() -> None:
    space = SecretSpace("#" * 40)
    drawn = space.drawn(200, Randomness.reproducible(1))
    assert all(space.matches(secret) for secret in drawn)
    assert len(set(drawn)) == 200


@pytest.mark.parametrize(
    ("secret", "pattern", "expected"),
    [("0042", "", "####"), ("0042", "@@", "####"), ("7x-1", "#@-#", "#@-#")],
)
def test_the_space_of_a_canary(secret: str, pattern: str, expected: str) -> None:
    assert SecretSpace.of(Canary(secret=secret), pattern).pattern == expected


@pytest.mark.parametrize(
    ("pattern", "said"), [("", "is not a number"), ("@@@", "does not fit pattern")]
)
def test_a_space_that_is_not_known_is_asked_for(pattern: str, said: str) -> None:
    with pytest.raises(InvalidArgument, match=f"{said}.*'pattern': "):
        SecretSpace.of(Canary(secret="correct horse"), pattern)


def test_a_pattern_without_a_slot_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="must hold #"):
        SecretSpace("12-34")


@pytest.mark.parametrize("frame", [FRAME, Frame("", "{}"), Frame("x 7", "Bill 12{}9, at 5.")])
@pytest.mark.parametrize("pattern", ["###", "#4-##"])
def test_numbers_need_not_be_tokenized_one_by_one(frame: Frame, pattern: str) -> None:
    """Where every digit is a token of its own, ten texts tell the tokens of all."""
    for tokenizer in (default_tokenizer(), bytes_only()):
        space = SecretSpace(pattern)
        quick = substitute(tokenizer, frame.text, space)
        assert quick is not None
        for row, text in zip(quick, every_text(space, frame), strict=True):
            assert row.tolist() == tokenizer.encode(text).tolist()
        whole = tokenize(tokenizer, every_text(space, frame))
        found = enumerate_candidates(tokenizer, frame, space)
        assert found.prefix == whole.prefix
        assert np.array_equal(found.tokens, whole.tokens)


def test_joined_digits_are_tokenized_one_by_one() -> None:
    space = SecretSpace("###")
    assert not digits_apart(joining())
    assert substitute(joining(), FRAME.text, space) is None
    whole = tokenize(joining(), every_text(space))
    assert np.array_equal(enumerate_candidates(joining(), FRAME, space).tokens, whole.tokens)


def test_so_are_numbers_of_a_tokenizer_that_treats_one_of_them_apart() -> None:
    """Its vocabulary has single digits only, but 1234 is made another number beforehand."""
    tokenizer = bytes_only()
    backend = Backend.from_str(tokenizer.backend.backend_tokenizer.to_str())
    backend.normalizer = normalizers.Replace("1234", "9")
    odd = Tokenizer(PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|endoftext|>"))
    space = SecretSpace("####")
    assert digits_apart(odd)
    assert substitute(odd, lambda secret: f"1234 is {secret}", space) is not None
    assert substitute(odd, lambda secret: f"is {secret[:2]}34{secret[2:]}", space) is None
