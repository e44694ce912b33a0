"""Privatize a file: every word that a policy selects in it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sfumato.core.checks import names
from sfumato.core.errors import InvalidArgument
from sfumato.engines.engine import LOCAL, Engine, choose_engine
from sfumato.files.dialect import Dialect
from sfumato.files.formats import of_path
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.mechanisms.mechanism import (
    DocumentMechanism,
    Mechanism,
    PointMechanism,
    StretchMechanism,
)
from sfumato.policies.policy import Policy
from sfumato.releases.job import Job, run_job
from sfumato.releases.payment import MASK, Payment
from sfumato.releases.preview import preview_job
from sfumato.releases.privatizer import Privatizer
from sfumato.releases.release import Release
from sfumato.releases.vault import Vault
from sfumato.vectors.space import Space
from sfumato.verbs.inputs import Policies, choose_selection, default_policy, read_vectors

NOT_WRITTEN = (".bz2", ".xz", ".zip", ".7z", ".lz4")


def privatize(
    source: str | Path,
    output: str | Path | None = None,
    *,
    field: str | Sequence[str] = "text",
    language_field: str | None = None,
    drop: str | Sequence[str] = (),
    keep: str | Sequence[str] = (),
    policy: Policies = (),
    level: Sequence[tuple[float, str | Policy]] = (),
    exclude: Policies = (),
    epsilon: float | None = None,
    mechanism: str | PointMechanism | Mechanism | StretchMechanism | DocumentMechanism = "auto",
    by_type: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    vectors: str | Path | Space | Mapping[str, str | Path | Space] | None = None,
    unknown: str | None = None,
    case: str = "public",
    search: str = "exact",
    format: str | None = None,
    encoding: str = "utf-8",
    whole_file: bool = False,
    delimiter: str | None = None,
    quote: str | None = None,
    header: bool = True,
    sheet: str | None = None,
    follow: bool = False,
    guarantee: str | Path | None = None,
    workers: int = 1,
    engine: str = LOCAL,
    address: str | None = None,
    resume: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    seed: int | None = None,
    vault: str | Path | None = None,
    vault_key: str | Path | None = None,
    budget: str | Path | None = None,
    account: str | None = None,
    budget_key: str | Path | None = None,
    author_limit: float | None = None,
    when_spent: str | None = None,
) -> Release:
    """Replace what a policy selects in a file; every other character stands as it was.

    ``field`` names the column or key that holds the text, or several of them: then each is
    privatized, and a record costs the sum over all of its texts. In JSON a path leads to nested
    text (``user.note``, ``messages[].content``), and ``*`` is every text of a record. Columns in
    ``drop`` are taken out, those in ``keep`` are left on purpose (``*``: whatever is left). All
    others are left, too, but the policy looks at them, and as long as there is one the file is not
    for release.

    The language of each document decides which names are put in; it is read from
    ``language_field``, or guessed from the words that stand in the clear. ``vectors`` are those of
    English, or ``{"de": FILE}`` those of several languages: where a language has none, its words
    are masked.

    ``delimiter`` and ``quote`` of a CSV file are read off its beginning unless they are given;
    without a ``header`` columns have numbers. With ``follow`` each line goes from a pipe to a pipe
    as it arrives.

    Without a ``policy`` it is "pii" that is selected, or everything where whole documents are
    rewritten; several are a union. ``level`` gives pairs of an epsilon and a policy, in the
    place of ``policy`` and ``epsilon``. ``mechanism="auto"`` treats each type by a mechanism of its
    own, and ``epsilon`` is for words without a type; ``by_type`` changes that table, such as
    ``{"PERSON": "redact", "DATE": "date:epsilon=0.05"}``. ``settings`` are those of the mechanism,
    and "POLICY.KEY" those of a policy. Policies and mechanisms are names, ``file.py:Class``, or
    objects.

    With a ``seed`` the output can be reproduced, and undone: it is not for release. Beside the
    output stands OUT.guarantee.json, which says what is guaranteed and what is not. ``dry_run``
    needs no output and writes nothing: it gives a ``Preview`` with counts and a few examples, which
    show originals.

    With ``engine="ray"`` the ``workers`` are actors of Ray: on this machine, or at the ``address``
    of a cluster, whose nodes all reach the input and the output under the same paths. The output is
    the one that workers of this machine would give, and a stopped run can be resumed with either.

    Without a ``vault`` nothing can be undone. With one, the pseudonyms of ``mechanism="pseudonym"``
    can: it is a file with all that they stand for, encrypted with the secret in the file
    ``vault_key`` or in the environment variable SFUMATO_VAULT_KEY. ``sfumato.restore`` reads it.

    With a ``budget`` (a file, or ``postgresql://…``) the run is charged to an ``account`` of it,
    ``text:ID`` or ``corpus:ID``, before anything is drawn, and refused if too little is left. With
    ``author:FIELD`` each line is charged to the author that its field names, before it is written.
    Authors without an account get one with the limit ``author_limit``. What an author can no longer
    pay for is masked, or withheld if ``when_spent="withhold"``. The key of the budget is in the
    file ``budget_key`` or in the environment variable SFUMATO_BUDGET_KEY.
    """
    if output is None and not dry_run:
        raise InvalidArgument("say where to write: `output=OUT`; or look first: `dry_run=True`")
    if vault is None and vault_key is not None:
        raise InvalidArgument("`vault_key=...` is the key of a vault: name one by `vault=FILE`")
    rules = (budget_key, author_limit, when_spent)
    if (budget is None) != (account is None) or (budget is None and any(rules)):
        raise InvalidArgument(
            "a budget is charged by account: `budget=FILE` and `account='KIND:ID'`"
        )
    payment = (
        None
        if budget is None or account is None
        else Payment(
            str(budget),
            account,
            None if budget_key is None else Path(budget_key),
            author_limit,
            when_spent or MASK,
        )
    )
    selected = policy or (() if level else default_policy(mechanism))
    chosen, own = choose_selection(selected, epsilon, level, exclude, settings)
    privatizer = Privatizer(
        policy=chosen.policy,
        epsilon=chosen.epsilon,
        levels=chosen.levels,
        mechanism=mechanism,
        by_type=by_type or {},
        vectors=read_vectors(vectors),
        unknown=unknown,
        case=case,
        search=search,
        seed=seed,
        settings=own,
    )
    target = Path("-" if output is None else output)
    layout = Layout(
        field=names("field", field),
        several=True,
        encoding=encoding,
        whole_file=whole_file,
        language_field=language_field,
        author_field=None if payment is None else payment.author_field,
        drop=names("drop", drop),
        keep=names("keep", keep),
        dialect=Dialect(delimiter=delimiter, quote=quote, header=header, sheet=sheet),
        others=True,
        live=follow,
    )
    job = Job(
        source=Source.of(source, layout, file_format=format, like=target),
        target=target,
        guarantee=None if guarantee is None else Path(guarantee),
        workers=workers,
        resume=resume,
        overwrite=overwrite,
        vault=None if vault is None else Vault.of(vault, vault_key),
        payment=payment,
        engine=_engine(engine, address, workers),
    )
    _check_formats(job.source.format.name, target, format)
    if dry_run:
        return preview_job(job, privatizer)
    return Release.of(job, run_job(job, privatizer))


def _engine(name: str, address: str | None, workers: int) -> Engine | None:
    """Who works elsewhere; nobody where the workers of this machine are handed the chunks."""
    found = choose_engine(name, address, workers)
    return None if name == LOCAL else found


def _check_formats(name: str, output: Path, given: str | None) -> None:
    wanted = of_path(output)
    if output.suffix.lower() in NOT_WRITTEN:
        raise InvalidArgument(f"{output.suffix} is not written; .gz and .zst are")
    if given is None and wanted is not None and wanted.name != name:
        raise InvalidArgument(
            f"the input is {name} but {output.name} looks like {wanted.name}; "
            "privatize keeps the format (compression may change)"
        )
