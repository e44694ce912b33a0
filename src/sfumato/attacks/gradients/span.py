"""Rebuild texts exactly from the span of what attention has read.

How
    The rows of the first layer's gradient span what that layer read (``attention``). For every
    position, each word of the vocabulary is put there: what the layer would read of the word lies
    in the span if the word stood there, and far from it otherwise. Then the second layer decides
    how the words of the positions belong together, since what it reads depends on the text before
    (a decoder) or on the whole text (an encoder):

    - *decoder*: texts are built from the left; a word is added if what the second layer would read
      there lies in its span. A text that no word continues is complete. This takes texts of a batch
      apart, since a word that belongs to another text does not fit.
    - *encoder*: one word after the other is replaced by another one of its position, whenever this
      brings all that the second layer would read closer to its span, until nothing does. It begins
      with the nearest words, then with random ones.

    Positions may be learned (BERT, GPT-2) or turned into queries and keys (Llama): in the latter
    case the first layer shows only which words there are, and the second finds their order.

What the attacker knows
    The model and the special tokens that frame a text. Neither labels nor lengths.

Care
    Distances in single precision are wrong by 1e-3, and words that were not read are at .14 or
    more in models of usual width, so the threshold is 2e-2. Once a batch has as many places as the
    layer has inputs, everything lies in the span and nothing can be told. Noise does the same: the
    smaller singular values drown first. Encoders with several texts in a batch share their
    positions; the search finds two, and more of them seldom.

Reference
    Petrov et al. 2024, "DAGER: exact gradient inversion for large language models", whose idea
    this is. Here queries, keys and values are stacked and every layer has its own rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.gradients.rebuilding import Rebuilding
from sfumato.attacks.gradients.rebuilt import Text
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.checks import at_least, between
from sfumato.core.randomness import Randomness

if TYPE_CHECKING:
    from sfumato.attacks.gradients.release import Batch, Seen

# Words that were not read are at least this far from the span, so noise must not blur it more.
_WRONG = 0.1
# The nearest words of a position, if noise lets many pass.
_NEAREST = 64


@dataclass(frozen=True, kw_only=True)
class GradientSpan(Rebuilding):
    """Rebuild the texts of a batch by the span of what its first two layers of attention read.

    A word is taken if it is nearer than ``threshold`` to the span, as a share of its length. A
    decoder follows at most ``beam`` beginnings of texts at a time; an encoder begins its search
    ``starts`` times.
    """

    name: ClassVar[str] = "gradient-span"
    knowledge: ClassVar[str] = (
        "The attacker holds the model and sees what one step releases of a batch; they know "
        "neither lengths nor labels."
    )

    sigma: tuple[float, ...] = (0.0, 1e-5, 1e-4)
    threshold: float = 2e-2
    beam: int = 64
    starts: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        between("threshold", self.threshold, 1e-6, 1.0)
        at_least("beam", self.beam, 1)
        at_least("starts", self.starts, 1)

    def refuse(self, target: ModelTarget) -> None:
        """Two layers of attention are needed, with trained weights."""
        from sfumato.attacks.gradients.attention import first_two

        first_two(target.model.network)

    def remarks(self, batches: Sequence[Batch]) -> tuple[str, ...]:
        """Where there are as many tokens as dimensions, every word lies in the span."""
        width = int(batches[0].model.network.config.hidden_size)
        full = sum(sum(one.lengths) >= width for one in batches)
        if not full:
            return ()
        return (
            f"In {full} of {len(batches)} steps the batch has as many tokens as the model is wide "
            f"({width}): then this attack tells no word from another, and that it finds nothing is "
            "no sign of safety. Take fewer `tokens`, or a smaller `batch`.",
        )

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:
        """Texts that fit both spans, the best first, at most as many as the batch has."""
        from sfumato.attacks.gradients.search import Search

        search = Search.of(seen, self.threshold, _WRONG, self.tokens)
        if search is None:
            return []
        words = search.words(_NEAREST)
        texts: Sequence[Text]
        if search.causal:
            texts = search.grow(words, self.beam)
        else:
            texts = search.descend(words, self.starts, seen.step.batch, randomness)
        return list(texts)[: seen.step.batch]
