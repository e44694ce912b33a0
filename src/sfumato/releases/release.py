"""What came of privatizing a file: where it is, what is guaranteed, and how much was replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from sfumato.guarantees.guarantee import Guarantee
from sfumato.releases.job import Job

_LISTED = 12
_LONGEST = 60
NOT_YET = "NOT FOR RELEASE"
NOT_FOR_RELEASE = f"REPRODUCIBLE: {NOT_YET} (whoever knows the seed can undo the noise)"
# An empty file passes every check: it must not read like a success.
NOTHING_THERE = (
    "warning: the input holds no words, so nothing was privatized; is it the right file?"
)


@dataclass(frozen=True, repr=False)
class Release:
    """A privatized file.

    ``side`` is the file that says what is guaranteed, and ``summary`` is what stands in it; a pipe
    has none unless one was named. ``already_finished`` tells that there was nothing left to do.
    ``shares`` tells of each column that nobody decided about in which share of its cells the policy
    finds something.
    """

    path: Path
    side: Path | None
    guarantee: Guarantee
    summary: Mapping[str, Any] = field(compare=False)
    already_finished: bool = False
    shares: Mapping[str, float] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, job: Job, summary: Mapping[str, Any]) -> Release:
        """What a job has made, from what it wrote beside."""
        apart = ("already_finished", "shares")
        own = {key: value for key, value in summary.items() if key not in apart}
        return cls(
            path=job.target,
            side=job.side,
            guarantee=Guarantee.from_dict(own["guarantee"]),
            summary=own,
            already_finished=summary.get("already_finished") is True,
            shares=summary.get("shares") or _written_shares(own),
        )

    @property
    def counts(self) -> Mapping[str, Any]:
        """How many documents and words there were, and how many words were privatized."""
        counts: Mapping[str, Any] = self.summary["counts"]
        return counts

    @property
    def privatized(self) -> int:
        """How many words were replaced; stretches or documents where those are, as a whole."""
        words = self.counts["privatized_words"]
        if words is not None:
            return int(words)
        rewritten = self.counts.get("rewritten_documents")
        return int(self.counts["replaced_stretches"] if rewritten is None else rewritten)

    @property
    def is_empty(self) -> bool:
        """Whether the input held no word at all."""
        return not self.counts["documents"] or self.counts.get("words") == 0

    @property
    def reproducible(self) -> bool:
        """Whether a seed was given, so that the noise can be undone."""
        return self.summary["settings"]["reproducible"] is True

    @property
    def lines(self) -> list[str]:
        """What to tell people: counts, three short lines, the exact statement, and warnings.

        Of masks it is not told how many words stood under them. Where nothing was privatized
        because nothing was there, no statement is shown.
        """
        if self.is_empty:
            return [self._counted, *self._paid, *self.warnings]
        found = [
            self._counted,
            *self._paid,
            *self.guarantee.summary(),
            f"Exactly: {self.guarantee.sentence()}",
        ]
        return [*found, *self.warnings]

    @property
    def warnings(self) -> list[str]:
        """What nobody may overlook."""
        empty = [NOTHING_THERE] if self.is_empty else []
        return [*empty, *([NOT_FOR_RELEASE] if self.reproducible else []), *self.column_warnings]

    @property
    def _counted(self) -> str:
        by_words = self.counts["privatized_words"] is not None
        counted = (
            f"{self.counts['words']:,} words, {self.privatized:,} privatized"
            if by_words
            else f"{self.privatized:,} stretches replaced"
        )
        if "rewritten_documents" in self.counts:
            counted = f"{self.privatized:,} rewritten"
        documents = self.counts["documents"]
        return f"{documents:,} document{'s' * (documents != 1)}, {counted}"

    @property
    def _paid(self) -> list[str]:
        """How many records their authors paid for, and what became of the others."""
        told = self.summary.get("budget")
        if told is None:
            return []
        records = told["records"]
        how = "withheld" if told["when_spent"] == "withhold" else "masked"
        paid = records["paid"]
        said = (
            f"{paid:,} record{'s' * (paid != 1)} paid for by their authors, {records[how]:,} {how}"
        )
        nobody = records["without_author"]
        return [f"{said}, {nobody:,} of them without an author" if nobody else said]

    @property
    def undecided(self) -> list[str]:
        """The columns that were left as they were and that nobody has named to be kept."""
        return [one["name"] for one in self._columns.get("left", ()) if not one["kept"]]

    @property
    def column_warnings(self) -> list[str]:
        """What stands between the file and its release: columns, and names that are nowhere."""
        data = {one["name"] for one in self._columns.get("left", ()) if one.get("name_is_data")}
        found = [
            f"warning: {_called(name)}: the policy finds something in its name, which stays and is "
            "not shown here; rename it, drop it, or name it in `keep=...`"
            if name in data
            else f"warning: column {name}: the policy finds something in {_percent(share)} of its "
            "cells; drop it, privatize it, or name it in `keep=...`"
            for name, share in self.shares.items()
            if share > 0
        ]
        if missed := self._columns.get("nowhere", ()):
            found.append(
                f"warning: to be dropped or kept, but nowhere in the file: {_list(missed)}"
            )
        if self.undecided or missed:
            found.append(
                f"{NOT_YET} YET: every column must be privatized (`field=...`), dropped "
                "(`drop=...`) or kept on purpose (`keep=...`); "
                + (f"left as they were: {_list(self.undecided)}" if self.undecided else "see above")
            )
        return found

    @property
    def _columns(self) -> Mapping[str, Any]:
        columns: Mapping[str, Any] = self.summary.get("columns") or {}
        return columns

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({str(self.path)!r})", *self.lines])

    def _repr_html_(self) -> str:
        rows = {
            "file": str(self.path),
            "in short": " ".join(self.guarantee.summary()),
            "guarantee": self.guarantee.sentence(),
            "counted": self._counted,
            "beside it": "" if self.side is None else str(self.side),
        } | ({"warning": " ".join(self.warnings)} if self.warnings else {})
        cells = (
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in rows.items()
            if value
        )
        return f"<table>{''.join(cells)}</table>"


def _written_shares(summary: Mapping[str, Any]) -> dict[str, float]:
    left = (summary.get("columns") or {}).get("left", ())
    return {
        one["name"]: one["found_in"] / one["cells"]
        for one in left
        if not one["kept"] and one.get("cells")
    }


def _called(name: str) -> str:
    return name if name.startswith("column ") else f"key {name}"


def _percent(share: float) -> str:
    return "under 1 %" if 0 < share < 0.01 else f"{share * 100:.0f} %"


def _list(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    shown = [one if len(one) <= _LONGEST else f"{one[: _LONGEST - 1]}…" for one in names]
    return ", ".join([*shown[:_LISTED], *([f"and {more} more"] if more > 0 else [])])
