"""The page ``docs/results/selective-customersim.md``, from the kept figures of its studies.

    python studies/selective_page.py > docs/results/selective-customersim.md

Every sentence with a figure is written from ``studies/figures``; what was not computed is left out
and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kept import Figures, number, shown, steps_of, table
from selective_aims import aims
from selective_alone import about_one_secret
from selective_figures import (
    AUC,
    CUSTOMERSIM,
    DP_SGD,
    FILLED,
    FORMED,
    LARGE_BATCHES,
    LEARNED,
    LONGER,
    OTHER,
    OURS,
    PERPLEXITY,
    PLANTED,
    PRIVATE,
    SECRETS,
    epochs_of,
    most_together,
)
from selective_secrets import about_secrets
from selective_tables import main_table
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.expected import spoken

HERE = Path(__file__).parent
FULL = "selective-customersim"
SEARCH = "selective-schedule"
START = "selective-customersim-start"
ALONE = "selective-customersim-secret"
OWN = "selective-customersim-lone"


def main() -> None:
    """Print the page."""
    names = (FULL, SEARCH, START, ALONE, OWN)
    print("\n".join(page(*(Figures.read(HERE / "figures" / f"{one}.json") for one in names))))


def page(full: Figures, search: Figures, start: Figures, alone: Figures, own: Figures) -> list[str]:
    """All of it in Markdown."""
    return [
        "# Selective-DPSGD on all of CustomerSim",
        "",
        *introduction(full),
        "",
        *about_levels(full),
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(full, start)),
        "",
        "## All models",
        "",
        *main_table(full, CUSTOMERSIM),
        "",
        *below_the_table(full),
        "",
        "## From a public start",
        "",
        *from_a_start(start),
        "",
        "## One secret alone",
        "",
        *about_one_secret(alone, own),
        "",
        "## What was aimed at",
        "",
        "Reached or missed is the figure, not its interval. Perplexities are per token of the "
        "paper.",
        "",
        *table(("aim", "found", ""), aims(full, start, own)),
        "",
        *about_members(full),
        "",
        f"An exposure of 15 is near the most that {PLANTED} secrets with one beginning can have on "
        f"average: {most_together(PLANTED):.1f}, if a model held them for the {PLANTED} likeliest "
        f"of all {SECRETS:,}. The paper plants one, whose exposure can be {most_together(1):.1f}.",
        "",
        "## How the schedule was searched",
        "",
        *about_the_search(search),
        "",
        "## Where this was computed",
        "",
        *where(full, search, start, alone, own),
    ]


def about_members(full: Figures) -> Iterator[str]:
    """Whether an AUC near 0.5 says anything: only if there is more without privacy."""
    plain = full.point(NO_PRIVACY, None, AUC)
    if plain is not None and plain.low is not None and plain.low <= 0.5:
        yield (
            f"Without privacy the AUC is {shown(plain)}, which is not told from 0.5, either: that "
            "it is near 0.5 with Selective-DPSGD shows little."
        )


def introduction(full: Figures) -> Iterator[str]:
    """What was trained on what."""
    point = full.point(NO_PRIVACY, None, PERPLEXITY)
    tokens = 0 if point is None else point.n
    yield (
        "Shi et al. (2022) train one-layer LSTMs with 200 numbers on 10,000 dialogues of a shop "
        "with its customers, without privacy, with DP-SGD and with their Selective-DPSGD, in "
        "which only names, addresses, phone, order and tracking numbers are private. Here are the "
        "same network and as many dialogues of the authors' generator, in which the policy `pii` "
        "says what is private, with the levels that are *proven*: the paper's own accounting "
        "leaves costs out ([why](../how-to-train-selectively.md#interleaved)). Of our "
        "decoupled version the public steps read dialogues in which [made-up names and "
        "numbers](../how-to-train-selectively.md#made-up-values-in-the-place-of-masks) stand in "
        "the place of the true ones."
    )
    yield ""
    yield (
        "The vocabulary has 1,024 tokens, learned from generated dialogues "
        "(`studies/public_dialogues.py`), where the paper's code has GPT-2's 50,257 and one for "
        "each of the two speakers: most of the time of a step goes into the scores of all tokens. "
        f"The 1,000 dialogues measured on have {tokens:,} of our tokens, ends included, and "
        f"{CUSTOMERSIM.tokens:,} as that code counts them, which reads turns without the ends of "
        "their lines (`studies/gpt2_tokens.py`). A perplexity per token of the paper is the same "
        "loss of the whole text shared by that number of tokens; it is what can be set beside the "
        "paper's. "
        "The paper's own dialogues were not at hand: these are of the same generator."
    )


def about_levels(full: Figures) -> Iterator[str]:
    """What a level is for, and what else differs from the paper."""
    deltas = sorted({run["delta"] for run in full.runs(OURS, 3.0)})
    said = f" (δ = {deltas[0]:g}; the paper has 8e-05)" if deltas else ""
    yield (
        "A level of Selective-DPSGD is for what the policy finds in one dialogue, that of DP-SGD "
        f"for all of a dialogue{said}: equal numbers are not equal privacy, and nothing covers "
        "what the policy misses. A secret that is planted ten times stands in several dialogues, "
        "and is protected in each of them, not in all together. "
        "The commands that the authors published make batches of 3 dialogues and 50 epochs for "
        "Selective-DPSGD, 1 and 100 for DP-SGD, and 16 dialogues without privacy; ours "
        "are in `studies/selective-customersim.toml`. The paper's figures are means of five models "
        "each, ± 0.01 without privacy, ± 0.91 for Selective-DPSGD and ± 0.76 for DP-SGD."
    )


def findings(full: Figures, start: Figures) -> Iterator[str]:
    """Sentences about what the table shows."""
    plain, ours = (
        CUSTOMERSIM.per_token(full, NO_PRIVACY, None),
        CUSTOMERSIM.per_token(full, OURS, 3.0),
    )
    if plain is not None and ours is not None:
        yield (
            f"**At ε = 3, Selective-DPSGD has a perplexity of {shown(ours)} per token of the "
            f"paper**, {number(ours.value / plain.value)} times the {shown(plain)} without "
            "privacy. The paper has 10.42 at a level of 2.74 by its accounting, with both kinds of "
            "steps in turns and without made-up values, and 3.06 without privacy."
        )
    yield from _with_learned_forms(full, plain)
    yield from _with_forms(full, plain)
    yield from _beside_no_noise(full)
    yield from _beside_masks(full)
    yield from _in_turns(full)
    yield from _beside_dp_sgd(full, start)
    yield from about_secrets(full, "names of customers")


def _with_learned_forms(full: Figures, plain: SeriesPoint | None) -> Iterator[str]:
    learned = CUSTOMERSIM.per_token(full, LEARNED, 3.0)
    if learned is None or plain is None:
        return
    yield (
        "**Where the forms of made-up numbers are learned privately** "
        "([how](../how-to-train-selectively.md#forms-that-are-learned)), from a noisy histogram of "
        "forms such as ten capitals or digits that is a part of the same level, it has "
        f"{shown(learned)}, {number(learned.value / plain.value)} times that without privacy. "
        f"{_more_steps(full)}"
        "Nobody has to know the forms, and what is read off the dialogues is paid for. It was "
        "built after the model with public forms, which comes next, had been measured."
    )


def _more_steps(full: Figures) -> str:
    learned, ours = (steps_of(full.runs(one, 3.0)) for one in (LEARNED, OURS))
    if learned == ours:
        return ""
    return f"It takes {learned} private steps, where the one above takes {ours}. "


def _with_forms(full: Figures, plain: SeriesPoint | None) -> Iterator[str]:
    formed = CUSTOMERSIM.per_token(full, FORMED, 3.0)
    if formed is None or plain is None:
        return
    yield (
        "**Where the forms of numbers are public** (ten capitals or digits for a tracking number), "
        f"it has {shown(formed)}, {number(formed.value / plain.value)} times that without privacy, "
        "at the same level. These forms were read off the dialogues, whose generator is published; "
        "a firm knows its own. The idea came after the model above had been measured type by type "
        "on 120 of the test dialogues, where codes stood out."
    )


def _beside_no_noise(full: Figures) -> Iterator[str]:
    ours, filled = full.point(OURS, 3.0, PRIVATE), full.point(FILLED, None, PRIVATE)
    plain = full.point(NO_PRIVACY, None, PRIVATE)
    if ours is None or filled is None or plain is None:
        return
    others = [full.point(name, level, OTHER) for name, level in ((OURS, 3.0), (FILLED, None))]
    steps = steps_of(full.runs(OURS, 3.0))
    yield (
        "**What private steps are for** shows on private tokens: their perplexity is "
        f"{shown(filled)} with made-up values and no private step, {shown(ours)} with {steps} "
        f"private steps at ε = 3, and {shown(plain)} without privacy. On all other tokens it is "
        f"{shown(others[1])} without private steps and {shown(others[0])} with them. The model "
        "without private steps read an epoch more, of dialogues that the mechanism `surrogate` "
        "rewrote."
    )


def _beside_masks(full: Figures) -> Iterator[str]:
    ours, masks = (
        CUSTOMERSIM.per_token(full, OURS, 3.0),
        CUSTOMERSIM.per_token(full, f"{OURS}, masks", 3.0),
    )
    if ours is None or masks is None:
        return
    secret = full.point(f"{OURS}, masks", 3.0, PRIVATE), full.point(OURS, 3.0, PRIVATE)
    yield (
        f"**Made-up values in the place of masks** take the perplexity from {shown(masks)} to "
        f"{shown(ours)}, and on private tokens, in our own, from {shown(secret[0])} to "
        f"{shown(secret[1])}; all else is equal, the guarantee too{_other_seeds(full)}."
    )


def _in_turns(full: Figures) -> Iterator[str]:
    """The method as published, beside our version of it on text with the same masks."""
    masks = f"{OURS}, masks"
    turns, apart = (CUSTOMERSIM.per_token(full, name, 3.0) for name in ("interleaved", masks))
    if turns is None or apart is None:
        return
    parts = [
        f"{shown(full.point(name, 3.0, PRIVATE))} on private tokens and "
        f"{shown(full.point(name, 3.0, OTHER))} on all others"
        for name in ("interleaved", masks)
    ]
    yield (
        "**With both kinds of steps in turns**, as published, on text with masks, it has "
        f"{shown(turns)} at a proven ε = 3: {parts[0]}, per token of our own. With the public "
        f"steps first it is {shown(apart)}, {parts[1]}. A dialogue with several private places "
        "takes part in as many private steps, and batches are no secret "
        "([why](../how-to-train-selectively.md#interleaved)): the noise that proves this level "
        "leaves little of them."
    )


def _other_seeds(full: Figures) -> str:
    masks, ours = _seeds(full, f"{OURS}, masks"), _seeds(full, OURS)
    return "" if masks == ours else f", but not the seeds: {masks} with masks, {ours} without"


def _seeds(full: Figures, method: str) -> int:
    return len({run["seed"] for run in full.runs(method, 3.0)})


def _beside_dp_sgd(full: Figures, start: Figures) -> Iterator[str]:
    kinds = (
        (full, DP_SGD, "from random weights"),
        (start, DP_SGD, "from a public start"),
        (start, LARGE_BATCHES, "from a public start and with four times as large batches"),
    )
    said = [
        f"{shown(point)} at ε = {level:g} {how} in {steps_of(figures.runs(name, level))} steps"
        for figures, name, how in kinds
        for level in (3.0, 8.0)
        if (point := CUSTOMERSIM.per_token(figures, name, level)) is not None
    ]
    if said:
        before = CUSTOMERSIM.per_token(start, RANDOM_OUTPUT, None)
        alone = "" if before is None else f" The start by itself has {shown(before)}."
        yield (
            f"**DP-SGD on everything** has {', '.join(said)}, per token of the paper, which "
            f"has 11.82 at a level of 2.51 by its accounting, from random weights.{alone}"
        )


def below_the_table(full: Figures) -> Iterator[str]:
    """What the columns mean."""
    longer = (
        f"*Longer* is {epochs_of(full, LONGER)} epochs in the place of "
        f"{epochs_of(full, NO_PRIVACY)}. "
        if full.runs(LONGER, None)
        else ""
    )
    yield (
        "In parentheses the 95 % interval, over dialogues and, where there are several, over "
        "seeds. The paper's figures stand beside the methods that are nearest; its Selective-DPSGD "
        "is *interleaved*. All perplexities but those of one column are per token of our "
        "own vocabulary, and so is top-1, which the paper's is not. "
        f"{longer}"
        "*Made-up values alone* trains without noise on dialogues that the mechanism `surrogate` "
        "has rewritten; *masks alone* on dialogues with masks. Neither proves anything of what "
        "the policy misses."
    )


def from_a_start(start: Figures) -> Iterator[str]:
    """Models that had read other dialogues before."""
    yield (
        "The same network after reading 6,000 generated dialogues twice (`public_dialogues.py`), "
        "whose sentences are others and whose names and numbers come from the package's own "
        "lists, and then trained here (`studies/selective-customersim-start.toml`)."
    )
    yield ""
    yield from main_table(start, CUSTOMERSIM) if start.places() else ["Not computed yet."]
    if start.point(RANDOM_OUTPUT, None, PERPLEXITY) is not None:
        yield ""
        yield "*Random output* is the start itself, which has read none of these dialogues."
    if start.runs(LARGE_BATCHES, 8.0):
        yield ""
        yield (
            "*Large batches* are of 2,000 dialogues, in ten passes at a rate of 0.004, where "
            "DP-SGD otherwise has 500 in four passes at 0.002: larger batches make the noise "
            "smaller beside the sum of all steps, and take more time. No rate was searched."
        )


def about_the_search(search: Figures) -> Iterator[str]:
    """The settings that were tried, on generated dialogues."""
    yield (
        "On 2,000 generated dialogues of another seed, of which the first eight lines each were "
        "read, so that it costs no privacy (`studies/selective-schedule.toml`). The level there, "
        "60, has about as much noise beside a mean gradient as ε = 3 has with 10,000 dialogues. "
        "One seed: intervals are over 200 dialogues."
    )
    yield ""
    lines = (
        (
            name,
            *(shown(search.point(name, level, one)) for one in (PERPLEXITY, PRIVATE, OTHER)),
        )
        for name, level in search.places()
    )
    yield from table(("setting", "perplexity", "private tokens", "other tokens"), lines)


def where(
    full: Figures, search: Figures, start: Figures, alone: Figures, own: Figures
) -> Iterator[str]:
    """Commands, time, and what is missing."""
    yield "```sh"
    yield "python studies/public_dialogues.py PUBLIC"
    for name in (FULL, START, ALONE, OWN):
        yield (
            f"SFUMATO_RESOURCES=RESOURCES SFUMATO_PUBLIC=PUBLIC sfumato study run "
            f"studies/{name}.toml --workers 2 --allow-path RESOURCES --allow-path PUBLIC"
        )
    yield (
        f"SFUMATO_PUBLIC=PUBLIC sfumato study run studies/{SEARCH}.toml --workers 2 "
        "--allow-path PUBLIC"
    )
    yield "```"
    yield ""
    studies = {
        "study": full,
        "public start": start,
        "secret in dialogues": alone,
        "secret in documents of its own": own,
        "search": search,
    }
    for said, one in studies.items():
        took, cells = spoken(one.content["cpu_seconds"]), one.content["cells"]
        yield f"The {said}: {one.content['done']} of {cells} cells, {took} of processor time."
    yield "What a model took before it was interrupted is not counted."
    yield "It was computed in parts, on several machines, whose times do not compare."
    missing = [*full.missing(), *(f"from a public start, {one}" for one in start.missing())]
    for how, one in (("in dialogues", alone), ("in documents of its own", own)):
        missing += [f"with one secret {how}, {said}" for said in one.missing()]
    if missing:
        yield ""
        yield f"Not computed yet: {'; '.join(missing)}."


if __name__ == "__main__":
    main()
