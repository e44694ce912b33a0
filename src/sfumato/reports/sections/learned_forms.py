"""The forms of made-up values that a run has learned from private text, and released.

They came from a private histogram whose level is a part of the run's, so they may be shown to
whoever may have the model; and whoever answers for the model should see them, since a form says
what the private values look like.
"""

from __future__ import annotations

from sfumato.guarantees.wording import at_most
from sfumato.reports.page import Section, Table, paragraph
from sfumato.training.folder import RunFolder
from sfumato.training.methods.forms import Forms, load_forms

MOST_ROWS = 60


def forms_section(folder: RunFolder) -> list[Section]:
    """A table of the released forms; nothing if none were learned."""
    if not folder.forms.is_file():
        return []
    forms = load_forms(folder)
    rows = [
        (kind, form or "(no form)", f"{share:.1%}")
        for kind, each in forms.shares().items()
        for form, share in each
    ]
    parts = [paragraph(_said(forms, len(rows)))]
    table = Table(
        caption="Released forms",
        head=("type", "form", "drawn"),
        rows=rows[:MOST_ROWS],
    )
    return [
        Section(
            name="forms",
            title="What do the made-up values look like?",
            parts=[*parts, *([table] if rows else [])],
        )
    ]


def _said(forms: Forms, count: int) -> str:
    least = f"{forms.noise.threshold or 0.0:,.0f}"
    level = f"ε ≤ {at_most(forms.noise.epsilon, 3)}, a part of the level of the model"
    if not count:
        return (
            f"Forms of private values were to be learned ({level}), and none was frequent enough "
            "to be shown, so the usual made-up values were taken."
        )
    cut = f" The {MOST_ROWS} first of {count:,} are listed." if count > MOST_ROWS else ""
    return (
        "Public text has made-up values in the place of private ones, of forms that were learned "
        f"from the private text with noise ({level}). 0 is a digit, A a capital, a a small letter, "
        f"* a capital or a digit. A form is here if it has a noisy count of {least} or more.{cut}"
    )
