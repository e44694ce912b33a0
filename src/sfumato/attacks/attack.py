"""What every attack is: inputs in, scores out.

An attack is a frozen dataclass; its fields are its settings (``--set KEY=VALUE``). It is used in
two steps, so that a library user can bring objects and a command line brings paths::

    target, data = attack.opened(inputs)           # paths to objects; explains what is missing
    scores = attack.score(target, data, randomness)

Randomness is for sampling candidates and resampling intervals, never for noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sfumato.core.errors import BadInput, MissingInput, StorageFailed
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.results.scores import Scores
from sfumato.text.document import Document

Target_contra = TypeVar("Target_contra", contravariant=True)
Data_contra = TypeVar("Data_contra", contravariant=True)

Done = Callable[[int, int], None]
"""Told how much is done, and of how much in all."""


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Everything a user may hand to an attack, as paths; each attack takes what it needs.

    ``target`` is the folder of a training run, the folder of a model, or a privatized file.
    ``members`` is the text a model was trained on, ``others`` text of the same kind that it has not
    seen, ``originals`` what a privatized file was made from, ``canaries`` the manifest that
    ``sfumato data canaries`` wrote, ``references`` models of the same kind trained without the
    members. ``cache`` is a folder for token scores, as private as the text they were measured on.
    With ``label`` only documents of that label count, which the layout must name a field for.
    """

    target: Path
    members: Path | None = None
    others: Path | None = None
    originals: Path | None = None
    canaries: Path | None = None
    references: tuple[Path, ...] = ()
    cache: Path | None = None
    layout: Layout = field(default_factory=Layout)
    file_format: str | None = None
    label: str | None = None

    def documents(self, path: Path) -> list[Document]:
        """The documents of one of the files."""
        if not path.exists():
            raise StorageFailed(f"there is no file {path}")
        found = list(Source.of(path, self.layout, file_format=self.file_format).documents())
        if self.label is not None:
            found = [one for one in found if one.labels == (self.label,)]
        if not found:
            raise BadInput(f"{path} holds no document" + (" of that label" if self.label else ""))
        return found


class Attack(Protocol[Target_contra, Data_contra]):
    """One way to learn what should not be learned.

    ``name`` is the catalog's; ``target`` says what is attacked, a ``model`` or a ``text``.
    ``missing`` gives a sentence about what is lacking, and how to make it, or None; it looks at
    which paths are given and what kind of thing they are, and is quick.
    """

    @property
    def name(self) -> str:
        """As in the catalog."""
        ...

    @property
    def target(self) -> str:
        """What is attacked: a model, or a privatized text."""
        ...

    def missing(self, inputs: Inputs) -> str | None:
        """Why the attack cannot be run on these inputs, and what would help."""
        ...

    def opened(self, inputs: Inputs) -> tuple[Any, Any]:
        """The target and the data behind the paths."""
        ...

    def score(
        self,
        target: Target_contra,
        data: Data_contra,
        randomness: Randomness,
        done: Done | None = None,
    ) -> Scores:
        """Attack."""
        ...


def run(
    attack: Attack[Any, Any], inputs: Inputs, randomness: Randomness, done: Done | None = None
) -> Scores:
    """Open and score, or say what is missing."""
    lacking = attack.missing(inputs)
    if lacking is not None:
        raise MissingInput(f"{attack.name}: {lacking}")
    target, data = attack.opened(inputs)
    return attack.score(target, data, randomness, done)
