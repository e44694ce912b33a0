"""Pictures that a page draws by itself: lines, marks, bars and words, placed but not yet colored.

A picture comes in two sheets, for wide and for narrow screens: text that is scaled down to a phone
cannot be read. What a shape looks like on light, dark and printed pages is decided where it is
rendered, by its ``kind`` and by the number of its ``series``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

# The mean width of a bold letter, as a share of the size of the font.
LETTER = 0.63


@dataclass(frozen=True, kw_only=True)
class Stroke:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    kind: str
    series: int | None = None


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A symbol; ``said`` is shown when somebody points at it."""

    x: float
    y: float
    shape: str
    kind: str
    series: int | None = None
    size: float = 6.0
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    series: int | None = None
    said: str = ""


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Words at a place; ``anchor`` is start, middle or end, ``turn`` an angle in degrees."""

    x: float
    y: float
    text: str
    kind: str
    size: float
    anchor: str = "start"
    series: int | None = None
    turn: int = 0

    @property
    def box(self) -> Box:
        """About where the words stand, if they are not turned."""
        width = LETTER * self.size * len(self.text)
        left = self.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor] * width
        return Box(left, self.y - 0.8 * self.size, left + width, self.y + 0.25 * self.size)


Shape = Stroke | Mark | Bar | Writing


@dataclass(frozen=True)
class Box:
    """A rectangle that something takes up."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two rectangles overlap."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def within(self, other: Box) -> bool:
        """Whether this rectangle lies in another one."""
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom

    def nearest(self, x: float, y: float) -> tuple[float, float]:
        """The place of this rectangle that is nearest to a point.

        >>> Box(0, 0, 10, 10).nearest(15, 4)
        (10, 4)
        """
        return min(max(x, self.left), self.right), min(max(y, self.top), self.bottom)

    def distance(self, x: float, y: float) -> float:
        """How far a point is from it; 0 within."""
        return math.dist((x, y), self.nearest(x, y))


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A drawing of a fixed size."""

    width: float
    height: float
    shapes: tuple[Shape, ...]

    def writings(self) -> Iterator[Writing]:
        """All words on it."""
        return (shape for shape in self.shapes if isinstance(shape, Writing))


@dataclass(frozen=True, kw_only=True)
class Picture:
    """The same drawing for wide and for narrow screens."""

    wide: Sheet
    narrow: Sheet


def wrap(text: str, most: int) -> list[str]:
    """A name in lines of about so many letters; no word is cut, and spaces that hold words hold.

    >>> wrap("SMDP (what the policy finds)", 16)
    ['SMDP (what the', 'policy finds)']
    """
    lines: list[str] = []
    for word in filter(None, text.split(" ")):
        if lines and len(lines[-1]) + 1 + len(word) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]
