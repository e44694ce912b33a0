"""A text of a study before and after, to look at: only where the corpus may be shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from sfumato.core.errors import SfumatoError
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.policy import Policy
from sfumato.studies.cell import CORPUS, RELEASE
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from sfumato.studies.kinds.corpus import RELEASED, TRAIN
from sfumato.studies.resolve import GridPoint, points, policy_of, resolve_policy
from sfumato.studies.spec import StudySpec, parse_spec
from sfumato.text.document import Document

Marked = tuple[int, int, str]


@dataclass(frozen=True, kw_only=True, repr=False)
class TextSample:
    """A document before and after a method; ``spans`` are what the policy found in it.

    Each span is where it begins and ends in ``before``, in characters, and what it was found as.
    """

    method: str
    level: float | None
    before: str
    after: str
    spans: tuple[Marked, ...] = ()

    def __repr__(self) -> str:
        # The text may be private, and turn up in a traceback.
        return f"Sample({self.method}, {len(self.before)} characters)"


def sample_texts(folder: StudyFolder, count: int) -> list[TextSample]:
    """The first documents of a public corpus, as each method at each level privatized them.

    Empty where the corpus is private, or where no method has privatized text yet.
    """
    described = folder.study()
    if not described["public"] or count < 1:
        return []
    cells = folder.cells()
    study = parse_spec(described["file"], folder.path, described["name"])
    return [
        sample
        for name, one in study.each.items()
        for sample in _of_corpus(
            folder, one, [cell for cell in cells if (cell.corpus or "") == name], count
        )
    ]


def _of_corpus(
    folder: StudyFolder, study: StudySpec, cells: list[CellRecord], count: int
) -> list[TextSample]:
    corpus = next((cell for cell in cells if cell.kind == CORPUS and cell.state == DONE), None)
    if corpus is None:
        return []
    before = _first(folder.cell(corpus.key) / TRAIN, count)
    policies = _policies(study)
    found = []
    for cell in cells:
        if cell.kind != RELEASE or cell.state != DONE or cell.method not in policies:
            continue
        if cell.seed != min(one.seed for one in cells if one.kind == RELEASE):
            continue
        after = _first(folder.cell(cell.key) / RELEASED, count)
        for original, released in zip(before, after, strict=True):
            policy = policies[cell.method]
            spans = () if policy is None else policy.find(original)
            found.append(
                TextSample(
                    method=f"{cell.method} on {cell.corpus}" if cell.corpus else cell.method,
                    level=cell.level,
                    before=original.text,
                    after=released.text,
                    spans=tuple((span.start, span.end, span.label) for span in spans),
                )
            )
    return found


def _first(path: Path, count: int) -> list[Document]:
    return list(islice(Source.of(path, Layout()).documents(), count))


def _policies(study: StudySpec) -> dict[str, Policy | None]:
    return {
        point.method: _policy(study, point)
        for method in study.methods
        for point in points(method)
        if "mechanism" in point.settings
    }


def _policy(study: StudySpec, point: GridPoint) -> Policy | None:
    """None if a word list is not to be had: the study's folder does not hold it."""
    try:
        return policy_of(study, resolve_policy(study, point.settings))
    except SfumatoError:
        return None
