"""Privatize a file: every word that a policy selects in it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.core.errors import InvalidArgument
from sfumato.files.formats import of_path
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.mechanism import Mechanism, PointMechanism, StretchMechanism
from sfumato.policies.parsing import combine_policies, level_policies
from sfumato.policies.policy import Policy
from sfumato.releases.job import Job, run
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.release import Release
from sfumato.vectors.space import Space

Policies = str | Policy | Sequence[str | Policy]
NOT_WRITTEN = (".bz2", ".xz", ".zip", ".7z", ".lz4")


def privatize(
    source: str | Path,
    output: str | Path,
    *,
    field: str | Sequence[str] = "text",
    policy: Policies = (),
    level: Sequence[tuple[float, str | Policy]] = (),
    except_: Policies = (),
    epsilon: float | None = None,
    mechanism: str | PointMechanism | Mechanism | StretchMechanism = "laplace",
    settings: Mapping[str, object] | None = None,
    vectors: str | Path | Space | None = None,
    unknown: str = "centroid",
    case: str = "public",
    search: str = "exact",
    format: str | None = None,  # noqa: A002  # as the option is called
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
    own, of_policies = split_settings(settings or {})
    privatizer = Privatizer(
        **select(policy, epsilon, level, except_, of_policies),
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
    return Release.of(job, run(job, privatizer))


def select(
    policy: Policies,
    epsilon: float | None,
    level: Sequence[tuple[float, str | Policy]],
    except_: Policies,
    settings: Mapping[str, object],
) -> dict[str, Any]:
    """What a privatizer is told of policies and levels; the two ways do not mix."""
    chosen, without = _several(policy), _several(except_)
    if not level:
        return {
            "policy": combine_policies(chosen or ["pii"], without, settings),
            "epsilon": epsilon,
        }
    if chosen or epsilon is not None:
        raise InvalidArgument(
            "levels say both what is selected and how strongly: leave out policy and epsilon"
        )
    return {"levels": level_policies(level, without, settings)}


def split_settings(
    settings: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, object]]:
    """Settings of the mechanism, and those of policies, which have a dot."""
    mechanism = {key: value for key, value in settings.items() if "." not in key}
    return mechanism, {key: value for key, value in settings.items() if "." in key}


def _several(given: Policies) -> list[str | Policy]:
    return [given] if isinstance(given, (str, Policy)) else list(given)


def _check_formats(name: str, output: Path, given: str | None) -> None:
    wanted = of_path(output)
    if output.suffix.lower() in NOT_WRITTEN:
        raise InvalidArgument(f"{output.suffix} is not written; .gz and .zst are")
    if given is None and wanted is not None and wanted.name != name:
        raise InvalidArgument(
            f"the input is {name} but {output.name} looks like {wanted.name}; "
            "privatize keeps the format (compression may change)"
        )
