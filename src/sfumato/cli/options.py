"""Options that mean the same in every command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sfumato.core.errors import InvalidArgument

PolicyOption = Annotated[
    list[str],
    typer.Option(
        "--policy",
        "-p",
        metavar="POLICY",
        help="What is sensitive: a name (see 'sfumato list policies'), regex:PATTERN or "
        "lexicon:FILE. Repeat for a union.",
    ),
]
LevelOption = Annotated[
    list[str],
    typer.Option(
        "--level",
        metavar="EPSILON=POLICY",
        help="A policy with a privacy level of its own, instead of --policy and --epsilon; "
        "repeat for more. Where they overlap the smallest epsilon wins.",
    ),
]
ExceptOption = Annotated[
    list[str],
    typer.Option("--except", metavar="POLICY", help="Do not touch what this policy finds."),
]
SetOption = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting of the mechanism, or of a policy as POLICY.KEY=VALUE (pii.regions=DE,FR).",
    ),
]
EpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "-e",
        help="Privacy level per word and unit of distance; smaller is more private. Every word "
        "mechanism needs one; the baselines have none.",
    ),
]
MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        "-m",
        help="A word mechanism or a baseline (redact, pseudonym): 'sfumato list mechanisms'.",
    ),
]
VectorsOption = Annotated[
    str | None,
    typer.Option(
        "--vectors",
        metavar="PATH",
        help="Public word vectors (.npy, .txt, .vec, .bin). [default: embedded GloVe 6B 50d]",
    ),
]
UnknownOption = Annotated[
    str,
    typer.Option(
        "--unknown",
        metavar="centroid|keep|error",
        help="Words outside the vocabulary: protect them like one shared word, keep them in "
        "the clear (as the papers do), or stop.",
    ),
]
CaseOption = Annotated[
    str,
    typer.Option(
        "--case",
        metavar="public|restore",
        help="Replacements in their own spelling, or with the original's capitals (which leaks "
        "the capitals).",
    ),
]
SearchOption = Annotated[
    str,
    typer.Option(
        "--search",
        metavar="exact|approximate",
        help="How the nearest word is found; approximate is quicker and costs no privacy.",
    ),
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", help="Make the output reproducible, and therefore not for release."),
]
# No count that is typed is larger.
MOST = 10**9
TEXT = ["text"]
# A list, for of two values of one option the last would win, without a word (see only_field).
FieldOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="<str>",
        help="The field that holds the text (jsonl, csv, tsv, parquet).",
    ),
]
FieldsOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        help="The field that holds the text (jsonl, csv, tsv, parquet); repeat for several.",
    ),
]
AuthorFieldOption = Annotated[
    str | None, typer.Option("--author-field", help="The field that names the author.")
]
LabelFieldOption = Annotated[
    str | None, typer.Option("--label-field", help="The field that holds the label.")
]
IdFieldOption = Annotated[str, typer.Option("--id-field", help="The field that names a record.")]
FormatOption = Annotated[
    str | None,
    typer.Option("--format", help="txt, jsonl, csv, tsv or parquet, if the name does not tell."),
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="How the file is encoded.")]
WholeFileOption = Annotated[
    bool, typer.Option("--whole-file", help="A text file is one document, not one per line.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="Where to write; - is stdout.")
]
ChartOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="CHART", help="A chart: .svg, .png, .html or .json."),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Replace an output that exists.")
]


def only_field(given: Sequence[str]) -> str:
    """``--field`` of a command that reads one text of a record."""
    if len(given) != 1:
        raise InvalidArgument(
            f"--field takes one name here, and {len(given)} were given; only 'sfumato privatize' "
            "takes several"
        )
    return given[0]


def read_settings(given: Sequence[str]) -> dict[str, object]:
    """``--set`` values as a mapping."""
    found: dict[str, object] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise InvalidArgument("--set takes KEY=VALUE")
        found[key] = value
    return found


def settings_from(given: Sequence[str]) -> tuple[dict[str, object], dict[str, object]]:
    """``--set`` values, split into the mechanism's and the policies'."""
    from sfumato.verbs.inputs import split_settings

    return split_settings(read_settings(given))


def read_level(given: str) -> tuple[float, str]:
    """``EPSILON=POLICY`` as a pair."""
    epsilon, _, policy = given.partition("=")
    try:
        level = float(epsilon)
    except ValueError:
        level = None
    if level is None or not policy:
        # What was given may hold a pattern: it is not repeated.
        raise InvalidArgument("--level takes EPSILON=POLICY, such as --level 2=pii")
    return level, policy


def refuse_mechanism_settings(settings: dict[str, object]) -> None:
    """For commands without a mechanism: only POLICY.KEY=VALUE makes sense there."""
    for key in settings:
        raise InvalidArgument(f"--set {key}=… names no policy; write POLICY.{key}=…")
