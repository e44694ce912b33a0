"""A cell: one computation of a study, identified by everything that determines its result.

The key of a cell is a digest of its settings, its seed, the keys of its inputs, and the version of
sfumato. So two methods that share a computation share the cell, and a changed setting makes a new
cell and leaves the others alone. The names of methods and corpora are not part of the key: renaming
one computes nothing again.

An input file is identified by its name and the time of its last change. Its content is never part
of a key: a digest of the content would let anyone who finds the study's folder test guesses about a
private text. So a file that was written again counts as a new file, even if its content is the
same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import policy_with_files
from sfumato.core.errors import StorageFailed
from sfumato.core.json import write_number
from sfumato.core.own_code import OwnClass
from sfumato.core.settings import NAMES_POLICY, READS, RUNS, purposes
from sfumato.studies.spec import CorpusSettings, StudySpec

# The setting of a cell that identifies the file of a component of the study's own.
CODE = "code"
# The setting of a cell that is a release: it draws from the system, and an account pays for it.
CHARGED = "charged"
# Raised when the same settings give another result than before.
SCHEMA = 3
CORPUS, RELEASE, VECTORS, SYNTHETIC, RUN, ATTACK, MEASURE, AUDIT = (
    "corpus",
    "release",
    "vectors",
    "synthetic",
    "run",
    "attack",
    "measure",
    "audit",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """One computation; ``method``, ``parameter`` and ``level`` say where charts show it.

    ``corpus`` is the name of one of several corpora. It is not part of the key; the corpus itself
    is, as an input. Nor is ``priority``: when a cell is computed does not change it.
    """

    kind: str
    corpus: str = ""
    method: str = ""
    parameter: str | None = None
    level: float | None = None
    seed: int = 0
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[Cell, ...] = ()
    priority: int = 0

    @cached_property
    def key(self) -> str:
        """The digest that identifies the cell and names its folder."""
        decides = {
            "schema": SCHEMA,
            "sfumato": version("sfumato"),
            "kind": self.kind,
            "name": self.name,
            "seed": self.seed,
            "settings": self.settings,
            "inputs": [one.key for one in self.inputs],
        }
        spelled = json.dumps(decides, sort_keys=True, default=list)
        return f"{self.kind}-{sha256(spelled.encode()).hexdigest()[:20]}"

    @property
    def title(self) -> str:
        """For people: the method, its level, the seed, and what is computed.

        >>> Cell(kind=ATTACK, method="SMDP", parameter="epsilon", level=8.0, seed=1,
        ...      name="exposure").title
        'SMDP, epsilon 8, seed 1: exposure'
        """
        if self.kind == CORPUS:
            return self.place
        return f"{self.place}: {self.name or _DOING[self.kind]}"

    @property
    def place(self) -> str:
        """The title without what is computed.

        >>> Cell(kind=ATTACK, method="masks", seed=1, name="exposure").place
        'masks, seed 1'
        """
        if self.kind == CORPUS:
            return f"the corpus {self.corpus}".rstrip()
        on = f" on {self.corpus}" if self.corpus else ""
        at = "" if self.level is None else f", {self.parameter} {self.level:g}"
        return f"{self.method}{on}{at}, seed {self.seed}"

    def entry(self) -> dict[str, Any]:
        """The cell as ``study.json`` lists it."""
        return {
            "key": self.key,
            "kind": self.kind,
            "corpus": self.corpus or None,
            "method": self.method,
            "parameter": self.parameter,
            "level": write_number(self.level),
            "seed": self.seed,
            "name": self.name,
            "inputs": [one.key for one in self.inputs],
        }


_DOING = {
    RELEASE: "privatizing",
    VECTORS: "embedding",
    SYNTHETIC: "synthesizing",
    RUN: "training",
    AUDIT: "auditing",
}


def file_identity(study: StudySpec, written: str, purpose: str = READS) -> dict[str, Any]:
    """What identifies a file, or a folder with a model: its path and its last change."""
    path = study.path(written, purpose)
    if not path.exists():
        raise StorageFailed(f"there is no file {path}, which the study names")
    inside = path / "config.json"
    changed = (inside if inside.is_file() else path).stat().st_mtime_ns
    return {"path": written, "changed": changed}


def code_identity(study: StudySpec, name: str) -> dict[str, Any]:
    """What identifies a component of the study's own; empty for one of the catalog."""
    own = OwnClass.read(name)
    return {} if own is None else {CODE: file_identity(study, str(own.path), RUNS)}


def place_files(
    study: StudySpec, component: Callable[..., Any], settings: Mapping[str, object]
) -> dict[str, Any]:
    """The settings of a component, with each path located and checked to be allowed."""
    known = purposes(component)
    found = dict(settings)
    for key, value in settings.items():
        purpose = known.get(key.removesuffix("_"))
        if purpose is None or not isinstance(value, str) or not value:
            continue
        if purpose == NAMES_POLICY:
            found[key] = policy_with_files(value, study.place)
        else:
            found[key] = study.place(value, purpose)
    return found


def find_named_files(
    study: StudySpec, component: Callable[..., Any], settings: Mapping[str, object]
) -> dict[str, dict[str, Any]]:
    """The settings of a component that name an existing file, and what identifies that file."""
    there = place_files(study, component, settings)
    return {
        key: file_identity(study, str(settings[key]))
        for key, purpose in purposes(component).items()
        if purpose == READS and there.get(key) and Path(str(there[key])).exists()
    }


def corpus_settings(study: StudySpec) -> dict[str, Any]:
    """Everything that determines the texts that cells read."""
    return {
        "corpus": _corpus(study, study.corpus),
        "test": None if study.test is None else _corpus(study, study.test),
        # What nobody asked for names no cell, so that older results keep their names.
        **({} if study.others is None else {"others": _corpus(study, study.others)}),
        **({"spans": True} if study.tags else {}),
        "canaries": _canaries(study),
        "manifest": _manifest(study),
        "coins": None if study.coins is None else asdict(study.coins),
    } | ({"labels": list(study.labels(study.corpus))} if study.classes else {})


def _corpus(study: StudySpec, corpus: CorpusSettings) -> dict[str, Any]:
    file = {} if corpus.path is None else {"file": file_identity(study, corpus.path)}
    written = asdict(corpus)
    # What nobody asked for names no cell, so that older results keep their names.
    if corpus.header:
        del written["header"]
    if corpus.span_field is None:
        del written["span_field"]
    return written | file


def _canaries(study: StudySpec) -> dict[str, Any] | None:
    if study.canaries is None:
        return None
    written = asdict(study.canaries)
    if not study.canaries.alone:  # what nobody asked for names no cell, see above
        del written["alone"]
    return written


def _manifest(study: StudySpec) -> dict[str, Any] | None:
    if study.canaries is None or study.canaries.manifest is None:
        return None
    return file_identity(study, study.canaries.manifest)
