"""A privatized text, with its guarantee beside it as every privatized file has it.

What stands for no privacy is the originals; of a private corpus it is a link to them, and no copy.

Each level draws noise of its own. With the same draws at all levels, figures of neighboring levels
would err together, and one error seen several times looks like a trend.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import side_path
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.studies.cell import CODE, Cell, place_files
from sfumato.studies.kinds.context import CellResult, Context
from sfumato.studies.kinds.corpus import texts
from sfumato.studies.resolve import LINKED, policy_of
from sfumato.studies.spec import StudySpec


def compute(context: Context) -> CellResult:
    """Privatize the corpus."""
    there = texts(context)
    target = context.here / there.released
    if target.is_symlink():
        target.unlink()  # what it points to is not ours to write
    linked = bool(context.cell.settings.get(LINKED))
    # Parquet cannot be written to nowhere; then the copy is there until it is replaced below.
    nowhere = linked and there.source.format.name != "parquet"
    job = Job(
        source=there.source,
        target=Path(os.devnull) if nowhere else target,
        guarantee=side_path(target) if nowhere else None,
        overwrite=True,
    )
    summary = run_job(job, privatizer(context.study, context.cell))
    if linked:
        target.unlink(missing_ok=True)
        target.symlink_to(there.train.resolve())
    return CellResult(
        guarantee=summary["guarantee"],
        sentence=summary["sentence"],
        details={"counts": summary["counts"]},
    )


def privatizer(study: StudySpec, cell: Cell) -> Privatizer:
    """The privatizer of a cell that privatizes."""
    settings = {key: value for key, value in cell.settings.items() if key not in (LINKED, CODE)}
    path = vectors_path(study, settings.pop("vectors", None))
    component = study.component("mechanisms", settings["mechanism"])
    settings["mechanism"] = study.component_name(settings["mechanism"])
    if "settings" in settings:
        settings["settings"] = place_files(study, component, settings["settings"])
    return Privatizer(
        policy=policy_of(study, settings.pop("policy")),
        vectors=None if path is None else str(path),
        seed=own_seed(cell.seed, cell.settings),
        **settings,
    )


def own_seed(seed: int, settings: Mapping[str, Any]) -> int:
    """A seed for these settings: another level or method draws other noise.

    >>> own_seed(1, {"epsilon": 2}) == own_seed(1, {"epsilon": 2}) != own_seed(1, {"epsilon": 3})
    True
    """
    spelled = json.dumps([seed, _lasting(settings)], sort_keys=True, default=list)
    return int.from_bytes(sha256(spelled.encode()).digest()[:7], "big")


def _lasting(value: Any) -> Any:
    """Settings without when a file was changed: a copy of it must give the same draws."""
    if isinstance(value, Mapping):
        return {key: _lasting(one) for key, one in value.items() if key != "changed"}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


def vectors_path(study: StudySpec, vectors: dict[str, Any] | None) -> Path | None:
    """Where the word vectors of a cell stand, if they are not those of the package."""
    return None if vectors is None else study.path(str(vectors["path"]))
