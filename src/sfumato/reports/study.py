"""The page of a study: the trade-off, the attacks, the groups, the cost, and what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from sfumato.charts.numbers import count_things
from sfumato.core.errors import InvalidArgument
from sfumato.reports.page import MEASURED_ON_PRIVATE_TEXT, PRIVATE_TEXT, Page, Section
from sfumato.reports.samples import Showing, study_samples
from sfumato.reports.sections.findings import attackers, chapters, claims
from sfumato.reports.sections.groups import groups
from sfumato.reports.sections.limits import study_limits
from sfumato.reports.sections.record import all_figures, cost, missing, missing_notice, provenance
from sfumato.reports.sections.summary import summary
from sfumato.reports.sections.texts import texts
from sfumato.reports.sections.tradeoff import tradeoff
from sfumato.reports.studied import Studied
from sfumato.studies.folder import CellRecord, StudyFolder

_FIRST: tuple[Callable[[Studied], Section | None], ...] = (summary, missing, tradeoff)
_THEN: tuple[Callable[[Studied], Section | None], ...] = (
    claims,
    groups,
    cost,
)
_LAST: tuple[Callable[[Studied], Section | None], ...] = (
    attackers,
    all_figures,
    provenance,
    study_limits,
)


def study_page(path: Path, showing: Showing) -> Page:
    """The page of a study, from its finished cells; an empty study has one too."""
    study = Studied.of(StudyFolder(path))
    if study.public and showing.originals is not None:
        raise InvalidArgument(
            "the corpus of this study is public and its samples are in the folder; leave out "
            "`originals=...`"
        )
    if len(study.corpora) > 1 and showing.originals is not None:
        raise InvalidArgument("the study has several corpora, but originals belong to one of them")
    samples, why_none = study_samples(study, showing)
    notices = []
    if samples and not study.public:
        notices.append(PRIVATE_TEXT)
    if not study.public:
        notices.append(MEASURED_ON_PRIVATE_TEXT)
    lacking = missing_notice(study)
    if lacking is not None:
        notices.append(lacking)
    sections = _of_each_corpus(study)
    parameters = {_called(cell): cell.parameter for cell in study.cells}
    sections.append(texts(samples, why_none, parameters))
    sections += [section(study) for section in _LAST]
    return Page(
        kind="Report on a study of private language",
        title=study.title,
        lead=_lead(study),
        notices=notices,
        sections=[section for section in sections if section is not None],
    )


def _called(cell: CellRecord) -> str:
    """The name of a method beside samples of its texts."""
    return f"{cell.method} on {cell.corpus}" if cell.corpus else cell.method


def _of_each_corpus(study: Studied) -> list[Section | None]:
    """What was measured on one corpus says nothing about another: each has its own sections."""
    if not study.corpora:
        return _measured(study)
    found = [missing(study)]
    for number, name in enumerate(study.corpora, start=1):
        parts = _measured(study.of_corpus(name), without=missing)
        found += [
            replace(part, name=f"{part.name}-{number}", title=f"{name}: {part.title}")
            for part in parts
            if part is not None
        ]
    return found


def _measured(
    study: Studied, without: Callable[[Studied], Section | None] | None = None
) -> list[Section | None]:
    """The sections about figures: those of every study, and those of its components."""
    first = [section(study) for section in _FIRST if section is not without]
    return [*first, *chapters(study), *(section(study) for section in _THEN)]


def _lead(study: Studied) -> str:
    corpus = study.said("corpus") or "The corpus is not described"
    corpus = corpus[:1].upper() + corpus[1:]
    methods = count_things(len(study.methods), "method")
    done = f"{len(study.done):,} of {count_things(len(study.cells), 'computation')} finished"
    return f"{corpus.rstrip('. ')}. {methods}; {done}."
