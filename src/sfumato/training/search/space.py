"""What a search tries: a public law over settings of training, fixed before any data are read.

A setting is a list (``batch_size=64,128``), of which each value is equally likely, or an interval
(``learning_rate=1e-4..1e-2:log``), from which a number is drawn uniformly, or so that its logarithm
is uniform. Settings are drawn independently of each other.

Care
    Settings that decide how much noise a level needs (batch size, epochs, clipping) must be lists:
    the noise of each is solved beforehand, and the level of the search is that of the worst of all
    combinations (``accounting.selection``). Learning rate, optimizer, schedule and the shape of the
    model do not appear in the accounting, nor does the clipping norm, which scales the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.training.settings import GENERAL

# Settings of training that can be searched, and how their values are read.
NUMBERS = ("learning_rate", "clip_norm")
DECIDING = {"batch_size": int, "epochs": float, "clipping": str}
OTHERS = {"optimizer": str, "schedule": str, "lora_rank": int, "trainable": str}
# With these alone, all trials have the same to do.
_ALIKE = (*NUMBERS, "optimizer", "schedule")
# Each combination of deciding settings needs noise of its own, which takes a while to solve; each
# shape of the model is tried beforehand.
MOST_COMBINATIONS = 64
# Numbers from an interval are rounded to so many digits.
_DIGITS = 4


@dataclass(frozen=True)
class ValueList:
    """Values that are equally likely."""

    values: tuple[Any, ...]

    def draw(self, randomness: Randomness) -> Any:
        """One of them."""
        return self.values[int(randomness.integers(len(self.values), 1)[0])]

    def written(self) -> str:
        """As the command line has it."""
        return ",".join(str(one) for one in self.values)


@dataclass(frozen=True)
class Interval:
    """Numbers between two ends, uniform on a plain or a logarithmic scale."""

    low: float
    high: float
    log: bool = False

    def draw(self, randomness: Randomness) -> float:
        """One of them, rounded to a few digits."""
        share = float(randomness.uniform(1)[0])
        if self.log:
            found = self.low * (self.high / self.low) ** share
        else:
            found = self.low + (self.high - self.low) * share
        return min(self.high, max(self.low, float(f"{found:.{_DIGITS}g}")))

    def written(self) -> str:
        """As the command line has it."""
        return f"{self.low:g}..{self.high:g}" + (":log" if self.log else "")


@dataclass(frozen=True)
class SearchSpace:
    """Settings by their names, each with what may be drawn for it.

    >>> space = SearchSpace.of({"learning_rate": "1e-4..1e-2:log", "batch_size": [64, 128]})
    >>> space.as_dict()
    {'batch_size': '64,128', 'learning_rate': '0.0001..0.01:log'}
    >>> space.combinations()
    [{'batch_size': 64}, {'batch_size': 128}]
    """

    settings: tuple[tuple[str, ValueList | Interval], ...]

    @classmethod
    def of(cls, given: Mapping[str, object]) -> SearchSpace:
        """From what a user wrote: text as on the command line, or a list of values."""
        if not given:
            raise InvalidArgument(
                "`search=...` is missing: a search needs at least one setting with several values, "
                "such as `search={'learning_rate': '1e-4..1e-2:log'}`"
            )
        made = cls(tuple((name, _read(name, given[name])) for name in sorted(given)))
        count = made._count(*DECIDING)
        if count > MOST_COMBINATIONS:
            raise InvalidArgument(
                f"`search=...` has {count:,} combinations of {', '.join(DECIDING)}, which need "
                f"noise of their own each; at most {MOST_COMBINATIONS} are possible"
            )
        count = made._count(*made._of_shape())
        if count > MOST_COMBINATIONS:
            raise InvalidArgument(
                f"`search=...` has {count:,} combinations of {', '.join(made._of_shape())}, each a "
                f"model that is tried before the search; at most {MOST_COMBINATIONS} are possible"
            )
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """What is searched."""
        return tuple(name for name, _ in self.settings)

    def draw(self, randomness: Randomness) -> dict[str, Any]:
        """The settings of one trial."""
        return {
            name: one.draw(randomness.stream(place))
            for place, (name, one) in enumerate(self.settings)
        }

    @property
    def alike(self) -> bool:
        """Whether all trials take the same steps on the same rows, whatever they draw."""
        return all(name in _ALIKE for name in self.names)

    def combinations(self) -> list[dict[str, Any]]:
        """Every combination of the settings that decide the noise."""
        return self._combined(*DECIDING)

    def shapes(self) -> list[dict[str, Any]]:
        """Every combination of the settings that decide what the model looks like.

        Values that can be had one by one need not go together, and a trial that cannot be made
        would end a search that is paid for, and tell what it had drawn.
        """
        return self._combined(*self._of_shape())

    def _of_shape(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in (*_ALIKE, *DECIDING))

    def _combined(self, *wanted: str) -> list[dict[str, Any]]:
        lists = self._lists(*wanted)
        every = product(*lists.values())
        return [dict(zip(lists, values, strict=True)) for values in every]

    def _count(self, *wanted: str) -> int:
        return math.prod(len(values) for values in self._lists(*wanted).values())

    def _lists(self, *wanted: str) -> dict[str, tuple[Any, ...]]:
        return {
            name: one.values
            for name, one in self.settings
            if name in wanted and isinstance(one, ValueList)
        }

    def extremes(self) -> list[dict[str, Any]]:
        """Every value of every list, and both ends of every interval, each by itself."""
        return [
            {name: value}
            for name, one in self.settings
            for value in (one.values if isinstance(one, ValueList) else (one.low, one.high))
        ]

    def as_dict(self) -> dict[str, str]:
        """For JSON: the law, as a user writes it."""
        return {name: one.written() for name, one in self.settings}


def deciding(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that decide the noise."""
    return {name: value for name, value in drawn.items() if name in DECIDING}


