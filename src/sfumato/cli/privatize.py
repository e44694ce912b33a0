"""``sfumato privatize``: soften what a policy selects in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, note, print_json, visible, warn
from sfumato.core.progress import QUIET

if TYPE_CHECKING:
    from sfumato.releases.preview import Preview
    from sfumato.releases.release import Release


def privatize(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or - for stdin.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout."),
    ] = None,
    epsilon: options.EpsilonOption = None,
    policy: options.PolicyOption = [],  # noqa: B006
    level: options.LevelOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    mechanism: options.MechanismOption = "auto",
    by_type: options.ByTypeOption = [],  # noqa: B006
    vectors: options.VectorsByLanguageOption = [],  # noqa: B006
    unknown: options.UnknownOption = None,
    case: options.CaseOption = "public",
    settings: options.SetOption = [],  # noqa: B006
    search: options.SearchOption = "exact",
    field: options.FieldsOption = ["text"],  # noqa: B006
    language_field: options.LanguageFieldOption = None,
    drop: options.DropOption = [],  # noqa: B006
    keep: options.KeepOption = [],  # noqa: B006
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    delimiter: options.DelimiterOption = None,
    quote: options.QuoteOption = None,
    no_header: options.NoHeaderOption = False,
    sheet: options.SheetOption = None,
    follow: options.FollowOption = False,
    guarantee: Annotated[
        Path | None,
        typer.Option("--guarantee", help="Where the guarantee goes. [default: OUT.guarantee.json]"),
    ] = None,
    workers: options.WorkersOption = 1,
    engine: options.EngineOption = "local",
    address: options.AddressOption = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the finished parts of a stopped run.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Write nothing; count what would change and show ten originals."
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the settings that were used.")
    ] = False,
    seed: options.SeedOption = None,
    vault: options.NewVaultOption = None,
    vault_key: options.VaultKeyOption = None,
    budget: options.BudgetOption = None,
    account: options.AccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    author_limit: options.AuthorLimitOption = None,
    when_spent: options.WhenSpentOption = None,
    json: options.JsonOption = False,
) -> None:
    """Replace what a policy selects; every other character stands as it was.

    Reads and writes txt, jsonl, csv, tsv, parquet and xlsx, also .gz and .zst. Beside OUT stands
    OUT.guarantee.json, which says what is guaranteed and what is not.

    Without --policy it is pii that is selected. --field takes several columns, with commas between
    or repeated, paths into JSON (user.note, messages[].content), and '*' for every text. Every
    other column is looked at; the file is for release once each is in --field, --drop or --keep.

    Example: sfumato privatize notes.jsonl -o soft.jsonl --policy pii --epsilon 5
    """
    from sfumato.files.output import is_stream
    from sfumato.files.paths import split_names
    from sfumato.releases.preview import Preview
    from sfumato.verbs.privatize import privatize as privatized

    try:
        release = privatized(
            source,
            output,
            field=split_names(field),
            language_field=language_field,
            drop=split_names(drop),
            keep=split_names(keep),
            policy=policy,
            level=[options.read_level(one) for one in level],
            exclude=exclude,
            epsilon=epsilon,
            mechanism=mechanism,
            by_type=options.read_by_type(by_type),
            settings=options.read_settings(settings),
            vectors=options.read_vectors(vectors),
            unknown=unknown,
            case=case,
            search=search,
            format=file_format,
            encoding=encoding,
            whole_file=whole_file,
            delimiter=delimiter,
            quote=quote,
            header=not no_header,
            sheet=sheet,
            follow=follow or _at_terminal(source, output, workers),
            guarantee=guarantee,
            workers=workers,
            engine=engine,
            address=address,
            resume=resume,
            overwrite=overwrite,
            dry_run=dry_run,
            seed=seed,
            vault=vault,
            vault_key=vault_key,
            budget=budget,
            account=account,
            budget_key=budget_key,
            author_limit=author_limit,
            when_spent=when_spent,
        )
    except KeyboardInterrupt:
        _say_what_is_kept(output)
        raise
    if verbose:
        _show_settings(release)
    if isinstance(release, Preview):
        _show(release, json)
    else:
        _report(release, is_stream(release.path), json)


def _at_terminal(source: str, output: Path | None, workers: int) -> bool:
    """Whether somebody types, or reads, at the end of a pipe: they should not have to wait."""
    both = source == "-" and str(output) == "-" and workers == 1
    return both and (sys.stdin.isatty() or sys.stdout.isatty())


def _say_what_is_kept(output: Path | None) -> None:
    from sfumato.files.output import is_stream
    from sfumato.releases.parts import Parts

    if output is not None and not is_stream(output) and Parts.beside(output.resolve()).count():
        note("finished parts are kept; --resume goes on from there")


def _show_settings(release: Release) -> None:
    """The settings that are public; a pattern, a list or a key is among none of them."""
    import json

    for name, value in release.summary["settings"].items():
        if value not in (None, {}):
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            warn(f"{name.replace('_', ' ')}: {said}")


def _show(preview: Preview, as_json: bool) -> None:
    """A dry run, with originals, for whoever owns them."""
    from sfumato.releases.preview import FOR_YOUR_EYES

    if as_json:
        print_json(preview.as_dict())
        return
    shown = [
        f"  {one.label}: {visible(one.before)} → {visible(one.after)}" for one in preview.examples
    ]
    lines = [*(in_options(line) for line in preview.lines)]
    if shown:
        lines += [FOR_YOUR_EYES, *shown]
    sys.stdout.write("\n".join(lines) + "\n")


def _report(release: Release, streams: bool, as_json: bool) -> None:
    from sfumato.releases.release import NOT_YET, NOTHING_THERE

    told = dict(release.summary) | ({"already_finished": True} if release.already_finished else {})
    if as_json and not streams:
        print_json(told)
        for line in release.column_warnings:
            note(in_options(line))
        return
    if release.already_finished:
        note("finished already: nothing was done")
    if release.privatized == 0 and not release.is_empty:
        warn("warning: no word was privatized; the policy finds nothing in these texts")
    lines = release.lines
    if QUIET.get() and not as_json:
        for line in release.warnings:
            if NOT_YET in line or line == NOTHING_THERE:
                warn(in_options(line))
        return
    if as_json:
        import json

        lines = [json.dumps(told, ensure_ascii=False)]
    text = "\n".join(in_options(line) for line in lines)
    # With -o - the data own stdout.
    note(text) if streams else sys.stdout.write(text + "\n")
