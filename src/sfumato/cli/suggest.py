"""``sfumato suggest``: the level at which the median word stays with a given probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli import measuring, options
from sfumato.cli.output import note, print_json, stdout
from sfumato.core.errors import InvalidArgument

if TYPE_CHECKING:
    from sfumato.metrics.suggestion import Suggestion


def suggest(  # noqa: PLR0913  # a command's options are its parameters
    mechanism: measuring.MechanismArgument,
    keep: Annotated[
        float, typer.Option("--keep", help="How likely the median word may stay as it is.")
    ],
    vectors: options.VectorsOption = None,
    settings: options.SetOption = [],  # noqa: B006
    words: measuring.WordsOption = 200,
    draws: measuring.DrawsOption = 150,
    corpus: Annotated[str | None, typer.Option("--corpus", hidden=True)] = None,
    seed: measuring.MeasureSeedOption = None,
    json: options.JsonOption = False,
) -> None:
    """Find the epsilon at which the median public word stays with a given probability.

    It looks at public words only, so it costs no privacy. The median is not the whole answer:
    words that stay far more often at that level are named.

    Example: sfumato suggest laplace --keep 0.3
    """
    from sfumato.verbs.suggest import suggest as find_level

    if corpus is not None:
        raise InvalidArgument(
            "a level chosen by looking at a private text would say something about that text, and "
            "nothing charges for it: suggest looks at public words only; 'sfumato deniability M "
            "--epsilon E --corpus FILE' shows you what a level does to your own words"
        )
    own = options.read_settings(settings)
    found = find_level(
        mechanism, keep, vectors=vectors, settings=own, words=words, draws=draws, seed=seed
    )
    if json:
        chosen = {"mechanism": mechanism, "settings": own, "vectors": found.vectors}
        print_json(chosen | found.as_dict(), indent=2)
    else:
        _print(mechanism, found)
    if found.caution:
        note(f"warning: {found.caution}")


def _print(mechanism: str, found: Suggestion) -> None:
    console = stdout()
    there = found.protection
    half, most = map(measuring.percent, (there.above_half, there.above_nine_tenths))
    console.print(f"ε = {found.epsilon:.4g}\n")
    console.print(
        f"At this level the median of {there.words:,} public words stays with probability "
        f"{measuring.with_interval(there.median)}; {half} of them stay with more than 0.5, {most} "
        "with more than 0.9.",
        markup=False,
    )
    console.print("\nThese stay longest, and are exposed although the median is not:")
    console.print(measuring.exposed_table(there))
    console.print(
        "\nWhat it means: half of the words stay as often as the median or more, so this is a "
        "level for typical words, not a promise for each. It was chosen on public words, so it "
        "costs no privacy, and it knows nothing of yours: see\n"
        f"  sfumato deniability {mechanism} --epsilon {found.epsilon:.4g} --corpus YOUR-FILE",
        markup=False,
    )
