"""What every check needs: texts that are hard to read, and sentences for what is wrong."""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any

TEXTS = ("", "😀\u200d \r\n", "My ID is 145572, call Zoë at 555-0142!", "日本 12 שלום 🇩🇪" * 50)
# A word and a number that nothing but a note holds.
NOTE, SECRET = "xylorimba", "70311"


def hold(holds: bool, otherwise: str) -> None:
    """Raise what is wrong, in a sentence, unless something holds."""
    if not holds:
        raise AssertionError(otherwise)


def travel(component: Any) -> Any:
    """A component as it arrives in another process."""
    return ForkingPickler.loads(ForkingPickler.dumps(component))
