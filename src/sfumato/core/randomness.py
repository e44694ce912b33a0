"""Where noise comes from.

Guarantee
    ``Randomness.secure()`` draws from ChaCha with 20 rounds under a key of 256 bits taken from the
    operating system. Predicting a draw from other draws is as hard as breaking the cipher, so the
    noise of a released text cannot be reconstructed from the part of it an observer can guess. A
    statistical generator does not give that: its state, and with it all past and future noise, can
    be computed from a few hundred outputs. ``noise``, for millions of numbers, draws from AES-128
    in counter mode, under a key that the stream draws for each call; processors compute it more
    than twice as fast.

Why it holds
    The key is passed as ``key=``, which sets the cipher's key directly; ``seed=`` would pass it
    through a 64-bit mixer first. Each stream has its own key. A pickled object does not contain its
    key (unpickling draws a fresh one), and a forked process that inherits a generator gets a fresh
    key before its first draw.

What does not hold
    ``Randomness.reproducible(seed)`` exists for tests and studies. Anyone who knows the seed can
    subtract the noise, so everything made with it is marked as not for release.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sfumato.core.checks import at_least

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_KEY_BITS = 256

# ``uniform`` draws one of this many numbers, all equally likely: 0, 1/DRAWS, 2/DRAWS … An event
# with a probability below 1/DRAWS cannot be drawn by comparing such a number with its probability.
DRAWS = 2**53


@dataclass(eq=False)
class Randomness:
    """A stream of random numbers; made by ``secure`` or ``reproducible``, never global."""

    seed: int | None
    path: tuple[int, ...] = ()
    _generator: np.random.Generator | None = field(default=None, init=False, repr=False)
    _owner: object = field(default=None, init=False, repr=False)

    @classmethod
    def secure(cls) -> Randomness:
        """A cryptographic stream under a fresh key: the default everywhere."""
        return cls(None)

    @classmethod
    def reproducible(cls, seed: int) -> Randomness:
        """The same stream for the same seed: for tests and studies, never for release."""
        return cls(at_least("seed", seed, 0, most=None))

    @property
    def for_release(self) -> bool:
        """Whether output made with this stream may be released."""
        return self.seed is None

    def stream(self, index: int) -> Randomness:
        """An independent stream; with a seed, the same one for the same index."""
        return Randomness(self.seed, (*self.path, at_least("index", index, 0, most=None)))

    def normal(self, rows: int, columns: int) -> NDArray[np.float64]:
        """Independent standard normal numbers."""
        return self._ready().standard_normal((rows, columns))

    def noise(self, count: int) -> NDArray[np.float64]:
        """Many independent standard normal numbers at once."""
        import numpy as np
        from randomgen import AESCounter

        low, high = self._ready().integers(2**64, size=2, dtype=np.uint64).tolist()
        return np.random.Generator(AESCounter(key=high << 64 | low)).standard_normal(count)

    def gamma(self, shape: float, scale: float, count: int) -> NDArray[np.float64]:
        """Independent Gamma numbers with the given shape and scale."""
        return self._ready().gamma(shape, scale, count)

    def uniform(self, count: int) -> NDArray[np.float64]:
        """Independent numbers, uniform on the multiples of 1/``DRAWS`` in [0, 1)."""
        return self._ready().random(count)

    def integers(self, high: int, count: int) -> NDArray[np.int64]:
        """Independent whole numbers, uniform on 0 … high − 1."""
        return self._ready().integers(high, size=count)

    def below(self, high: int) -> int:
        """One of the numbers that ``integers`` draws, in a quarter of the time."""
        return int(self._ready().integers(high))

    def choose(self, population: int, count: int) -> NDArray[np.int64]:
        """``count`` different whole numbers below ``population``, in increasing order."""
        chosen = self._ready().choice(population, size=count, replace=False, shuffle=False)
        chosen.sort()
        return chosen

    def _ready(self) -> np.random.Generator:
        # A child process must not repeat its parent's noise: two texts with the same noise reveal
        # their difference.
        if self._generator is None or (self.for_release and self._owner != _process()):
            self._generator = _generator(self._key())
            self._owner = _process()
        return self._generator

    def _key(self) -> int:
        if self.seed is None:
            return secrets.randbits(_KEY_BITS)
        import numpy as np

        words = np.random.SeedSequence(self.seed, spawn_key=self.path).generate_state(4, np.uint64)
        return sum(int(word) << (64 * place) for place, word in enumerate(words))

    def __reduce__(self) -> tuple[type[Randomness], tuple[int | None, tuple[int, ...]]]:
        return type(self), (self.seed, self.path)


class _Forks:
    """How many forks lead to this process; a process id alone may be used again."""

    count = 0
    watching = False


def _process() -> tuple[int, int]:
    if not _Forks.watching:
        _Forks.watching = True
        os.register_at_fork(after_in_child=_fork)
    return os.getpid(), _Forks.count


def _fork() -> None:
    _Forks.count += 1


def _generator(key: int) -> np.random.Generator:
    import numpy as np
    from randomgen import ChaCha

    return np.random.Generator(ChaCha(key=key, rounds=20))
