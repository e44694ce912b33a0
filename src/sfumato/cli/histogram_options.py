"""Options of private histograms, for ``tokenizer train`` and ``ngrams``."""

from __future__ import annotations

from typing import Annotated

import typer

EpsilonOption = Annotated[
    float,
    typer.Option("--epsilon", "-e", help="The level to keep; smaller is more private."),
]
WordsOption = Annotated[
    int,
    typer.Option(
        "--words-per-document",
        metavar="K",
        min=1,
        help="The most different words that a document (or author) gives, drawn from its own; "
        "fewer need less noise.",
    ),
]
WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights",
        metavar="plain|by-length",
        help="Every word counts 1, or those of documents with few words count for more.",
    ),
]
UnitOption = Annotated[
    str,
    typer.Option(
        "--unit",
        metavar="example|author",
        help="What is protected as one: each document, or all documents of an author (needs "
        "--author-field).",
    ),
]
RecordOption = Annotated[
    str,
    typer.Option(
        "--record",
        metavar="NAME",
        help="What an example is, for the guarantee: paragraph, article, support ticket. "
        "The name is public.",
    ),
]
