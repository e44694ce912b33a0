"""``sfumato data``: make test data, plant canaries, convert vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli import options
from sfumato.cli.output import note, print_json

app = typer.Typer(help="Make test data, plant canaries, convert vectors.", no_args_is_help=True)


@app.command("customersim")
def customersim(
    output: options.OutputOption,
    count: Annotated[int, typer.Option("-n", "--count", help="How many dialogues.")] = 1000,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Generate customer-service dialogues with gold spans, as JSON lines.

    Every person, number and address in them is invented. Each line holds an id, a text and the
    spans: name, address, phone, order and tracking number.
    """
    from sfumato.files.output import is_stream
    from sfumato.verbs.data import make_dialogues

    make_dialogues(output, count=count, seed=seed, overwrite=overwrite)
    if json and not is_stream(output):
        print_json({"dialogues": count, "output": str(output)})
    else:
        note(f"{count:,} dialogues written to {output}")


@app.command("canaries")
def canaries(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="The corpus.")],
    output: options.OutputOption,
    template: Annotated[
        str, typer.Option("--template", help="The sentence; {} is the secret.")
    ] = "My ID is {}.",
    secret: Annotated[
        list[str], typer.Option("--secret", help="The secret; repeat for several canaries.")
    ] = [],  # noqa: B006
    digits: Annotated[
        int, typer.Option("--digits", help="Length of a drawn secret, if none is given.")
    ] = 6,
    repetitions: Annotated[
        str,
        typer.Option("-k", "--repetitions", help="How often; a comma list for several canaries."),
    ] = "10",
    alone: Annotated[
        bool, typer.Option("--alone", help="As documents of their own, at the end (txt, jsonl).")
    ] = False,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Plant canaries such as "My ID is 145572." and remember where.

    OUT.canaries.json says which, how often and where (character offsets); attacks read it.
    """
    from sfumato.verbs.data import plant_canaries

    manifest = plant_canaries(
        source,
        output,
        template=template,
        secret=secret,
        digits=digits,
        repetitions=_counts(repetitions),
        alone=alone,
        field=options.only_field(field),
        author_field=author_field,
        format=file_format,
        encoding=encoding,
        overwrite=overwrite,
        seed=seed,
    )
    if json:
        print_json(manifest.as_dict())
    else:
        note(f"{len(manifest.places):,} canaries planted; {output}.canaries.json says where")


@app.command("coins")
def coins(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="The corpus: txt or jsonl.")],
    output: options.OutputOption,
    count: Annotated[
        int, typer.Option("-n", "--count", help="How many documents to toss a coin for.")
    ] = 1000,
    field: options.FieldOption = options.TEXT,
    author_field: options.AuthorFieldOption = None,
    file_format: options.FormatOption = None,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Add made-up documents by fair coins, so that a model trained on OUT can be audited.

    OUT.coins.json says which of them are in OUT; 'sfumato audit' reads it. Every document is of
    random public words.
    """
    from sfumato.corpora.coins import SUFFIX
    from sfumato.verbs.data import toss_coins

    tossed = toss_coins(
        source,
        output,
        count=count,
        field=options.only_field(field),
        author_field=author_field,
        format=file_format,
        overwrite=overwrite,
        seed=seed,
    )
    included = sum(tossed.included)
    if json:
        print_json({"documents": count, "included": included, "output": str(output)})
    else:
        note(f"{included:,} of {count:,} documents added; {output}{SUFFIX} says which")


@app.command("classifier-canaries")
def classifier_canaries(  # noqa: PLR0913  # a command's options are its parameters
    source: Annotated[str, typer.Argument(metavar="IN", help="The corpus: jsonl with labels.")],
    output: options.OutputOption,
    label_field: Annotated[
        str, typer.Option("--label-field", help="The field that holds the label.")
    ] = "label",
    label: Annotated[
        str | None, typer.Option("--label", help="The class to plant in. [default: the rarest]")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", help="How many canaries.")] = 5,
    repetitions: Annotated[
        int, typer.Option("-k", "--repetitions", help="How often each is planted.")
    ] = 100,
    words: Annotated[int, typer.Option("--words", help="Words of a canary.")] = 10,
    last: Annotated[int, typer.Option("--last", help="How many of them the attack looks for.")] = 1,
    candidates: Annotated[
        int,
        typer.Option(
            "--candidates", min=100, max=options.MOST, help="Public words that are drawn from."
        ),
    ] = 2000,
    field: options.FieldOption = options.TEXT,
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Plant canaries with labels, for the attack 'classifier-extraction'.

    Each canary stands many times in one class, and once, with another ending, in every other.
    OUT.classifier-canaries.json says which; the attack reads it.
    """
    from sfumato.corpora.classifier_canaries import SUFFIX
    from sfumato.verbs.data import plant_classifier_canaries

    drawn = plant_classifier_canaries(
        source,
        output,
        label_field=label_field,
        label=label,
        count=count,
        repetitions=repetitions,
        words=words,
        last=last,
        candidates=candidates,
        field=options.only_field(field),
        overwrite=overwrite,
        seed=seed,
    )
    if json:
        print_json(drawn.as_dict())
    else:
        note(f"{count:,} canaries planted; {output}{SUFFIX} says which")


@app.command("wikitext")
def wikitext(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A raw file of WikiText-2.")],
    output: options.OutputOption,
    record: Annotated[
        str,
        typer.Option(
            "--record",
            metavar="paragraph|article",
            help="What becomes one document, and so what training protects as one.",
        ),
    ] = "paragraph",
    count: Annotated[
        int | None,
        typer.Option(
            "-n", "--count", min=1, max=options.MOST, help="Only so many, from the start."
        ),
    ] = None,
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """Turn WikiText-2 into JSON lines, a document per paragraph or per article."""
    from sfumato.files.output import is_stream
    from sfumato.verbs.data import convert_wikitext

    written = convert_wikitext(source, output, record=record, count=count, overwrite=overwrite)
    if json and not is_stream(output):
        print_json({"documents": written, "record": record, "output": str(output)})
    else:
        note(f"{written:,} documents written to {output}")
        note(f"'sfumato train --record {record}' names what is protected in the guarantee")


@app.command("vectors")
def vectors(
    source: Annotated[str, typer.Argument(metavar="IN", help="Word vectors in any format.")],
    output: options.OutputOption,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=2, max=options.MOST, help="Keep the first words only."),
    ] = None,
    overwrite: options.OverwriteOption = False,
    json: options.JsonOption = False,
) -> None:
    """Convert word vectors to .npy and .vocab.txt, which load at once, memory-mapped."""
    from sfumato.verbs.data import convert_vectors

    space = convert_vectors(source, output, limit=limit, overwrite=overwrite)
    if json:
        print_json({"words": len(space), "dimensions": space.dimension, "output": str(output)})
    else:
        note(f"{len(space):,} words of {space.dimension} dimensions written to {output}")


def _counts(text: str) -> list[int]:
    from sfumato.core.errors import InvalidArgument

    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument(
            f"repetitions={text!r} must be whole numbers, separated by commas"
        ) from None
