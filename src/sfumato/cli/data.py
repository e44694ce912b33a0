"""``sfumato data``: make test data, plant canaries, convert vectors."""

from __future__ import annotations

import json as json_module
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
    from sfumato.core.errors import InvalidArgument
    from sfumato.core.randomness import Randomness
    from sfumato.corpora.customersim import generate
    from sfumato.files.formats import of_path
    from sfumato.files.output import is_stream, write_corpus

    kind = of_path(output)
    if kind is not None and kind.name != "jsonl":
        raise InvalidArgument(f"dialogues are written as JSON lines, not as {kind.name}")
    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    dialogues = generate(count, randomness)
    with write_corpus(output, overwrite=overwrite) as stream:
        for dialogue in dialogues:
            line = json_module.dumps(dialogue.as_record(), ensure_ascii=False)
            stream.write(line.encode() + b"\n")
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
    field: options.FieldOption = "text",
    file_format: options.FormatOption = None,
    encoding: options.EncodingOption = "utf-8",
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Plant canaries such as "My ID is 145572." and remember where.

    OUT.canaries.json says which, how often and where (character offsets); attacks read it.
    """
    from sfumato.core.randomness import Randomness
    from sfumato.corpora.canaries import Canary, draw_secret
    from sfumato.corpora.planting import plant
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source

    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    counts = _counts(repetitions)
    wanted = max(len(secret), len(counts))
    secrets = secret or [draw_secret(digits, randomness.stream(1 + i)) for i in range(wanted)]
    planted = [Canary(template, one) for one in secrets]
    manifest = plant(
        Source.of(source, Layout(field=field, encoding=encoding), file_format=file_format),
        output,
        planted,
        counts * wanted if len(counts) == 1 else counts,
        randomness.stream(0),
        overwrite=overwrite,
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
    field: options.FieldOption = "text",
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
    from sfumato.core.randomness import Randomness
    from sfumato.corpora.coins import SUFFIX, mix_in, toss
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.vectors.load import public_words

    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    tossed = toss(count, public_words(15_000), randomness)
    layout = Layout(field=field, author_field=author_field)
    given = Source.of(source, layout, file_format=file_format)
    mix_in(given, output, tossed, overwrite=overwrite)
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
    field: options.FieldOption = "text",
    overwrite: options.OverwriteOption = False,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Plant canaries with labels, for the attack 'classifier-extraction'.

    Each canary stands many times in one class, and once, with another ending, in every other.
    OUT.classifier-canaries.json says which; the attack reads it.
    """
    from sfumato.core.randomness import Randomness
    from sfumato.corpora import classifier_canaries as planting
    from sfumato.files.layout import Layout
    from sfumato.files.source import Source
    from sfumato.vectors.load import public_words

    randomness = Randomness.secure() if seed is None else Randomness.reproducible(seed)
    given = Source.of(source, Layout(field=field, label_field=label_field), file_format="jsonl")
    shape = planting.Shape(count=count, repetitions=repetitions, words=words, last=last)
    chosen = label or planting.rarest_label(list(given.documents()))
    drawn = planting.draw(chosen, public_words(candidates), shape, randomness.stream(0))
    planting.plant(given, output, drawn, randomness.stream(1), overwrite=overwrite)
    if json:
        print_json(drawn.as_dict())
    else:
        note(f"{count:,} canaries planted; {output}{planting.SUFFIX} says which")


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
    from itertools import islice

    from sfumato.corpora.wikitext import read_wikitext
    from sfumato.files.output import is_stream, write_corpus

    written_so_far = 0
    with write_corpus(output, overwrite=overwrite) as stream:
        for document in islice(read_wikitext(source, record=record), count):
            row = {"id": document.id, "text": document.text, "article": document.author}
            stream.write(json_module.dumps(row, ensure_ascii=False).encode() + b"\n")
            written_so_far += 1
    if json and not is_stream(output):
        print_json({"documents": written_so_far, "record": record, "output": str(output)})
    else:
        note(f"{written_so_far:,} documents written to {output}")
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
    from sfumato.core.files import refuse_existing
    from sfumato.vectors.load import load, save

    refuse_existing(output, overwrite=overwrite)
    space = load(Path(source), limit)
    save(space, output)
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
