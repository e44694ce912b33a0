"""A privatized file and the policy that found what was replaced in it; no mechanism is built."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from sfumato.attacks.attack import Inputs, Needs
from sfumato.attacks.text_target import lacks_originals, read_policy, read_side_file, side_path
from sfumato.core.errors import InvalidArgument
from sfumato.policies.combine import Union
from sfumato.policies.policy import Policy
from sfumato.text.document import Document


@dataclass(frozen=True, eq=False, repr=False)
class Released:
    """Privatized documents, and the policy that found what was replaced."""

    documents: tuple[Document, ...]
    policy: Policy
    seeded: bool = field(default=False)

    def __repr__(self) -> str:
        # What the policy did not select is unprotected text.
        return f"Released({len(self.documents)} documents)"


class AttackOnReleased:
    """An attack on a privatized file that the originals judge; ``policy`` is a setting of it."""

    target: ClassVar[str] = "text"
    needs: ClassVar[Needs] = Needs(inputs=("originals",), known=("policy",))
    policy: str

    def missing(self, inputs: Inputs) -> str | None:
        """What is missing of a privatized file and its originals; None if nothing is."""
        return lacks_originals(inputs)

    def opened(self, inputs: Inputs) -> tuple[Released, list[Document]]:
        """The privatized documents with the policy, and the originals."""
        assert inputs.originals is not None  # noqa: S101  # see ``missing``
        released = open_released(inputs.target, inputs.documents(inputs.target), self.policy)
        return released, inputs.documents(inputs.originals)


def open_released(path: Path, documents: Sequence[Document], policy: str = "") -> Released:
    """A privatized file with its policy, from the side file or as it was given."""
    settings, _ = read_side_file(side_path(path))
    levels = settings.get("levels") or ()
    if levels and policy:
        raise InvalidArgument("the side file gives a policy for each level; policy cannot be set")
    written = [str(one["policy"]) for one in levels] or [policy or str(settings.get("policy"))]
    found = [read_policy(one, typed=bool(policy)) for one in written]
    return Released(
        tuple(documents),
        found[0] if len(found) == 1 else Union(tuple(found)),
        seeded=settings.get("reproducible") is True,
    )
