"""The pages ``docs/results/equal-leakage*.md`` and their charts, from the kept figures.

    python studies/equal_leakage_page.py > docs/results/equal-leakage.md
    python studies/equal_leakage_sst2_page.py > docs/results/equal-leakage-sst2.md

Every sentence with a figure is written from ``studies/figures``; what was not computed is left out
and listed at the end. What differs between corpora is a ``Subject``; sentences speak of dialogues,
and of another corpus that word is another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from equal_leakage import (
    EXPOSED,
    MEMBER,
    PERPLEXITY,
    complete,
    draw,
    places,
    point,
)
from equal_leakage_findings import findings
from equal_leakage_subjects import CUSTOMERSIM, Subject
from equal_leakage_tables import everything, middle, same_number, section
from kept import TRAINING, Figures, shown
from sfumato.reports.picture import draw_file
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.expected import spoken

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "studies" / "figures"
IMAGES = Path("docs/images")
# Charts by the ends of their names: what they show, the title of an axis, and what is said of them.
CHARTS = {
    "secrets": (
        *(EXPOSED, "leaks more: bits of exposure of a planted secret"),
        "Perplexity against exposure of planted secrets, by method",
    ),
    "dialogues": (
        *(MEMBER, "leaks more: AUC of membership of a dialogue"),
        "Perplexity against membership of dialogues, by method",
    ),
}


def main() -> None:
    """Print the page and write its charts."""
    found, pool = (Figures.read(FIGURES / f"{CUSTOMERSIM.file}{end}.json") for end in ("", "-pool"))
    write_charts(found)
    print("\n".join(page(found, pool)))


def write_charts(found: Figures, subject: Subject = CUSTOMERSIM) -> None:
    """Write them where the docs have them."""
    for name, content in charts(found, subject).items():
        (ROOT / IMAGES / name).write_bytes(content)


def charts(found: Figures, subject: Subject = CUSTOMERSIM) -> dict[str, bytes]:
    """The charts by the names of their files."""
    whole = complete(found)
    drawn = {}
    for kind, (metric, title, told) in CHARTS.items():
        sheet = draw(whole, metric, subject.named(title))
        if sheet is not None:
            drawn[chart_file(subject, kind)] = draw_file(sheet, subject.named(told))
    return drawn


def chart_file(subject: Subject, kind: str) -> str:
    """The name of a chart's file.

    >>> chart_file(CUSTOMERSIM, "secrets")
    'equal-leakage-secrets.svg'
    """
    return f"{subject.file}-{subject.named(kind)}.svg"


def _picture(subject: Subject, kind: str) -> str:
    return f"![{CHARTS[kind][2]}](../images/{chart_file(subject, kind)})"


def page(computed: Figures, public: Figures, subject: Subject = CUSTOMERSIM) -> list[str]:
    """All of it in Markdown; ``public`` has what the whole public pool is worth."""
    return [subject.named(line) for line in _lines(computed, public, subject)]


def _lines(computed: Figures, public: Figures, subject: Subject) -> list[str]:
    found = complete(computed)
    pool = public.point(NO_PRIVACY, None, PERPLEXITY)
    return [
        f"# {subject.title}",
        "",
        *introduction(found, subject),
        "",
        _picture(subject, "secrets"),
        "",
        "*Better is up and left. Lines across marks are 95 % intervals over secrets and seeds; a "
        "hollow mark is a leakage that is not told from chance, so only its upper end says "
        "anything. Of made-up values and masks, the level is the recall of the policy. “Votes "
        "of noise” are synthetic text for which no private dialogue was read. "
        f"{subject.other_pools} are in the tables only.*",
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(found, pool)),
        "",
        "## Where secrets are not told from chance",
        "",
        *section(found, [EXPOSED], pool),
        "",
        "## Where dialogues are not told from chance, either",
        "",
        *section(found, [EXPOSED, MEMBER], pool),
        "",
        _picture(subject, "dialogues"),
        "",
        "## At the same middle leakage",
        "",
        *middle(found),
        "",
        "## Equal numbers are not equal privacy",
        "",
        *same_number(found),
        "",
        "## Every level",
        "",
        *everything(found),
        "",
        "## Where this was computed",
        "",
        *where(computed, subject),
    ]


def introduction(found: Figures, subject: Subject) -> Iterator[str]:
    """What was asked, and how it was measured."""
    exposed = found.point(NO_PRIVACY, None, EXPOSED)
    units = exposed.n if exposed is not None else 0
    yield (
        "Papers compare two or three methods, each with attacks and corpora of its own. Here every "
        "method of this package ends in the same thing, a language model of the same dialogues, so "
        "that one attack and one figure of utility serve all of them: what does each cost, where "
        "they leak equally much? "
        f"{subject.texts.format(secrets=units)}; {_seeds(found)}. "
        f"{subject.utility.format(held=_held(found))}"
    )
    yield ""
    yield (
        "Leakage is measured twice. *Exposure* asks for the planted secrets: a secret that was "
        "never planted has 1.44 bits on average, and 19.9 is the most. *Membership* asks for "
        f"dialogues: how well does the loss tell the {subject.count:,} from {subject.count:,} "
        "others, "
        "which have the same secrets planted in them (AUC, 0.5 by chance)? "
        f"A model without privacy has {shown(exposed)} bits, an AUC of "
        f"{shown(found.point(NO_PRIVACY, None, MEMBER))} and a perplexity of "
        f"{shown(found.point(NO_PRIVACY, None, PERPLEXITY))}; the public model that all begin with "
        f"has {shown(found.point(RANDOM_OUTPUT, None, EXPOSED))}, "
        f"{shown(found.point(RANDOM_OUTPUT, None, MEMBER))} and "
        f"{shown(found.point(RANDOM_OUTPUT, None, PERPLEXITY))}. All intervals are of 95 %, over "
        "secrets or dialogues and seeds; two perplexities are told apart if their intervals at "
        "90 % do not meet. **Neither attack proves anything**: a better one would find more, and "
        "what is proven is in the column of that name."
    )


def _held(found: Figures) -> str:
    """In how many dialogues the policy finds something: these are protected selectively."""
    counts = {
        run["units"]
        for place in places(found)
        if place.base == "Selective-DPSGD" and place.recall is None
        for run in found.runs(place.method, place.level)
    }
    return " to ".join(f"{one:,}" for one in sorted(counts)) or "some"


def _seeds(found: Figures) -> str:
    counts = sorted(
        one.seeds for place in places(found) if (one := point(found, place, PERPLEXITY)) is not None
    )
    if not counts:
        return "no seed yet"
    if counts[-1] == 1:
        return (
            "one seed, so that intervals are those of the secrets, dialogues and test texts that "
            "were looked at, and cover nothing of what another run would give"
        )
    few = f"{counts[0]} to {counts[-1]}" if counts[0] < counts[-1] else f"{counts[0]}"
    return f"{few} seeds, all with the same secrets"


def where(found: Figures, subject: Subject) -> Iterator[str]:
    """The commands, time, what is missing and what was not asked."""
    yield "```sh"
    yield from subject.commands
    yield "```"
    yield ""
    done, cells = found.content["done"], found.content["cells"]
    took = spoken(found.content["cpu_seconds"])
    if found.content.get("elsewhere"):
        yield (
            f"{done} of {cells} cells, {took} of processor time, in parts on several machines that "
            "others used, too; their times do not compare, and of one of them only training is "
            "counted."
        )
    else:
        yield (
            f"{done} of {cells} cells, {took} of processor time, on a machine that others used, "
            "too."
        )
    yield ""
    yield subject.looked_at
    seeds = sorted({row.seed for row in complete(found).rows})
    missing = [one for one in found.content["missing"] if one.endswith(TRAINING)]
    later = sorted({int(one.removesuffix(TRAINING).rpartition(" ")[2]) for one in missing})
    left_out = [f"{one}" for one in later if one not in seeds]
    if left_out:
        yield ""
        yield (
            f"The study asks for more than what is shown: seed{'s' * (len(left_out) > 1)} "
            f"{' and '.join(left_out)} {'are' if len(left_out) > 1 else 'is'} not finished and "
            "left out, so that all methods have the same seeds."
        )
    mine = [one for one in missing if int(one.removesuffix(TRAINING).rpartition(" ")[2]) in seeds]
    if mine:
        yield ""
        yield f"Not computed yet: {'; '.join(mine)}."
    yield ""
    yield subject.caveat.format(held=_held(found))


if __name__ == "__main__":
    main()
