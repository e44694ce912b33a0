"""``sfumato.embed``: noisy vectors in the place of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.representations.corpus import EmbeddedCorpus


def embed(
    source: str | Path,
    output: str | Path,
    *,
    epsilon: float,
    delta: float = 0.0,
    noise: str = "laplace",
    encoder: str | Path = "glove",
    tokens: bool = False,
    pad_to: int | None = None,
    settings: Mapping[str, object] | None = None,
    keep: str | Sequence[str] = (),
    field: str = "text",
    id_field: str = "id",
    author_field: str | None = None,
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    resume: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
) -> EmbeddedCorpus:
    """Write the noisy vectors of all texts of a file, as OUT.npy or OUT.parquet.

    Each text is encoded by itself: by a transformer in a folder (``encoder``), by a file of word
    vectors, or by the embedded ones ("glove"). Its vector is bounded and gets ``noise``: a name of
    the catalog, with its own ``settings``. ``epsilon`` is for any two documents, whatever they say;
    Gaussian noise needs a ``delta``.

    With ``tokens`` each word has a vector of its own (each token of a transformer, from its first
    table), and ``epsilon`` is that of one word; a document costs the sum over its words. How many
    there are shows, unless ``pad_to`` gives every document the same number.

    No text is written, and of the fields of a record only those in ``keep``: "id", "author",
    "label", which the fields of that name hold. Beside the output stands OUT.guarantee.json. With a
    ``seed`` the noise can be undone: the output is not for release.

    With a ``budget`` the run is charged to an ``account`` of it before anything is drawn, and
    refused if too little is left (see ``sfumato.privatize``).
    """
    from sfumato.core.checks import names
    from sfumato.core.errors import InvalidArgument
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.releases.job import Job
    from sfumato.releases.payment import Payment
    from sfumato.representations.embedder import Embedder
    from sfumato.representations.job import EmbeddingJob

    if (budget is None) != (account is None) or (budget is None and budget_key is not None):
        raise InvalidArgument(
            "a budget is charged by account: `budget=FILE` and `account='KIND:ID'`"
        )
    layout = Layout(
        field=field,
        id_field=id_field,
        encoding=encoding,
        author_field=author_field,
        label_field=label_field,
        dialect=Dialect(header=header),
    )
    job = Job(
        source=Source.of(source, layout, file_format=format).settled(),
        target=Path(output),
        resume=resume,
        overwrite=overwrite,
        payment=None
        if budget is None
        else Payment(str(budget), str(account), None if budget_key is None else Path(budget_key)),
    )
    embedder = Embedder(
        noise=noise,
        epsilon=epsilon,
        delta=delta,
        encoder=encoder,
        tokens=tokens,
        pad_to=pad_to,
        settings=settings or {},
        seed=seed,
    )
    return EmbeddingJob(job, embedder, names("keep", keep) if keep else ()).run()
