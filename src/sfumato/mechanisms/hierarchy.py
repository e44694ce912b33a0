"""Public hierarchies of words: each word has a broader one, and a broader one has words below it.

The built-in one is a short list of everyday English words. A file has a line for each word, with a
tab between it and its broader word. ``wordnet`` is WordNet's nouns, by the first sense of a word,
if NLTK and its data are there (extra ``attack``; ``NLTK_DATA`` names the folder).
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def broader(self, word: str) -> str | None:
        """The next broader word; None if the word is unknown, or is at the top."""

    def size(self, word: str) -> int:
        """How many words stand below this one."""


class Listed:
    """A hierarchy that is a table from words to broader ones."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._table = dict(table)
        self._sizes: dict[str, int] = {}
        for word in self._table:
            above: str | None = word
            for _ in range(_DEEPEST):
                above = self._table.get(above or "")
                if above is None:
                    break
                self._sizes[above] = self._sizes.get(above, 0) + 1
            else:
                raise BadInput("a hierarchy must not lead from a word back to itself")

    @property
    def digest(self) -> str:
        """A hash of the table."""
        return sha256("\n".join(map("\t".join, sorted(self._table.items()))).encode()).hexdigest()

    def broader(self, word: str) -> str | None:
        """The next broader word."""
        return self._table.get(word)

    def size(self, word: str) -> int:
        """How many words stand below this one."""
        return self._sizes.get(word, 0)


class WordNetNouns:
    """WordNet: the first noun of a word, and the first of what is broader than that."""

    def __init__(self, wordnet: Any) -> None:
        self._wordnet = wordnet
        # A broader word is named by its synset, because a name alone has several.
        self._synsets: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """The version of WordNet."""
        return f"WordNet {self._wordnet.get_version()}"

    def broader(self, word: str) -> str | None:
        """The next broader word."""
        here = self._synset(word)
        above = [] if here is None else here.hypernyms() or here.instance_hypernyms()
        if not above:
            return None
        name = str(above[0].lemma_names()[0]).replace("_", " ")
        self._synsets[name] = above[0]
        return name

    def size(self, word: str) -> int:
        """How many words stand below this one."""
        here = self._synset(word)
        if here is None:
            return 0
        below = here.closure(lambda one: one.hyponyms() + one.instance_hyponyms())
        return sum(len(one.lemma_names()) for one in below)

    def _synset(self, word: str) -> Any:
        known = self._synsets.get(word)
        if known is not None:
            return known
        found = self._wordnet.synsets(word.replace(" ", "_"), pos=self._wordnet.NOUN)
        return found[0] if found else None


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
