"""What a study can tell apart, before it is computed: how many secrets an exposure needs.

How the half-width is computed
    The exposure of a secret that the model does not know is −log2 of a uniform share: its standard
    deviation is 1/ln 2 = 1.44 bits. Where secrets leak, some do much more than others: in generated
    dialogues with 16 secrets at each count it was 2.9 to 3.2 bits at means of 4 to 6 bits.
    Student's interval over n secrets has then the half-width t·3/√n. What seeds add comes on top,
    and is not known before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.core.checks import at_least, positive
from sfumato.statistics.intervals import student
from sfumato.studies.spec import CanarySettings, StudySpec

# The standard deviation of exposures over secrets, in bits: by chance, and where secrets leak.
BY_CHANCE = 1 / math.log(2)
LEAKING = 3.0
CONFIDENCE = 0.95
# A study tells little if intervals are wider than this; 1 bit from 4 needs it narrower.
WANTED = 1.5
_MOST = 100_000


def half_width(secrets: int, deviation: float = LEAKING) -> float:
    """Half of the 95 % interval of a mean exposure, in bits; infinite for one secret.

    >>> round(half_width(3), 1), round(half_width(20), 1)
    (7.5, 1.4)
    """
    at_least("secrets", secrets, 1)
    if secrets == 1:
        return math.inf
    return student(CONFIDENCE, secrets - 1) * deviation / math.sqrt(secrets)


def secrets_for(half: float, deviation: float = LEAKING) -> int:
    """The fewest secrets whose mean exposure has an interval of ± ``half`` bits.

    >>> secrets_for(1.5)
    18
    """
    positive("half", half)
    low, high = 1, 2
    while half_width(high, deviation) > half and high < _MOST:
        low, high = high, 2 * high
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width(middle, deviation) <= half else (middle, high)
    return high


def secrets_to_tell(one: float, other: float, power: float = 0.95) -> int:
    """The fewest secrets with which a mean exposure of ``other`` bits is told from ``one``.

    Told apart means that Welch's test at 95 % finds the difference with this probability; an
    exposure near chance varies by ``BY_CHANCE``, a larger one by ``LEAKING``.

    >>> secrets_to_tell(1.0, 4.0)
    19
    """
    gap = abs(other - one)
    positive("the difference", gap)
    variance = sum((BY_CHANCE if abs(x) < 2 else LEAKING) ** 2 for x in (one, other))
    for secrets in range(2, _MOST):
        error = math.sqrt(variance / secrets)
        freedom = secrets - 1
        # Two-sided at CONFIDENCE; the power adds its own one-sided quantile.
        needed = student(CONFIDENCE, freedom) + student(2 * power - 1, freedom)
        if gap >= needed * error:
            return secrets
    return _MOST


@dataclass(frozen=True)
class Weakness:
    """A count of repetitions whose figure will say little."""

    corpus: str
    repetitions: int
    secrets: int

    def sentence(self) -> str:
        """What to do about it.

        >>> print(Weakness("", 4, 3).sentence())
        with 3 secrets at 4 repetitions an exposure has an interval of ± 7.5 bits: plant 18
        """
        many = "1 secret" if self.secrets == 1 else f"{self.secrets} secrets"
        times = "1 repetition" if self.repetitions == 1 else f"{self.repetitions} repetitions"
        where = f"{self.corpus}: " if self.corpus else ""
        half = half_width(self.secrets)
        what = "no interval" if math.isinf(half) else f"an interval of ± {half:.1f} bits"
        return f"{where}with {many} at {times} an exposure has {what}: plant {secrets_for(WANTED)}"


def weaknesses(study: StudySpec) -> list[Weakness]:
    """The counts of a study's planted secrets that are too few to tell 1 bit from 4."""
    if "exposure" not in study.attacks:
        return []
    enough = secrets_for(WANTED)
    return [
        Weakness(name, repetitions, secrets)
        for name, one in study.each.items()
        for repetitions, secrets in planted_counts(one.canaries).items()
        if secrets < enough
    ]


def planted_counts(canaries: CanarySettings | None) -> dict[int, int]:
    """How many secrets are planted at each number of repetitions; none if that is not known."""
    if canaries is None or canaries.manifest is not None:
        return {}
    counts: dict[int, int] = {}
    for one in canaries.each_repetitions:
        if one:
            counts[one] = counts.get(one, 0) + 1
    return counts
