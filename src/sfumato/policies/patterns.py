"""Policies that look at characters alone: digits, everything, nothing, a regular expression."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import ClassVar

import regex

from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument, TookTooLong
from sfumato.policies.identity import Identity
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans

# A pattern may be given by a user; one that backtracks for ever must not hang the job. Ordinary
# patterns read a million characters in well under a second.
SECONDS_PER_DOCUMENT = 60.0
SECONDS_PER_CHARACTER = 1e-4  # on top of that


@dataclass(frozen=True)
class Digits:
    """Every run of digits, in any script: the policy of both papers.

    >>> [(span.start, span.end) for span in Digits().find(Document("My ID is 145572."))]
    [(9, 15)]
    """

    name: ClassVar[str] = "digits"

    def find(self, document: Document) -> Spans:
        """Runs of numeric characters; the words they stand in are selected whole."""
        return Spans(
            tuple(
                Span(match.start(), match.end(), "NUMBER", "digits", "a digit")
                for match in _digits().finditer(document.text)
            )
        )

    def identity(self) -> Identity:
        """There is nothing to choose."""
        return Identity((self.name,))


@dataclass(frozen=True)
class Everything:
    """Every word: plain metric DP."""

    name: ClassVar[str] = "everything"

    def find(self, document: Document) -> Spans:
        """One span over the whole text."""
        end = len(document.text)
        return Spans.of([Span(0, end, "ANY", "everything", "every word")])

    def identity(self) -> Identity:
        """There is nothing to choose."""
        return Identity((self.name,))


@dataclass(frozen=True)
class Nothing:
    """No word: for experiments without privacy."""

    name: ClassVar[str] = "nothing"

    def find(self, document: Document) -> Spans:  # noqa: ARG002
        """No span."""
        return Spans()

    def identity(self) -> Identity:
        """There is nothing to choose."""
        return Identity((self.name,))


@dataclass(frozen=True)
class Regex:
    """What a regular expression (of the ``regex`` module) matches.

    ``seconds`` is how much of a processor's time a document may take; it changes nothing in what is
    found, because exceeding it gives an error and no spans.
    """

    pattern: str = field(repr=False)
    label: str = "MATCH"
    seconds: float = field(default=SECONDS_PER_DOCUMENT, compare=False, repr=False)

    name: ClassVar[str] = "regex"
    argument: ClassVar[str] = "pattern"

    def __post_init__(self) -> None:
        positive("seconds", self.seconds)
        try:
            regex.compile(self.pattern)
        except regex.error as error:
            # The error's text names the problem and its place, and does not quote the pattern.
            problem = str(error)
        else:
            return
        # Outside the except block: the original error carries the pattern along.
        raise InvalidArgument(f"the regular expression is not valid: {problem}")

    @cached_property
    def _compiled(self) -> regex.Pattern[str]:
        return regex.compile(self.pattern)

    def find(self, document: Document) -> Spans:
        """Every match, the overlapping ones among them left out."""
        seconds = self.seconds + SECONDS_PER_CHARACTER * len(document.text)
        try:
            return Spans.of(
                Span(match.start(), match.end(), self.label, "regex", "matches the pattern")
                for match in self._compiled.finditer(document.text, timeout=seconds)
            )
        except TimeoutError:
            raise TookTooLong(
                f"the regular expression took over {seconds:.3g} seconds on the document at "
                f"{document.place or 'an unknown place'}; simplify it (nested repetition is the "
                "usual cause), or allow more with `settings={'regex.seconds': N}`"
            ) from None

    def identity(self) -> Identity:
        """The pattern, which may be private, and what its matches are called."""
        return Identity((self.name, self.pattern, self.label), private=True)


@cache
def _digits() -> regex.Pattern[str]:
    return regex.compile(r"\p{N}+")
