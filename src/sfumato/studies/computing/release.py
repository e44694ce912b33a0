"""A privatized text, with its guarantee beside it as every privatized file has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.policies.parsing import combine_policies
from sfumato.policies.policy import Policy
from sfumato.releases.job import Job, run
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.cells import Cell
from sfumato.studies.computing.context import Context, Found
from sfumato.studies.computing.corpus import texts
from sfumato.studies.config import Study


def compute(context: Context) -> Found:
    """Privatize the corpus."""
    there = texts(context)
    job = Job(source=there.source, target=context.here / there.released, overwrite=True)
    summary = run(job, privatizer(context.study, context.cell))
    return Found(
        guarantee=summary["guarantee"],
        sentence=summary["sentence"],
        details={"counts": summary["counts"]},
    )


def privatizer(study: Study, cell: Cell) -> Privatizer:
    """The privatizer of a cell that privatizes."""
    settings = dict(cell.settings)
    path = vectors_path(study, settings.pop("vectors", None))
    return Privatizer(
        policy=policy_of(settings.pop("policy")),
        vectors=None if path is None else str(path),
        seed=cell.seed,
        **settings,
    )


def policy_of(settings: dict[str, Any]) -> Policy:
    """A policy from what the grid wrote down."""
    return combine_policies(settings["find"], settings["except"], settings["settings"])


def vectors_path(study: Study, vectors: dict[str, Any] | None) -> Path | None:
    """Where the word vectors of a cell stand, if they are not those of the package."""
    return None if vectors is None else study.path(str(vectors["path"]))
