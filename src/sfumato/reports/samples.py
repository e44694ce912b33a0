"""Texts before and after for a page, and what was found in the originals, counted by type.

This is the one place of a report that reads text. A text before is private unless the corpus is
generated or declared public; a private one is read only if whoever makes the page names the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from sfumato.attacks.text_target import policy_of as policy_named
from sfumato.attacks.text_target import side_path
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.core.json import read_json
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.policies.combine import Union
from sfumato.policies.policy import Policy, find_in
from sfumato.releases.recorded import recorded_format, recorded_layout
from sfumato.releases.sidefile import SCHEMA
from sfumato.reports.studied import Studied
from sfumato.results.row import ANCHORS
from sfumato.studies.cell import CORPUS, RELEASE
from sfumato.studies.folder import DONE, CellRecord, StudyFolder
from sfumato.studies.kinds.context import RELEASED, TRAIN
from sfumato.studies.parsing import parse_spec
from sfumato.studies.points import GridPoint, points
from sfumato.studies.resolve import policy_of, resolve_policy
from sfumato.studies.spec import StudySpec
from sfumato.text.document import Document
from sfumato.text.words import Words

# The usual number of samples of each method and level if the corpus is public.
USUALLY = 1

_PRIVATE = (
    "The corpus of this study is private: the study's folder has no copy of it, and this page "
    "shows no text. To see documents before and after, make a page with samples and name the "
    "originals; that page is private."
)
_NO_TEXT = (
    "There is nothing to show: no method of this study has privatized a text yet, or all of them "
    "train on the originals."
)


@dataclass(frozen=True, kw_only=True)
class Showing:
    """How much private text a page may contain: ``samples`` documents of ``originals``.

    ``field`` names the text in them, unless it is that of the privatized file, which is
    ``recorded`` beside it. Without ``originals`` the page contains no private text. With originals
    and no samples, what was found is counted, and no text is shown. ``scores`` are files with what
    attacks found.
    """

    samples: int | None = None
    originals: Path | None = None
    field: str | None = None
    recorded: Mapping[str, Any] | None = None
    scores: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.samples is not None and self.samples < 0:
            raise InvalidArgument(f"samples={self.samples} must be at least 0")
        if self.field is not None:
            Layout(field=self.field)  # a wrong field is an error even if nothing is read

    def _layout(self) -> Layout:
        return recorded_layout(self.recorded or {}, field=self.field, several=True)

    @property
    def source(self) -> Source | None:
        """The originals, if they were named."""
        if self.originals is None:
            return None
        # The originals may be packed in another way: their name tells that.
        return Source.of(self.originals, self._layout())


Marked = tuple[int, int, str]


@dataclass(frozen=True, kw_only=True, repr=False)
class TextSample:
    """A document before and after a method; ``spans`` are what the policy found in it.

    Each span is its start and its end in ``before``, in characters, and its label.
    """

    method: str
    level: float | None
    before: str
    after: str
    spans: tuple[Marked, ...] = ()

    def __repr__(self) -> str:
        # The text may be private, and a traceback may show this.
        return f"Sample({self.method}, {len(self.before)} characters)"


def side_file_of(privatized: Path) -> Mapping[str, Any]:
    """The content of a privatized file's side file, checked."""
    path = side_path(privatized)
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("settings"), dict):
        raise BadInput(f"{path} is not the side file of a privatized text")
    if content.get("schema") != SCHEMA:
        raise BadInput(f"{path} was not written by this version; privatize again")
    return content


def open_privatized(path: Path, settings: Mapping[str, Any]) -> Source:
    """How to read a privatized file, as its side file says."""
    layout = recorded_layout(settings, several=True)
    return Source.of(path, layout, file_format=recorded_format(settings, None))


def read_stated_policy(settings: Mapping[str, Any]) -> Policy | None:
    """The policy that a side file names; None if a pattern or a word list is left out of it."""
    levels = settings.get("levels")
    try:
        if isinstance(levels, list) and levels:
            return Union(tuple(policy_named(str(one["policy"])) for one in levels))
        return policy_named(str(settings.get("policy")))
    except (SfumatoError, KeyError, TypeError):
        return None


@dataclass(frozen=True, kw_only=True)
class FoundByType:
    """What a policy finds in the originals: how often each type, and how many words in all."""

    documents: int
    words: int
    by_type: Mapping[str, int]

    def agrees(self, counts: Mapping[str, Any]) -> bool:
        """Whether a release of these documents with this policy would have these counts.

        A side file names a policy without its patterns and settings. With other settings, or in
        other documents, a policy finds something else, and the counts show that.
        """
        selected = [counts.get(name) for name in ("privatized_words", "uncovered_words")]
        words = [one for one in selected if isinstance(one, int)]
        same_words = len(words) < len(selected) or sum(words) == self.words
        return same_words and counts.get("documents") == self.documents


