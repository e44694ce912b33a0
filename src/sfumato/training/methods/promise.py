"""The guarantee of selective training: for what a policy finds, and for nothing else.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors: two corpora with the same public tokens and the
    same policy bits, where in one of them the private part of one record is replaced by null, so
    that the record contributes nothing to the private stream.

Why it holds
    Removing a record's private part removes the record from the private stream and changes nothing
    else, because the public stream is a function of public parts alone. Each private step is a
    Poisson-sampled Gaussian release of clipped gradients. Each public step is a function of what
    was released, of public text and of independent randomness: post-processing. So the steps
    compose like those of DP-SGD, for any architecture, and no hidden state is released. Where forms
    of made-up values are learned, that is one more release about the same neighbors
    (``forms_plan``).

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (definition 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion, no_guarantee
from sfumato.mechanisms.selective import EXPERIMENT_LEAK
from sfumato.policies.identity import is_keyed, policy_code
from sfumato.policies.policy import Policy

SCOPE = "the weights of the model after every step"
NEIGHBORS = (
    "two corpora with the same public text and the same private places, of which one lacks what "
    "the policy {policy} finds in {one}"
)
# How one unit, and several of them, are called as holders of a secret.
_HOLDERS = {
    "author": ("all documents of one author", "documents of several authors"),
}
MISSED = "what the policy {policy} does not find"
VISIBLE = (
    "all public text",
    "where the policy found something, and as what type",
)
LINK_LEAK = (
    "whether other runs, of this process or under the same key, had the same policy (by a code "
    "that tells nothing else without the key)"
)


@dataclass(frozen=True)
class Misses:
    """What a policy missed on labeled text: a measurement, not a guarantee."""

    missed: int
    of: int

    def __str__(self) -> str:
        return f" (measured on labeled text: {self.missed:,} of {self.of:,} spans missed)"


def not_found(policy: str, misses: Misses | None) -> str:
    """What is not covered because the policy does not find it."""
    return MISSED.format(policy=policy) + ("" if misses is None else str(misses))


@dataclass(frozen=True, eq=False)
class PolicyPromise:
    """The policy that decides what is private, and what is known about it.

    ``misses`` is what it missed on labeled text. With a ``key``, guarantees of several processes
    can be recognized as being about the same policy (``policies.identity``).
    """

    policy: Policy
    misses: Misses | None = None
    key: Key | None = None

    @classmethod
    def of(
        cls,
        policy: Policy | None,
        *,
        key: str | Path | None = None,
        gold: str | Path | None = None,
    ) -> PolicyPromise | None:
        """A policy with a key from a file, measured on a file of labeled text."""
        if policy is None:
            for name, given in (("policy_key", key), ("gold", gold)):
                if given is not None:
                    raise InvalidArgument(
                        f"`{name}=FILE` describes a policy; give `policy=NAME`, too"
                    )
            return None
        found = cls(policy, key=None if key is None else Key.from_file(Path(key)))
        return found if gold is None else found.measured_on(Path(gold))

    def measured_on(self, gold: Path) -> PolicyPromise:
        """With what the policy misses on labeled text."""
        from sfumato.corpora.labeled import read_labeled
        from sfumato.policies.scoring import compare_with_gold

        recall = compare_with_gold(self.policy, read_labeled(gold)).overall_recall
        if not recall.gold:
            raise BadInput(f"{gold} has no labeled span to measure the policy on")
        return replace(self, misses=Misses(recall.gold - recall.found, recall.gold))

    def selective(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee of the private stream, restated for what the policy finds."""
        return self._known(promise_selective(guarantee, self.policy.name, self.misses))

    def redacted(self, guarantee: Guarantee) -> Guarantee:
        """No guarantee, with what is visible and what is not covered."""
        return self._known(promise_redacted(guarantee, self.policy.name, self.misses))

    def _known(self, guarantee: Guarantee) -> Guarantee:
        """With the identity of the policy; without one it is recognized in this process only."""
        code = policy_code(self.policy, self.key)
        if not code:
            stated = replace(guarantee, about=(*guarantee.about, self.policy))
        else:
            stated = replace(guarantee, policy=code)
            stated = stated.leaking(LINK_LEAK) if is_keyed(code) else stated
        if getattr(self.policy, "for_release", True):
            return stated
        return replace(stated.leaking(EXPERIMENT_LEAK), for_release=False)


def promise_selective(guarantee: Guarantee, policy: str, misses: Misses | None = None) -> Guarantee:
    """The guarantee of the private stream, restated for what a policy of that name finds."""
    missed = not_found(policy, misses)
    if guarantee.notion is Notion.NONE:
        return guarantee.not_covering(missed)
    unit = guarantee.unit
    one, several = _HOLDERS.get(unit, (f"one {unit}", f"several {unit}s"))
    stated = replace(
        guarantee,
        notion=Notion.SELECTIVE_DP,
        neighbors=NEIGHBORS.format(policy=policy, one=one),
        uncovered=(missed, f"a secret that stands in {several}", *guarantee.uncovered),
    )
    return stated.leaking(*VISIBLE)


def promise_redacted(guarantee: Guarantee, policy: str, misses: Misses | None = None) -> Guarantee:
    """Redaction proves nothing: what the policy misses was trained on in the clear."""
    nothing = replace(no_guarantee(unit=guarantee.unit, scope=SCOPE), record=guarantee.record)
    return nothing.not_covering(not_found(policy, misses)).leaking(*VISIBLE)
