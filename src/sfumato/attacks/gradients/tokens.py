"""Which words a batch holds: the rows of the embedding's gradient that stand out of the noise.

How
    Only words that were read have a gradient in the table of embeddings. Without noise, the words
    of a batch are the rows that are not zero. With Gaussian noise of standard deviation s in every
    coordinate, the row r of a word that was not read has ‖r‖²/s² ~ χ²_w for a width of w.

    Where positions have a table, too, it shows more. The vector that reaches the word at position t
    also reaches position t: both rows hold it, each with its own noise. Given the row p of a
    position, a word that was not read has ‖r + p‖²/s² ~ χ²_w with noncentrality ‖p‖²/s², and the
    sum is longer for the word that stands there.

    Every word is tested alone, and with each of the first ``tokens`` positions; half of the level
    goes to either kind of test. So the expected number of words that are named and were not read
    is at most ``false_alarms`` for each release.

    If the output layer has the same table as the input (GPT-2), every row has a gradient: for words
    that were not read it lies in the span of the last states, as many directions as there are
    places in the batch. That span is estimated from the shorter half of the rows, since most words
    are not read, and removed from all of them.

What the attacker knows
    The model, the noise, and how many tokens are read at most.

Care
    The stated level is exact for Gaussian noise and a table of its own. For directional noise it is
    that of the matched Gaussian. With a shared table the span is an estimate, and the level holds
    approximately. Nothing can be found if the embeddings are not trained, as with low-rank factors
    or a head alone; then the attack is refused.

Reference
    Melis et al. 2019, "Exploiting unintended feature leakage in collaborative learning" (rows that
    are not zero). The test with positions is ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sfumato.attacks.gradients.rebuilding import Level, Rebuilding
from sfumato.attacks.gradients.rebuilt import Text
from sfumato.attacks.gradients.step import Step
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.arrays import Floats
from sfumato.core.checks import extra, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.results.measured import Measured
from sfumato.statistics.shares import mean_share

if TYPE_CHECKING:
    from sfumato.attacks.gradients.release import Batch, Seen

FIGURES = ("words found", "F1 of words", "exact bags of words")
# Ends of the names of tables of positions.
_POSITIONS = ("position_embeddings", "wpe", "embed_positions")
# Rounding leaves this share of a row outside of the span it lies in.
_ROUNDING = 1e-3
_SMALLEST = 1e-5
# Beyond it the distribution of a length is normal in all digits that matter.
_CERTAIN = 1e5
# A word is looked at closely if its score is not farther than this below what it must be.
_CLOSE = 0.5


@dataclass(frozen=True, kw_only=True)
class GradientTokens(Rebuilding):
    """Name the words of a batch, in no order.

    At most ``false_alarms`` words are expected to be named in each release that were not read.
    """

    name: ClassVar[str] = "gradient-tokens"
    knowledge: ClassVar[str] = (
        "The attacker holds the model, sees what one step releases of a batch, and knows the "
        "noise; they test every word of the vocabulary."
    )

    sigma: tuple[float, ...] = (0.0, 3e-4, 1e-3, 2e-3)
    false_alarms: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("false_alarms", self.false_alarms)

    def refuse(self, target: ModelTarget) -> None:
        """Embeddings that are not trained have no gradient."""
        network: Any = target.model.network
        if not network.get_input_embeddings().weight.requires_grad:
            raise InvalidArgument(
                "the embeddings are not trained, so a step releases no gradient of them, and no "
                "row can stand out; attack with gradient-candidates, which needs any gradient"
            )

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:  # noqa: ARG002
        """One list of words for the whole batch."""
        from sfumato.attacks.gradients.release import special_tokens

        tables = Tables.of(seen, self.tokens)
        found = tables.names(seen.step.deviation, self.false_alarms)
        special = special_tokens(seen.model)
        return [[one for one in found.tolist() if one not in special]]

    def compare(
        self, batches: Sequence[Batch], guesses: Sequence[Sequence[Text]], step: Step
    ) -> Level:
        """Figures of the words of each batch."""
        wanted = [_words(one.texts()) for one in batches]
        found = [_words(one) for one in guesses]
        others = [*wanted[1:], wanted[0]]
        return Level(step, _figures(found, wanted, step.said), _figures(found, others, step.said))

    def chance(self, batches: Sequence[Batch]) -> dict[str, float]:
        """What the words of other batches would score."""
        wanted = [_words(one.texts()) for one in batches]
        shifts = [[*wanted[one:], *wanted[:one]] for one in range(1, len(wanted))]
        scores = np.mean([_compare(one, wanted) for one in shifts], axis=(0, 1))
        return dict(zip(FIGURES, scores.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Tables:
    """The released gradients of words and, if there is a table of them, of positions."""

    words: Floats
    positions: Floats
    shared: bool

    @classmethod
    def of(cls, seen: Seen, tokens: int) -> Tables:
        """Find the tables in a release; the table of positions up to the longest text."""
        network: Any = seen.model.network
        table = network.get_input_embeddings().weight
        output = network.get_output_embeddings()
        names = {id(one): name for name, one in network.named_parameters()}
        words = seen.gradient[names[id(table)]].double().cpu().numpy()
        positions = np.zeros((0, words.shape[1]))
        for name, module in network.named_modules():
            if name.endswith(_POSITIONS) and f"{name}.weight" in seen.gradient:
                offset = (getattr(module, "padding_idx", None) or -1) + 1
                rows = seen.gradient[f"{name}.weight"][offset : offset + tokens]
                if rows.shape[1] == words.shape[1]:
                    positions = rows.double().cpu().numpy()
        return cls(words, positions, output is not None and output.weight is table)

    def names(self, deviation: float, false_alarms: float) -> NDArray[np.intp]:
        """The numbers of the words that stand out."""
        tables = self._apart(deviation) if self.shared else self
        if deviation:
            level = min(0.5, false_alarms / len(self.words))
            return (tables.log_levels(deviation, level) < math.log(level)).nonzero()[0]
        lengths = np.linalg.norm(tables.words, axis=1)
        least = _ROUNDING * np.linalg.norm(self.words, axis=1) if self.shared else 0.0
        standing: NDArray[np.bool_] = lengths > least
        return standing.nonzero()[0]

    def log_levels(self, deviation: float, wanted: float) -> Floats:
        """For each word: ln of a level at which its row is longer than noise, by both tests.

        Levels beside positions are only computed where they may be below the ``wanted`` one.
        """
        extra("scipy", needed_for="the attack gradient-tokens", extra="attack")
        from scipy.stats import chi2

        squares = np.square(self.words / deviation).sum(1)
        alone: Floats = chi2.logsf(squares, self.words.shape[1])
        if not len(self.positions):
            return alone
        return np.minimum(alone, self._beside(squares, deviation, wanted)) + math.log(2)

    def _beside(self, squares: Floats, deviation: float, wanted: float) -> Floats:
        """The same from the sum with each position, the best of them."""
        width = self.words.shape[1]
        # Tails of these distributions are longer than that of a normal one.
        least = NormalDist().inv_cdf(1 - wanted / (2 * len(self.positions))) - _CLOSE
        offsets = np.square(self.positions / deviation).sum(1)
        sums = squares[:, None] + 2 * self.words @ self.positions.T / deviation**2 + offsets
        scores = (sums - (width + offsets)) / np.sqrt(2 * (width + 2 * offsets))
        levels = np.zeros(len(squares))
        for word in (scores.max(1) > least).nonzero()[0].tolist():
            levels[word] = _long_sums(sums[word], width, offsets).min()
        found: Floats = np.minimum(levels + math.log(len(offsets)), 0.0)
        return found

    def _apart(self, deviation: float) -> Tables:
        """Both tables in coordinates outside of the span of what words have that were not read."""
        lengths = np.linalg.norm(self.words, axis=1)
        short = self.words[lengths <= np.median(lengths)]
        # The triangular factor has the same singular values, and is no larger than it is wide.
        _, values, directions = np.linalg.svd(np.linalg.qr(short, mode="r"))
        least = _SMALLEST * values[0]
        if deviation:
            # What noise alone would give, by the law of the largest singular value.
            least = deviation * (math.sqrt(len(short)) + math.sqrt(short.shape[1]))
        kept = directions[int((values > least).sum()) :]
        if len(kept) < 2:
            raise InvalidArgument(
                "input and output share a table, and the batch has as many places as the table is "
                "wide: every row may be that of a word that was not read; take a smaller batch"
            )
        return Tables(self.words @ kept.T, self.positions @ kept.T, shared=False)


def _long_sums(sums: Floats, width: int, offsets: Floats) -> Floats:
    """Logarithms of the probability of a noncentral χ² above each sum."""
    from scipy.stats import ncx2, norm

    # ‖p + noise‖ is normal around a known length if p is very long.
    middle = np.sqrt(offsets) + (width - 1) / (2 * np.sqrt(offsets))
    normal: Floats = norm.logsf(np.sqrt(sums) - middle)
    with np.errstate(divide="ignore"):
        exact = np.log(ncx2.sf(sums, width, np.minimum(offsets, _CERTAIN)))
    return np.where(offsets > _CERTAIN, normal, exact)


def _words(texts: Sequence[Text]) -> set[int]:
    return {token for text in texts for token in text}


def _compare(found: Sequence[set[int]], wanted: Sequence[set[int]]) -> Floats:
    """A row for each release: the share of words found, F1, and whether all is right."""
    rows = [
        (
            len(one & other) / len(other),
            2 * len(one & other) / (len(one) + len(other)),
            float(one == other),
        )
        for one, other in zip(found, wanted, strict=True)
    ]
    return np.array(rows)


def _figures(found: Sequence[set[int]], wanted: Sequence[set[int]], said: str) -> list[Measured]:
    scores = _compare(found, wanted)
    return [mean_share(f"{name} {said}", scores[:, place]) for place, name in enumerate(FIGURES)]
