"""Studies: methods, attacks and measures over a grid of settings, described by one file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.core.lazy import export

if TYPE_CHECKING:
    from sfumato.studies.doors import Doors as Doors
    from sfumato.studies.folder import CellRecord as CellRecord
    from sfumato.studies.folder import StudyFolder as StudyFolder
    from sfumato.studies.measures.measure import Measure as Measure
    from sfumato.studies.measures.measure import MeasureReading as MeasureReading
    from sfumato.studies.measures.measure import Specimen as Specimen
    from sfumato.studies.parsing import parse_spec as parse_spec
    from sfumato.studies.parsing import read_spec as read_spec
    from sfumato.studies.power import half_width as half_width
    from sfumato.studies.power import secrets_for as secrets_for
    from sfumato.studies.power import secrets_to_tell as secrets_to_tell
    from sfumato.studies.spec import StudySpec as StudySpec
    from sfumato.studies.study import Study as Study
else:
    __getattr__, __dir__ = export(
        __name__,
        {
            "sfumato.studies.doors": "Doors",
            "sfumato.studies.folder": "CellRecord StudyFolder",
            "sfumato.studies.measures.measure": "Measure MeasureReading Specimen",
            "sfumato.studies.parsing": "parse_spec read_spec",
            "sfumato.studies.power": "half_width secrets_for secrets_to_tell",
            "sfumato.studies.spec": "StudySpec",
            "sfumato.studies.study": "Study",
        },
    )

__all__ = [
    "CellRecord",
    "Doors",
    "Measure",
    "MeasureReading",
    "Specimen",
    "Study",
    "StudyFolder",
    "StudySpec",
    "half_width",
    "parse_spec",
    "read_spec",
    "secrets_for",
    "secrets_to_tell",
]
