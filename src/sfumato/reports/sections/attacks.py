"""What attacks and measures have to show, and what every attacker is assumed to know.

Which charts an attack has, and what its details mean, it says itself (``chapter``); here its plain
data become sections of the page. Only components that are installed are asked: a study's folder may
come from anywhere, and nothing that it names is loaded because of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfumato.attacks.attack import Attempt, chapter_of, needs_of
from sfumato.catalog import entries
from sfumato.charts.chapter import Chapter, Drawing, Folded, Listing, Topic
from sfumato.charts.numbers import interval
from sfumato.core.errors import SfumatoError
from sfumato.reports.markup import Html, Table, fold_table, tag
from sfumato.reports.parts import Figure, Section, bullets, draw_figure, paragraph
from sfumato.reports.studied import Studied
from sfumato.studies.cell import ATTACK, MEASURE


def chapters(study: Studied) -> list[Section]:
    """A section for each topic on which a measure or an attack has something to draw."""
    by_topic: dict[Topic, list[Drawing | Folded]] = {}
    for chapter in _chapters(study):
        by_topic.setdefault(chapter.topic, []).extend(chapter.parts)
    return [
        Section(
            name=topic.name,
            title=topic.title,
            parts=[paragraph(topic.lead), *(_part(one) for one in by_topic[topic])],
        )
        for topic in sorted(by_topic, key=lambda topic: topic.order)
    ]


def _chapters(study: Studied) -> Iterator[Chapter]:
    for name, component in _installed(study, "measures", MEASURE):
        own = getattr(component, "chapter", None)
        chapter = None if own is None else own(study.taken(name))
        if chapter is not None:
            yield chapter
    for name, component in _installed(study, "attacks", ATTACK):
        chapter = chapter_of(name, component, study.attempts(name))
        if chapter is not None:
            yield chapter


def _installed(study: Studied, catalog: str, kind: str) -> Iterator[tuple[str, Any]]:
    """The components that gave something here, if they are in the catalog."""
    for name in dict.fromkeys(cell.name for cell in study.done if cell.kind == kind):
        entry = entries(catalog).get(name)
        if entry is not None:
            try:
                yield name, entry.load()
            except (ImportError, AttributeError, SfumatoError):
                continue  # a package that is only half there draws nothing; the tables remain


def _part(part: Drawing | Folded) -> Html | Figure:
    if isinstance(part, Folded):
        return fold_table(part.summary, _table(part.listing).html())
    return Figure(
        title=part.title,
        description=part.description,
        table=_table(part.listing),
        chart=None if part.draw is None else draw_figure(part.draw),
    )


def _table(listing: Listing) -> Table:
    return Table(caption=listing.caption, head=listing.head, rows=listing.rows)


def attackers(study: Studied) -> Section | None:
    """What each attacker knows, what the null control says, and what to bear in mind."""
    names = list(dict.fromkeys(cell.name for cell in study.done if cell.scores))
    if not names:
        return None
    said = paragraph(
        "An attack proves that something leaks, never that nothing does. Each has a null control: "
        "the same attack where there is nothing to find, which must come out near chance."
    )
    beside = {
        name: needs_of(component).about_the_data
        for name, component in _installed(study, "attacks", ATTACK)
    }
    parts = [
        part for name in names for part in _attack(name, study.attempts(name), beside.get(name, ()))
    ]
    return Section(name="attackers", title="What the attackers know", parts=[said, *parts])


def _attack(name: str, found: list[Attempt], about_the_data: tuple[str, ...]) -> list[Html]:
    knowledge = dict.fromkeys(one.scores.knowledge for one in found)
    notes = dict.fromkeys(note for one in found for note in one.scores.notes)
    rows = [
        (
            attempt.said,
            attempt.seed,
            one.metric,
            one.value,
            interval(one.low, one.high),
            attempt.scores.chance.get(one.metric),
        )
        for attempt in found
        for one in (
            *attempt.scores.control.figures,
            *(one for one in attempt.scores.figures if one.metric in about_the_data),
        )
    ]
    what = dict.fromkeys(one.scores.control.what for one in found)
    head = ("against", "seed", "figure", "value", "95 % interval", "by chance")
    parts = [tag("h3", {}, name), *(paragraph(one) for one in knowledge if one)]
    if notes:
        parts.append(fold_table(f"Notes ({len(notes)})", bullets(list(notes)), kind="print"))
    if rows:
        caption = f"Null control: {'; '.join(one for one in what if one)}"
        caption += "; and what the texts show by themselves"
        parts.append(
            fold_table("Null control", Table(caption=caption, head=head, rows=rows).html())
        )
    return parts
