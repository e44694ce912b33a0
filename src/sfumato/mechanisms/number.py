"""Numbers with random noise, written in the same form.

Guarantee
    Metric DP at level ``epsilon``, about numbers of one form, in one of two distances:

    - ``scale="absolute"`` (the default): how many times ``step`` two numbers differ by, in the unit
      in which they are written. With ``epsilon=0.1`` and ``step=1``, "81 mg" and "91 mg" are 10
      steps apart, and no output is more than e times likelier for one of them.
    - ``scale="relative"``: how many steps they are apart on a public scale, on which each number is
      1 + ``step`` times the one before, and every number stands at the nearest of them.

Why it holds
    The noise is two-sided geometric (``geometric``), drawn exactly. On the absolute scale it counts
    units of the last decimal that is written, at a rate of ``epsilon`` for every ``step`` of them:
    the number of decimals is part of the form. On the relative scale it counts places of the scale.

    Before the noise a number is put between ``low`` and ``high``, which are public and bring two
    numbers no farther apart. What happens after the noise (bounds again, rounding to ``digits``
    digits on the relative scale, writing it in the form) depends on the form, on settings and on
    the noisy number alone, hence it is post-processing.

What does not hold
    The form shows: units, words such as "million", how many decimals there are. Of a writer who
    drops zeros at the end the decimals show that there was none to drop. That something cannot be
    read as one number shows, too: it becomes its type in square brackets. Numbers of different
    forms are not compared. What only some numbers show is no part of a form and not written:
    marks between thousands, zeros in front (``written_numbers``).

Care
    ``epsilon`` means something only together with ``step``: noise has a mean size of about
    step/epsilon. Numbers below ``low`` (0 if nothing is said) count as ``low``; set it for
    temperatures or balances. On the relative scale nothing is smaller than one unit of the last
    decimal. A number that stands twice gets two draws, and costs twice.

Reference
    Ghosh, Roughgarden and Sundararajan 2009, "Universally utility-maximizing privacy mechanisms";
    Chatzikokolakis et al. 2013, "Broadening the scope of differential privacy using metrics".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sfumato.core.arrays import Points
from sfumato.core.checks import at_least, number, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, metric_dp
from sfumato.mechanisms.geometric import ExactDraws
from sfumato.mechanisms.line import OnLine, spread
from sfumato.mechanisms.mechanism import check_level
from sfumato.mechanisms.redact import TYPE_LEAK, mask
from sfumato.mechanisms.written_numbers import MOST_DECIMALS, NumberForm, read_number
from sfumato.text.span import Stretch

SCALES = ("absolute", "relative")
MARKS = {"": "", "point": ".", "comma": ","}
LARGEST = 1e15
# Steps of the relative scale, from finer than anybody writes to doubling.
FINEST, COARSEST = 1e-6, 1.0
MOST_DIGITS = 15
FORM_LEAK = (
    "how a number is written (its unit, words such as 'million', how many decimals and the mark "
    "before them, the script of its digits), and that something found as a number could not be "
    "read as one"
)
_CENTER = 10**6


@dataclass(frozen=True, kw_only=True)
class Number:
    """Add noise to numbers; ``epsilon`` is per ``step``.

    Without ``step`` it is 1 on the absolute scale and 0.01, one percent, on the relative one.
    ``decimal`` says what stands before decimals: "point", "comma", or what the language says.

    >>> from sfumato.text.span import Span
    >>> dose = Stretch(0, 5, "81 mg", Span(0, 5, "QUANTITY"))
    >>> Number(epsilon=0.3).replace([dose], Randomness.reproducible(20))
    ['78 mg']
    """

    epsilon: float
    scale: str = "absolute"
    step: float | None = None
    low: float = 0.0
    high: float = 1e12
    digits: int = 3
    decimal: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_level(self.epsilon))
        one_of("scale", self.scale, SCALES)
        one_of("decimal", self.decimal, MARKS)
        at_least("digits", self.digits, 1, MOST_DIGITS)
        for name in ("low", "high"):
            if abs(number(name, getattr(self, name))) > LARGEST:
                raise InvalidArgument(f"{name} must lie between -{LARGEST:g} and {LARGEST:g}")
        if self.low >= self.high:
            raise InvalidArgument(f"low={self.low:g} must be less than high={self.high:g}")
        if self.step is not None:
            positive("step", self.step)
            if self.scale == "relative" and not FINEST <= self.step <= COARSEST:
                raise InvalidArgument(
                    f"step={self.step:g} must lie between {FINEST:g} and {COARSEST:g} on the "
                    "relative scale: 0.01 is one percent"
                )

    def guarantee(self) -> Guarantee:
        """Metric DP in steps, for numbers of one form."""
        step = float(self._step)
        stated = metric_dp(
            epsilon=self.epsilon,
            metric=(
                f"steps of {step:.12g} in the unit in which they are written"
                if self.scale == "absolute"
                else f"steps of a public scale on which each number is {1 + step:.12g} times the "
                "one before"
            ),
            unit="stretch",
            about=("numbers", self.scale, step, self.low, self.high, self.digits, self.decimal),
        )
        return replace(
            stated,
            scope=f"every number, put between {self.low:.12g} and {self.high:.12g}",
            neighbors="any two numbers of the same form",
        ).leaking(FORM_LEAK, TYPE_LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:
        """Each number with noise of its own; what cannot be read becomes its type."""
        draws = ExactDraws(randomness)
        replaced = []
        for stretch in stretches:
            written = read_number(stretch.text, stretch.language, MARKS[self.decimal])
            limits = self._limits(0 if written is None else written.form.decimals)
            if written is None or limits is None:
                replaced.append(mask(stretch))
                continue
            place = self.place(written.ticks, limits)
            # The noisy place and the form go on from here, the original does not.
            noisy = place + draws.geometric(self.rate(written.form.decimals))
            replaced.append(written.form.spell(self.value(noisy, limits)))
        return replaced

    def rate(self, decimals: int) -> Fraction:
        """The level for one place: a unit of the last decimal, or a step of the scale."""
        return _level_of_a_place(self.epsilon, self._steps(decimals))

    def place(self, ticks: int, limits: tuple[int, int]) -> int:
        """Where a number stands, once it is put between its bounds."""
        kept = min(max(ticks, limits[0]), limits[1])
        if self.scale == "absolute":
            return kept
        return round(math.log(kept) / math.log1p(float(self._step)))

    def value(self, place: int, limits: tuple[int, int]) -> int:
        """The number at a place, rounded and put between the bounds."""
        if self.scale == "relative":
            lowest, highest = (self.place(limit, limits) for limit in limits)
            power = min(max(place, lowest), highest) * math.log1p(float(self._step))
            place = _significant(round(math.exp(power)), self.digits)
        return min(max(place, limits[0]), limits[1])

    def points(self) -> tuple[OnLine]:
        """The same over some numbers of a public window, to put its claim to the test."""
        decimals = 0 if self.scale == "relative" else _decimals(self._step)
        form = NumberForm("", "", decimals, "." if decimals else "")
        limits = self._limits(decimals)
        places, texts = self._window(decimals, limits) if limits else (np.arange(0), [])
        if limits is None or len(set(texts)) < len(places) or len(places) < 2:
            raise InvalidArgument("low and high leave too few numbers to look at")
        between = limits

        def read(text: str) -> int:
            written = read_number(text, mark=".")
            return self.place(0 if written is None else written.ticks, between)

        window = OnLine(
            mechanism=replace(self, decimal="point", digits=MOST_DIGITS),
            texts=[form.spell(int(text)) for text in texts],
            places=places,
            unit=float(self._steps(decimals)),
            read=read,
            label="NUMBER",
        )
        return (window,)

    def _window(self, decimals: int, limits: tuple[int, int]) -> tuple[Points, list[str]]:
        """Places beside each other, and the numbers there, in units of the last decimal."""
        exact = replace(self, digits=MOST_DIGITS)
        lowest, highest = (self.place(limit, limits) for limit in limits)
        rate = self.epsilon * float(self._steps(decimals))
        around = spread(rate, (highest - lowest) // 2)
        middle = (lowest + highest) // 2
        if self.scale == "absolute":
            middle = min(middle, lowest + 2 * int(around[-1]))
        elif limits[0] < _CENTER < limits[1]:
            middle = max(self.place(_CENTER, limits), lowest - int(around[0]))
        places = around + middle
        texts = [str(exact.value(place, limits)) for place in places.tolist()]
        kept = [self.place(int(text), limits) for text in texts]
        return (places, texts) if kept == places.tolist() else (places, [])

    def _steps(self, decimals: int) -> Fraction:
        """How many steps two places beside each other are apart."""
        return Fraction(1) if self.scale == "relative" else 1 / (self._step * 10**decimals)

    @property
    def _step(self) -> Fraction:
        # As it is written: 0.1 is a tenth.
        if self.step is None:
            return Fraction(1) if self.scale == "absolute" else Fraction(1, 100)
        return _as_written(self.step)

    def _limits(self, decimals: int) -> tuple[int, int] | None:
        """The bounds in units of the last decimal; nothing if none of them lies between."""
        low, high = _in_units(self.low, self.high, decimals)
        if self.scale == "relative":
            low = max(low, 1)
        return (low, high) if low <= high else None


# Documents hold many numbers of few forms: what depends on settings and form is computed once.


@lru_cache(maxsize=256)
def _as_written(value: float) -> Fraction:
    return Fraction(repr(float(value)))


@lru_cache(maxsize=256)
def _in_units(low: float, high: float, decimals: int) -> tuple[int, int]:
    """The bounds as whole numbers of units of the last decimal, rounded inwards."""
    unit = 10**decimals
    return math.ceil(_as_written(low) * unit), math.floor(_as_written(high) * unit)


@lru_cache(maxsize=256)
def _level_of_a_place(epsilon: float, steps: Fraction) -> Fraction:
    return Fraction(epsilon) * steps


def _significant(value: int, digits: int) -> int:
    """Rounded to so many digits, halves up.

    >>> _significant(1_312_487, 3), _significant(78, 3), _significant(995, 2)
    (1310000, 78, 1000)
    """
    unit: int = 10 ** max(0, len(str(value)) - digits)
    return (value + unit // 2) // unit * unit


def _decimals(step: Fraction) -> int:
    """How many decimals it takes to write the step."""
    return next((n for n in range(MOST_DECIMALS) if (step * 10**n).denominator == 1), MOST_DECIMALS)
