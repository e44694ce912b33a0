"""How figures are written for people: on a page, in a legend, in a table."""

from __future__ import annotations

import math

from sfumato.core.json import read_number
from sfumato.guarantees.wording import for_people

NONE = "–"


def number(value: float | None) -> str:
    """A number with four digits; the results have all digits.

    >>> number(0.123456), number(math.inf), number(None), number(1234567), number(12345.6)
    ('0.1235', '∞', '–', '1,234,567', '12,346')
    """
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if isinstance(value, int) or abs(value) >= 1e4:
        return f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.4g}"
    return f"{value:.4g}".replace("-", "−")


def epsilon_of(value: float | None) -> str:
    """A privacy level in four digits, rounded up: rounded down it would promise too much.

    >>> epsilon_of(7.99995066663829), epsilon_of(math.inf), epsilon_of(None)
    ('8', '∞', '–')
    """
    return for_people(value) if value is not None and math.isfinite(value) else number(value)


def interval(low: float | None, high: float | None) -> str:
    """The two ends, if there are any."""
    return NONE if low is None or high is None else f"{number(low)} to {number(high)}"


def level_of(parameter: str | None, level: float | None) -> str:
    """A level with its name.

    >>> level_of("epsilon", 8.0), level_of("noise", 1.5), level_of(None, None)
    ('ε = 8', 'noise = 1.5', '')
    """
    if level is None:
        return ""
    name = "ε" if parameter == "epsilon" else parameter or "level"
    return f"{name} = {plain(level)}"


def plain(level: float) -> str:
    """A level as a person would type it."""
    return "∞" if math.isinf(level) else f"{level:g}"


def count_things(count: int, one: str, many: str = "") -> str:
    """A count with its noun.

    >>> count_things(1, "cell"), count_things(2, "cell"), count_things(0, "study", "studies")
    ('1 cell', '2 cells', '0 studies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def memory(size: int | None) -> str:
    """Bytes in the unit that reads best.

    >>> memory(None), memory(5_000_000), memory(3_200_000_000)
    ('–', '5 MB', '3.2 GB')
    """
    if size is None:
        return NONE
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def as_number(value: object) -> float | None:
    """A number out of JSON that can be shown; None for anything else.

    >>> as_number("inf"), as_number(2), as_number("two"), as_number("nan")
    (inf, 2.0, None, None)
    """
    found = read_number(value)
    return None if found is None or math.isnan(found) else found


def rounded(value: float | None) -> str:
    """A number with three digits, as people say it.

    >>> rounded(7.99996), rounded(1234.5), rounded(0.012345), rounded(None), rounded(168.2)
    ('8', '1,230', '0.0123', '–', '168')
    """
    if value is None or not math.isfinite(value) or value == 0:
        return number(value)
    digits = 2 - math.floor(math.log10(abs(value)))
    short = f"{round(value, digits):,.{max(digits, 0)}f}"
    return (short.rstrip("0").rstrip(".") if digits > 0 else short).replace("-", "−")
