"""What is proven about a release, and what a page does not show.

The guarantee stands as its sentence and in its parts. What follows from neither the guarantee nor
the figures is said on every page, in full, whether somebody wants to hear it or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.wording import at_most, exact
from sfumato.reports.markup import CellValue, Html, properties, tag
from sfumato.reports.parts import Section, bullets, paragraph
from sfumato.reports.studied import Studied

NAME, TITLE = "limits", "What this does not show"

_ALWAYS = (
    "A guarantee is about the computation that is described, not about a file that was changed "
    "afterwards, and not about other releases of the same data: those add up.",
    "What a policy does not find is not protected. How much it misses can be measured on text with "
    "marked spans.",
    "Words that say the same thing in other places (a name here, a birthday there) may together "
    "tell what each of them hides.",
)
_OF_STUDIES = (
    "An attack that fails proves nothing: another attacker, with other knowledge or more time, may "
    "succeed. Low leakage is 'not found', not 'not there'.",
    "Exposure speaks of made-up secrets of one format, in one sentence each; real ones differ.",
    "Figures are from one corpus, the models and the seeds that are named, and hold there.",
    "Intervals hold with 95 % each, not all together: among a hundred figures some miss.",
    "Levels of different notions cannot be compared: equal numbers are not equal privacy.",
    "The two ends for texts have the policy of the first text method: words that it does not find "
    "stay in 'random output', too, and a method that finds more may lie below it.",
    "Means over seeds are of the figures as they are, also where those are perplexities: one bad "
    "run weighs much.",
    "All levels of a way of training start from the same weights and draw the same noise, only "
    "stronger or weaker. Their figures err together, so a trend over levels of few seeds may be "
    "chance more often than its p-value says.",
    "Choosing a method or a level by these figures spends private information that no guarantee "
    "here counts, unless the corpus is public.",
)
_OF_RUNS = (
    "What a model writes may repeat text that the policy did not find or that stands in the corpus "
    "of its first training.",
    "What was measured on a text is no more private than that text.",
)


def study_limits(study: Studied) -> Section:
    """For a study: what its guarantees leave out, and what attacks cannot say."""
    proven = [one for method in study.methods for one in study.guarantees(method).values()]
    return _section(proven, (*_OF_STUDIES, *_ALWAYS))


def release_limits(guarantee: Guarantee) -> Section:
    """For a privatized file."""
    return _section([guarantee], _ALWAYS)


def run_limits(guarantee: Guarantee) -> Section:
    """For a training run."""
    return _section([guarantee], (*_OF_RUNS, *_ALWAYS))


def _section(proven: list[Guarantee], general: tuple[str, ...]) -> Section:
    parts: list[Html] = []
    uncovered = list(dict.fromkeys(item for one in proven for item in one.uncovered))
    leaks = list(dict.fromkeys(item for one in proven for item in one.leaks))
    if uncovered:
        parts += [paragraph("Not covered by the guarantees above:"), bullets(uncovered)]
    if leaks:
        parts += [paragraph("Still visible in what is released:"), bullets(leaks)]
    parts += [paragraph("And in general:" if parts else "In general:"), bullets(general)]
    return Section(name=NAME, title=TITLE, parts=parts)


def guarantee_section(guarantee: Guarantee, further: Sequence[tuple[str, CellValue]]) -> Section:
    """The sentence, then a table; ``further`` are lines of its own."""
    epsilon = "∞ (nothing is proven)" if math.isinf(guarantee.epsilon) else exact(guarantee.epsilon)
    lines: list[tuple[str, CellValue]] = [
        ("notion of privacy", guarantee.notion.value),
        ("ε", epsilon),
        ("δ", at_most(guarantee.delta)),
        ("unit", guarantee.unit),
        ("neighbors", guarantee.neighbors),
        ("distance", guarantee.metric or "none"),
        ("holds for", guarantee.scope),
        ("may be released", "yes" if guarantee.for_release else "no: see what is still visible"),
        *further,
    ]
    parts: list[Html] = [
        tag("blockquote", {}, tag("p", {}, guarantee.sentence())),
        properties("The guarantee in its parts", lines),
    ]
    return Section(name="guarantee", title="What is guaranteed", parts=parts)
