"""``sfumato explain``: what would happen to a sentence, word by word."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, stdout, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from sfumato.releases.explanation import ExplainedWord, Explanation

NEXT = "Next: see what it does to a file: `sfumato.privatize(IN, dry_run=True)`."


def explain(  # noqa: PLR0913  # a command's options are its parameters
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A sentence, or - for stdin.")],
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
    draws: Annotated[
        int, typer.Option("--draws", min=10, max=options.MOST, help="Draws per word.")
    ] = 400,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what is selected in a sentence, by what it is replaced, and how likely it stays.

    Without --policy every word is selected, or what pii finds where no --epsilon is given. This
    prints the original beside the replacement: it is for your own eyes.
    """
    from sfumato.verbs.explain import explain as explain_text

    explanation = explain_text(
        sys.stdin.read() if text == "-" else text,
        epsilon=epsilon,
        policy=policy or None,
        level=[options.read_level(one) for one in level],
        exclude=exclude,
        mechanism=mechanism,
        by_type=options.read_by_type(by_type),
        vectors=options.read_vectors(vectors),
        unknown=unknown,
        case=case,
        settings=options.read_settings(settings),
        draws=draws,
        seed=seed,
    )
    print_json(explanation.as_dict()) if json else _print(explanation)


def _print(explanation: Explanation) -> None:
    console = stdout()
    if explanation.words:
        console.print(_table(explanation.words))
    else:
        console.print("Nothing is selected, so nothing changes.")
    console.print(visible(explanation.text), markup=False)
    if explanation.source_words_kept is not None:
        console.print(f"Source words kept: {explanation.source_words_kept:.2f}", markup=False)
    stated = explanation.guarantee
    protected, not_protected, after = stated.summary()
    # Of a sentence on the screen there is no file to look at; whatever else is to be said stays.
    after = NEXT if after.startswith("Next: read some of it") else after
    for line in (protected, not_protected, after, f"Exactly: {stated.sentence()}"):
        console.print(in_options(line), markup=False)


def _table(words: Sequence[ExplainedWord]) -> Table:
    from rich.table import Table

    levels = {word.epsilon for word in words}
    titles = ["word", "found as", "because", "becomes"]
    titles += ["level"] if len(levels) > 1 else []
    titles += [] if levels == {None} else ["stays with probability"]
    table = Table(*titles, box=None)
    for word in words:
        cells = [word.original, word.label, word.reason, word.replacement]
        level = "–" if word.epsilon is None else f"{word.epsilon:g}"
        cells += [level] if len(levels) > 1 else []
        cells += [_stays(word)] if word.kept else []
        table.add_row(*_plain(*cells))
    return table


def _stays(word: ExplainedWord) -> str:
    kept = word.kept
    if kept is None:
        return ""
    if not word.known:
        return f"{kept.value:g} (unknown word)"
    return f"{kept.value:.2f} ({kept.low:.2f}–{kept.high:.2f})"


def _plain(*cells: str) -> list[Any]:
    from rich.text import Text

    return [Text(visible(cell)) for cell in cells]
