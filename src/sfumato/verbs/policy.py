"""``sfumato.scan`` and ``sfumato.score_policy``: what a policy finds, and what it misses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.verbs.inputs import (
    Policies,
    Settings,
    choose_policy,
    refuse_mechanism_settings,
    split_settings,
)

if TYPE_CHECKING:
    from sfumato.policies.scan import Scan
    from sfumato.policies.scoring import PolicyScores


def scan(
    source: str | Path,
    *,
    policy: Policies = "pii",
    exclude: Policies = (),
    settings: Settings | None = None,
    field: str = "text",
    id_field: str = "id",
    format: str | None = None,
    encoding: str = "utf-8",
    whole_file: bool = False,
    header: bool = True,
    workers: int = 1,
    engine: str = "local",
    address: str | None = None,
) -> Scan:
    """Documents of a file with what a policy finds in each, read as they are asked for.

    ``for document, spans in sfumato.scan(...)`` goes through them, ``.finish()`` does so for the
    counts alone. Without a ``header`` columns are called 1, 2, … This shows originals: it is for
    their owner's eyes.

    With several ``workers``, or with ``engine="ray"`` (on this machine, or at the ``address`` of a
    cluster), all of it is counted at once by workers who read the file themselves; then there are
    counts, and no documents to go through.
    """
    from sfumato.engines.engine import LOCAL, choose_engine
    from sfumato.files.dialect import Dialect
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.policies.counting import count_elsewhere
    from sfumato.policies.patterns import Everything
    from sfumato.policies.scan import Scan

    own, of_policies = split_settings(settings)
    refuse_mechanism_settings(own)
    chosen = choose_policy(policy, exclude, of_policies) or Everything()
    layout = Layout(
        field=field,
        id_field=id_field,
        encoding=encoding,
        whole_file=whole_file,
        dialect=Dialect(header=header),
    )
    read = Source.of(source, layout, file_format=format)
    doing = choose_engine(engine, address, workers)
    if engine != LOCAL or workers > 1:
        return count_elsewhere(chosen, read, doing)
    return Scan(chosen, read.documents())


def score_policy(
    source: str | Path,
    *,
    policy: Policies = "pii",
    exclude: Policies = (),
    settings: Settings | None = None,
) -> PolicyScores:
    """Recall, then precision, per type, on labeled spans.

    Each line of ``source``: ``{"text": …, "spans": [{"start", "end", "label"}]}``. A labeled span
    is found when all its words are selected, whatever label the policy gave them. How well the
    borders agree is counted too (``agreement``), by type and, where lines have the fields
    ``domain`` and ``language``, by these.
    """
    from sfumato.corpora.labeled import read_labeled
    from sfumato.policies.patterns import Everything
    from sfumato.policies.scoring import compare_with_gold

    own, of_policies = split_settings(settings)
    refuse_mechanism_settings(own)
    chosen = choose_policy(policy, exclude, of_policies) or Everything()
    return compare_with_gold(chosen, read_labeled(Path(source)))
