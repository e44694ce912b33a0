"""What tells one input file from another, for the keys of cells: its name and its last change.

A digest of the content would let whoever finds a study's folder test guesses about a private text,
and a key is such a digest; so content never goes into one. A file that was written again counts as
another file, even with the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sfumato.core.errors import StorageFailed
from sfumato.studies.config import Corpus, Study

# Settings of attacks that may be paths.
FILE_SETTINGS = ("corpus", "masked_model", "model", "vectors")


def file_identity(study: Study, written: str) -> dict[str, Any]:
    """A file, or a folder with a model in it, as it stands now."""
    path = study.path(written)
    if not path.exists():
        raise StorageFailed(f"there is no file {path}, which the study names")
    inside = path / "config.json"
    changed = (inside if inside.is_file() else path).stat().st_mtime_ns
    return {"path": written, "changed": changed}


def named_files(study: Study, settings: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """The settings of an attack that name a file beside the study; others are names of models."""
    return {
        key: file_identity(study, value)
        for key, value in settings.items()
        if key in FILE_SETTINGS and isinstance(value, str) and value and study.path(value).exists()
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
