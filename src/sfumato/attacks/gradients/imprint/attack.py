"""A dishonest server plants weights and reads the text off the gradients that come back.

How
    The server hands out a network of its own (``planting``), the clients compute their gradients on
    it as they would on any other, and the server reads the text off them (``readout``). The network
    does not have to be good at anything; a client who does not look at it cannot tell.

What the attacker knows
    The tokenizer and the classes, because they hand out the model, and how many tokens the text
    has. Labels are not needed.

Care
    What is measured is the noise and the bound of a step, on documents of the user; the attacked
    model lends its tokenizer and classes only. One record is seen at a time: a step that sums many
    records hides which sentence a token is from, and nothing here takes them apart.

Reference
    Fowl et al. 2023, "Decepticons: Corrupted transformers breach privacy in federated learning for
    language models"; the read-out by windows and the stronger planting are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.gradients.rebuilding import Rebuilding
from sfumato.attacks.gradients.rebuilt import Text
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.checks import at_least, one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness

if TYPE_CHECKING:
    from sfumato.attacks.gradients.release import Seen

READOUTS = ("windows", "neighbors")


@dataclass(frozen=True, kw_only=True)
class GradientImprint(Rebuilding):
    """Plant weights, and rebuild a text from the gradient that they lead to.

    ``readout`` is ``windows``, means of ``window`` units on either side, or ``neighbors``, as
    published. The planted network has ``layers`` layers of ``width`` numbers.
    """

    name: ClassVar[str] = "gradient-imprint"
    knowledge: ClassVar[str] = (
        "The attacker is a dishonest server: they built the model themselves so that its gradients "
        "show the text, have the tokenizer, see what a step releases of one record, and know its "
        "number of tokens. The attacked model lends its tokenizer and classes only."
    )

    batch: int | None = 1
    readout: str = "windows"
    window: int = 48
    width: int = 256
    layers: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch != 1:
            raise InvalidArgument(
                "gradient-imprint reads one record off a step; a batch must be 1 here"
            )
        one_of("readout", self.readout, READOUTS)
        at_least("window", self.window, 1)
        at_least("width", self.width, 8)
        at_least("layers", self.layers, 2)

    def prepare(self, target: ModelTarget, randomness: Randomness) -> ModelTarget:
        """The planted model in place of the attacked one."""
        from sfumato.attacks.gradients.imprint.planting import Shape, plant

        shape = Shape(width=self.width, layers=self.layers)
        planted = plant(target.model, shape, self.tokens, randomness)
        return replace(target, model=planted)

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:
        """The likeliest token at each place."""
        from sfumato.attacks.gradients.imprint.planting import Planted
        from sfumato.attacks.gradients.imprint.readout import read_tokens

        del randomness
        if not isinstance(seen.model, Planted):
            raise InvalidArgument("the gradient is of a model that was not planted")
        window = self.window if self.readout == "windows" else None
        return [read_tokens(seen, seen.model, window)]
