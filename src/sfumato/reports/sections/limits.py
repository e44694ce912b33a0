"""The guarantee of a release, and what a page does not show.

The guarantee is shown as a sentence and as a table. Every page lists in full what follows from
neither the guarantee nor the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sfumato.guarantees.guarantee import Guarantee
from sfumato.guarantees.summary import strength_of
from sfumato.guarantees.wording import at_most, for_people, name_types, share_in_words, stays_mostly
from sfumato.reports.markup import CellValue, Html, Table, properties, tag
from sfumato.reports.page import Section, bullets, paragraph
from sfumato.reports.studied import Studied

NAME, TITLE = "limits", "What this does not show"

_ALWAYS = (
    "A guarantee covers the computation that is described. It covers neither a file that was "
    "changed afterwards nor other releases of the same data: their losses add up.",
    "What a policy does not find is not protected. How much it misses can be measured on text with "
    "marked spans.",
    "Several words of a text (a name here, a birthday there) may together reveal what each of them "
    "alone hides.",
)
_OF_STUDIES = (
    "An attack that fails proves nothing: another attacker, with other knowledge or more time, may "
    "succeed. Low leakage is 'not found', not 'not there'.",
    "Exposure is measured on made-up secrets of one format, in one sentence each; real secrets "
    "differ.",
    "Figures hold for the corpus, the models and the seeds that are named, not beyond them.",
    "Each interval holds with 95 %, not all of them together: among a hundred some miss.",
    "Levels of different notions of privacy cannot be compared: equal numbers are not equal "
    "privacy.",
    "The two anchors for texts have the policy of the first text method. Words that it does not "
    "find stay in 'random output' too, so a method with a wider policy may lie below it.",
    "Means over seeds are arithmetic, also those of perplexities: one bad run has much weight.",
    "Choosing a method or a level by these figures reveals private information that no guarantee "
    "here covers, unless the corpus is public.",
)
_OF_RUNS = (
    "What a model writes may repeat text that the policy did not find, or text from the corpus of "
    "its pretraining.",
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


def _by_type(guarantee: Guarantee) -> list[Html]:
    """What is proven for each type, at a glance."""
    rows = [
        (
            name_types(part.types),
            strength_of(part.guarantee),
            ", ".join(stays_mostly(part.guarantee)),
        )
        for part in guarantee.parts
    ]
    if not rows:
        return []
    head = ("found as", "what is proven", "mostly stays as it is")
    return [Table(caption="What is proven, by type", head=head, rows=rows).html()]


def guarantee_section(guarantee: Guarantee, further: Sequence[tuple[str, CellValue]]) -> Section:
    """Three lines, the sentence, then a table; ``further`` are lines of its own."""
    level = guarantee.epsilon
    epsilon = "∞ (nothing is proven)" if math.isinf(level) else f"≤ {for_people(level)}"
    # One number over types is in no distance: the table by type has each with its own.
    levels: list[tuple[str, CellValue]] = [("ε", epsilon), ("δ", at_most(guarantee.delta))]
    released = "yes" if guarantee.for_release else "no: the top of this page says why"
    lines: list[tuple[str, CellValue]] = [
        ("may be released", released),
        ("notion of privacy", guarantee.notion.value),
        *([] if guarantee.parts else levels),
        ("unit", guarantee.unit),
        ("neighbors", guarantee.neighbors),
        *([] if guarantee.parts else [("distance", guarantee.metric or "none")]),
        ("holds for", guarantee.scope),
        *further,
    ]
    if guarantee.stays is not None:
        lines.append(("words expected to stay as they are", share_in_words(guarantee)))
    parts: list[Html] = [
        *(paragraph(line) for line in guarantee.summary()),
        *_by_type(guarantee),
        tag("blockquote", {}, tag("p", {}, guarantee.sentence())),
        properties("The guarantee in its parts", lines),
    ]
    return Section(name="guarantee", title="What is guaranteed", parts=parts)
