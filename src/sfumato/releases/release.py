"""What came of privatizing a file: where it is, what is guaranteed, and how much was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from sfumato.guarantees.guarantee import Guarantee
from sfumato.releases.job import Job

NOT_FOR_RELEASE = "REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)"


@dataclass(frozen=True, repr=False)
class Release:
    """A privatized file.

    ``side`` is the file that says what is guaranteed, and ``summary`` is what stands in it; a pipe
    has none unless one was named. ``already_finished`` tells that there was nothing left to do.
    """

    path: Path
    side: Path | None
    guarantee: Guarantee
    summary: Mapping[str, Any] = field(compare=False)
    already_finished: bool = False

    @classmethod
    def of(cls, job: Job, summary: Mapping[str, Any]) -> Release:
        """What a job has made, from what it wrote beside."""
        own = {key: value for key, value in summary.items() if key != "already_finished"}
        return cls(
            path=job.target,
            side=job.side,
            guarantee=Guarantee.from_dict(own["guarantee"]),
            summary=own,
            already_finished=summary.get("already_finished") is True,
        )

    @property
    def counts(self) -> Mapping[str, Any]:
        """How many documents and words there were, and how many words were privatized."""
        counts: Mapping[str, Any] = self.summary["counts"]
        return counts

    @property
    def privatized(self) -> int:
        """How many words were replaced, or how many stretches where whole stretches are."""
        words = self.counts["privatized_words"]
        return int(self.counts["replaced_stretches"] if words is None else words)

    @property
    def reproducible(self) -> bool:
        """Whether a seed was given, so that the noise can be undone."""
        return self.summary["settings"]["reproducible"] is True

    @property
    def lines(self) -> list[str]:
        """What to tell people: counts, the guarantee in a sentence, and a warning if there is one.

        Of masks it is not told how many words stood under them.
        """
        by_words = self.counts["privatized_words"] is not None
        counted = (
            f"{self.counts['words']:,} words, {self.privatized:,} privatized"
            if by_words
            else f"{self.privatized:,} stretches replaced"
        )
        found = [f"{self.counts['documents']:,} documents, {counted}", self.summary["sentence"]]
        return [*found, NOT_FOR_RELEASE] if self.reproducible else found

    def __repr__(self) -> str:
        return "\n".join([f"Release({str(self.path)!r})", *self.lines])

    def _repr_html_(self) -> str:
        counted, sentence, *warnings = self.lines
        rows = {
            "file": str(self.path),
            "guarantee": sentence,
            "counted": counted,
            "beside it": "" if self.side is None else str(self.side),
        } | ({"warning": warnings[0]} if warnings else {})
        cells = (
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in rows.items()
            if value
        )
        return f"<table>{''.join(cells)}</table>"
