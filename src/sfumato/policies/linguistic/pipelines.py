"""The spaCy pipeline that linguistic policies share: found by name or path, loaded once.

Care
    Nothing is downloaded. What a pipeline read is forgotten after every batch (spaCy would keep
    every new word of a private text for as long as the process lives).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel
from sfumato.core.files import from_home
from sfumato.corpora.spans import Span, Spans
from sfumato.policies.linguistic.pieces import grouped, in_pieces, joined

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

DEFAULT = "en_core_web_sm"
VARIABLE = "SFUMATO_SPACY_MODEL"
TEXTS_AT_ONCE = 64

# What spaCy holds in memory grows with what it reads at once, by some 3 kB for a character.
LONGEST_PIECE = 20_000
CHARACTERS_AT_ONCE = 100_000

# What writes each kind of annotation, by what spaCy's components say they assign.
_NEEDS = {
    "named entities": ("doc.ents",),
    "a parser": ("token.dep",),
    "a tagger": ("token.tag", "token.pos"),
}

# Trained components, of which none looks at lemmas. A rule that somebody added may.
_NO_USE_OF_LEMMAS = {
    "attribute_ruler", "lemmatizer", "morphologizer", "ner", "parser", "senter", "tagger",
    "tok2vec",
}  # fmt: skip

Analysis = Callable[[Iterable[str]], Iterator[Iterable[Span]]]


@dataclass(frozen=True, eq=False)
class Pipeline:
    """A loaded pipeline. ``source`` is its folder."""

    language: Language = field(repr=False)
    source: Path
    _busy: Lock = field(default_factory=Lock, repr=False)

    @property
    def code(self) -> str:
        """The code of the language that the pipeline reads, such as en."""
        return self.language.lang or "xx"

    @cached_property
    def identity(self) -> str:
        """A hash of the pipeline's files and of spaCy's version: what it finds follows from it."""
        digest = blake2b(f"spacy {version('spacy')}".encode(), digest_size=16)
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            name = path.relative_to(self.source).as_posix()
            digest.update(f"{len(name)}:{name}:{path.stat().st_size}:".encode())
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def require(self, policy: str, *needs: str) -> None:
        """Refuse a pipeline that lacks something: it would find nothing, and protect nothing."""
        metas = [self.language.get_pipe_meta(name) for name in self.language.pipe_names]
        assigned = {place for meta in metas for place in meta.assigns}
        lacking = [need for need in needs if not assigned.intersection(_NEEDS[need])]
        if lacking:
            raise MissingModel(
                f"the spaCy pipeline {self.source.name} lacks {' and '.join(lacking)}, which the "
                f"policy '{policy}' needs; {DEFAULT} has all of it"
            )

    def labels(self) -> set[str]:
        """The types of entities that the pipeline knows."""
        components = {
            name: self.language.get_pipe_meta(name).assigns for name in self.language.pipe_names
        }
        return {
            label
            for name, assigned in components.items()
            if "doc.ents" in assigned
            for label in self.language.pipe_labels.get(name, ())
        }

    def parsed(self, texts: Iterable[str]) -> Iterator[Doc]:
        """The texts as spaCy reads them, in batches, without lemmas where nobody looks at them."""
        names = self.language.pipe_names
        factories = {self.language.get_pipe_meta(name).factory for name in names}
        spared = ["lemmatizer"] if factories <= _NO_USE_OF_LEMMAS else []
        return self.language.pipe(texts, batch_size=TEXTS_AT_ONCE, disable=spared)

    def read(self, texts: Sequence[str], analysis: Analysis) -> list[Spans]:
        """What an analysis finds in each text; a long text is read piece by piece."""
        pieces = in_pieces(texts, min(LONGEST_PIECE, self.language.max_length))
        found: list[list[Span]] = []
        for group in grouped(pieces, CHARACTERS_AT_ONCE):
            # One group at a time: a memory zone belongs to the whole pipeline.
            with self._busy, self.language.memory_zone():
                found += [list(spans) for spans in analysis(piece.text for piece in group)]
        return joined(pieces, found, len(texts))


def load(model: str, *, policy: str) -> Pipeline:
    """The pipeline of that name or path; without one the variable's or the usual one."""
    extra("spacy", needed_for=f"the policy '{policy}'", extra="nlp")
    return _loaded(model or os.environ.get(VARIABLE, "") or DEFAULT)


@cache
def _loaded(model: str) -> Pipeline:
    from spacy.util import get_package_path, is_package

    given = from_home(model)
    if (given / "config.cfg").is_file():
        return Pipeline(_language(given), given.resolve())
    if is_package(model):
        language = _language(model)
        return Pipeline(language, language.path or get_package_path(model))
    if given.is_dir():
        raise MissingModel(f"{model} holds no spaCy pipeline: there is no config.cfg in it")
    raise MissingModel(
        f"there is no spaCy pipeline {model}: it is neither an installed package nor a folder. "
        f"'python -m spacy download {DEFAULT}' installs the usual one; a folder is named by the "
        f"setting 'model' of the policy or by the variable {VARIABLE}"
    )


def _language(source: str | Path) -> Language:
    import spacy

    try:
        return spacy.load(source)
    except Exception as error:  # what is damaged, or no pipeline at all, fails in many ways
        problem = type(error).__name__
    raise MissingModel(
        f"{source} cannot be read as a spaCy pipeline ({problem}): it is damaged, needs a package "
        "that is not installed, or is something else; install it anew or name another"
    )
