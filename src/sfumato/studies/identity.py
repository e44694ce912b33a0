"""What tells one input file from another, for the keys of cells: its name and its last change.

A digest of the content would let whoever finds a study's folder test guesses about a private text,
and a key is such a digest; so content never goes into one. A file that was written again counts as
another file, even with the same content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import policy_with_files
from sfumato.core.config import NAMES_POLICY, READS, purposes
from sfumato.core.errors import StorageFailed
from sfumato.studies.config import Corpus, Study


def file_identity(study: Study, written: str) -> dict[str, Any]:
    """A file, or a folder with a model in it, as it stands now."""
    path = study.path(written)
    if not path.exists():
        raise StorageFailed(f"there is no file {path}, which the study names")
    inside = path / "config.json"
    changed = (inside if inside.is_file() else path).stat().st_mtime_ns
    return {"path": written, "changed": changed}


def placed(
    study: Study, component: Callable[..., Any], settings: Mapping[str, object]
) -> dict[str, Any]:
    """Settings of a component, with everything that they name where the study may use it."""
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


def named_files(
    study: Study, component: Callable[..., Any], settings: Mapping[str, object]
) -> dict[str, dict[str, Any]]:
    """The settings of a component that name a file; others are names of something else."""
    there = placed(study, component, settings)
    return {
        key: file_identity(study, str(settings[key]))
        for key, purpose in purposes(component).items()
        if purpose == READS and there.get(key) and Path(str(there[key])).exists()
    }


def corpus_settings(study: Study) -> dict[str, Any]:
    """Everything that decides what the cells read."""
    return {
        "corpus": _corpus(study, study.corpus),
        "test": None if study.test is None else _corpus(study, study.test),
        "canaries": None if study.canaries is None else asdict(study.canaries),
        "manifest": _manifest(study),
        "coins": None if study.coins is None else asdict(study.coins),
    }


def _corpus(study: Study, corpus: Corpus) -> dict[str, Any]:
    file = {} if corpus.path is None else {"file": file_identity(study, corpus.path)}
    return asdict(corpus) | file


def _manifest(study: Study) -> dict[str, Any] | None:
    if study.canaries is None or study.canaries.manifest is None:
        return None
    return file_identity(study, study.canaries.manifest)
