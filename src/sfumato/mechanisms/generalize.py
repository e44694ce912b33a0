"""Generalization: what was found becomes a broader word of a public hierarchy.

Guarantee
    None. This is a baseline: "aspirin" becomes "painkiller", or "medicine" two steps up.

What holds all the same
    A replacement is a function of the original, and the same for all words below one place of the
    hierarchy: for two texts that differ only in stretches with the same generalization, found as
    the same type, the output is the same. So the original hides among the words that share its
    generalization, ``among`` of them at least where that is asked for: words that would share one
    with fewer go on together, and what reaches the top with fewer is masked. (How many words stand
    *below* a place does not say it: most of them may have a generalization further down.) What the
    hierarchy does not have is masked by its type, as ``redact`` does.

What does not hold
    Originals with different generalizations are told apart for certain: there is no noise, so no
    level. How many words share a generalization says little about how well one hides: one of them
    may be a thousand times likelier than the others, the sentence around it may name it, and the
    same generalization at ten places of a text narrows each of them down. What the policy misses
    stands in the clear.

Care
    The whole of a stretch is looked up, in lower case, then its last word ("acute bronchitis":
    "bronchitis"). A word has one sense here, the first: WordNet's "bank" is beside a river. The
    hierarchy must be public: one that was made from the text shows what is in it. To know who
    shares what, ``among`` looks at the whole hierarchy once, which takes a while for WordNet.

Reference
    Sweeney 2002, "Achieving k-anonymity privacy protection using generalization and suppression";
    Sánchez and Batet 2016, "C-sanitized"; Fellbaum 1998, "WordNet".
"""

from __future__ import annotations

from collections import Counter
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
_NOT_COPIED = ("tree", "_shared")
LEAK = "the generalization of each replaced stretch: what has another one is told apart for certain"


@dataclass(frozen=True, kw_only=True)
class Generalize:
    """Put a broader word in the place of what was found.

    ``hierarchy`` is ``wordnet``, a file with a word, a tab and its broader word on each line, or
    nothing for a short built-in list. A word goes ``steps`` up, and on until ``among`` words of the
    hierarchy have come to the same place.

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
        words = list(Words.of(text))
        for known in (_spelled(words), _spelled(words[-1:])):
            place = self.tree.place(known)
            if place is not None and self.tree.broader(place) is not None:
                found = self._climb(place) if self.among == 1 else self._shared.get(place)
                return None if found is None else self.tree.called(found)
        return None

    def _climb(self, place: str) -> str:
        for _ in range(self.steps):
            place = self.tree.broader(place) or place
        return place

    @cached_property
    def _shared(self) -> dict[str, str]:
        """The generalization of every place that has one with at least ``among`` words."""
        return generalize_together(self.tree, self.steps, self.among)

    def public_facts(self) -> dict[str, Any]:
        """Which hierarchy it was; it is public."""
        return {"hierarchy": self.tree.digest}

    def identity(self) -> Identity:
        """All that decides what comes out."""
        return Identity((type(self).__qualname__, self.steps, self.among, self.tree.digest))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _NOT_COPIED}


def _spelled(words: Sequence[str]) -> str:
    return " ".join(word.casefold() for word in words)


def generalize_together(tree: Hierarchy, steps: int, among: int) -> dict[str, str]:
    """For every place what it is generalized to, each shared by at least ``among`` words.

    From the lowest places up: what has come to a place, ``steps`` from below or more, stays there
    if it is enough, and goes on together if not. What has not enough at the top has nothing.
    """
    # A word that a text cannot be looked up by hides nobody.
    looked_up = (word for word in tree.words() if _spelled(list(Words.of(word))) == word)
    words = Counter(place for place in map(tree.place, looked_up) if place is not None)
    above: dict[str, str | None] = {}
    for place in words:
        here: str | None = place
        while here is not None and here not in above:
            above[here] = tree.broader(here)
            here = above[here]
    depths: dict[str, int] = {}
    for place in above:
        chain = [place]
        while chain[-1] not in depths and (here := above[chain[-1]]) is not None:
            chain.append(here)
        for one in reversed(chain):
            broader = above[one]
            depths[one] = 0 if broader is None else depths[broader] + 1
    coming: dict[str, list[str]] = {place: [] for place in above}
    found: dict[str, str] = {}
    for place in sorted(above, key=lambda one: (-depths[one], one)):
        top = above[place] is None
        ready = [one for one in coming[place] if top or depths[one] - depths[place] >= steps]
        enough = sum(words[one] for one in ready) >= among
        found |= dict.fromkeys(ready if enough else (), place)
        onward = above[place]
        if onward is not None:
            coming[onward] += [one for one in coming[place] if one not in found]
            coming[onward] += [place] if words[place] else []
    return found
