"""Samples of text before and after, and why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sfumato.reports.markup import Html, tag
from sfumato.reports.numbers import level_of
from sfumato.reports.parts import Section, paragraph
from sfumato.reports.samples import side_by_side
from sfumato.studies.samples import Sample

NO_PARAMETERS: Mapping[str, str | None] = MappingProxyType({})
_LEGEND = (
    (("found", "found"), " is what the policy found, with what it was found as; "),
    (("new", "new"), " is what stands in its place; "),
    (
        ("kept", "kept"),
        " was sensitive and stayed as it was, as its level allows.",
    ),
)


def texts(
    samples: Sequence[Sample], why_none: str, parameters: Mapping[str, str | None] = NO_PARAMETERS
) -> Section:
    """Side by side, by method and level."""
    if not samples:
        return Section(name="texts", title="Samples of text", parts=[paragraph(why_none)])
    legend = [
        part
        for (kind, word), said in _LEGEND
        for part in (tag("mark", {"class": kind}, word), said)
    ]
    parts: list[Html] = [paragraph(*legend, kind="quiet")]
    heading = ""
    for sample in samples:
        said = ", ".join(
            filter(None, (sample.method, level_of(parameters.get(sample.method), sample.level)))
        )
        if said and said != heading:
            parts.append(tag("h3", {}, said))
            heading = said
        parts.append(side_by_side(sample))
    return Section(name="texts", title="Samples of text", parts=parts)
