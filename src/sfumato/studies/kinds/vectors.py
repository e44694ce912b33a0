"""The vectors of a corpus, with their guarantee beside them.

Each level draws its own noise, as for privatized texts.
"""

from __future__ import annotations

from sfumato.releases.job import Job
from sfumato.representations.job import EmbeddingJob
from sfumato.studies.cell import CHARGED
from sfumato.studies.kinds.context import CellResult, Context, texts
from sfumato.studies.kinds.target import own_seed
from sfumato.studies.vectors import embedder_of, vectors_name


def compute_vectors(context: Context) -> CellResult:
    """Embed the corpus."""
    settings = context.cell.settings
    # What is paid for draws from the system; each attempt draws anew, so each is charged.
    seed = None if settings.get(CHARGED) else own_seed(context.cell.seed, settings)
    job = Job(
        source=texts(context).source,
        target=context.here / vectors_name(settings),
        overwrite=True,
        payment=context.payer,
    )
    found = EmbeddingJob(job, embedder_of(context.study, settings, seed)).run()
    return CellResult(
        guarantee=found.guarantee.as_dict(),
        sentence=found.guarantee.sentence(),
        details={"counts": found.summary["counts"], "noise": found.summary["settings"]["noise"]},
    )
