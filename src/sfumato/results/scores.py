"""What an attack found: figures with intervals, and the same figures where nothing can leak.

A figure alone proves little. An attack may score well because members and others have different
dates, or badly because it is weak. So every result states what the attacker is assumed to know,
what chance would score, and a *null control*: the same attack on something that cannot leak.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import nan
from time import perf_counter
from typing import Any

from sfumato.core.display import as_html, as_lines, interval
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import write_number
from sfumato.results.measured import Measured


@dataclass(frozen=True, kw_only=True)
class Control:
    """The same attack where nothing can leak: its figures must be near chance."""

    what: str
    figures: tuple[Measured, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Scores:
    """The result of an attack.

    ``knowledge`` says in a sentence what the attacker is assumed to know. ``chance`` is what each
    figure would be without the target. ``details`` hold what a chart needs, ready for JSON, and no
    private text. ``notes`` are sentences a reader must know to judge the figures.

    >>> leak = Measured("auc", 0.71, 0.66, 0.76, 400)
    >>> none = Control(what="others against others", figures=(Measured("auc", 0.5, 0.4, 0.6, 200),))
    >>> scores = Scores(attack="loss", knowledge="The attacker may query the model.",
    ...                 figures=(leak,), chance={"auc": 0.5}, control=none)
    >>> scores.figure("auc").value
    0.71
    """

    attack: str
    knowledge: str
    figures: tuple[Measured, ...]
    chance: Mapping[str, float]
    control: Control
    notes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.figures:
            raise InvalidArgument("scores need at least one figure")
        if len({one.metric for one in self.figures}) != len(self.figures):
            raise InvalidArgument("the figures of an attack must have different names")

    def figure(self, metric: str) -> Measured:
        """The figure of that name."""
        for one in self.figures:
            if one.metric == metric:
                return one
        known = ", ".join(one.metric for one in self.figures)
        raise InvalidArgument(f"{self.attack} has no figure {metric!r}; it has {known}")

    def __repr__(self) -> str:
        facts = [
            (one.metric, f"{interval(one.value, one.low, one.high)}{self._by_chance(one)}")
            for one in self.figures
        ]
        facts += [("null control", self.control.what)]
        facts += [
            (f"  {one.metric}", interval(one.value, one.low, one.high))
            for one in self.control.figures
        ]
        return as_lines(self.attack, [*facts, ("knowledge", self.knowledge)])

    def _repr_html_(self) -> str:
        rows = [
            (one.metric, interval(one.value, one.low, one.high), self.chance.get(one.metric, "–"),
             f"{one.n:,}", who)
            for who, figures in (("target", self.figures), ("null control", self.control.figures))
            for one in figures
        ]  # fmt: skip
        heads = ("figure", "value (95 %)", "chance", "n", "of")
        return as_html(self.attack, heads, rows, [self.knowledge, *self.notes])

    def _by_chance(self, one: Measured) -> str:
        by_chance = self.chance.get(one.metric)
        return "" if by_chance is None else f"; by chance {by_chance:.4g}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "attack": self.attack,
            "knowledge": self.knowledge,
            "figures": [_row(one, self.chance.get(one.metric)) for one in self.figures],
            "control": {
                "what": self.control.what,
                "figures": [_row(one, self.chance.get(one.metric)) for one in self.control.figures],
            },
            "notes": list(self.notes),
            "details": dict(self.details),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Scores:
        """Read what ``as_dict`` wrote."""
        try:
            control, every = values["control"], [*values["figures"], *values["control"]["figures"]]
            chances = {str(one["metric"]): _float(one["chance"]) for one in every}
            return cls(
                attack=str(values["attack"]),
                knowledge=str(values["knowledge"]),
                figures=tuple(_figure(one) for one in values["figures"]),
                chance={name: one for name, one in chances.items() if one is not None},
                control=Control(
                    what=str(control["what"]),
                    figures=tuple(_figure(one) for one in control["figures"]),
                ),
                notes=tuple(str(one) for one in values["notes"]),
                details=dict(values["details"]),
                seconds=_float(values["seconds"]) or 0.0,
            )
        except (KeyError, TypeError, ValueError, InvalidArgument):
            raise BadInput("the scores of an attack are damaged, or of another version") from None


@dataclass(frozen=True)
class ScoresOfAll:
    """The results of several attacks on one target, and why others were not run."""

    scores: tuple[Scores, ...]
    skipped: Mapping[str, str]

    def __repr__(self) -> str:
        parts = [repr(one) for one in self.scores]
        parts += [f"{name}: not run: {why}" for name, why in self.skipped.items()]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        whole = "".join(one._repr_html_() for one in self.scores)
        return whole + as_html("not run", ("attack", "why"), self.skipped.items())

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"attacks": [one.as_dict() for one in self.scores], "skipped": dict(self.skipped)}


class Stopwatch:
    """How long a block took; made by ``time_block``."""

    seconds = 0.0

    def stamp(self, scores: Scores) -> Scores:
        """The scores with the measured time."""
        return replace(scores, seconds=self.seconds)


@contextmanager
def time_block() -> Iterator[Stopwatch]:
    """Measure the time of a block."""
    watch, start = Stopwatch(), perf_counter()
    yield watch
    watch.seconds = perf_counter() - start


def _row(one: Measured, chance: float | None) -> dict[str, Any]:
    return {
        "metric": one.metric,
        "value": write_number(one.value),
        "low": write_number(one.low),
        "high": write_number(one.high),
        "n": one.n,
        "least": write_number(one.within[0]),
        "most": write_number(one.within[1]),
        "chance": chance,
    }


def _figure(written: Mapping[str, Any]) -> Measured:
    value, low, high = (_float(written[key]) for key in ("value", "low", "high"))
    within = _float(written.get("least")), _float(written.get("most"))
    return Measured(
        str(written["metric"]),
        nan if value is None else value,
        low,
        high,
        int(written["n"]),
        within,
    )


def _float(written: object) -> float | None:
    """A number from JSON, where infinite numbers are words."""
    if written is None or isinstance(written, bool) or not isinstance(written, int | float | str):
        return None
    return float(written)
