"""Several policies, each with a level of its own; where they overlap the strictest wins.

Guarantee
    For texts that differ only in selected words, each word having the same level in both: what
    comes out is at most exp(Σ epsilon_i·d(w_i, w'_i)) times likelier for one text than for the
    other, the sum being over the words that differ and epsilon_i the level of the word at that
    place. So a word of the level epsilon is protected as the inner mechanism protects a word at
    epsilon. The level that the statement gives as one number is the largest, that is the weakest.

Why it holds
    Where two texts are neighbors the policies decide alike in both, so every word goes through
    the same mechanism in both. Words without a level are the same and are copied. Each other word
    has randomness of its own, and the product of independent draws has the product of the ratios,
    each bounded by the mechanism of that word's level. Giving a word that several policies select
    the smallest of their levels is a fixed rule on decisions that count as public.

What does not hold
    Which level a word has shows, and so does what the policies read off it. A word and another one
    of a different level are not neighbors: nothing bounds how well they can be told apart, so a
    level must not itself be the secret. What no policy selects stands in the clear.

Care
    All levels must be stated in the same distance, else no level is stricter than another.
    (``truncated`` chooses gamma by epsilon, ``hyperbolic`` its form: set them.) The policy
    ``everything`` as the weakest level leaves nothing uncovered.

Reference
    After Tang 2020, whose split of the noise over levels could not be checked; the statement
    above is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.core.errors import InvalidArgument
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion
from sfumato.guarantees.wording import exact
from sfumato.mechanisms.mechanism import Mechanism
from sfumato.mechanisms.selective import (
    CHOICE_LEAK,
    STRUCTURE_LEAK,
    Privatized,
    compare_words,
    counting,
    selecting,
)
from sfumato.policies.patterns import Everything, Nothing
from sfumato.policies.policy import Policy, naming
from sfumato.text.document import Document
from sfumato.text.words import Words

LEVEL_LEAK = "which level each selected word has"


@dataclass(frozen=True, kw_only=True)
class Level:
    """A policy, and the word mechanism for what it selects."""

    policy: Policy
    mechanism: Mechanism

    @property
    def epsilon(self) -> float:
        """How strict the level is; smaller is stricter."""
        return self.mechanism.guarantee().epsilon


@dataclass(frozen=True, kw_only=True)
class Levels:
    """Word mechanisms of different strength, each where its policy finds something.

    They are kept in order, the strictest first.
    """

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        if not self.levels:
            raise InvalidArgument("levels are needed: at least one pair of epsilon and policy")
        ordered = tuple(sorted(self.levels, key=lambda level: level.epsilon))
        object.__setattr__(self, "levels", ordered)
        for level in ordered:
            _check(level, ordered[0].mechanism.guarantee())
        if len({level.epsilon for level in ordered}) < len(ordered):
            raise InvalidArgument("two levels have the same epsilon; join their policies to one")

    def guarantee(self, uncovered: int | None = None) -> Guarantee:
        """The statement for all levels, with the largest epsilon as its number."""
        inner = self.levels[-1].mechanism.guarantee()
        for level in self.levels:
            own = level.mechanism.guarantee()
            inner = inner.leaking(*own.leaks).not_covering(*own.uncovered)
        inner = counting(inner.leaking(STRUCTURE_LEAK), uncovered)
        stated = replace(
            inner,
            scope=f"every word that has a level, at the epsilon of its level ({self._listed()}; "
            "the largest stands for all)",
            neighbors=compare_words(inner, "each word's level being the same"),
            about=(*inner.about, *((one.epsilon, one.policy) for one in self.levels)),
        )
        policies = [level.policy for level in self.levels]
        stated = selecting(stated, *policies).leaking(CHOICE_LEAK, LEVEL_LEAK)
        if any(isinstance(policy, Everything) for policy in policies):
            return stated
        return stated.not_covering("whatever no level's policy selects")

    def privatize(self, documents: Sequence[Document], randomness: Randomness) -> list[Privatized]:
        """Privatize documents together: one call of each level's mechanism for all of them."""
        segmented = [Words.of(document.text) for document in documents]
        ranks = [
            self.ranks(document, words)
            for document, words in zip(documents, segmented, strict=True)
        ]
        replacements: list[dict[int, str]] = [{} for _ in documents]
        uncovered = [0] * len(documents)
        for number, level in enumerate(self.levels):
            places = [
                (document, index)
                for document, ranked in enumerate(ranks)
                for index, rank in ranked.items()
                if rank == number
            ]
            inputs = [segmented[document][index] for document, index in places]
            outputs = level.mechanism.privatize(inputs, randomness)
            for (document, index), word, output in zip(places, inputs, outputs, strict=True):
                replacements[document][index] = output
                uncovered[document] += level.mechanism.uncovered([word])
        return [
            Privatized(
                edited=words.replaced(sorted(chosen), [chosen[index] for index in sorted(chosen)]),
                words=len(words),
                selected=len(chosen),
                uncovered=kept,
                drawn=(len(chosen),),
            )
            for words, chosen, kept in zip(segmented, replacements, uncovered, strict=True)
        ]

    def ranks(self, document: Document, words: Words) -> dict[int, int]:
        """For each word that has a level, the number of that level, 0 being the strictest."""
        ranks: dict[int, int] = {}
        for number, level in enumerate(self.levels):
            with naming(f"the level {exact(level.epsilon)}"):
                found = level.policy.find(document)
            for index in found.select(words):
                # Levels come strictest first, so an earlier one is stricter.
                ranks.setdefault(index, number)
        return ranks

    def _listed(self) -> str:
        first, *others = self.levels
        listed = [f"in one release {exact(first.epsilon)} for what '{first.policy.name}' selects"]
        listed += [f"{exact(one.epsilon)} for what else '{one.policy.name}' does" for one in others]
        return ", ".join(listed)


def _check(level: Level, strictest: Guarantee) -> None:
    guarantee = level.mechanism.guarantee()
    if guarantee.notion is Notion.NONE:
        raise InvalidArgument("a level needs a mechanism with a guarantee, else it has no epsilon")
    if isinstance(level.policy, Nothing):
        raise InvalidArgument("the policy 'nothing' selects no word, so it has no level")
    for name in ("notion", "unit", "metric"):
        mine, theirs = getattr(guarantee, name), getattr(strictest, name)
        if mine != theirs:
            raise InvalidArgument(
                f"levels with a different {name} cannot be compared: {theirs!s} and {mine!s}; "
                "give all of them the same settings, and set what is otherwise chosen by epsilon "
                "(gamma of truncated, form of hyperbolic)"
            )
    if guarantee.about != strictest.about:
        raise InvalidArgument("levels must be over the same vectors, with the same settings")
