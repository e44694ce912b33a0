"""A note that a draw is spent, written before the draw is made.

Guarantee
    At one place a private tokenizer, or another histogram of a run (forms of made-up values), is
    drawn at most once. Whatever comes of the draw (a tokenizer, too few words to be of use, an
    error, a kill), a second one at that place is refused, so what stands there is the result of one
    draw and not the best of several.

Why it holds
    The note is created, under a name that only one process can create, and synced to disk together
    with its folder before the noise is drawn. It is not removed unless what was drawn stands beside
    it, complete.

Care
    A note holds settings and noise, all of them public, and nothing of the words. It is a record
    for honest people: whoever deletes it, or draws at another place, has to count the draws. On a
    file system without hard links, two processes that begin at the same moment may both draw.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfumato.core.errors import BudgetExceeded, StorageFailed
from sfumato.core.files import sync_folder, write_first
from sfumato.core.json import read_object
from sfumato.guarantees.wording import at_most
from sfumato.histograms.thresholds import Noise

SCHEMA = 1
SUFFIX = ".spent.json"


@dataclass(frozen=True)
class DrawNote:
    """The note for the draw whose result is to stand at ``place``; ``settings`` are public."""

    place: Path
    settings: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """Where the note is."""
        return note_beside(self.place)

    def write(self, noise: Noise) -> None:
        """Note the draw durably; refuse if any process has done so before."""
        content = {"schema": SCHEMA, "noise": noise.as_dict(), "settings": dict(self.settings)}
        written = (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            first = write_first(self.path, written)
            sync_folder(self.path.parent)
        except OSError as error:
            problem = error.strerror or "writing failed"
            raise StorageFailed(f"cannot write {self.path}: {problem}") from None
        if not first:
            refuse_spent(self.place)
            # Its writer has finished meanwhile, and removed it.
            raise BudgetExceeded(f"another process has drawn for {self.place}")

    def matches(self, noise: Noise) -> bool:
        """Whether the draw that was noted is one with these settings and this noise."""
        noted = read_object(self.path, "the note of a draw")
        asked = {"schema": SCHEMA, "noise": noise.as_dict(), "settings": dict(self.settings)}
        return bool(noted == json.loads(json.dumps(asked)))


def note_beside(place: Path) -> Path:
    """Where the note of a draw is whose result is to stand at ``place``."""
    return place.with_name(place.name + SUFFIX)


def refuse_spent(place: Path) -> None:
    """Refuse a place whose draw is spent."""
    path = note_beside(place)
    if not path.exists():
        return
    noise = read_object(path, "the note of a draw").get("noise")
    level = noise.get("epsilon") if isinstance(noise, dict) else None
    spent = f"ε = {at_most(level, 4)}" if isinstance(level, (int, float)) else "a level"
    raise BudgetExceeded(
        f"{path} says that {spent} is spent on a draw for {place} that was of no use, was "
        "interrupted, or is still being made; a second draw at the same place is not paid for. "
        "Choose other settings and another folder, and count both: their levels add up"
    )
