"""How many trials a search makes: a random number whose law is public and which stays secret.

``TrialCount`` is a truncated negative binomial number K ≥ 1 with shape η > −1, or a Poisson number
K ≥ 0 (``shape=inf``). With γ in (0, 1):

- η ≠ 0: P[K = k] = (1 − γ)^k/(γ^{−η} − 1) · Π_{l<k} (l + η)/(l + 1). η = 1 is the geometric law.
- η = 0: P[K = k] = (1 − γ)^k/(k·ln(1/γ)), the logarithmic law.
- Poisson: P[K = k] = e^{−μ}·μ^k/k!.

γ follows from the mean: m = η(1 − γ)/(γ(1 − γ^η)), (1/γ − 1)/ln(1/γ) for η = 0, 1/γ for η = 1. It
is rounded up, and the mean that is charged is that of the rounded γ, rounded up.

Why these laws
    Let f(x) = E[x^K]. What a search costs depends on f' alone (``accounting.selection``), and here
    it has a simple form: f'(x) = m·(γ/(1 − (1 − γ)x))^{1+η}, and m·e^{−μ(1−x)} for Poisson. Both
    are at most m = f'(1), and change slowly.

Care
    The draw compares a uniform number of 192 bits with sums of 60 digits, so that the law that is
    drawn from and the law that is charged differ by less than any delta could notice.

Reference
    Papernot and Steinke 2022, "Hyperparameter tuning with Rényi differential privacy", definition 1
    and section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import cached_property
from itertools import islice

from sfumato.core.checks import number
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness

# The laws that have a name, by their shape.
NAMED = {"logarithmic": 0.0, "geometric": 1.0, "poisson": math.inf}
LEAST_SHAPE, LARGEST_SHAPE = -0.9, 100.0
LARGEST_MEAN = 10_000.0
# Digits of the sums, and the bits of the uniform number that is compared with them.
_DIGITS, _WORDS, _WORD_BITS = 60, 6, 32
_UP = 1 + 1e-12
_HALVINGS = 200


@dataclass(frozen=True, kw_only=True)
class TrialCount:
    """The law of the number of trials; ``shape`` is η, and infinity stands for Poisson.

    >>> law = TrialCount(mean=8.0, shape=1.0)
    >>> round(law.probabilities(1)[1], 6), law.quantile(0.5), law.quantile(0.99)
    (0.125, 6, 35)
    """

    mean: float
    shape: float = 1.0

    def __post_init__(self) -> None:
        mean = number("trials_mean", self.mean)
        if not 1.0 < mean <= LARGEST_MEAN:
            raise InvalidArgument(
                f"trials_mean={mean:g} must be more than 1 and at most {LARGEST_MEAN:g}; for a "
                "single run without a search there is training itself"
            )
        if self.shape != math.inf and not LEAST_SHAPE <= number("shape", self.shape) <= (
            LARGEST_SHAPE
        ):
            raise InvalidArgument(
                f"a shape of {self.shape:g} must lie between {LEAST_SHAPE:g} and "
                f"{LARGEST_SHAPE:g}, or be poisson"
            )

    @classmethod
    def named(cls, law: str, mean: float) -> TrialCount:
        """By the name of the law, or by its shape as a number.

        >>> TrialCount.named("0.5", 4).shape
        0.5
        """
        if law in NAMED:
            return cls(mean=mean, shape=NAMED[law])
        try:
            shape = float(law)
        except ValueError:
            shape = math.nan
        if not math.isfinite(shape):
            raise InvalidArgument(
                f"`trials={law!r}` must be {', '.join(NAMED)}, or the shape of a truncated "
                "negative binomial law, a number"
            )
        return cls(mean=mean, shape=shape)

    @property
    def law(self) -> str:
        """Its name, in words."""
        for name, shape in NAMED.items():
            if shape == self.shape:
                return name
        return f"truncated negative binomial with shape {self.shape:g}"

    @property
    def poisson(self) -> bool:
        """Whether there may be no trial at all."""
        return self.shape == math.inf

    @cached_property
    def gamma(self) -> float:
        """γ, rounded up: a smaller one would mean more trials."""
        if self.poisson:
            raise InvalidArgument("a Poisson law has no gamma")
        if self.shape == 1.0:
            return min(1 - 1e-12, 1 / self.mean)
        low, high = 0.0, 1.0  # the logarithms of 1/γ: of few trials, and of many
        while _mean(math.exp(-high), self.shape) < self.mean:
            low, high = high, 2 * high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if _mean(math.exp(-middle), self.shape) <= self.mean:
                low = middle
            else:
                high = middle
        return min(1 - 1e-12, math.exp(-low))

    @property
    def charged_mean(self) -> float:
        """The mean of the law that is drawn from, rounded up; f'(x) is never larger."""
        if self.poisson:
            return self.mean
        return _mean(self.gamma, self.shape) * _UP

    def slope(self, chance: float) -> float:
        """f'(x) at x = ``chance``, where f(x) = E[x^K]."""
        if self.poisson:
            return self.mean * math.exp(-self.mean * (1 - chance))
        gamma = self.gamma
        share = gamma / (1 - (1 - gamma) * chance)
        return _mean(gamma, self.shape) * math.pow(share, 1 + self.shape)

    def probabilities(self, most: int) -> list[float]:
        """P[K = k] for every k from 0 to ``most``."""
        with localcontext(Context(prec=_DIGITS)):
            chances = [float(chance) for _, chance in islice(self._law(), most + 1)]
        return chances if self.poisson else [0.0, *chances[:most]]

    def quantile(self, share: float) -> int:
        """The smallest number that is not exceeded with probability ``share``."""
        with localcontext(Context(prec=_DIGITS)):
            return self._reached(Decimal(share))

    def draw(self, randomness: Randomness) -> int:
        """A number of trials."""
        words = randomness.integers(2**_WORD_BITS, _WORDS).tolist()
        whole = sum(int(word) << (_WORD_BITS * place) for place, word in enumerate(words))
        with localcontext(Context(prec=_DIGITS)):
            return self._reached((Decimal(whole) + Decimal("0.5")) / (1 << (_WORD_BITS * _WORDS)))

    def _reached(self, share: Decimal) -> int:
        total = Decimal(0)
        for count, chance in self._law():
            total += chance
            if total >= share:
                return count
        raise AssertionError("a law has no end")  # pragma: no cover

    def _law(self) -> Iterator[tuple[int, Decimal]]:
        """Every number with its probability; within a context of ``_DIGITS`` digits."""
        if self.poisson:
            mean = Decimal(self.mean)
            count, chance = 0, (-mean).exp()
            while True:
                yield count, chance
                count += 1
                chance = chance * mean / count
        gamma, shape = Decimal(self.gamma), Decimal(self.shape)
        rest = 1 - gamma
        count = 1
        chance = rest / -gamma.ln() if not shape else rest * shape / (gamma ** (-shape) - 1)
        while True:
            yield count, chance
            # Of two probabilities that follow each other: (1 − γ)(k + η)/(k + 1).
            chance = chance * rest * (count + shape) / (count + 1)
            count += 1


def _mean(gamma: float, shape: float) -> float:
    """η(1 − γ)/(γ(1 − γ^η)), which is (1/γ − 1)/ln(1/γ) for η = 0."""
    log = -math.log(gamma)
    rest = -math.expm1(-log)
    if shape == 0.0:
        return rest / (gamma * log)
    return shape * rest / (gamma * -math.expm1(-shape * log))