def find_all(policy: Policy, originals: Source) -> FoundByType:
    """Look through all originals; a record is one document, however many texts it has."""
    documents, words, by_type = 0, 0, Counter[str]()
    with originals.opened() as (chunks, _):
        for chunk in chunks:
            documents += len(chunk.texts_per_record())
            for document, spans in find_in(policy, chunk.documents()):
                words += len(spans.select(Words.of(document.text)))
                by_type.update(span.label for span in spans.disjoint())
    return FoundByType(documents=documents, words=words, by_type=by_type)


def read_samples(
    privatized: Source, originals: Source, policy: Policy | None, count: int
) -> list[TextSample]:
    """The first documents before and after; errors name a document by its number."""
    return [
        TextSample(
            method="",
            level=None,
            before=before.text,
            after=after.text,
            spans=_found(policy, before),
        )
        for before, after in islice(_pairs(privatized, originals), count)
    ]


def _pairs(privatized: Source, originals: Source) -> Iterator[tuple[Document, Document]]:
    both = zip_longest(originals.documents(), privatized.documents())
    for number, (before, after) in enumerate(both, start=1):
        if before is None or after is None:
            raise BadInput(
                "the originals and the privatized text are not the same documents in the same "
                f"order: only one of them has a document {number}"
            )
        if before.id is not None and after.id is not None and before.id != after.id:
            raise BadInput(f"document {number} has another id than its original")
        yield before, after


def _found(policy: Policy | None, document: Document) -> tuple[tuple[int, int, str], ...]:
    if policy is None:
        return ()
    spans = policy.find(document).disjoint()
    return tuple((span.start, span.end, span.label) for span in spans)


def study_samples(study: Studied, showing: Showing) -> tuple[list[TextSample], str]:
    """Samples of a study's texts, and why there are none if there are none."""
    if study.public:
        wanted = USUALLY if showing.samples is None else showing.samples
        return _public(study, wanted) if wanted else ([], "None were asked for.")
    originals = showing.source
    if originals is None:
        if showing.samples:
            raise InvalidArgument(
                "the corpus of this study is private: `samples=N` needs `originals=FILE`"
            )
        return [], _PRIVATE
    found = [
        one
        for cell in _releases(study)
        for one in _of_cell(study, cell, originals, showing.samples or 0)
    ]
    return found, _NO_TEXT if showing.samples else "None were asked for."


def _public(study: Studied, count: int) -> tuple[list[TextSample], str]:
    """Samples of a public corpus. If they cannot be read, the page is made without them."""
    try:
        return sample_texts(study.folder, count), _NO_TEXT
    except SfumatoError as error:
        return [], f"The texts of this study cannot be shown: {error}."
    except (KeyError, TypeError, ValueError):
        return [], "The texts of this study cannot be shown: its description is damaged."


def _releases(study: Studied) -> list[CellRecord]:
    done = [cell for cell in study.done if cell.kind == "release" and cell.method not in ANCHORS]
    first = min((cell.seed for cell in done), default=0)
    return [cell for cell in done if cell.seed == first and _study_text(study, cell) is not None]


def _study_text(study: Studied, cell: CellRecord) -> Path | None:
    """The privatized text of a cell, in any format: the file that has a side file."""
    folder = study.folder.cell(cell.key)
    found = sorted(folder.glob("text.*")) if folder.is_dir() else []
    return next((path for path in found if side_path(path).is_file()), None)


def _of_cell(study: Studied, cell: CellRecord, originals: Source, count: int) -> list[TextSample]:
    path = _study_text(study, cell)
    if path is None:
        return []
    settings = side_file_of(path)["settings"]
    found = read_samples(
        open_privatized(path, settings), originals, read_stated_policy(settings), count
    )
    return [replace(one, method=cell.method, level=cell.level) for one in found]


def sample_texts(folder: StudyFolder, count: int) -> list[TextSample]:
    """The first documents of a public corpus, as each method at each level privatized them.

    Empty if the corpus is private, or if no method has privatized text yet.
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
    policies = _method_policies(study)
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


def _method_policies(study: StudySpec) -> dict[str, Policy | None]:
    return {
        point.method: _policy(study, point)
        for method in study.methods
        for point in points(method)
        if "mechanism" in point.settings
    }


def _policy(study: StudySpec, point: GridPoint) -> Policy | None:
    """The policy of a method; None if its word list, which is not copied, cannot be read."""
    try:
        return policy_of(study, resolve_policy(study, point.settings))
    except SfumatoError:
        return None
