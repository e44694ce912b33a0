"""The guarantee of a release, and what a page does not show.

The guarantee is shown as a sentence and as a table. Every page lists in full what follows from
neither the guarantee nor the figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.charts.numbers import count_things
from sfumato.core.errors import BadInput, SfumatoError
from sfumato.guarantees.guarantee import SEED_LEAK, Guarantee, Part
from sfumato.guarantees.wording import (
    at_most,
    for_people,
    name_types,
    says_it_stays,
    share_in_words,
    stays_mostly,
)
from sfumato.reports.page import (
    NO,
    YES,
    Block,
    CellValue,
    Explained,
    Question,
    Quote,
    Section,
    Table,
    Verdict,
    bullets,
    paragraph,
    properties,
)
from sfumato.reports.studied import Studied
from sfumato.reports.words import protected_what, proven_in_words

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
    "Whether a method leaks less than no privacy is told by intervals of 90 %: if these do not "
    "meet, each errs towards the other about one time in twenty. The drawn intervals, of 95 %, "
    "may touch.",
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
_OF_SYNTHETIC = (
    "A generator may know texts from elsewhere, by its pool or its pretraining; if a private "
    "record is among them, no vote was needed to give it away.",
    "What many records have in common can be read off the corpus: that is what it is for.",
    "What a classifier learns from it need not hold for the records it was made from.",
)


def study_limits(study: Studied) -> Section:
    """For a study: what its guarantees leave out, and what attacks cannot say."""
    proven = [one for method in study.methods for one in study.guarantees(method).values()]
    return _section(proven, (*_OF_STUDIES, *_ALWAYS))


def release_limits(guarantee: Guarantee) -> Section:
    """For a privatized file."""
    return _section([guarantee], _ALWAYS)


def synthetic_limits(guarantee: Guarantee) -> Section:
    """For a synthetic corpus; no policy has looked for anything."""
    return _section([guarantee], (*_OF_SYNTHETIC, _ALWAYS[0]))


def run_limits(guarantee: Guarantee) -> Section:
    """For a training run."""
    return _section([guarantee], (*_OF_RUNS, *_ALWAYS))


def _section(proven: list[Guarantee], general: tuple[str, ...]) -> Section:
    parts: list[Block] = []
    uncovered = list(dict.fromkeys(item for one in proven for item in one.uncovered))
    leaks = list(dict.fromkeys(item for one in proven for item in one.leaks))
    if uncovered:
        parts += [paragraph("Not covered by the guarantees above:"), bullets(uncovered)]
    if leaks:
        parts += [paragraph("Still visible in what is released:"), bullets(leaks)]
    parts += [paragraph("And in general:" if parts else "In general:"), bullets(general)]
    return Section(name=NAME, title=TITLE, parts=parts)


def last_questions(
    guarantee: Guarantee, limits: Section, made: Section, how: str
) -> tuple[Question, Question]:
    """What could go wrong, and how it was made: the last two of a page about one release."""
    uncovered = count_things(len(guarantee.uncovered), "thing")
    wrong = Question(
        name="wrong",
        title="What could go wrong?",
        answer=f"{uncovered} not covered, {len(guarantee.leaks):,} still visible.",
        sections=[limits],
    )
    return wrong, Question(name="made", title="How was it made?", answer=how, sections=[made])


def read_guarantee(content: Mapping[str, Any], path: Path) -> Guarantee:
    """The guarantee in what a release or a run has written."""
    try:
        return Guarantee.from_dict(content["guarantee"])
    except (SfumatoError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{path} holds no guarantee that can be read") from None


def three_sentences(guarantee: Guarantee, found: str) -> list[tuple[str, str]]:
    """What is protected and what is not, what was found by attack, what to decide."""
    protected, left, follows = guarantee.summary()
    return [
        ("Protected:", f"{_PROTECTED.sub('', protected)} {left}"),
        ("Found by attack:", found),
        ("To decide:", follows.removeprefix("Next: ")),
    ]


_PROTECTED = re.compile(r"^Protected(: | by type\. )")


def at_a_glance(guarantee: Guarantee) -> Table:
    """A row for all, or one for each type: protected what, proven, what stays, fit or not."""
    parts = guarantee.parts or (Part((), guarantee),)
    of_words = bool(guarantee.parts) or bool(guarantee.metric) or guarantee.stays is not None
    rows: list[tuple[CellValue, ...]] = [
        (
            name_types(part.types) if guarantee.parts else "all of it",
            protected_what(part.guarantee),
            Explained(proven_in_words(part.guarantee), part.guarantee.sentence()),
            *(
                [", ".join(stays_mostly(part.guarantee)) or _stays(part.guarantee)]
                if of_words
                else []
            ),
            _fit(guarantee, part.guarantee),
        )
        for part in parts
    ]
    stays = ["mostly stays as it is"] if of_words else []
    named = "found as" if guarantee.parts else "of"
    head = [named, "protects", "proven", *stays, "fit for release?"]
    by_type = ", by type" if guarantee.parts else ""
    return Table(caption=f"What is proven{by_type}", head=head, rows=rows, cards=True)


def _stays(guarantee: Guarantee) -> str:
    return (
        "not known to" if guarantee.stays is None else f"{share_in_words(guarantee)} of the words"
    )


def _fit(whole: Guarantee, part: Guarantee) -> Verdict:
    if math.isinf(part.epsilon):
        return Verdict(NO, "nothing is proven.")
    if SEED_LEAK in whole.leaks:
        return Verdict(NO, "it was made with a seed.")
    if not whole.for_release:
        return Verdict(NO, "the top of this page says why.")
    if says_it_stays(part):
        return Verdict(NO, f"{share_in_words(part)} of the words stay as they are.")
    return Verdict(YES, "as far as the proof goes; what was not found is not protected.")


def guarantee_section(guarantee: Guarantee, further: Sequence[tuple[str, CellValue]]) -> Section:
    """The exact sentence, then a table; ``further`` are lines of its own."""
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
    parts: list[Block] = [
        Quote(words=(guarantee.sentence(),)),
        properties("The guarantee in its parts", lines),
    ]
    return Section(name="guarantee", title="What is guaranteed", parts=parts)
