"""Fine-tune twice: first on text with masks, then with DP-SGD on the documents with masked parts.

Guarantee
    That of ``selective``. The second training uses whole documents; documents in which the policy
    finds nothing are left out of it.

Reference
    Shi et al. 2022, "Just fine-tune twice: selective differential privacy for large language
    models".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sfumato.core.errors import InvalidArgument
from sfumato.training.methods.selective import SelectiveTraining

if TYPE_CHECKING:
    from sfumato.training.methods.streams import Streams
    from sfumato.training.records import TokenRecords


@dataclass(frozen=True)
class Twice(SelectiveTraining):
    """All public steps first, then private ones on whole documents; so ``lead`` is always 1.

    ``public_epochs`` are as many as private ones unless given.
    """

    name: ClassVar[str] = "twice"
    public_passes: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lead != 1.0:
            raise InvalidArgument("twice takes all public steps first; leave lead out")

    def private_records(self, streams: Streams) -> TokenRecords:
        """Whole documents, of those with private parts."""
        return replace(streams.private, wanted=None)
