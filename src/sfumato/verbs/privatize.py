"""Privatize a file: every word that a policy selects in it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.core.errors import InvalidArgument
from sfumato.files.formats import of_path
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.mechanism import Mechanism, PointMechanism, StretchMechanism
from sfumato.policies.policy import Policy
from sfumato.releases.job import Job, run_job
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.release import Release
from sfumato.vectors.space import Space
from sfumato.verbs.inputs import Policies, choose_selection

NOT_WRITTEN = (".bz2", ".xz", ".zip", ".7z", ".lz4")


def privatize(
    source: str | Path,
    output: str | Path,
    *,
    field: str | Sequence[str] = "text",
    policy: Policies = (),
    level: Sequence[tuple[float, str | Policy]] = (),
    exclude: Policies = (),
    epsilon: float | None = None,
    mechanism: str | PointMechanism | Mechanism | StretchMechanism = "laplace",
    settings: Mapping[str, object] | None = None,
    vectors: str | Path | Space | None = None,
    unknown: str = "centroid",
    case: str = "public",
    search: str = "exact",
    format: str | None = None,
    encoding: str = "utf-8",
    whole_file: bool = False,
    guarantee: str | Path | None = None,
    workers: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    seed: int | None = None,
) -> Release:
    """Replace what a policy selects in a file; every other character stands as it was.

    ``field`` names the column or key that holds the text, or several of them: then each is
    privatized, and a record costs the sum over all of its texts. Without a ``policy`` it is "pii"
    that is selected; several are a union. ``level`` gives pairs of an epsilon and a policy, in the
    place of ``policy`` and ``epsilon``. ``settings`` are those of the mechanism, and "POLICY.KEY"
    those of a policy. Policies and mechanisms are names, ``file.py:Class``, or objects.

    With a ``seed`` the output can be reproduced, and undone: it is not for release. Beside the
    output stands OUT.guarantee.json, which says what is guaranteed and what is not.
    """
    chosen, own = choose_selection(
        policy or (() if level else "pii"), epsilon, level, exclude, settings
    )
    privatizer = Privatizer(
        policy=chosen.policy,
        epsilon=chosen.epsilon,
        levels=chosen.levels,
        mechanism=mechanism,
        vectors=str(vectors) if isinstance(vectors, Path) else vectors,
        unknown=unknown,
        case=case,
        search=search,
        seed=seed,
        settings=own,
    )
    target = Path(output)
    layout = Layout(
        field=field if isinstance(field, str) else tuple(field),
        several=True,
        encoding=encoding,
        whole_file=whole_file,
    )
    job = Job(
        source=Source.of(source, layout, file_format=format, like=target),
        target=target,
        guarantee=None if guarantee is None else Path(guarantee),
        workers=workers,
        resume=resume,
        overwrite=overwrite,
    )
    _check_formats(job.source.format.name, target, format)
    return Release.of(job, run_job(job, privatizer))


def _check_formats(name: str, output: Path, given: str | None) -> None:
    wanted = of_path(output)
    if output.suffix.lower() in NOT_WRITTEN:
        raise InvalidArgument(f"{output.suffix} is not written; .gz and .zst are")
    if given is None and wanted is not None and wanted.name != name:
        raise InvalidArgument(
            f"the input is {name} but {output.name} looks like {wanted.name}; "
            "privatize keeps the format (compression may change)"
        )
