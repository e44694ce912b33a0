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
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
        for group in grouped(pieces, CHARACTERS_AT_ONCE):
            # One group at a time: a memory zone belongs to the whole pipeline.
            with self._busy, self.language.memory_zone():
                found += [list(spans) for spans in analysis(piece.text for piece in group)]
        return joined(pieces, found, len(texts))


def load(model: str, *, policy: str) -> Pipeline:
    """The pipeline of that name or path; without one the variable's or the usual one."""
    extra("spacy", needed_for=f"the policy '{policy}'", extra="nlp")
    return _loaded(model or os.environ.get(VARIABLE, "") or DEFAULT)


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
def _loaded(model: str) -> Pipeline:
    given = from_home(model)
    if (given / "config.cfg").is_file():
        refuse_links_out(given)
        return Pipeline(_language(given), given.resolve())
    installed = _installed(model)
    if installed is not None:
        return Pipeline(_language(installed), installed)
    if given.is_dir():
        raise MissingModel(f"{model} holds no spaCy pipeline: there is no config.cfg in it")
    raise MissingModel(
        f"there is no spaCy pipeline {model}: it is neither an installed pipeline nor a folder. "
        f"'python -m spacy download {DEFAULT}' installs the usual one; a folder is named by the "
        f"setting 'model' of the policy or by the variable {VARIABLE}"
    )


def _installed(name: str) -> Path | None:
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
