"""Generalization: what was found becomes a broader word of a public hierarchy.

Guarantee
    None. This is a baseline: "aspirin" becomes "painkiller", or "medicine" two steps up.

What holds all the same
    A replacement is a function of the original, and the same for all words below one place of the
    hierarchy: for two texts that differ only in stretches with the same generalization, found as
    the same type, the output is the same. So the original hides among the words that share its
    generalization, ``among`` of them at least where that is asked for and the hierarchy is as high.
    What the hierarchy does not have is masked by its type, as ``redact`` does.

What does not hold
    Originals with different generalizations are told apart for certain: there is no noise, so no
    level. How many words share a generalization says little about how well one hides: one of them
    may be a thousand times likelier than the others, the sentence around it may name it, and the
    same generalization at ten places of a text narrows each of them down. What the policy misses
    stands in the clear.

Care
    The whole of a stretch is looked up, in lower case, then its last word ("acute bronchitis":
    "bronchitis"). A word has one sense here, the first: WordNet's "bank" is beside a river. The
    hierarchy must be public: one that was made from the text shows what is in it.

Reference
    Sweeney 2002, "Achieving k-anonymity privacy protection using generalization and suppression";
    Sánchez and Batet 2016, "C-sanitized"; Fellbaum 1998, "WordNet".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sfumato.core.checks import at_least
from sfumato.core.randomness import Randomness
from sfumato.core.settings import FileToRead
from sfumato.guarantees.guarantee import Guarantee, no_guarantee
from sfumato.mechanisms.hierarchy import Hierarchy, load_hierarchy
from sfumato.mechanisms.redact import TYPE_LEAK, mask
from sfumato.policies.identity import Identity
from sfumato.text.span import Stretch
from sfumato.text.words import Words

HIGHEST = 20
LEAK = "the generalization of each replaced stretch: what has another one is told apart for certain"


@dataclass(frozen=True, kw_only=True)
class Generalize:
    """Put a broader word in the place of what was found.

    ``hierarchy`` is ``wordnet``, a file with a word, a tab and its broader word on each line, or
    nothing for a short built-in list. A word goes ``steps`` up, and on until ``among`` words stand
    below.

    >>> from sfumato.text.span import Span
    >>> drug = Stretch(0, 7, "Aspirin", Span(0, 7, "DRUG"))
    >>> Generalize().replace([drug], Randomness.secure())
    ['painkiller']
    >>> Generalize(steps=2).replace([drug], Randomness.secure())
    ['medicine']
    """

    hierarchy: FileToRead = field(default="", repr=False)
    steps: int = 1
    among: int = 1

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1, HIGHEST)
        at_least("among", self.among, 1)

    @cached_property
    def tree(self) -> Hierarchy:
        """The public hierarchy."""
        return load_hierarchy(self.hierarchy)

    def guarantee(self) -> Guarantee:
        """None; the generalization shows."""
        return no_guarantee(unit="stretch", scope="every stretch").leaking(TYPE_LEAK, LEAK)

    def replace(self, stretches: Sequence[Stretch], randomness: Randomness) -> list[str]:  # noqa: ARG002
        """The generalization of each stretch, or a mask."""
        return [self.generalization(one.text) or mask(one) for one in stretches]

    def generalization(self, text: str) -> str | None:
        """A broader word; None if the hierarchy has none, or none that is broad enough."""
        words = [word.casefold() for word in Words.of(text)]
        for known in (" ".join(words), words[-1] if words else ""):
            found = self._climb(known)
            if found is not None:
                return found if self.tree.size(found) >= self.among else None
        return None

    def _climb(self, word: str) -> str | None:
        reached: str | None = None
        here, step = word, 0
        while (above := self.tree.broader(here)) is not None and step < HIGHEST:
            reached, here, step = above, above, step + 1
            if step >= self.steps and self.tree.size(above) >= self.among:
                break
        return reached

    def public_facts(self) -> dict[str, Any]:
        """Which hierarchy it was; it is public."""
        return {"hierarchy": self.tree.digest}

    def identity(self) -> Identity:
        """All that decides what comes out."""
        return Identity((type(self).__qualname__, self.steps, self.among, self.tree.digest))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "tree"}
