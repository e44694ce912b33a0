"""``sfumato privatize``: soften what a policy selects in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json


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
    field: options.FieldOption = "text",
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

    Without --policy it is pii that is selected.

    Example: sfumato privatize notes.jsonl -o soft.jsonl --policy pii --epsilon 5
    """
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.releases.job import Job, run
    from sfumato.releases.privatizer import Privatizer

    own, of_policies = options.settings_from(settings)
    policies = policy if policy or level else ["pii"]
    privatizer = Privatizer(
        **options.selection_from(policies, epsilon, level, exclude, of_policies),
        mechanism=mechanism,
        vectors=vectors,
        unknown=unknown,
        case=case,
        search=search,
        seed=seed,
        settings=own,
    )
    layout = Layout(field=field, encoding=encoding, whole_file=whole_file)
    job = Job(
        source=Source.of(source, layout, file_format=file_format, like=output),
        target=output,
        guarantee=guarantee,
        workers=workers,
        resume=resume,
        overwrite=overwrite,
    )
    _check_formats(job.source.format.name, output, file_format)
    try:
        summary = run(job, privatizer)
    except KeyboardInterrupt:
        if not job.streams and privatizer.resumable:
            note("finished parts are kept; --resume goes on from there")
        raise
    _report(summary, job.streams, json)


def _check_formats(name: str, output: Path, file_format: str | None) -> None:
    from sfumato.core.errors import InvalidArgument
    from sfumato.files.formats import of_path

    wanted = of_path(output)
    if output.suffix.lower() in (".bz2", ".xz", ".zip", ".7z", ".lz4"):
        raise InvalidArgument(f"{output.suffix} is not written; .gz and .zst are")
    if file_format is None and wanted is not None and wanted.name != name:
        raise InvalidArgument(
            f"the input is {name} but {output.name} looks like {wanted.name}; "
            "privatize keeps the format (compression may change)"
        )


def _report(summary: dict[str, Any], streams: bool, as_json: bool) -> None:
    if as_json and not streams:
        print_json(summary)
        return
    if summary.get("already_finished"):
        note("finished already: nothing was done")
    counts = summary["counts"]
    by_words = counts["privatized_words"] is not None
    if counts["privatized_words" if by_words else "replaced_stretches"] == 0:
        note("warning: no word was privatized; the output equals the input")
    lines = [
        f"{counts['documents']:,} documents, "
        + (
            f"{counts['words']:,} words, {counts['privatized_words']:,} privatized"
            if by_words
            else f"{counts['replaced_stretches']:,} stretches replaced"
        ),
        summary["sentence"],
    ]
    if summary["settings"]["reproducible"]:
        lines.append("REPRODUCIBLE: NOT FOR RELEASE (whoever knows the seed can undo the noise)")
    if as_json:
        import json

        lines = [json.dumps(summary, ensure_ascii=False)]
    text = "\n".join(lines)
    # With -o - the data own stdout.
    note(text) if streams else sys.stdout.write(text + "\n")
