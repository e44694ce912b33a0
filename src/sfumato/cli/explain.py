"""``sfumato explain``: what would happen to a sentence, word by word, or to one word of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.output import in_options, print_json, stdout, visible
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from sfumato.attacks.inference.word_view import Attacked, Bars, WordView
    from sfumato.metrics.deniability import Estimate
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
    word: Annotated[
        str | None,
        typer.Option("--word", help="Look at this word of TEXT only: what it may become."),
    ] = None,
    focus: Annotated[
        int | None,
        typer.Option("--focus", min=1, help="Look at this place only, the first being 1."),
    ] = None,
    most: Annotated[
        int, typer.Option("--most", min=1, max=1000, help="Bars of --word and --focus.")
    ] = 8,
    seed: options.SeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Show what is selected in a sentence, by what it is replaced, and how likely it stays.

    Without --policy every word is selected, or what pii finds where no --epsilon is given. With
    --word or --focus one word is shown with its likeliest replacements, and with what an attacker
    would guess who sees one and knows how frequent words are in public. This prints the original
    beside the replacement: it is for your own eyes.

    Example: sfumato explain "Ask London" --mechanism exponential --epsilon 3 --word London
    """
    from sfumato.verbs.explain import explain as explain_text
    from sfumato.verbs.explain_word import explain_word

    given = sys.stdin.read() if text == "-" else text
    if word is not None and focus is not None:
        raise InvalidArgument("--word and --focus both say which place; give one of them")
    if word is not None or focus is not None:
        view = explain_word(
            word if word is not None else focus or 1,
            text=given,
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
            most=most,
            seed=seed,
        )
        print_json(view.as_dict()) if json else _print_word(view)
        return
    explanation = explain_text(
        given,
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


WIDE = 30


def _print_word(view: WordView) -> None:
    console = stdout()
    level = "" if view.epsilon is None else f" at epsilon {view.epsilon:g}"
    console.print(f"{visible(view.word)}{level}", markup=False)
    if view.stays is not None:
        console.print(f"  stays with {_share(view.stays)}", markup=False)
    if view.replacements is not None:
        console.print("Becomes", _bars(view.replacements), sep="\n")
    if view.attacker is not None:
        console.print("What an attacker guesses", _bars(view.attacker.guesses), sep="\n")
        for line in _guessed(view.attacker):
            console.print(line, markup=False)
    if view.examples:
        console.print("For example", *map(visible, view.examples), sep="\n  ", markup=False)
    for line in (*view.notes, f"Exactly: {view.guarantee.sentence()}"):
        console.print(in_options(line), markup=False)


def _bars(bars: Bars) -> Table:
    from rich.table import Table

    table = Table(box=None, show_header=False)
    longest = max((one.share.value for one in bars.words), default=1.0)
    for one in bars.words:
        bar = "█" * max(1, round(WIDE * one.share.value / longest))
        table.add_row(*_plain(one.word, bar, _share(one.share)))
    table.add_row(*_plain("(all others)", "", _share(bars.others)))
    return table


def _guessed(attacker: Attacked) -> list[str]:
    blind = attacker.blind
    lines = [
        f"The guess is right with {_share(attacker.right)}. Without looking it would be "
        f"'{visible(blind.word)}', which is {'right' if blind.right else 'wrong'}.",
        f"They expect {attacker.prior}.",
    ]
    if attacker.sees_place is not None:
        lines.append(
            f"Whoever saw the noisy place itself would be right with {_share(attacker.sees_place)}."
        )
    else:
        lines.append(
            f"For {attacker.settled:.1%} of what comes out it is proven that no other word is a "
            "better guess."
        )
    return lines


def _share(share: Estimate) -> str:
    if share.low == share.high:
        return f"{share.value:.4f}"
    return f"{share.value:.4f} ({share.low:.4f}–{share.high:.4f})"
