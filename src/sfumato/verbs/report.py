"""``sfumato.report``: one page about a study, a privatized file or a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import Placed, path_of

if TYPE_CHECKING:
    from sfumato.reports.write import Written


def report(
    path: Placed,
    output: str | Path | None = None,
    *,
    format: str | None = None,
    samples: int | None = None,
    originals: str | Path | None = None,
    scores: Sequence[str | Path] | str | Path = (),
    field: str | None = None,
    overwrite: bool = False,
) -> Written:
    """Write one page with charts and tables, to read, print and cite; it needs no network.

    ``format`` is html, markdown, json or, for a training run, card (Markdown with the metadata of
    a model card in front); without it the name of ``output`` decides, and else it is HTML.
    ``scores`` are files with what attacks found about a file or a run, in JSON.

    ``path`` is a study, a training run, the folder of either, or a privatized file. Private text is
    on the page only with ``samples`` and ``originals``, and then it says so at the top; a study
    whose corpus is generated or declared public shows samples by itself. ``field`` of the originals
    is the one that the file was privatized in, unless another is named.
    """
    from sfumato.reports.write import write_report

    return write_report(
        path_of(path),
        None if output is None else Path(output),
        format=format,
        samples=samples,
        originals=None if originals is None else Path(originals),
        scores=[scores] if isinstance(scores, (str, Path)) else scores,
        field=field,
        overwrite=overwrite,
    )
