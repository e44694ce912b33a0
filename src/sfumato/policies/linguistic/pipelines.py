"""The spaCy pipeline that linguistic policies share: found by name or path, loaded once.

Guarantee
    Reading a pipeline that somebody else made runs none of its code, and reads no file outside.

Why it holds
    It is always read as a folder, so the module of a package is never imported. The functions that
    its configuration has called are named there; only those of spaCy are, and of them none that
    reads a file, loads another pipeline or unpickles (``_refuse_code``). Components are made by
    what is installed: a name that is not cannot be made.

Care
    Nothing is downloaded. What a pipeline read is forgotten after every batch (spaCy would keep
    every new word of a private text for as long as the process lives).

Long texts in pieces, and what was found in the pieces back in its place.

A piece ends after a sentence or line if it can, else after white space, else where it is full. A
run of characters without white space is cut after a thousand of them: a tokenizer takes time that
grows with the square of such a run, and a line of brackets must not hold up a corpus. So a name is
cut in two only where nobody could read one.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import blake2b
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from sfumato.core.checks import extra
from sfumato.core.errors import BadInput, MissingModel
from sfumato.core.files import from_home
from sfumato.core.pretrained import refuse_links_out
from sfumato.text.boundaries import boundaries
from sfumato.text.span import Span, Spans

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


LONGEST_RUN = 1_000


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of text number ``owner``, from its character ``start`` on."""

    owner: int
    start: int
    text: str = field(repr=False)


def in_pieces(texts: Sequence[str], longest: int) -> list[Piece]:
    """The texts in pieces of at most so many characters; together they are the texts."""
    return [
        Piece(owner, start, text[start:end])
        for owner, text in enumerate(texts)
        for first, last in _without_long_runs(text)
        for start, end in _cuts(text, first, last, longest)
    ]


def group_pieces(pieces: Sequence[Piece], most: int) -> Iterator[list[Piece]]:
    """The pieces in groups, each of at most so many characters or of one piece."""
    group: list[Piece] = []
    characters = 0
    for piece in pieces:
        if group and characters + len(piece.text) > most:
            yield group
            group, characters = [], 0
        group.append(piece)
        characters += len(piece.text)
    if group:
        yield group


def join_pieces(
    pieces: Sequence[Piece], found: Iterable[Iterable[Span]], texts: int
) -> list[Spans]:
    """What was found in each piece as what was found in each text."""
    together: list[list[Span]] = [[] for _ in range(texts)]
    for piece, spans in zip(pieces, found, strict=True):
        together[piece.owner] += (
            replace(span, start=span.start + piece.start, end=span.end + piece.start)
            for span in spans
        )
    return [Spans.of(spans) for spans in together]


def _without_long_runs(text: str) -> Iterator[tuple[int, int]]:
    """The text in parts, none of which has a long run of characters without white space."""
    reached = 0
    for run in re.finditer(r"\S+", text):
        for cut in range(run.start() + LONGEST_RUN, run.end(), LONGEST_RUN):
            yield reached, cut
            reached = cut
    yield reached, len(text)


def _cuts(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Where each piece of a part of the text begins and ends.

    >>> list(_cuts("One. Two three. Four", 0, 20, 12))
    [(0, 5), (5, 16), (16, 20)]
    """
    if end - start > longest:
        positions = (boundary.position for boundary in boundaries(text[start:end]))
        between = [start, *(start + position for position in positions)]
        while end - start > longest:
            full = start + longest
            last = between[bisect_right(between, full) - 1]
            cut = last if last > start else _after_space(text, start, full)
            yield start, cut
            start = cut
    yield start, end


def _after_space(text: str, start: int, full: int) -> int:
    """Behind the last white space of the piece, or its full length if there is none."""
    return next((end for end in range(full, start, -1) if text[end - 1].isspace()), full)


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

# Trained components, none of which looks at lemmas; a rule that somebody added may.
_NO_USE_OF_LEMMAS = {
    "attribute_ruler", "lemmatizer", "morphologizer", "ner", "parser", "senter", "tagger",
    "tok2vec",
}  # fmt: skip

# Where parts of a pipeline are looked up by name; others read files, or call what they are given.
_REGISTRIES = ("architectures", "layers", "misc", "scorers", "tokenizers", "vectors")

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
        for group in group_pieces(pieces, CHARACTERS_AT_ONCE):
            # One group at a time: a memory zone belongs to the whole pipeline.
            with self._busy, self.language.memory_zone():
                found += [list(spans) for spans in analysis(piece.text for piece in group)]
        return join_pieces(pieces, found, len(texts))


def load(model: str, *, policy: str) -> Pipeline:
    """The pipeline of that name or path; without one the variable's or the usual one."""
    extra("spacy", needed_for=f"the policy '{policy}'", extra="nlp")
    return _load(model or os.environ.get(VARIABLE, "") or DEFAULT)


def _refuse_code(config: Mapping[str, Any], source: Path) -> None:
    """Refuse what a configuration would have called or read while the pipeline is made of it."""
    components = [*(config.get("components") or {}).values()]
    sourced = any(isinstance(one, Mapping) and "source" in one for one in components)
    waiting: list[Any] = [config.get("nlp"), *components]
    while waiting and not sourced:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += one.values()
            for key, value in one.items():
                if key.startswith("@") and not _is_harmless(key.removeprefix("@"), str(value)):
                    raise BadInput(
                        f"the spaCy pipeline {source} is refused: its config.cfg has a function "
                        f"called that is none of spaCy's parts of a pipeline ({key})"
                    )
        elif isinstance(one, list | tuple):
            waiting += one
    if sourced:
        raise BadInput(
            f"the spaCy pipeline {source} is refused: a component of it comes from another "
            "pipeline (source); save it whole, with to_disk"
        )


def _is_harmless(registry: str, name: str) -> bool:
    known = registry in _REGISTRIES and name.startswith(("spacy.", "spacy-legacy."))
    return known and not any(part in name for part in ("FromFile", "Torch"))


@cache
def _load(model: str) -> Pipeline:
    given = from_home(model)
    if (given / "config.cfg").is_file():
        refuse_links_out(given)
        return Pipeline(_language(given), given.resolve())
    installed = _install(model)
    if installed is not None:
        return Pipeline(_language(installed), installed)
    if given.is_dir():
        raise MissingModel(f"{model} holds no spaCy pipeline: there is no config.cfg in it")
    raise MissingModel(
        f"there is no spaCy pipeline {model}: it is neither an installed pipeline nor a folder. "
        f"'python -m spacy download {DEFAULT}' installs the usual one; a folder is named by the "
        f"setting 'model' of the policy or by the variable {VARIABLE}"
    )


def _install(name: str) -> Path | None:
    """Where the pipeline of an installed package lies; the package itself is not imported."""
    from spacy.util import is_package

    if not name.isidentifier() or not is_package(name):
        return None
    found = find_spec(name)
    places = found.submodule_search_locations if found is not None else None
    inside = (path.parent for place in places or () for path in Path(place).glob("*/config.cfg"))
    return next(inside, None)


def _language(source: Path) -> Language:
    import spacy

    try:
        _refuse_code(spacy.util.load_config(source / "config.cfg").interpolate(), source)
        return spacy.load(source)
    except BadInput:
        raise
    except Exception as error:  # what is damaged, or no pipeline at all, fails in many ways
        problem = type(error).__name__
    raise MissingModel(
        f"{source} cannot be read as a spaCy pipeline ({problem}): it is damaged, needs a package "
        "that is not installed, or is something else; install it anew or name another"
    )
