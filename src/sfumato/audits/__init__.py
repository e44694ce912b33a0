"""Tests of claims: refute what a mechanism claims, bound epsilon from below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.audits.candidates import color_space as color_space
    from sfumato.audits.coins import Audited as Audited
    from sfumato.audits.coins import Guessing as Guessing
    from sfumato.audits.coins import audit_run as audit_run
    from sfumato.audits.exhibits.table import EXHIBITS as EXHIBITS
    from sfumato.audits.exhibits.table import find_exhibit as find_exhibit
    from sfumato.audits.lower_bounds import Guesses as Guesses
    from sfumato.audits.lower_bounds import gaussian_bound as gaussian_bound
    from sfumato.audits.lower_bounds import one_run_bound as one_run_bound
    from sfumato.audits.lower_bounds import two_run_bound as two_run_bound
    from sfumato.audits.subject import Subject as Subject
    from sfumato.audits.subject import VectorSubject as VectorSubject
    from sfumato.audits.subject import WordSubject as WordSubject
    from sfumato.audits.verdict import Finding as Finding
    from sfumato.audits.verdict import Verdict as Verdict
    from sfumato.audits.verdict import Witness as Witness
    from sfumato.audits.verify import Effort as Effort
    from sfumato.audits.verify import refute as refute
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.audits.candidates": "color_space",
            "sfumato.audits.coins": "Audited Guessing audit_run",
            "sfumato.audits.exhibits.table": "EXHIBITS find_exhibit",
            "sfumato.audits.lower_bounds": "Guesses gaussian_bound one_run_bound two_run_bound",
            "sfumato.audits.subject": "Subject VectorSubject WordSubject",
            "sfumato.audits.verdict": "Finding Verdict Witness",
            "sfumato.audits.verify": "Effort refute",
        },
    )

__all__ = [
    "EXHIBITS",
    "Audited",
    "Effort",
    "Finding",
    "Guesses",
    "Guessing",
    "Subject",
    "VectorSubject",
    "Verdict",
    "Witness",
    "WordSubject",
    "audit_run",
    "color_space",
    "find_exhibit",
    "gaussian_bound",
    "one_run_bound",
    "refute",
    "two_run_bound",
]
