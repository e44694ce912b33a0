"""``sfumato synthesize``: a synthetic corpus with a guarantee."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, warn
from sfumato.core.progress import QUIET


def synthesize(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[
        str, typer.Argument(metavar="IN", help="The private corpus, or - for stdin.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="Where to write: OUT.jsonl.")
    ],
    epsilon: Annotated[
        float, typer.Option("--epsilon", "-e", help="The level of all of it together.")
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="evolution|prediction",
            help="Let records vote for texts, or let prompts with a record each agree on every "
            "token.",
        ),
    ] = "evolution",
    delta: Annotated[str, typer.Option("--delta", help="A number below 1/n, or auto.")] = "auto",
    generator: Annotated[
        str,
        typer.Option(
            "--generator", "-g", help="Where candidates come from: 'sfumato list generators'."
        ),
    ] = "pool",
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the generator (pool=FILE), or of prediction (model=FOLDER).",
        ),
    ] = [],  # noqa: B006
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="FOLDER",
            help="A public sentence encoder. [default: the embedded word vectors]",
        ),
    ] = "",
    texts: Annotated[
        int | None,
        typer.Option(
            "--texts",
            help="How many texts come out. [default: 500; by prediction, as there are records for]",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", help="How often records vote.")] = 2,
    votes: Annotated[
        int, typer.Option("--votes", help="Votes of a record or author in each round.")
    ] = 1,
    candidates: Annotated[
        int | None,
        typer.Option(
            "--candidates",
            help="Texts to vote for, under each label. [default: twice as many as come out]",
        ),
    ] = None,
    kept: Annotated[
        float, typer.Option("--kept", help="The share of candidates that stays after a round.")
    ] = 0.5,
    choice: Annotated[
        str,
        typer.Option(
            "--choice",
            metavar="rank|resample",
            help="Take the texts with most votes, or draw by votes above --threshold.",
        ),
    ] = "rank",
    threshold: Annotated[
        float, typer.Option("--threshold", help="Votes that count nothing when texts are drawn.")
    ] = 0.0,
    unit: Annotated[
        str, typer.Option("--unit", metavar="record|author", help="What is protected.")
    ] = "record",
    label_field: options.LabelFieldOption = None,
    classes: Annotated[
        str | None,
        typer.Option("--classes", metavar="LABEL,LABEL", help="All labels; they are public."),
    ] = None,
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar="equal|noised|public",
            help="How many texts a label gets: equally many, by noisy votes, or as there are "
            "records (which is then not protected).",
        ),
    ] = "equal",
    control: Annotated[
        Path | None,
        typer.Option(
            "--control",
            metavar="FILE",
            help="Also write a corpus that no record has touched, to see what records are worth.",
        ),
    ] = None,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Make a synthetic corpus with a guarantee for every private record.

    By evolution, a generator, which never sees a private record, makes candidates; each record
    votes for those that are nearest to it; the counts get noise, and what has most votes is kept
    and varied. By prediction, a language model reads many prompts with a record each, and every
    token is drawn by what they say on average. Beside OUT stands OUT.guarantee.json. Labels are
    public: --label-field and --classes name them. To train a model and let it write instead, see
    'sfumato write'.

    Example: sfumato synthesize notes.jsonl -o made.jsonl --set pool=public.txt --epsilon 1
    """
    from sfumato.verbs.synthesize import synthesize as make

    made = make(
        source,
        output,
        method=method,
        generator=generator,
        epsilon=epsilon,
        delta=_delta(delta),
        texts=texts,
        rounds=rounds,
        votes=votes,
        candidates=candidates,
        kept=kept,
        choice=choice,
        threshold=threshold,
        unit=unit,
        labels=labels,
        classes=() if classes is None else [one.strip() for one in classes.split(",")],
        encoder=encoder,
        settings=options.read_settings(settings),
        control=control,
        field=options.only_field(field),
        author_field=author_field,
        label_field=label_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        overwrite=overwrite,
        seed=seed,
        budget=budget,
        account=account,
        budget_key=budget_key,
    )
    if json:
        print_json(dict(made.summary))
    elif not QUIET.get():
        sys.stdout.write("\n".join(in_options(line) for line in made.lines) + "\n")
    elif not made.guarantee.for_release:
        warn(in_options(made.lines[-1]))


def _delta(given: str) -> float | str:
    """A number where it is one; a name such as auto is judged where it is used."""
    try:
        return float(given)
    except ValueError:
        return given
