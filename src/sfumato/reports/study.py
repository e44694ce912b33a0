"""The page of a study: the trade-off, the attacks, the groups, the cost, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from sfumato.charts.numbers import count_things
from sfumato.core.errors import InvalidArgument
from sfumato.reports.decision import Decision
from sfumato.reports.page import (
    MEASURED_ON_PRIVATE_TEXT,
    PRIVATE_TEXT,
    Block,
    Heading,
    Notice,
    Page,
    Question,
    Section,
)
from sfumato.reports.samples import Showing, study_samples
from sfumato.reports.sections.findings import attackers, chapters, claims
from sfumato.reports.sections.groups import groups
from sfumato.reports.sections.limits import study_limits
from sfumato.reports.sections.overview import is_it_safe, is_it_useful, overview, sentences
from sfumato.reports.sections.record import all_figures, cost, missing, missing_notice, provenance
from sfumato.reports.sections.summary import methods
from sfumato.reports.sections.texts import texts
from sfumato.reports.sections.tradeoff import tradeoff
from sfumato.reports.studied import Studied
from sfumato.studies.folder import CellRecord, StudyFolder


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
    parameters = {_called(cell): cell.parameter for cell in study.cells}
    whole = _Whole(study, {name: study.of_corpus(name) for name in study.corpora} or {"": study})
    return Page(
        kind="Report on a study of private language",
        title=study.title,
        lead=_lead(study),
        notices=_notices(study, private_text=bool(samples)),
        sentences=whole.sentences(),
        overview=whole.overview(),
        questions=whole.questions(texts(samples, why_none, parameters)),
    )


def _notices(study: Studied, *, private_text: bool) -> list[Notice]:
    notices = []
    if not study.public:
        notices += [PRIVATE_TEXT] if private_text else []
        notices.append(MEASURED_ON_PRIVATE_TEXT)
    lacking = missing_notice(study)
    return notices if lacking is None else [*notices, lacking]


class _Whole:
    """A study on one or several corpora; what was measured on one says nothing about another."""

    def __init__(self, study: Studied, corpora: Mapping[str, Studied]) -> None:
        self.study = study
        self.corpora = corpora
        self.decisions = {name: Decision.of(one) for name, one in corpora.items()}

    def sentences(self) -> list[tuple[str, str]]:
        return [
            (f"{name}. {lead}" if name else lead, said)
            for name, one in self.corpora.items()
            for lead, said in sentences(one, self.decisions[name])
        ]

    def overview(self) -> list[Block]:
        parts: list[Block] = []
        for name, one in self.corpora.items():
            parts += [Heading(text=name)] if name else []
            parts += overview(one, self.decisions[name])
        return parts

    def questions(self, samples: Section) -> list[Question]:
        """In the order in which people ask."""
        safe = [
            *self._each(lambda one, decision: [methods(one, decision), tradeoff(one)]),
            *self._each(lambda one, _: [*chapters(one), claims(one)]),
            attackers(self.study),
        ]
        by_group = self._each(lambda one, _: [groups(one)])
        lacking = len(self.study.failed) + len(self.study.missing)
        wrong = f"{lacking:,} computations are not here; " if lacking else ""
        return [
            _ask("safe", "Is it safe?", self._answer(is_it_safe), safe),
            _ask("useful", "Is it still useful?", self._answer(is_it_useful), [samples]),
            _ask("groups-of-people", "For whom is it worse?", _for_whom(by_group), by_group),
            _ask(
                "wrong",
                "What could go wrong?",
                f"{wrong}what no figure and no guarantee here says.",
                [missing(self.study), study_limits(self.study)],
            ),
            _ask(
                "made",
                "How was it made?",
                f"{count_things(len(self.study.done), 'finished computation')}, every figure, the "
                "command and the versions.",
                [*self._each(lambda one, _: [cost(one)]), all_figures(self.study),
                 provenance(self.study)],
            ),
        ]  # fmt: skip

    def _answer(self, of: Callable[[Studied, Decision], str]) -> str:
        return " ".join(
            f"{name}: {of(one, self.decisions[name])}" if name else of(one, self.decisions[name])
            for name, one in self.corpora.items()
        )

    def _each(
        self, of: Callable[[Studied, Decision], Sequence[Section | None]]
    ) -> list[Section | None]:
        """The sections of every corpus, named after it if there are several."""
        found: list[Section | None] = []
        for number, (name, one) in enumerate(self.corpora.items(), start=1):
            parts = [part for part in of(one, self.decisions[name]) if part is not None]
            found += (
                replace(part, name=f"{part.name}-{number}", title=f"{name}: {part.title}")
                if name
                else part
                for part in parts
            )
        return found


def _ask(name: str, title: str, answer: str, sections: Sequence[Section | None]) -> Question:
    known = [one for one in sections if one is not None]
    return Question(name=name, title=title, answer=answer, sections=known)


def _for_whom(found: Sequence[Section | None]) -> str:
    if not any(found):
        return "Not measured: the study names no groups of documents, or none was finished."
    return "What each group of documents loses, and the gap between the best and the worst."


def _called(cell: CellRecord) -> str:
    """The name of a method beside samples of its texts."""
    return f"{cell.method} on {cell.corpus}" if cell.corpus else cell.method


def _lead(study: Studied) -> str:
    corpus = study.said("corpus") or "The corpus is not described"
    corpus = corpus[:1].upper() + corpus[1:]
    methods = count_things(len(study.methods), "method")
    done = f"{len(study.done):,} of {count_things(len(study.cells), 'computation')} finished"
    return f"{corpus.rstrip('. ')}. {methods}; {done}."
