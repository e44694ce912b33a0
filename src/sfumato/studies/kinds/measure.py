"""A measure of a privatized text, a model or a mechanism, for all documents and for each group."""

from __future__ import annotations

from collections.abc import Iterable

from sfumato.core.errors import BadInput
from sfumato.mechanisms.selective import Selective
from sfumato.results.row import Row
from sfumato.studies.kinds.context import CellResult, Context, Group, by_group
from sfumato.studies.kinds.corpus import groups_of, texts
from sfumato.studies.kinds.release import privatizer
from sfumato.studies.measures.measure import MECHANISM, MODEL, Specimen, take
from sfumato.studies.resolve import resolve_measure

FEWEST_IN_GROUP = 3


def compute(context: Context) -> CellResult:
    """Measure, and measure again for each group."""
    settings = context.cell.settings["settings"]
    measure = resolve_measure(context.study, context.cell.name, settings)
    specimen = _specimen(context, measure.of)
    whole = take(measure, specimen, context.randomness)

    def look(group: Group) -> Iterable[Row]:
        if len(group.places) < FEWEST_IN_GROUP:
            return ()
        part = specimen.part(group.places, group.name)
        return take(measure, part, context.randomness, group.said).rows

    # Privatized documents may have lost what tells groups apart; their originals have not.
    told_by = specimen.documents if specimen.originals is None else specimen.originals
    found, _ = by_group(context, groups_of(told_by), look)
    return CellResult(rows=(*whole.rows, *found), details=whole.details)


def _specimen(context: Context, of: str) -> Specimen:
    there = texts(context)
    if of == MECHANISM:
        release = privatizer(context.study, context.target).selective
        found = release.mechanism if isinstance(release, Selective) else None
        return Specimen(mechanism=found)
    if of == MODEL:
        if there.test is None:
            raise BadInput("a model is measured on [test], which the study does not have")
        return Specimen(model=context.target_path, documents=there.documents(there.test))
    originals = there.documents(there.members)
    # Coins stand at the end, and are nobody's text.
    released = there.documents(context.target_path)[: len(originals)]
    return Specimen(documents=released, originals=originals)