def of_model(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some settings that belong to a built-in model."""
    known = {*NUMBERS, *DECIDING, *OTHERS}
    return {name: value for name, value in drawn.items() if name not in known}


def _read(name: str, given: object) -> ValueList | Interval:
    known = (*NUMBERS, *DECIDING, *OTHERS)
    if name in GENERAL and name not in known:
        raise InvalidArgument(
            f"`search={{{name!r}: ...}}` cannot be searched; what can is {', '.join(known)}, and "
            "the settings of a built-in model"
        )
    if isinstance(given, str):
        if ".." in given:
            return _interval(name, given)
        values: Sequence[object] = [one.strip() for one in given.split(",")]
    elif isinstance(given, Sequence):
        values = list(given)
    else:
        values = [given]
    kind = float if name in NUMBERS else (DECIDING | OTHERS).get(name)
    try:
        # What belongs to a model is read by the model.
        read = tuple(one if kind is None else kind(one) for one in values)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"`search={{{name!r}: ...}}` must be a list of values such as 64,128"
            + (" or an interval such as 1e-4..1e-2:log" if name in NUMBERS else "")
        ) from None
    if not read or len(set(map(str, read))) < len(read) or "" in read:
        raise InvalidArgument(f"`search={{{name!r}: ...}}` needs values that differ, none empty")
    return ValueList(read)


def _interval(name: str, written: str) -> Interval:
    ends, _, scale = written.partition(":")
    first, _, last = ends.partition("..")
    if name not in NUMBERS:
        raise InvalidArgument(
            f"`search={{{name!r}: {written!r}}}` is an interval; {name} takes a list of values, "
            f"and intervals are for {', '.join(NUMBERS)}"
        )
    try:
        low, high = float(first), float(last)
    except ValueError:
        low = high = math.nan
    if scale not in ("", "log") or not 0 < low < high < math.inf:
        raise InvalidArgument(
            f"`search={{{name!r}: {written!r}}}` must be LOW..HIGH or LOW..HIGH:log, with numbers "
            "above 0"
        )
    return Interval(low, high, log=scale == "log")
