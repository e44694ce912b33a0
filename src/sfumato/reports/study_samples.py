"""Texts of a study before and after, where they may be shown: the one place that fetches them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sfumato.attacks.text_target import side_path
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.files.source import Source
from sfumato.reports.originals import Showing, read_samples, read_stated_policy
from sfumato.reports.release import open_privatized, side_file_of
from sfumato.reports.studied import Studied
from sfumato.results.row import ANCHORS
from sfumato.studies.folder import CellRecord
from sfumato.studies.samples import TextSample, sample_texts

# Of each method and level, where the corpus is public.
USUALLY = 1

_PRIVATE = (
    "The corpus of this study is private: no text of it is in the study's folder, and none is "
    "here. To see documents before and after, ask for a page with samples and give the originals; "
    "that one is private."
)
_NO_TEXT = (
    "There is none to show: no method of this study has released a text yet, or all of them train "
    "on the originals."
)


def study_samples(study: Studied, showing: Showing) -> tuple[list[TextSample], str]:
    """Samples, and why there are none if there are none."""
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
    """The rest of the page is worth reading where the texts are gone or cannot be read."""
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
    """The privatized text, in whatever format the corpus has: it has a side file."""
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
