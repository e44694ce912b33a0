"""A study as an object: read from its file, run, and asked for its results.

>>> study = Study.parse('''
... [corpus]
... kind = "customersim"
... count = 4
...
... [[methods]]
... name = "masks"
... mechanism = "redact"
... policy = "digits"
... ''', folder="work", name="masks")
>>> study
Study 'masks': not begun
  folder  work/masks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, fields, replace
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

from sfumato.core.checks import MOST_WORKERS, at_least, extra
from sfumato.core.errors import InvalidArgument, SfumatoError
from sfumato.core.progress import progress
from sfumato.engines.engine import LOCAL, choose_engine
from sfumato.releases.payment import Payment
from sfumato.results.row import Row
from sfumato.studies.compare import StudyComparison, compare_studies
from sfumato.studies.doors import Doors, Passage
from sfumato.studies.expected import Durations, Estimate, read_end
from sfumato.studies.folder import DONE, StudyFolder
from sfumato.studies.grid import list_cells
from sfumato.studies.letter import write_letter
from sfumato.studies.parsing import parse_spec, read_spec, write_template
from sfumato.studies.power import weaknesses
from sfumato.studies.runner import StudyOutcome, WatchWork, passages, run_study
from sfumato.studies.spec import StudySpec
from sfumato.studies.watch import Board, StudyStatus, look_at
from sfumato.studies.worker import Work


class Study:
    """A grid of methods, attacks and measures, and the folder with its results.

    Made by :meth:`read` (a file), :meth:`parse` (a text) or :meth:`open` (the folder of a study
    that was run). ``spec`` is what the file says; it is None for a study that was opened.
    """

    def __init__(
        self,
        spec: StudySpec | None,
        *,
        folder: Path | None = None,
        file: Path | None = None,
        outcome: StudyOutcome | None = None,
    ) -> None:
        self.spec = spec
        self._outcome = outcome
        self._folder = folder
        self._file = file

    @classmethod
    def init(cls, path: str | Path, *, overwrite: bool = False) -> Study:
        """Write a commented study to begin with, which runs as it is, and read it."""
        write_template(Path(path), overwrite=overwrite)
        return cls.read(path)

    @classmethod
    def read(cls, path: str | Path) -> Study:
        """The study that a TOML file describes; its folder has the file's name without .toml."""
        return cls(read_spec(Path(path)), file=Path(path))

    @classmethod
    def parse(cls, text: str, *, folder: str | Path = ".", name: str = "study") -> Study:
        """The study that a text describes, as if it were the file ``name``.toml in ``folder``."""
        there = Path(folder)
        return cls(parse_spec(text, there.resolve(), name), folder=there / name)

    @classmethod
    def open(cls, folder: str | Path) -> Study:
        """The study whose results are in a folder, finished or not."""
        found = StudyFolder(Path(folder))
        found.study()  # an error if it is not the folder of a study
        return cls(None, folder=found.path)

    @property
    def folder(self) -> Path:
        """The folder for everything that the study makes and finds."""
        if self._folder is not None:
            return self._folder
        if self._file is None:
            raise InvalidArgument("this study has no folder yet: name one to run it into")
        return _default_folder(self._file)

    @property
    def outcome(self) -> StudyOutcome:
        """How many cells are done and failed: in the run that returned this object, or so far."""
        if self._outcome is not None:
            return self._outcome
        found = self.status()
        return StudyOutcome(found.cells, len(found.done), len(found.failed))

    @property
    def name(self) -> str:
        """The name of the study: that of its file, unless the file gives another."""
        return self.spec.name if self.spec is not None else str(self._described("name"))

    @property
    def title(self) -> str:
        """The title of the study, for people."""
        if self.spec is not None:
            return self.spec.title or self.spec.name
        return str(self._described("title") or self.name)

    def check(self, *, allow_path: Sequence[str | Path] = ()) -> list[Passage]:
        """The files that the study will use, each inside its folder, allowed or outside.

        Nothing is computed. Look at this before you run a study that somebody else wrote.
        """
        doors = Doors(tuple(map(Path, allow_path)), listing=True)
        return passages(replace(self._asked, doors=doors), self.folder)

    def run(  # noqa: PLR0913  # flat keywords, those of the command
        self,
        folder: str | Path | None = None,
        *,
        workers: int = 1,
        engine: str = LOCAL,
        address: str | None = None,
        resume: bool = False,
        allow_path: Sequence[str | Path] = (),
        watch: WatchWork | None = None,
        budget: str | Path | None = None,
        account: str | None = None,
        budget_key: str | Path | None = None,
        until: str | None = None,
        only: Sequence[str] = (),
    ) -> Study:
        """Compute every cell that is missing, and return the study with its outcome.

        ``workers`` is the number of processes (0: compute in this process). With ``engine="ray"``
        they are actors of Ray, on this machine or at the ``address`` of a cluster. If a cell fails,
        its error is recorded and the others are computed. ``resume`` tries failed cells again and
        keeps finished ones. The study may use the folder of its file and ``allow_path``, and
        nothing else. ``watch`` is called now and then to look at the progress; without it a
        terminal shows a progress bar. After ``until`` (a time of day such as "22:30", a span such
        as "2h30m", or a date with a time) no cell is begun, nor one that is expected to end later.

        With a ``budget`` every private text and every model with noise is a release, drawn from the
        system and not from the study's seeds, and charged to the ``account``, ``corpus:ID`` or
        ``text:ID``. A study that does not fit as a whole is refused.
        """
        payment = _payment(budget, account, budget_key)
        elsewhere = choose_engine(engine, address, max(1, workers))
        spec = replace(self._asked, doors=Doors(tuple(map(Path, allow_path))))
        output = self.folder if folder is None else Path(folder)
        command = [] if self._file is None else ["sfumato", "study", "run", self._file.name]
        with _watching(spec, only) if watch is None else nullcontext(watch) as told:
            found = run_study(
                spec,
                output,
                workers=workers,
                resume=resume,
                command=[*command, "--workers", str(workers)] if command else (),
                watch=told,
                payment=payment,
                until=None if until is None else read_end(until, datetime.now().astimezone()),
                engine=None if engine == LOCAL else elsewhere,
                only=only,
            )
        return Study(self.spec, folder=output, file=self._file, outcome=found)

    def rows(self) -> list[Row]:
        """The figures of all finished cells, in the order of the grid."""
        return StudyFolder(self.folder).rows()

    def estimate(
        self,
        *,
        like: Sequence[str | Path] = (),
        workers: int = 1,
        allow_path: Sequence[str | Path] = (),
        only: Sequence[str] = (),
    ) -> Estimate:
        """How long the missing cells take, judged by finished ones; nothing is computed.

        ``like`` are folders of earlier studies, whose cells count as well; ``allow_path`` and
        ``only`` are those of ``run``.
        """
        at_least("workers", workers, 1, MOST_WORKERS)
        spec = replace(self._asked, doors=Doors(tuple(map(Path, allow_path))))
        own = StudyFolder(self.folder)
        records = own.cells() if own.description.is_file() else []
        done = {one.key for one in records if one.state == DONE}
        asked = list_cells(spec).narrowed(only)
        left = [cell for cell in asked.distinct if cell.key not in done]
        earlier = [record for one in like for record in StudyFolder(Path(one)).cells()]
        return Estimate.of(left, Durations.of([*earlier, *records]), workers)

    def letter(self) -> str:
        """What the study found, as plain text that can be sent by mail."""
        return write_letter(StudyFolder(self.folder))

    def weaknesses(self) -> list[str]:
        """Why figures of this study will say little, and what helps; nothing is computed."""
        return [one.sentence() for one in weaknesses(self._asked)]

    def frame(self) -> Any:
        """The rows as a pandas data frame, with one column for each field."""
        pandas = extra("pandas", needed_for="a data frame of rows", extra="pandas")
        columns = [field.name for field in fields(Row)]
        return pandas.DataFrame([asdict(row) for row in self.rows()], columns=columns)

    def status(self) -> StudyStatus:
        """The progress of the study, and what failed."""
        return look_at(StudyFolder(self.folder))

    def compare(self, other: Study | str | Path) -> StudyComparison:
        """The figures of this study and of another side by side."""
        second = other if isinstance(other, Study) else Study.open(other)
        return StudyComparison(
            first=self.folder.name,
            second=second.folder.name,
            differences=tuple(compare_studies(self.rows(), second.rows())),
        )

    @property
    def _asked(self) -> StudySpec:
        if self.spec is None:
            raise InvalidArgument(
                f"{self.folder} holds the results of a study; to run it, read its file (Study.read)"
            )
        return self.spec

    def _described(self, key: str) -> object:
        return StudyFolder(self.folder).study().get(key, "")

    def _reached(self) -> tuple[str, StudyStatus | None]:
        """The folder, and the progress of the study if it is known."""
        try:
            folder = self.folder
            begun = StudyFolder(folder).description.is_file()
            return str(folder), self.status() if begun else None
        except SfumatoError:
            return "not named yet" if self._folder is None else str(self._folder), None

    def _called(self) -> str:
        try:
            return self.name
        except SfumatoError:
            return "damaged"

    def __repr__(self) -> str:
        folder, status = self._reached()
        said = "not begun" if status is None else status.sentence()
        return f"Study {self._called()!r}: {said}\n  folder  {folder}"

    def _repr_html_(self) -> str:
        folder, status = self._reached()
        counts = {} if status is None else status.counts()
        cells = "".join(
            f"<tr><td>{escape(name)}</td><td>{count:,}</td></tr>" for name, count in counts.items()
        )
        said = "not begun" if status is None else f"{status.cells:,} cells"
        return (
            f"<table><caption>Study {escape(self._called())}: {said}</caption>"
            f"<tbody>{cells}<tr><td>folder</td><td>{escape(folder)}</td></tr></tbody></table>"
        )


