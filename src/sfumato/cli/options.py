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
        "mechanism needs one; with auto it is for words without a type.",
    ),
]
MechanismOption = Annotated[
    str,
    typer.Option(
        "--mechanism",
        "-m",
        help="What replaces what was found: auto (by type), a word mechanism, surrogate, redact, "
        "pseudonym, …: 'sfumato list mechanisms'.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option("--workers", help="Processes to use, or actors of Ray.")
]
EngineOption = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="Who works: local (processes of this machine), or ray (its actors, here or at "
        "--address).",
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="The Ray cluster that works. [default: one that is started here]",
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
VectorsByLanguageOption = Annotated[
    list[str],
    typer.Option(
        "--vectors",
        metavar="PATH",
        help="Public word vectors (.npy, .txt, .vec, .bin), or LANGUAGE=PATH for each of several "
        "languages, such as de=wiki.de.vec. [default: embedded GloVe 6B 50d]",
    ),
]
LanguageFieldOption = Annotated[
    str | None,
    typer.Option(
        "--language-field",
        metavar="NAME",
        help="The field that holds the language of a record, such as en. [default: it is guessed]",
    ),
]
ByTypeOption = Annotated[
    list[str],
    typer.Option(
        "--by-type",
        metavar="TYPE=MECHANISM",
        help="What replaces a type, such as PERSON=redact,DATE=date:epsilon=0.05 (OTHER is "
        "everything else), or a TOML file of such lines. Repeat for more.",
    ),
]
UnknownOption = Annotated[
    str | None,
    typer.Option(
        "--unknown",
        metavar="centroid|shape|keep|error",
        help="Words outside the vocabulary: protect them like one shared word, draw others of the "
        "same shape, keep them in the clear (as the papers do), or stop. "
        "[default: centroid; by type, shape]",
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
RecordedFieldOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="<str>",
        help="The field that holds the text. [default: that of the privatized file, or text]",
    ),
]
FieldsOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="NAME[,NAME]",
        help="The columns or keys that hold the text; a path such as messages[].content leads into "
        "JSON, and '*' is every text of a record.",
    ),
]
RecordedFieldsOption = Annotated[
    list[str],
    typer.Option(
        "--field",
        metavar="NAME[,NAME]",
        help="The fields that hold the text. [default: those of the privatized file, or text]",
    ),
]
DropOption = Annotated[
    list[str],
    typer.Option("--drop", metavar="NAME[,NAME]", help="Columns or keys to leave out."),
]
KeepOption = Annotated[
    list[str],
    typer.Option(
        "--keep",
        metavar="NAME[,NAME]",
        help="Columns or keys that may be released as they are; '*' is whatever is left.",
    ),
]
DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What stands between the cells of a table: ';', '|', tab. [default: as it begins]",
    ),
]
QuoteOption = Annotated[
    str | None,
    typer.Option(
        "--quote",
        metavar="CHARACTER|none",
        help="What stands around a cell. [default: as it begins]",
    ),
]
NoHeaderOption = Annotated[
    bool,
    typer.Option("--no-header", help="The first row is data; columns are called 1, 2 and so on."),
]
SheetOption = Annotated[
    str | None,
    typer.Option("--sheet", help="The sheet of a workbook. [default: the first]"),
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", help="From a pipe to a pipe, each line as it arrives."),
]
AuthorFieldOption = Annotated[
    str | None, typer.Option("--author-field", help="The field that names the author.")
]
LabelFieldOption = Annotated[
    str | None, typer.Option("--label-field", help="The field that holds the label.")
]
SpanFieldOption = Annotated[
    str | None,
    typer.Option(
        "--span-field",
        help="The field with labeled spans, a list of {start, end, label}: spans, by default.",
    ),
]
GroupFieldOption = Annotated[
    str | None,
    typer.Option(
        "--group-field", help="Also measure each group of documents that have the same value here."
    ),
]
IdFieldOption = Annotated[str, typer.Option("--id-field", help="The field that names a record.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format", help="txt, jsonl, csv, tsv, parquet, xlsx or conll, if the name does not tell."
    ),
]
EncodingOption = Annotated[str, typer.Option("--encoding", help="How the file is encoded.")]
WholeFileOption = Annotated[
    bool, typer.Option("--whole-file", help="A text file is one document, not one per line.")
]
NewVaultOption = Annotated[
    Path | None,
    typer.Option(
        "--vault",
        metavar="FILE",
        help="Write what pseudonyms stand for, encrypted, so that 'sfumato restore' can undo them.",
    ),
]
VaultOption = Annotated[
    Path, typer.Option("--vault", metavar="FILE", help="The vault that was written with the file.")
]
VaultKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--vault-key",
        metavar="FILE",
        help="The file with the key of the vault. [default: the environment variable "
        "SFUMATO_VAULT_KEY]",
    ),
]
BudgetOption = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="BUDGET",
        help="Charge this budget before anything is drawn: a file, or postgresql://… "
        "('sfumato budget open' makes one).",
    ),
]
AccountOption = Annotated[
    str | None,
    typer.Option(
        "--account",
        metavar="KIND:ID",
        help="The account that pays: text:ID, corpus:ID; author:FIELD charges each line to the "
        "author that its field names.",
    ),
]
AuthorLimitOption = Annotated[
    float | None,
    typer.Option(
        "--author-limit",
        metavar="L",
        help="Open accounts with this limit for authors that have none. "
        "[default: nothing is left in them]",
    ),
]
WhenSpentOption = Annotated[
    str | None,
    typer.Option(
        "--when-spent",
        metavar="RULE",
        help="What becomes of a line that its author cannot pay for: mask or withhold. "
        "[default: mask]",
    ),
]
CorpusAccountOption = Annotated[
    str | None,
    typer.Option("--account", metavar="corpus:ID", help="The account that pays."),
]
BudgetKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--budget-key",
        metavar="FILE",
        help="The file with the key of the budget. [default: the environment variable "
        "SFUMATO_BUDGET_KEY]",
    ),
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


