"""Ordinary steps on text in which masks replace what a policy finds.

Guarantee
    None. The model is trained on whatever the policy misses, and nobody knows what that is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sfumato.guarantees.guarantee import Guarantee
from sfumato.training.methods.base import Prepared, Task, TokenMaterial, prepare_steps
from sfumato.training.methods.plain import Plain
from sfumato.training.methods.promise import PolicyPromise


@dataclass(frozen=True)
class Redacted(Plain):
    """Masks replace what the policy finds; the model reads them, but does not predict them."""

    name: ClassVar[str] = "redacted"
    needs_policy: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("causal",)

    def prepare(self, task: Task) -> Prepared:
        """The public text, one stream."""
        from sfumato.training.methods.streams import make_redacted_records

        records = make_redacted_records(task.documents, task.policy, task.model.tokenizer, task.cut)
        return prepare_steps(task, TokenMaterial(records))

    def promise(self, guarantee: Guarantee, protection: PolicyPromise | None) -> Guarantee:
        """No guarantee, with what is visible."""
        return guarantee if protection is None else protection.redacted(guarantee)
