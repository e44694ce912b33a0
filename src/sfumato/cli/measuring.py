"""What the commands that measure mechanisms share: words to look at, levels, a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli.options import MOST
from sfumato.cli.output import note, visible
from sfumato.core.checks import positive
from sfumato.core.errors import InvalidArgument
from sfumato.core.progress import progress

if TYPE_CHECKING:
    from rich.table import Table

    from sfumato.core.progress import Advance
    from sfumato.files.source import Source
    from sfumato.metrics.deniability import Estimate
    from sfumato.metrics.population import Population
    from sfumato.metrics.protection import Exposed, Protection, Spread
    from sfumato.policies.policy import Policy
    from sfumato.text.document import Document
    from sfumato.vectors.space import Space

MechanismArgument = Annotated[
    str, typer.Argument(metavar="M", help="A word mechanism: 'sfumato list mechanisms'.")
]
LevelsOption = Annotated[
    str, typer.Option("--epsilon", "-e", metavar="E,E,…", help="Privacy levels, by commas.")
]
CorpusOption = Annotated[
    str | None,
    typer.Option(
        "--corpus", metavar="FILE", help="Look at the words of this file, not at public ones."
    ),
]
WordsOption = Annotated[
    int,
    typer.Option("--words", min=1, max=MOST, help="How many words are drawn to be measured."),
]
DrawsOption = Annotated[
    int,
    typer.Option("--draws", min=10, max=MOST, help="Draws per word where there are no exact rows."),
]
MeasureSeedOption = Annotated[
    int | None, typer.Option("--seed", help="Measure with the same words and draws again.")
]


@dataclass(frozen=True)
class MeasuredCorpus:
    """Where the words come from: a file, a policy, both or neither."""

    source: Source | None
    policy: Policy | None

    def population(self, space: Space) -> Population:
        """The words to look at; of private ones the person at the keyboard is told."""
        from sfumato.metrics.population import alone_selected, frequent_words, select_words
        from sfumato.policies.patterns import Everything

        if self.source is None and self.policy is None:
            return frequent_words(space)
        policy = self.policy or Everything()
        if self.source is None:
            found = alone_selected(policy, space)
        else:
            found = select_words(_documents(self.source), policy, space)
        note("this is about the words of your own text or list: it is for your own eyes")
        return found


def policy_from(
    policies: list[str], excepts: list[str], settings: dict[str, object]
) -> Policy | None:
    """The policy that was asked for, if any was."""
    from sfumato.cli import options

    if not (policies or excepts or settings):
        return None
    return options.policy_from(policies or ["everything"], excepts, settings)


def levels_from(text: str) -> list[float]:
    """Levels, smallest first, each once.

    >>> levels_from("5, 1,10,5")
    [1.0, 5.0, 10.0]
    """
    try:
        given = [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument(
            f"epsilon={text!r} must be numbers, separated by commas, such as 1,5,10"
        ) from None
    return sorted({positive("epsilon", one) for one in given})


def space_from(vectors: str | None) -> Space:
    """The space that ``--vectors`` names, or the embedded one."""
    from sfumato.vectors.load import NAME, default_space, load

    return default_space() if vectors in (None, NAME) else load(str(vectors))


@contextmanager
def counting(label: str, total: int | None) -> Iterator[Advance]:
    """A bar for work that reports how much was added."""
    reached = 0
    with progress(label, total, unit_is_bytes=False) as advance:

        def done(added: int) -> None:
            nonlocal reached
            reached += added
            advance(reached)

        yield done


def chance(value: float) -> str:
    """A probability for people.

    >>> chance(0.25), chance(0.0004), chance(0.0)
    ('0.250', '4.0e-04', '0.000')
    """
    return f"{value:.1e}" if 0 < value < 0.001 else f"{value:.3f}"


def percent(share: float) -> str:
    """A share in whole per cent.

    >>> percent(0.9)
    '90 %'
    """
    return f"{100 * share:.0f} %"


def with_interval(estimate: Estimate) -> str:
    """A share with its interval; one that is known exactly stands alone."""
    if estimate.draws == 0 and estimate.low == estimate.high:
        return chance(estimate.value)
    return f"{chance(estimate.value)} ({chance(estimate.low)}–{chance(estimate.high)})"


def exposed_table(protection: Protection) -> Table:
    """The least protected words."""
    from rich.table import Table
    from rich.text import Text

    least = "" if protection.exact else "at least "
    table = Table("word", "stays with probability", "outputs (S)", "nearest word", box=None)
    for one in protection.exposed:
        nearest = f"{visible(one.neighbor.word)} at {one.neighbor.distance:.2f}"
        cells = (visible(one.word), with_interval(one.keep), f"{least}{one.outputs:,}", nearest)
        table.add_row(*map(Text, cells))
    return table


def protection_as_dict(protection: Protection) -> dict[str, Any]:
    """For JSON; only the words of the list are named."""
    return {
        "exact": protection.exact,
        "draws_per_word": protection.draws,
        "words": protection.words,
        "keep": {
            **_spread_as_dict(protection.keep),
            "median_low": protection.median.low,
            "median_high": protection.median.high,
            "worst": protection.worst_keep,
            "share_above_0.5": protection.above_half,
            "share_above_0.9": protection.above_nine_tenths,
        },
        "outputs": {
            **_spread_as_dict(protection.outputs),
            "worst": protection.worst_outputs,
            "kind": "exact" if protection.exact else "lower bound",
        },
        "least_protected": [_exposed_as_dict(one) for one in protection.exposed],
    }


def _spread_as_dict(spread: Spread) -> dict[str, float]:
    return {"p10": spread.low, "median": spread.median, "p90": spread.high}


def _exposed_as_dict(one: Exposed) -> dict[str, Any]:
    return {
        "word": one.word,
        "keep": one.keep.value,
        "low": one.keep.low,
        "high": one.keep.high,
        "outputs": one.outputs,
        "nearest": one.neighbor.word,
        "distance": one.neighbor.distance,
    }


def _documents(source: Source) -> Iterator[Document]:
    with progress("reading", source.size) as advance, source.opened() as (chunks, place):
        for chunk in chunks:
            yield from chunk.documents()
            advance(place())
