"""A synthetic corpus: the file, what stands beside it, and the object that tells of both.

In the file are synthetic texts and their labels, and beside it OUT.guarantee.json with what is
guaranteed. Neither holds a vote, a distance to an original or a count of records by label.
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
from sfumato.synthesis.evolution import Synthesized
from sfumato.synthesis.plan import VotingPlan

SCHEMA = 1
PRIVATE_EVOLUTION = "private evolution"


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
        told = self.summary["settings"]
        found = [
            f"{self.texts:,} synthetic texts in {self.path}, chosen by noisy votes in "
            f"{told['rounds']} round{'s' * (told['rounds'] != 1)} "
            f"(standard deviation {at_most(told['noise'], 3)} on every count; "
            f"{told['noise_share']:.0%} of the counts is noise)",
            *self.guarantee.summary(),
            f"With one {self.guarantee.unit} replaced by another, epsilon is "
            f"{at_most(self.summary['replacement']['epsilon'], 4)}.",
            self.guarantee.sentence(),
            f"The guarantee stands in {self.side}.",
        ]
        if self.control is not None:
            found.append(f"The control, chosen by noise alone, is in {self.control}.")
        if not self.guarantee.for_release:
            found.append(NOT_FOR_RELEASE)
        return found

    def __repr__(self) -> str:
        return "\n".join([f"{type(self).__name__}({str(self.path)!r})", *self.lines])

    def _repr_html_(self) -> str:
        told = self.summary["settings"]
        shown = {
            "file": self.path,
            "texts": f"{self.texts:,}",
            "generator": told["generator"],
            "rounds": told["rounds"],
            "ε": at_most(self.guarantee.epsilon),
            "δ": at_most(self.guarantee.delta),
            "noise in the votes": f"{told['noise_share']:.0%}",
            "may be released": "yes" if self.guarantee.for_release else "no",
        }
        notes = [self.guarantee.sentence()]
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


def write_texts(
    path: Path, texts: Sequence[Synthesized], labels: Sequence[str], *, overwrite: bool
) -> None:
    """The corpus itself: a text in each line, with its label where there are any."""
    with write_corpus(path, overwrite=overwrite) as stream:
        for one in texts:
            record = {"text": one.text} | ({"label": labels[one.label]} if labels[0] else {})
            stream.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def write_side(
    path: Path, plan: VotingPlan, settings: Mapping[str, Any], *, texts: int, for_release: bool
) -> dict[str, Any]:
    """What stands beside the corpus; it is written first, so no corpus is without it."""
    guarantee = plan.guarantee()
    guarantee = guarantee if for_release else guarantee.reproducible()
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "sfumato": version("sfumato"),
        "for_release": guarantee.for_release,
        "summary": list(guarantee.summary()),
        "sentence": guarantee.sentence(),
        "guarantee": guarantee.as_dict(),
        "replacement": {"epsilon": plan.replacement_epsilon, "delta": plan.delta},
        "settings": {"mechanism": PRIVATE_EVOLUTION, "reproducible": not for_release, **settings},
        "counts": {"documents": texts},
    }
    spelled = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    try:
        write_whole(side_path(path), spelled.encode())
    except OSError as error:
        raise StorageFailed(f"cannot write {side_path(path)}: {error.strerror}") from None
    return content
