"""A synthetic corpus, chosen by noisy votes of the records; or its control, by noise alone.

Each level draws its own noise, as for privatized texts.
"""

from __future__ import annotations

from sfumato.core.randomness import Randomness
from sfumato.files.apart import refuse_private_text
from sfumato.guarantees.guarantee import independent
from sfumato.mechanisms.mechanism import ReadsPublicText
from sfumato.studies.kinds.context import SYNTHESIZED, CellResult, Context, texts
from sfumato.studies.kinds.target import own_seed
from sfumato.studies.synthesis import CONTROL, request_of

_ALIKE = {"unit": "record", "scope": "every record"}


def compute_synthesis(context: Context) -> CellResult:
    """Synthesize."""
    settings, there = context.cell.settings, texts(context)
    asked = request_of(context.study, settings)
    if isinstance(asked.reads, ReadsPublicText):
        refuse_private_text(asked.reads.public_sources(), there.source)
    target = context.here / SYNTHESIZED
    control = bool(settings.get(CONTROL))
    chosen = target.with_name(f"chosen-{target.name}") if control else target
    made = asked.run(
        there.documents(there.train),
        chosen,
        randomness=Randomness.reproducible(own_seed(context.cell.seed, settings)),
        control=target if control else None,
        overwrite=True,
    )
    if not control:
        return CellResult(
            guarantee=made.guarantee.as_dict(),
            sentence=made.guarantee.sentence(),
            details={"counts": made.summary["counts"], "noise": made.summary["settings"]["noise"]},
        )
    chosen.unlink()
    made.side.unlink()
    nothing = independent(**_ALIKE).reproducible()
    return CellResult(guarantee=nothing.as_dict(), sentence=nothing.sentence())
