"""Writing a report: find out what a path contains, and write the page about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.display import as_html, as_lines
from sfumato.core.errors import InvalidArgument, MissingInput, StorageFailed, UnknownName
from sfumato.core.files import reading, refuse_existing, write_whole

if TYPE_CHECKING:
    from sfumato.reports.page import Page


STUDY, RELEASE, RUN = "study", "release", "run"
_KNOWN = (
    "a report is made for the folder of a study, a privatized file with its .guarantee.json beside "
    "it, or the folder of a training run"
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Written:
    """Where a page is, and what is in it."""

    path: Path
    kind: str
    size: int
    figures: int
    private_text: bool

    def __repr__(self) -> str:
        facts: list[tuple[str, object]] = [("of", f"a {self.kind}"), ("figures", self.figures)]
        facts += [("care", "it contains private text")] if self.private_text else []
        return as_lines(f"Report in {self.path}", facts)

    def _repr_html_(self) -> str:
        notes = ["It contains private text: do not pass it on."] if self.private_text else []
        row = (self.path, self.kind, self.figures)
        return as_html("Report", ("page", "of", "figures"), [row], notes)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "report": str(self.path),
            "of": self.kind,
            "bytes": self.size,
            "figures": self.figures,
            "private_text": self.private_text,
        }


HTML, MARKDOWN, JSON, CARD = "html", "markdown", "json", "card"
FORMATS = (HTML, MARKDOWN, JSON, CARD)
_SUFFIXES = {HTML: "html", MARKDOWN: "md", JSON: "json", CARD: "md"}


def write_report(  # noqa: PLR0913  # each is a choice of whoever makes the page
    path: str | Path,
    output: str | Path | None = None,
    *,
    format: str | None = None,  # noqa: A002  # as every verb calls it
    samples: int | None = None,
    originals: str | Path | None = None,
    scores: Sequence[str | Path] = (),
    field: str | None = None,
    overwrite: bool = False,
) -> Written:
    """Write the page of a study, a privatized file or a training run.

    ``format`` is html, markdown, json or, for a training run, card (Markdown with the metadata of a
    model card); otherwise the name of ``output`` decides. ``scores`` are files with what attacks
    found about a file or a run, as they write it in JSON. The page contains private text only with
    ``samples`` and ``originals``. The page of a study is written into its folder and replaces an
    earlier one. Any other page is written beside what it is about, never into the folder of a run,
    because that folder is meant to be given away; a card without scores says no more than the
    folder, and may stand there.
    """
    from sfumato.releases.recorded import recorded_settings
    from sfumato.reports.samples import Showing

    given = Path(path)
    showing = Showing(
        samples=samples,
        originals=None if originals is None else Path(originals),
        field=field,
        recorded=recorded_settings(given),
        scores=tuple(Path(one) for one in scores),
    )
    kind = kind_of(given)
    chosen = _format(format, output, kind)
    if showing.scores and kind == STUDY:
        raise InvalidArgument("a study has attacks of its own; leave out `scores=...`")
    target = default_output(given, kind, chosen) if output is None else Path(output)
    if chosen != CARD or showing.scores:
        _refuse_inside(target, given, kind)
    derived = kind == STUDY and target.resolve() == default_output(given, kind, chosen).resolve()
    refuse_existing(target, overwrite=overwrite or derived)
    with reading(given, "what sfumato writes, or a file in it or beside it is not"):
        page = _page(given, kind, showing)
        content = _render(page, chosen)
    private = any(notice.kind == "private" for notice in page.notices)
    try:
        write_whole(target, content, private=private)
    except OSError as error:
        raise StorageFailed(
            f"cannot write {target}: {error.strerror or 'writing failed'}"
        ) from None
    return Written(
        path=target,
        kind=kind,
        size=len(content),
        figures=len(page.figures),
        private_text=private,
    )


def _format(asked: str | None, output: str | Path | None, kind: str) -> str:
    """The format that was asked for, or that the name of the output has."""
    if asked is None:
        by_name = {"md": MARKDOWN, "markdown": MARKDOWN, "json": JSON}
        suffix = "" if output is None else Path(output).suffix.lower().removeprefix(".")
        return by_name.get(suffix, HTML)
    if asked not in FORMATS:
        raise UnknownName("format of reports", asked, list(FORMATS))
    if asked == CARD and kind != RUN:
        raise InvalidArgument("a card describes a model: `format='card'` is for training runs")
    return asked


def _render(page: Page, chosen: str) -> bytes:
    if chosen == JSON:
        from sfumato.reports.data import write_json

        return write_json(page)
    if chosen == HTML:
        from sfumato.reports.html import write_html

        return write_html(page)
    from sfumato.reports.markdown import write_card, write_markdown

    return write_card(page) if chosen == CARD else write_markdown(page)


def kind_of(path: Path) -> str:
    """What a path contains: a study, a run or a privatized file."""
    from sfumato.attacks.text_target import side_path

    if path.is_dir():
        if (path / "study.json").is_file():
            return STUDY
        if (path / "config.json").is_file():
            return RUN
        raise StorageFailed(f"{path} holds neither study.json nor config.json; {_KNOWN}")
    if not path.is_file():
        raise StorageFailed(f"there is no {path}; {_KNOWN}")
    if not side_path(path).is_file():
        raise MissingInput(f"{side_path(path)} is missing; {_KNOWN}")
    return RELEASE


def default_output(path: Path, kind: str, chosen: str = HTML) -> Path:
    """The usual file of a page: inside a study, beside anything else."""
    if kind == STUDY:
        return path / f"report.{_SUFFIXES[chosen]}"
    whole = path.resolve() if path.name in ("", "..") else path
    name = "README" if chosen == CARD else "report"
    return whole.with_name(f"{whole.name}.{name}.{_SUFFIXES[chosen]}")


def _refuse_inside(target: Path, given: Path, kind: str) -> None:
    if kind == RUN and given.resolve() in target.resolve().parents:
        raise InvalidArgument(
            f"{target} is inside the run, which is meant to be given away; choose another place"
        )


def _page(path: Path, kind: str, showing: Any) -> Page:
    if kind == STUDY:
        from sfumato.reports.study import study_page

        return study_page(path, showing)
    if kind == RUN:
        from sfumato.reports.run import run_page

        return run_page(path, showing)
    from sfumato.reports.synthetic import is_synthetic, synthetic_page

    if is_synthetic(path):
        return synthetic_page(path, showing)
    from sfumato.reports.release import release_page

    return release_page(path, showing)
