"""Rebuild a text by search: whose gradient is the one that was released?

How
    The embeddings of a made-up text are moved until its gradient is the released one, and the
    nearest tokens are read off (``search``). DLG, TAG and LAMP differ in how gradients are compared
    (``distances``); LAMP also tries other orders of the tokens (``edits``) and knows how likely a
    text is (``prior``).

What the attacker knows
    The model as it is, how many tokens the text has, and its label, unless labels are searched.

Care
    This attack breaks under far less noise than one that knows candidates: a noisy gradient still
    points to its text among some, when no search finds it among all. That it fails says nothing
    about a stronger attacker. The embedding table's gradient is left out, as in the publications;
    where it is released, its rows show the words without any search.

Reference
    Zhu, Liu and Han 2019 (DLG); Deng et al. 2021 (TAG); Balunović et al. 2022 (LAMP).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sfumato.attacks.attack import Inputs
from sfumato.attacks.gradients.rebuilding import Rebuilding
from sfumato.attacks.gradients.rebuilt import Text
from sfumato.attacks.model_target import ModelTarget
from sfumato.core.checks import at_least, one_of, positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead

if TYPE_CHECKING:
    from sfumato.attacks.gradients.matching.judge import Judge
    from sfumato.attacks.gradients.matching.prior import LanguagePrior
    from sfumato.attacks.gradients.release import Seen

VARIANTS = ("dlg", "tag", "lamp")
LABELS = ("known", "searched")


@dataclass(frozen=True, kw_only=True)
class GradientMatching(Rebuilding):
    """Search for the text whose gradient is the released one.

    ``variant`` is lamp, tag or dlg. ``moves`` moves of size ``rate`` follow on the best of
    ``starts`` random starts; lamp tries ``edits`` other orders ``rounds`` times, weighs them with
    the language model in the folder ``prior``, if one is given, and ends with at most ``sweeps``
    over the tokens (0: as published). ``labels`` are known or searched.
    """

    name: ClassVar[str] = "gradient-matching"
    knowledge: ClassVar[str] = (
        "The attacker holds the model, sees what one step releases, and knows how many tokens each "
        "text has and its label, unless labels are searched."
    )

    most: int = 4
    tokens: int = 16
    variant: str = "lamp"
    prior: FileToRead = ""
    labels: str = "known"
    moves: int = 220
    rate: float = 0.25
    starts: int = 30
    rounds: int = 6
    edits: int = 30
    sweeps: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("variant", self.variant, VARIANTS)
        one_of("labels", self.labels, LABELS)
        if self.prior and self.variant != "lamp":
            raise InvalidArgument(f"{self.variant} has no prior; only lamp weighs texts by one")
        positive("rate", self.rate)
        for name in ("moves", "starts"):
            at_least(name, getattr(self, name), 1)
        for name in ("rounds", "edits", "sweeps"):
            at_least(name, getattr(self, name), 0)

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a model, of documents and of the prior."""
        if self.prior and not Path(self.prior).is_dir():
            return f"prior={self.prior} is no folder; nothing is downloaded"
        return super().missing(inputs)

    def refuse(self, target: ModelTarget) -> None:
        """A network that cannot be given embeddings, such as an LSTM, cannot be searched."""
        from inspect import signature

        network = target.model.network
        takes = signature(network.forward).parameters
        if "inputs_embeds" not in takes or not hasattr(network, "set_attn_implementation"):
            raise InvalidArgument(
                "gradient-matching needs a transformer that takes embeddings; this one takes "
                "tokens only"
            )

    @cached_property
    def language(self) -> LanguagePrior | None:
        """What is known of the language; read once."""
        from sfumato.attacks.gradients.matching.prior import LanguagePrior

        return LanguagePrior.read(Path(self.prior)) if self.prior else None

    def judge(self, seen: Seen, randomness: Randomness) -> Judge:
        """What compares made-up texts with a release."""
        from sfumato.attacks.gradients.matching.distances import DISTANCES
        from sfumato.attacks.gradients.matching.dummies import DummyGradients
        from sfumato.attacks.gradients.matching.judge import Judge

        dummies = DummyGradients.of(seen, randomness)
        distance = DISTANCES[self.variant]
        return Judge(dummies, dummies.released(seen), distance, self.language)

    def rebuild(self, seen: Seen, randomness: Randomness) -> list[Text]:
        """The tokens that were found."""
        from sfumato.attacks.gradients.frames import text_places
        from sfumato.attacks.gradients.matching.search import Effort, Search, list_labelings

        lengths = [len(text_places(seen.model, length)) for length in seen.lengths]
        labelings: list[tuple[int, ...]] = [seen.labels]
        if self.labels == "searched":
            labelings = list_labelings(len(lengths), len(seen.model.classes))
        effort = Effort(
            discrete=self.variant == "lamp",
            moves=self.moves,
            rate=self.rate,
            starts=self.starts,
            rounds=self.rounds,
            edits=self.edits,
            sweeps=self.sweeps,
        )
        search = Search(self.judge(seen, randomness.stream(0)), effort)
        return search.run(lengths, labelings, randomness.stream(1))
