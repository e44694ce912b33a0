"""``sfumato privatize``: soften what a policy selects in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json

if TYPE_CHECKING:
    from sfumato.releases.release import Release


def privatize(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or - for stdin.")],
    output: options.OutputOption,
    epsilon: options.EpsilonOption = None,
    policy: options.PolicyOption = [],  # noqa: B006
    level: options.LevelOption = [],  # noqa: B006
    exclude: options.ExceptOption = [],  # noqa: B006
    mechanism: options.MechanismOption = "laplace",
    vectors: options.VectorsOption = None,
    unknown: options.UnknownOption = "centroid",
    case: options.CaseOption = "public",
    settings: options.SetOption = [],  # noqa: B006
    search: options.SearchOption = "exact",
    field: options.FieldsOption = ["text"],  # noqa: B006
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    whole_file: options.WholeFileOption = False,
    guarantee: Annotated[
        Path | None,
        typer.Option("--guarantee", help="Where the guarantee goes. [default: OUT.guarantee.json]"),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Processes to use.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the finished parts of a stopped run.")
    ] = False,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Replace what a policy selects; every other character stands as it was.

    Reads and writes txt, jsonl, csv, tsv and parquet, also .gz and .zst. Beside OUT stands
    OUT.guarantee.json, which says what is guaranteed and what is not.

    Without --policy it is pii that is selected. Repeat --field to privatize several columns.

    Example: sfumato privatize notes.jsonl -o soft.jsonl --policy pii --epsilon 5
    """
    from sfumato.files.output import is_stream
    from sfumato.verbs.privatize import privatize as privatized

    try:
        release = privatized(
            source,
            output,
            field=field,
            policy=policy,
            level=[options.read_level(one) for one in level],
            exclude=exclude,
            epsilon=epsilon,
            mechanism=mechanism,
            settings=options.read_settings(settings),
            vectors=vectors,
            unknown=unknown,
            case=case,
            search=search,
            format=file_format,
            encoding=encoding,
            whole_file=whole_file,
            guarantee=guarantee,
            workers=workers,
            resume=resume,
            overwrite=overwrite,
            seed=seed,
        )
    except KeyboardInterrupt:
        _say_what_is_kept(output)
        raise
    _report(release, is_stream(output), json)


def _say_what_is_kept(output: Path) -> None:
    from sfumato.files.output import is_stream
    from sfumato.releases.parts import Parts

    if not is_stream(output) and Parts.beside(output.resolve()).count():
        note("finished parts are kept; --resume goes on from there")


def _report(release: Release, streams: bool, as_json: bool) -> None:
    told = dict(release.summary) | ({"already_finished": True} if release.already_finished else {})
    if as_json and not streams:
        print_json(told)
        return
    if release.already_finished:
        note("finished already: nothing was done")
    if release.privatized == 0:
        note("warning: no word was privatized; the output equals the input")
    lines = release.lines
    if as_json:
        import json

        lines = [json.dumps(told, ensure_ascii=False)]
    text = "\n".join(lines)
    # With -o - the data own stdout.
    note(text) if streams else sys.stdout.write(text + "\n")
