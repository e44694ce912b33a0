"""What the computation of a cell is given, and what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.core.randomness import Randomness
from sfumato.files.dialect import Dialect
from sfumato.files.layout import SPANS, Layout
from sfumato.files.source import Source
from sfumato.releases.payment import Payment
from sfumato.results.row import Row
from sfumato.studies.cell import CHARGED, RELEASE, SYNTHETIC, VECTORS, Cell
from sfumato.studies.folder import StudyFolder
from sfumato.studies.spec import CorpusSettings, StudySpec
from sfumato.studies.vectors import vectors_name
from sfumato.text.document import Document

TRAIN, TEST, OTHERS = "train.jsonl", "test.jsonl", "others.jsonl"
# The training text without the made-up documents of coins and lone canaries.
MEMBERS = "members.jsonl"
RELEASED = "text.jsonl"
# A synthetic corpus: texts, in this field whatever the corpus is like.
SYNTHESIZED, SYNTHESIZED_FIELD = "synthetic.jsonl", "text"
CANARIES, COINS = "canaries.json", "coins.json"
# The stream of a seed for attacks and measures. Nothing else uses this number.
LOOKING = 2**31


@dataclass(frozen=True)
class Context:
    """A cell, its study, and the study's folder; ``payment`` is who pays for what it releases."""

    study: StudySpec
    folder: StudyFolder
    cell: Cell
    payment: Payment | None = None

    @property
    def payer(self) -> Payment | None:
        """Who pays for this cell, if it is a release."""
        return self.payment if self.cell.settings.get(CHARGED) else None

    @property
    def here(self) -> Path:
        """The cell's own folder."""
        return self.folder.cell(self.cell.key)

    @property
    def corpus(self) -> Path:
        """The folder of the corpus, which every other cell is computed from."""
        return self.folder.cell(self.cell.inputs[0].key)

    @property
    def target(self) -> Cell:
        """What is attacked or measured."""
        return self.cell.inputs[1]

    @property
    def target_path(self) -> Path:
        """The privatized or synthetic file, the vectors, the folder of a run or of a model."""
        there = self.folder.cell(self.target.key)
        if self.target.kind == RELEASE:
            return there / texts(self).released
        if self.target.kind == SYNTHETIC:
            return there / SYNTHESIZED
        if self.target.kind == VECTORS:
            return there / vectors_name(self.target.settings)
        return there / ("model" if self.target.settings["training"] is None else "run")

    @property
    def randomness(self) -> Randomness:
        """Reproducible randomness for attacks and measures; nothing made with it is for release.

        Its stream differs from those that made the corpus, its secrets and coins, or a model, even
        if all have the same seed: an attacker must not repeat the draws that it has to guess.
        """
        return Randomness.reproducible(self.cell.seed).stream(LOOKING)


@dataclass(frozen=True, kw_only=True)
class CellResult:
    """The result of a cell: figures, the guarantee of what it made, and details for charts."""

    rows: tuple[Row, ...] = ()
    guarantee: Mapping[str, Any] | None = None
    sentence: str | None = None
    scores: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class StudyTexts:
    """The files with the texts of a study, and how to read them.

    ``members`` is ``train`` without the coins and lone canaries at its end, which are unlike any
    other text: an attack could tell them from it without looking at the model. ``others`` are texts
    that no model was trained on: those that the study names, else its test text.
    """

    train: Path
    members: Path
    test: Path | None
    others: Path | None
    canaries: Path | None
    coins: Path | None
    layout: Layout
    file_format: str | None

    @property
    def released(self) -> str:
        """The file name of a privatized version, which has the same format."""
        return Path(RELEASED).stem + "".join(self.train.suffixes[-2:])

    def documents(self, path: Path) -> list[Document]:
        """All documents of one of the files."""
        return list(Source.of(path, self.layout, file_format=self.file_format).documents())

    @property
    def source(self) -> Source:
        """The text to protect."""
        return Source.of(self.train, self.layout, file_format=self.file_format)


def texts(context: Context) -> StudyTexts:
    """The texts of the study. The cell of the corpus must be finished."""
    study, here = context.study, context.corpus
    corpus, manifest = study.corpus, study.canaries and study.canaries.manifest
    planted = study.path(manifest) if manifest else here / CANARIES
    train = here / TRAIN if corpus.copied else study.path(str(corpus.path))
    return StudyTexts(
        train=train,
        members=here / MEMBERS if study.has_made_up else train,
        test=_placed(study, study.test, here / TEST),
        others=_placed(study, study.others, here / OTHERS)
        or _placed(study, study.test, here / TEST),
        canaries=planted if study.canaries else None,
        coins=here / COINS if study.coins else None,
        layout=layout_of(study),
        file_format=None if corpus.copied else corpus.format,
    )


def _placed(study: StudySpec, text: CorpusSettings | None, copy: Path) -> Path | None:
    """Where cells read a text of the study: the copy, or the private file itself."""
    if text is None:
        return None
    return copy if text.copied else study.path(str(text.path))


def layout_of(study: StudySpec) -> Layout:
    """The fields of the texts, as they stand in the files that cells read."""
    corpus = study.corpus
    label, group = study.labels(corpus)
    if corpus.copied:
        return Layout(
            author_field="author" if corpus.author_field else None,
            label_field="label" if label else None,
            group_field="group" if group else None,
            span_field=SPANS if study.tags else None,
        )
    return Layout(
        field=corpus.field,
        author_field=corpus.author_field,
        label_field=label,
        group_field=group,
        span_field=study.span_field(corpus),
        dialect=Dialect(header=corpus.header),
    )
