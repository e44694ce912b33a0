"""A list of words and phrases that are sensitive wherever they stand.

Entries are matched word by word, so "New York" is found in "new  york" and in "New-York", and
what stands between the words does not matter: never protect less than a reader expects. An entry
such as "C++" has just the word "C", and every "C" is selected.

All entries together are a private thing: none is ever shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from sfumato.core.errors import MalformedRecord, StorageFailed, UndecodableText
from sfumato.core.settings import FileToRead
from sfumato.policies.identity import Identity
from sfumato.text.document import Document
from sfumato.text.span import Span, Spans
from sfumato.text.words import Words

LONGEST_PHRASE = 64  # words; the time per word of text is bounded by the longest phrase
_BETWEEN = "\x1f"  # joins the words of a phrase; no word holds it


@dataclass(frozen=True)
class Lexicon:
    """Words and phrases, whatever their case unless told otherwise.

    >>> names = Lexicon(("Ada Lovelace", "babbage"))
    >>> [(span.start, span.end) for span in names.find(Document("ADA LOVELACE met Babbage."))]
    [(0, 12), (17, 24)]
    """

    entries: tuple[str, ...] = field(repr=False)
    case_sensitive: bool = False

    name: ClassVar[str] = "lexicon"
    argument: ClassVar[str] = "path"

    def __post_init__(self) -> None:
        if not self.entries:
            raise MalformedRecord("the lexicon has no entries, so it would protect nothing")
        for number, entry in enumerate(self.entries, start=1):
            if not 0 < len(Words.of(entry)) <= LONGEST_PHRASE:
                raise MalformedRecord(
                    f"entry {number} of the lexicon must have 1 to {LONGEST_PHRASE} words"
                )

    @classmethod
    def from_file(cls, path: FileToRead | Path, *, case_sensitive: bool = False) -> Lexicon:
        """One entry per line, in UTF-8; empty lines are left out."""
        try:
            text = Path(path).read_bytes().decode("utf-8-sig")
        except UnicodeDecodeError:
            # The original error carries the bytes; ours must not.
            undecodable = True
        except OSError as error:
            raise StorageFailed(f"cannot read the lexicon {path}: {error.strerror}") from None
        else:
            undecodable = False
        if undecodable:
            raise UndecodableText(f"the lexicon {path} is not UTF-8")
        lines = [line.strip() for line in text.splitlines()]
        for number, line in enumerate(lines, start=1):
            if line and not 0 < len(Words.of(line)) <= LONGEST_PHRASE:
                raise MalformedRecord(
                    f"line {number} of the lexicon {path} must have 1 to {LONGEST_PHRASE} words"
                )
        return cls(tuple(line for line in lines if line), case_sensitive)

    from_settings = from_file

    def find(self, document: Document) -> Spans:
        """At every word the longest entry that starts there."""
        words = Words.of(document.text)
        keys = [self._key(word) for word in words]
        return Spans.of(
            Span(
                words.starts[first],
                words.ends[last],
                "LEXICON",
                "lexicon",
                "an entry of the lexicon",
            )
            for first, last in self._matches(keys)
        )

    def identity(self) -> Identity:
        """The entries as they are matched, in no order; they are private."""
        entries = tuple(sorted(self._index[1]))
        return Identity((self.name, self.case_sensitive, entries), private=True)

    def _matches(self, keys: list[str]) -> Iterator[tuple[int, int]]:
        lengths, phrases = self._index
        for first, key in enumerate(keys):
            for length in lengths.get(key, ()):
                if _BETWEEN.join(keys[first : first + length]) in phrases:
                    yield first, min(first + length, len(keys)) - 1
                    break

    @cached_property
    def _index(self) -> tuple[dict[str, tuple[int, ...]], frozenset[str]]:
        """Per first word the lengths of its phrases, longest first; and all phrases."""
        lengths: dict[str, set[int]] = {}
        phrases: set[str] = set()
        for entry in self.entries:
            keys = [self._key(word) for word in Words.of(entry)]
            lengths.setdefault(keys[0], set()).add(len(keys))
            phrases.add(_BETWEEN.join(keys))
        ordered = {key: tuple(sorted(each, reverse=True)) for key, each in lengths.items()}
        return ordered, frozenset(phrases)

    def _key(self, word: str) -> str:
        """The same key for the same word, however its accents are encoded."""
        if word.isascii():
            return word if self.case_sensitive else word.lower()
        normal = unicodedata.normalize("NFKC", word)
        return normal if self.case_sensitive else unicodedata.normalize("NFKC", normal.casefold())
