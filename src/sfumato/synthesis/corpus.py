"""A synthetic corpus: the file, what stands beside it, and the object that tells of both.

In the file are synthetic texts and their labels, and beside it OUT.guarantee.json with what is
guaranteed. Neither holds a vote, a distance to an original or a count of records by label. Each way
of making a corpus hands over a ``Statement``; what is written is the same for all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sfumato.core.display import as_html
from sfumato.core.errors import InvalidArgument, StorageFailed
from sfumato.core.files import refuse_existing, write_whole
from sfumato.files.formats import of_path
from sfumato.files.output import write_corpus
from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most
from sfumato.releases.release import NOT_FOR_RELEASE

SCHEMA = 1
PRIVATE_EVOLUTION = "private evolution"
PRIVATE_PREDICTION = "private prediction"
PRIVATE_TRAINING = "private training"
MECHANISMS = (PRIVATE_EVOLUTION, PRIVATE_PREDICTION, PRIVATE_TRAINING)


@dataclass(frozen=True)
class Synthesized:
    """A synthetic text and the place of its label."""

    text: str
    label: int


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What a way of making a corpus says of it: all of it is public.

    ``how`` goes on after "500 synthetic texts, "; ``replacement`` is the level if a unit is
    replaced by another, where that is known.
    """

    mechanism: str
    how: str
    guarantee: Guarantee
    replacement: float | None
    settings: Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class SyntheticCorpus:
    """A synthetic corpus on disk; ``summary`` is what stands in ``side``, beside it."""

    path: Path
    side: Path
    guarantee: Guarantee
    summary: Mapping[str, Any] = field(compare=False)
    control: Path | None = None

    @property
    def texts(self) -> int:
        """How many synthetic texts there are."""
        return int(self.summary["counts"]["documents"])

    @property
    def lines(self) -> list[str]:
        """What there is to tell, for people."""
        found = [
            f"{self.texts:,} synthetic texts in {self.path}, {self.summary['how']}",
            *self.guarantee.summary(),
        ]
        if "replacement" in self.summary:
            level = at_most(self.summary["replacement"]["epsilon"], 4)
            found.append(f"With one {self.guarantee.unit} replaced by another, epsilon is {level}.")
        found += [self.guarantee.sentence(), f"The guarantee stands in {self.side}."]
        if self.control is not None:
            found.append(f"The control, which no record has touched, is in {self.control}.")
        if not self.guarantee.for_release:
            found.append(NOT_FOR_RELEASE)
        return found

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({str(self.path)!r})", *self.lines])

    def _repr_html_(self) -> str:
        shown = {
            "file": self.path,
            "texts": f"{self.texts:,}",
            "made by": self.summary["settings"]["mechanism"],
            "ε": at_most(self.guarantee.epsilon),
            "δ": at_most(self.guarantee.delta) if self.guarantee.delta else "0",
            "may be released": "yes" if self.guarantee.for_release else "no",
        }
        notes = [f"{self.summary['how']}.", self.guarantee.sentence()]
        return as_html("Synthetic corpus", tuple(shown), [tuple(shown.values())], notes)


def side_path(path: Path) -> Path:
    """Where the guarantee of a corpus stands."""
    return path.with_name(path.name + ".guarantee.json")


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse, before any work, a place or a form that cannot be written."""
    kind = of_path(path)
    if kind is None or kind.name != "jsonl":
        raise InvalidArgument(
            f"a synthetic corpus is written as JSON lines; call it OUT.jsonl, not {path.name}"
        )
    refuse_existing(path, overwrite=overwrite)


def check_outputs(output: Path, control: Path | None, *, overwrite: bool) -> None:
    """The same for a corpus and its control, which must be two files."""
    for path in (output, *([] if control is None else [control])):
        check_output(path, overwrite=overwrite)
    if control is not None and control.resolve() == output.resolve():
        raise InvalidArgument("`control=...` must be another file than the output")


def write_texts(
    path: Path, texts: Sequence[Synthesized], labels: Sequence[str], *, overwrite: bool
) -> None:
    """The corpus itself: a text in each line, with its label where there are any."""
    with write_corpus(path, overwrite=overwrite) as stream:
        for one in texts:
            record = {"text": one.text} | ({"label": labels[one.label]} if labels[0] else {})
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def write_side(
    path: Path, stated: Statement, guarantee: Guarantee, *, texts: int
) -> dict[str, Any]:
    """What stands beside the corpus; it is written first, so no corpus is without it."""
    replaced = {"epsilon": stated.replacement, "delta": guarantee.delta}
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "sfumato": version("sfumato"),
        "for_release": guarantee.for_release,
        "how": stated.how,
        "summary": list(guarantee.summary()),
        "sentence": guarantee.sentence(),
        "guarantee": guarantee.as_dict(),
        **({} if stated.replacement is None else {"replacement": replaced}),
        "settings": {
            "mechanism": stated.mechanism,
            "reproducible": not guarantee.for_release,
            **stated.settings,
        },
        "counts": {"documents": texts},
    }
    spelled = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    try:
        write_whole(side_path(path), spelled.encode())
    except OSError as error:
        raise StorageFailed(f"cannot write {side_path(path)}: {error.strerror}") from None
    return content


def write_synthetic(  # noqa: PLR0913  # what is written, and where
    output: Path,
    stated: Statement,
    texts: Sequence[Synthesized],
    labels: Sequence[str],
    *,
    for_release: bool,
    control: tuple[Path, Sequence[Synthesized]] | None = None,
    overwrite: bool = False,
) -> SyntheticCorpus:
    """Corpus, guarantee and control on the disk, in an order that leaves no corpus without one."""
    guarantee = stated.guarantee if for_release else stated.guarantee.reproducible()
    # An older corpus must not stand beside this guarantee, not even for a moment.
    output.unlink(missing_ok=True)
    summary = write_side(output, stated, guarantee, texts=len(texts))
    write_texts(output, texts, labels, overwrite=overwrite)
    if control is not None:
        write_texts(*control, labels, overwrite=overwrite)
    beside = None if control is None else control[0]
    return SyntheticCorpus(output, side_path(output), guarantee, summary, beside)
