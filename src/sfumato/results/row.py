"""One figure of a study as a flat row: what was measured, its interval, and what it cost.

Studies write rows (``results.jsonl``), calibration fits curves to them and reports draw them. A row
says whether it is about leakage, utility or cost, and which direction is better, so that no reader
has to know every metric by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from sfumato.core.checks import one_of
from sfumato.core.errors import BadInput
from sfumato.core.json import read_number, write_number

LEAKAGE, UTILITY, COST = "leakage", "utility", "cost"
ROLES = (LEAKAGE, UTILITY, COST)
LOWER, HIGHER = "lower", "higher"
NO_PRIVACY, RANDOM_OUTPUT = "no privacy", "random output"
ANCHORS = (NO_PRIVACY, RANDOM_OUTPUT)
_NUMBERS = (
    "level",
    "value",
    "low",
    "high",
    "chance",
    "least",
    "most",
)  # a group may be called "nan"


@dataclass(frozen=True, kw_only=True)
class Row:
    """A figure.

    ``method`` is the name a study gives a mechanism or a way of training, or one of the two
    anchors; ``parameter`` and ``level`` are what was varied, and are None for anchors. ``by`` is
    the attack or the measure that gave the figure, ``chance`` what it would be if nothing leaked.
    ``least`` and ``most`` are the range in which it lies by definition, None where there is no end.
    ``units`` are the values that the figure is the mean of, if other seeds looked at the same few
    things (secrets) in the same order.
    With ``group_field`` the figure is about documents with that field equal to ``group`` only.
    ``corpus`` names the corpus where a study has several. ``guarantee`` is the sentence about what
    was measured; ``cell`` names the computation.

    >>> import math
    >>> row = Row(cell="a1", method="SMDP", parameter="epsilon", level=math.inf, seed=1,
    ...           role="leakage", by="exposure", metric="exposure", better="lower", value=2.5)
    >>> Row.from_dict(row.as_dict()) == row, row.as_dict()["level"]
    (True, 'inf')
    """

    cell: str
    corpus: str | None = None
    method: str
    parameter: str | None = None
    level: float | None = None
    seed: int = 0
    role: str
    by: str
    metric: str
    better: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    chance: float | None = None
    group_field: str | None = None
    group: str | None = None
    least: float | None = None
    most: float | None = None
    units: tuple[float, ...] | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory: int | None = None
    guarantee: str | None = None

    def __post_init__(self) -> None:
        one_of("role", self.role, ROLES)
        one_of("better", self.better, (LOWER, HIGHER))

    @property
    def anchor(self) -> bool:
        """Whether this is one of the two anchors between which every method lies."""
        return self.method in ANCHORS

    def as_dict(self) -> dict[str, Any]:
        """For JSON, which has no infinity."""
        return {key: _plain(value) for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Read what ``as_dict`` wrote."""
        known = {field.name for field in fields(cls)}
        if set(values) - known:
            raise BadInput(f"a row of results has unknown keys: {sorted(set(values) - known)}")
        read = {key: _read(key, value) for key, value in values.items()}
        for key, kinds in _types().items():
            if key in read and not _fits(read[key], kinds):
                raise BadInput(f"{key} of a row of results has the wrong type")
        try:
            return cls(**read)
        except TypeError:
            raise BadInput("a row of results is incomplete; sfumato did not write it") from None


@cache
def _types() -> dict[str, tuple[Any, ...]]:
    """The types that the value of each column may have."""
    return {key: get_args(kind) or (kind,) for key, kind in get_type_hints(Row).items()}


def _fits(value: object, kinds: tuple[Any, ...]) -> bool:
    """Whether a value has one of the types; a 64-bit integer also counts as a float."""
    if isinstance(value, bool):
        return False
    if isinstance(value, tuple):
        return tuple in [get_origin(kind) for kind in kinds] and all(
            _fits(one, (float,)) for one in value
        )
    if isinstance(value, int):
        return abs(value) < 2**63 and (int in kinds or float in kinds)
    return isinstance(value, tuple(kind for kind in kinds if get_origin(kind) is None))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return write_number(value) if isinstance(value, float) else value


def _read(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read("value", one) for one in value)
    found = read_number(value) if key in _NUMBERS and isinstance(value, str) else None
    return value if found is None else found