def _payment(
    budget: str | Path | None, account: str | None, key: str | Path | None
) -> Payment | None:
    if (budget is None) != (account is None) or (budget is None and key is not None):
        raise InvalidArgument(
            "a budget is charged by account: `budget=FILE` and `account='KIND:ID'`"
        )
    if budget is None or account is None:
        return None
    return Payment(str(budget), account, None if key is None else Path(key))


@contextmanager
def _watching(spec: StudySpec, only: Sequence[str]) -> Iterator[WatchWork]:
    """A progress bar over the finished cells."""
    boards: list[Board] = []
    cells = len(list_cells(spec).narrowed(only).distinct)
    with progress("cells", cells, unit_is_bytes=False) as advance:

        def look(work: Work) -> None:
            if not boards:
                boards.append(Board(work))
            reached = boards[0].look()
            advance(reached.done + reached.failed)

        yield look


def _default_folder(file: Path) -> Path:
    if file.suffix != ".toml" or not file.stem:
        raise InvalidArgument(
            f"the folder of a study has the name of its file without .toml, but {file} does not "
            "end in .toml: name a folder for it"
        )
    folder = file.with_suffix("")
    if folder.is_symlink():
        raise InvalidArgument(f"{folder} is a link to another place: name a folder for the study")
    return folder
