"""What is trained on, and what is promised: the methods of ``sfumato train``.

===============  ===========================================  ================================
method           private steps                                public steps
===============  ===========================================  ================================
``private``      DP-SGD on all documents                      none
``plain``        ordinary steps on all documents              none
``redacted``     ordinary steps on text with masks            none (all of it counts as public)
``selective``    DP-SGD where a policy finds something        on text with masks, in between
``twice``        DP-SGD on documents with something private   on text with masks, all before
``interleaved``  DP-SGD on private stretches                  on public stretches, in turns
===============  ===========================================  ================================

*Selective* is Selective-DPSGD with decoupled streams; *twice* is "fine-tune twice"; *interleaved*
is Selective-DPSGD as published, for recurrent models (``selective.interleaved``). All three promise
selective DP: see ``selective.promise``. In the first two a document in which the policy finds
nothing never takes a private step; so what a record adds to the private sums vanishes with its
private part, and the sensitivity is the clipping norm.

Reference
    Shi et al. 2022, "Selective differential privacy for language modeling"; Shi et al. 2022, "Just
    fine-tune twice: selective differential privacy for large language models".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np

from sfumato.core.checks import one_of
from sfumato.core.errors import InvalidArgument
from sfumato.core.keys import Key
from sfumato.guarantees.guarantee import Guarantee
from sfumato.mechanisms.selective import EXPERIMENT_LEAK
from sfumato.policies.policy import Policy
from sfumato.text.document import Document
from sfumato.training.records import Cut, TokenRecords, make_language_records
from sfumato.training.selective import promise
from sfumato.training.selective.streams import make_redacted_records, selective_streams
from sfumato.training.selective.stretch_records import StretchRecords, stretch_records

if TYPE_CHECKING:
    from sfumato.models.load import LoadedModel
    from sfumato.training.selective.interleaved_plan import Interleaving
    from sfumato.training.selective.public_steps import PublicCourse

METHODS = ("private", "plain", "redacted", "selective", "twice", "interleaved")
WITH_POLICY = ("redacted", "selective", "twice", "interleaved")
WITHOUT_NOISE = ("plain", "redacted")
WITH_PUBLIC_STEPS = ("selective", "twice")


@dataclass(frozen=True, eq=False)
class Method:
    """A method and what it needs.

    ``public`` says how much public training there is, ``interleaving`` what becomes of states,
    ``misses`` what the policy was seen to miss on labeled text. Under ``policy_key`` guarantees of
    several processes can be told to be about the same policy (``policies.identity``).
    """

    name: str = "private"
    policy: Policy | None = None
    public: PublicCourse | None = None
    interleaving: Interleaving | None = None
    misses: promise.Misses | None = None
    policy_key: Key | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        one_of("method", self.name, METHODS)
        if (self.policy is not None) != (self.name in WITH_POLICY):
            needed = "needs a policy" if self.policy is None else "has no use for a policy"
            raise InvalidArgument(f"the method {self.name} {needed}")
        if (self.public is not None) != (self.name in WITH_PUBLIC_STEPS):
            needed = "needs" if self.public is None else "has no"
            raise InvalidArgument(f"the method {self.name} {needed} public steps")
        if (self.interleaving is not None) != (self.name == "interleaved"):
            needed = "needs to know" if self.interleaving is None else "has no use for"
            raise InvalidArgument(f"the method {self.name} {needed} what becomes of states")

    def material(self, documents: Sequence[Document], model: LoadedModel, cut: Cut) -> Material:
        """The records of both streams; of the public one only where there is one."""
        if self.policy is None:
            return Material(make_language_records(documents, model.tokenizer, cut))
        if self.name == "redacted":
            return Material(make_redacted_records(documents, self.policy, model.tokenizer, cut))
        streams = selective_streams(documents, self.policy, model.tokenizer, cut)
        private = streams.private
        if self.name == "twice":
            # The second time a document is learned as a whole.
            private = replace(private, wanted=None)
        return Material(private, streams.public, streams.selected)

    def turns(self, documents: Sequence[Document], model: LoadedModel) -> StretchRecords:
        """The documents in public and private stretches, for interleaved training."""
        from sfumato.training.selective.interleaved_steps import require_recurrent

        require_recurrent(model)
        if self.policy is None:
            raise InvalidArgument(f"the method {self.name} does not cut documents into stretches")
        return stretch_records(documents, self.policy, model.tokenizer)

    def promised(self, guarantee: Guarantee) -> Guarantee:
        """The guarantee of the private steps, as one about this method."""
        if self.policy is None:
            return guarantee
        if self.name == "redacted":
            stated = promise.promise_redacted(guarantee, self.policy.name, self.misses)
        else:
            stated = promise.promise_selective(guarantee, self.policy.name, self.misses)
        stated = promise.under(stated, self.policy, self.policy_key)
        if getattr(self.policy, "for_release", True):
            return stated
        return replace(stated.leaking(EXPERIMENT_LEAK), for_release=False)

    def as_dict(self) -> dict[str, object]:
        """For a run's settings; a policy is named, never spelled out."""
        interleaving = None if self.interleaving is None else self.interleaving.as_dict()
        return {
            "method": self.name,
            "policy": None if self.policy is None else self.policy.name,
            "public": None if self.public is None else self.public.as_dict(),
        } | ({} if interleaving is None else {"interleaving": interleaving})


@dataclass(frozen=True, eq=False)
class Material:
    """What the private steps are taken on, and what the public ones.

    ``selected`` is the share of tokens that are private; it is for the owner's eyes.
    """

    records: TokenRecords
    public: TokenRecords | None = None
    selected: float | None = None


def private_places(material: Material | StretchRecords) -> dict[str, str]:
    """Tells apart what policies find, for a run's settings; empty without a policy.

    A policy's name does not say all: a pattern, or a list of names, is not in it. A run that went
    on with another one would take for public what it had promised to protect. So this is a digest
    of the policy's bits, which are public: of where masks stand in the public text, or of how much
    public text stands before each private stretch, and of nothing that is private.
    """
    if isinstance(material, StretchRecords):
        cuts, first = material.cuts, material.first
        bits = [first, cuts[:, 1] - cuts[:, 0], (cuts[:, 2] > cuts[:, 1]).astype(np.int64)]
    else:
        masked = material.records if material.public is None else material.public
        if masked.wanted is None:
            return {}
        bits = [masked.first, masked.lengths, masked.wanted.astype(np.int64)]
    digest = sha256()
    for one in bits:
        digest.update(len(one).to_bytes(8, "big") + np.ascontiguousarray(one).tobytes())
    return {"private_places": digest.hexdigest()[:16]}
