"""``sfumato.evaluate_synthetic``: what a synthetic corpus is good for, and what it gives away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import Placed, draws_from, path_of

if TYPE_CHECKING:
    from sfumato.metrics.synthetic import SyntheticEvaluation
    from sfumato.text.document import Document


def evaluate_synthetic(
    synthetic: Placed,
    *,
    originals: str | Path,
    held_out: str | Path,
    control: str | Path | None = None,
    encoder: str | Path = "",
    field: str = "text",
    label_field: str | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    header: bool = True,
    seed: int | None = None,
) -> SyntheticEvaluation:
    """Compare a synthetic corpus with the ``originals`` and with records that had no part in it.

    ``held_out`` are records like the originals, ``control`` is the corpus that ``synthesize`` makes
    of noise alone, and ``encoder`` the folder of a public sentence encoder. ``field`` and
    ``label_field`` are those of the originals and of the held-out records. Downstream accuracy
    needs labels and the extra ``attack``.

    The figures are computed on private records and are covered by no guarantee: they are for
    whoever holds the data. Nothing is written.
    """
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.metrics.rewriting import read_encoder
    from sfumato.metrics.synthetic import evaluate_corpus

    made_of = Layout(label_field="label" if label_field else None)
    layout = Layout(
        field=field, encoding=encoding, label_field=label_field, dialect=Dialect(header=header)
    )

    def read(path: str | Path) -> list[Document]:
        return list(Source.of(path, layout, file_format=format).documents())

    def read_made(path: str | Path) -> list[Document]:
        return list(Source.of(path, made_of).documents())

    return evaluate_corpus(
        read_made(path_of(synthetic)),
        read(originals),
        read(held_out),
        control=() if control is None else read_made(control),
        encoder=read_encoder(str(encoder)),
        randomness=draws_from(seed),
    )
