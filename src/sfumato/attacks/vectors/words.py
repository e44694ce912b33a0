"""The words of a text that are worth guessing: those that are not among the most frequent ones."""

from __future__ import annotations

from functools import cache

from sfumato.metrics.rewriting import frequent_words
from sfumato.text.words import Words
from sfumato.vectors.load import default_space


def own_words(text: str) -> set[str]:
    """The words of a text, without case, that have a letter and are not too frequent.

    >>> sorted(own_words("The patient met a Cardiologist, and 2 others."))
    ['cardiologist', 'met', 'others', 'patient']
    """
    found = {word.casefold() for word in Words.of(text)}
    return {one for one in found if any(map(str.isalpha, one))} - frequent_words()


@cache
def public_vocabulary(count: int) -> tuple[str, ...]:
    """Frequent public words, without the most frequent ones."""
    found = (one for one in default_space().words if one.isalpha() and one not in frequent_words())
    return tuple(word for _, word in zip(range(count), found, strict=False))
