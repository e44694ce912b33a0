"""Public hierarchies: each word has a place, and each place but those at the top a broader one.

Where a word stands, and what is above it, follows from the hierarchy alone: never from which words
were looked up before, which may be those of another document.

The built-in one is a short list of everyday English words. A file has a line for each word, with a
tab between it and its broader word. ``wordnet`` is WordNet's nouns, by the first sense of a word,
if NLTK and its data are there (extra ``attack``; ``NLTK_DATA`` names the folder).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MissingModel
from sfumato.core.files import reading

WORDNET = "wordnet"
# Above that, chains of broader words count as circles.
_DEEPEST = 100


class Hierarchy(Protocol):
    """A public tree of words."""

    @property
    def digest(self) -> str:
        """A hash of all of it, or its version."""

    def place(self, word: str) -> str | None:
        """Where a word stands; None if it is unknown."""

    def broader(self, place: str) -> str | None:
        """The next broader place; None at the top."""

    def called(self, place: str) -> str:
        """The word for a place."""

    def words(self) -> Iterator[str]:
        """All words that have a place."""


class Listed:
    """A hierarchy that is a table from words to broader ones; a place is a word."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._known = dict.fromkeys((*self._table, *self._table.values()))
        for word in self._table:
            above: str | None = word
            for _ in range(_DEEPEST):
                above = self._table.get(above or "")
                if above is None:
                    break
            else:
                raise BadInput("a hierarchy must not lead from a word back to itself")

    @property
    def digest(self) -> str:
        """A hash of the table."""
        return sha256("\n".join(map("\t".join, sorted(self._table.items()))).encode()).hexdigest()

    def place(self, word: str) -> str | None:
        """The word itself."""
        return word if word in self._known else None

    def broader(self, place: str) -> str | None:
        """The next broader word."""
        return self._table.get(place)

    def called(self, place: str) -> str:
        """The word itself."""
        return place

    def words(self) -> Iterator[str]:
        """All of both columns."""
        return iter(self._known)


class WordNetNouns:
    """WordNet: the first noun of a word, and the first of what is broader than that.

    A place is a synset, by its name there: a word alone has several.
    """

    def __init__(self, wordnet: Any) -> None:
        self._wordnet = wordnet
        # By the name that one synset has alone: what is here is never another one's.
        self._synsets: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """The version of WordNet."""
        return f"WordNet {self._wordnet.get_version()}"

    def place(self, word: str) -> str | None:
        """The first noun that it is."""
        found = self._wordnet.synsets(word.replace(" ", "_"), pos=self._wordnet.NOUN)
        return self._named(found[0]) if found else None

    def broader(self, place: str) -> str | None:
        """The synset above it that stands first in WordNet's files.

        They come out of a set, in an order that differs from one process to the next.
        """
        here = self._synset(place)
        above = here.hypernyms() or here.instance_hypernyms()
        return self._named(min(above, key=lambda one: int(one.offset()))) if above else None

    def called(self, place: str) -> str:
        """The first word for a synset."""
        return str(self._synset(place).lemma_names()[0]).replace("_", " ")

    def words(self) -> Iterator[str]:
        """All nouns."""
        return (one.replace("_", " ") for one in self._wordnet.all_lemma_names("n"))

    def _named(self, synset: Any) -> str:
        name = str(synset.name())
        self._synsets[name] = synset
        return name

    def _synset(self, place: str) -> Any:
        known = self._synsets.get(place)
        return self._wordnet.synset(place) if known is None else known


@cache
def load_hierarchy(name: str) -> Hierarchy:
    """The built-in hierarchy, WordNet, or the one in a file."""
    if name == WORDNET:
        return WordNetNouns(_wordnet())
    if not name:
        return Listed(
            _read(files("sfumato.mechanisms").joinpath("data", "hierarchy.tsv").read_text("utf-8"))
        )
    with reading(Path(name), "a hierarchy: a word, a tab and a broader word on each line"):
        return Listed(_read(Path(name).read_text("utf-8")))


def _read(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, broader = line.split("\t")
            found[word.strip().casefold()] = broader.strip().casefold()
    return found


def _wordnet() -> Any:
    extra("nltk", needed_for="generalizing by WordNet", extra="attack")
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except LookupError:
        pass  # the library's message is a page long
    else:
        return wordnet
    raise MissingModel(
        "WordNet was not found: set NLTK_DATA to a folder that holds corpora/wordnet.zip and that "
        "nobody else may write to; `settings={'hierarchy': FILE}` takes another hierarchy, and "
        "without it the built-in one is taken"
    )
