"""What selective training promises: for private parts, under a policy, and for nothing else.

Guarantee
    (F, ε, δ)-selective DP for zero-out neighbors: two corpora with the same public tokens and the
    same policy bits, of which one has the private part of one record replaced by null, so that the
    record contributes nothing to the private stream.

Why it holds
    Removing a record's private part removes the record from the private stream and changes nothing
    else, because the public stream is a function of public parts alone. Each private step is a
    Poisson-sampled Gaussian release of clipped gradients; each public step is a function of what
    was released, of public text and of independent randomness: post-processing. So the steps
    compose as those of DP-SGD do, for any architecture, and no hidden state is ever released.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling" (definition 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee, Notion, no_guarantee
from sfumato.policies.identity import is_keyed, policy_code
from sfumato.policies.policy import Policy

SCOPE = "the weights of the model after every step"
NEIGHBORS = (
    "two corpora with the same public text and the same private places, of which one lacks what "
    "the policy {policy} finds in {one}"
)
# A unit, and several of them, as what holds a secret.
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
    """What a policy was seen to miss where the truth is known: a measurement, no promise."""

    missed: int
    of: int

    def __str__(self) -> str:
        return f" (measured on labeled text: {self.missed:,} of {self.of:,} spans missed)"


def not_found(policy: str, misses: Misses | None) -> str:
    """What is not covered because the policy does not find it."""
    return MISSED.format(policy=policy) + ("" if misses is None else str(misses))


def under(guarantee: Guarantee, policy: Policy, key: Key | None = None) -> Guarantee:
    """The promise with what tells its policy apart; a policy that cannot say is known in memory."""
    code = policy_code(policy, key)
    if not code:
        return replace(guarantee, about=(*guarantee.about, policy))
    stated = replace(guarantee, policy=code)
    return stated.leaking(LINK_LEAK) if is_keyed(code) else stated


def promise_selective(guarantee: Guarantee, policy: str, misses: Misses | None = None) -> Guarantee:
    """The promise of the private stream, as one about what a policy of that name finds."""
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