def read_vectors(given: Sequence[str]) -> str | dict[str, str] | None:
    """One path, or ``LANGUAGE=PATH`` for each language.

    >>> read_vectors(["de=wiki.de.vec", "es=wiki.es.vec"])
    {'de': 'wiki.de.vec', 'es': 'wiki.es.vec'}
    """
    pairs = [one.partition("=") for one in given]
    if not any(len(code) == 2 and equals and path for code, equals, path in pairs):
        if len(given) > 1:
            raise InvalidArgument(
                "--vectors takes one file, or LANGUAGE=PATH for each of several languages"
            )
        return given[0] if given else None
    if not all(len(code) == 2 and equals and path for code, equals, path in pairs):
        raise InvalidArgument("--vectors takes LANGUAGE=PATH for every language, English being en")
    if len({code for code, _, _ in pairs}) < len(pairs):
        raise InvalidArgument("--vectors names a language twice")
    return {code: path for code, _, path in pairs}


def read_by_type(given: Sequence[str]) -> dict[str, object]:
    """``TYPE=MECHANISM,…`` and TOML files of such lines as one table; a later one wins."""
    table: dict[str, object] = {}
    for one in given:
        if "=" not in one:
            table |= _read_types(Path(one))
            continue
        for pair in one.split(","):
            label, equals, mechanism = pair.strip().partition("=")
            if not (label and equals and mechanism):
                raise InvalidArgument(
                    f"--by-type takes TYPE=MECHANISM, such as --by-type PERSON=redact, not {one!r}"
                )
            table[label] = mechanism
    return table


def _read_types(path: Path) -> dict[str, object]:
    import tomllib

    from sfumato.core.files import reading

    with reading(path, "a table of mechanisms by type"):
        try:
            found = tomllib.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InvalidArgument(f"{path} is not TOML: {error}") from None
    wrong = next((key for key, value in found.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise InvalidArgument(f"{path}: {wrong} must be a text such as 'date:epsilon=0.05'")
    return found


def refuse_mechanism_settings(settings: dict[str, object]) -> None:
    """For commands without a mechanism: only POLICY.KEY=VALUE makes sense there."""
    for key in settings:
        raise InvalidArgument(f"--set {key}=… names no policy; write POLICY.{key}=…")
