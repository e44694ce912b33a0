"""``sfumato write``: a synthetic corpus by a model that was trained privately."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.model import RunArgument
from sfumato.cli.output import in_options, print_json, warn
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import QUIET


def write(  # noqa: PLR0913  # a command's options are its parameters
    run: RunArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="Where to write: OUT.jsonl.")
    ],
    texts: Annotated[
        int, typer.Option("--texts", min=1, max=options.MOST, help="How many texts come out.")
    ] = 500,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=options.MOST, help="At most so many in a text.")
    ] = 64,
    temperature: Annotated[
        float, typer.Option("--temperature", help="0 takes the likeliest token.")
    ] = 1.0,
    top: Annotated[
        int | None,
        typer.Option("--top", min=1, max=options.MOST, help="Only among so many likeliest tokens."),
    ] = None,
    nucleus: Annotated[
        float,
        typer.Option(
            "--nucleus", help="Only among the fewest tokens with this probability together."
        ),
    ] = 1.0,
    shares: Annotated[
        str | None,
        typer.Option(
            "--shares",
            metavar="LABEL=X,LABEL=Y",
            help="Public shares of the labels. [default: equal]",
        ),
    ] = None,
    labels_epsilon: Annotated[
        float | None,
        typer.Option(
            "--labels-epsilon",
            help="Count the labels of --originals, with noise; its level is added.",
        ),
    ] = None,
    originals: Annotated[
        str | None,
        typer.Option("--originals", metavar="IN", help="The private corpus, for that alone."),
    ] = None,
    shortest: Annotated[
        int, typer.Option("--shortest", min=1, help="Keep texts of so many words at least.")
    ] = 1,
    longest: Annotated[
        int | None, typer.Option("--longest", min=1, help="Keep texts of so many words at most.")
    ] = None,
    duplicates: Annotated[
        bool, typer.Option("--duplicates", help="Keep texts that come twice.")
    ] = False,
    classifier: Annotated[
        str,
        typer.Option(
            "--classifier",
            metavar="FOLDER",
            help="Keep texts whose label this PUBLIC classifier confirms.",
        ),
    ] = "",
    batch: Annotated[int, typer.Option("--batch", min=1, help="Texts drawn at a time.")] = 64,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    label_field: options.LabelFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    no_header: options.NoHeaderOption = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a stopped run.")] = False,
    overwrite: options.OverwriteOption = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Write the same again.")] = None,
    budget: options.BudgetOption = None,
    account: options.CorpusAccountOption = None,
    budget_key: options.BudgetKeyOption = None,
    json: options.JsonOption = False,
) -> None:
    """Let a model that was trained privately write a corpus.

    The corpus has the guarantee of the training: whatever is done with the model costs nothing
    more, and a --budget pays for --labels-epsilon alone. A model that was trained with
    --control-codes writes for each label. Beside OUT stands OUT.guarantee.json.

    Example: sfumato write run -o made.jsonl --texts 1000 --top 50
    """
    from sfumato.verbs.write_corpus import write_corpus

    made = write_corpus(
        run,
        output,
        texts=texts,
        tokens=tokens,
        temperature=temperature,
        top=top,
        nucleus=nucleus,
        shares=_shares(shares),
        labels_epsilon=labels_epsilon,
        originals=originals,
        shortest=shortest,
        longest=longest,
        duplicates=duplicates,
        classifier=classifier,
        batch=batch,
        field=options.only_field(field),
        author_field=author_field,
        label_field=label_field,
        format=file_format,
        encoding=encoding,
        header=not no_header,
        resume=resume,
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


def _shares(given: str | None) -> dict[str, float] | None:
    """Shares by label.

    >>> _shares("good=0.7, bad=0.3")
    {'good': 0.7, 'bad': 0.3}
    """
    if given is None:
        return None
    found = {}
    for one in given.split(","):
        label, _, share = one.strip().rpartition("=")
        try:
            found[label] = float(share)
        except ValueError:
            raise InvalidArgument(
                f"--shares must be LABEL=NUMBER,LABEL=NUMBER, and {one.strip()!r} is not"
            ) from None
    return found
