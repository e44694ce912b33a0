"""Privatizing texts in memory and in files, with the guarantee beside the output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.releases.explanation import Explanation as Explanation
    from sfumato.releases.explanation import Focus as Focus
    from sfumato.releases.explanation import explain_text as explain_text
    from sfumato.releases.explanation import places_of as places_of
    from sfumato.releases.job import Job as Job
    from sfumato.releases.job import run_job as run_job
    from sfumato.releases.preview import Preview as Preview
    from sfumato.releases.privatizer import Privatizer as Privatizer
    from sfumato.releases.release import Release as Release
    from sfumato.releases.restoring import Restored as Restored
    from sfumato.releases.restoring import restore_file as restore_file
    from sfumato.releases.vault import Vault as Vault
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.releases.explanation": "Explanation Focus explain_text places_of",
            "sfumato.releases.job": "Job run_job",
            "sfumato.releases.preview": "Preview",
            "sfumato.releases.privatizer": "Privatizer",
            "sfumato.releases.release": "Release",
            "sfumato.releases.restoring": "Restored restore_file",
            "sfumato.releases.vault": "Vault",
        },
    )

__all__ = [
    "Explanation",
    "Focus",
    "Job",
    "Preview",
    "Privatizer",
    "Release",
    "Restored",
    "Vault",
    "explain_text",
    "places_of",
    "restore_file",
    "run_job",
]
