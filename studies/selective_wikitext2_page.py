"""The page ``docs/results/selective-wikitext2.md``, from the kept figures of its study.

    python studies/selective_wikitext2_page.py > docs/results/selective-wikitext2.md

Every sentence with a figure is written from ``studies/figures``, or reckoned here; what was not
computed is left out and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kept import Figures, number, shown, steps_of, table, told_apart
from selective_aims import reached
from selective_figures import (
    LARGER,
    LEARNED,
    OTHER,
    OURS_LARGER,
    PERPLEXITY,
    PRIVATE,
    WIKITEXT2,
    epochs_of,
)
from selective_secrets import about_secrets
from selective_tables import main_table
from sfumato.results.row import NO_PRIVACY
from sfumato.studies.expected import spoken
from sfumato.training import Visits

HERE = Path(__file__).parent
FULL = "selective-wikitext2"
MASKED = "masks alone"
# The paragraph with the most numbers that are trained on, and what the paper trains with.
MOST_NUMBERS = 174
PAPER_NOISE, PAPER_EPOCHS, PAPER_DELTA, PAPER_LEVEL = 0.5, 50, 8e-5, 4.91


def main() -> None:
    """Print the page."""
    print("\n".join(page(Figures.read(HERE / "figures" / f"{FULL}.json"))))


def page(full: Figures) -> list[str]:
    """All of it in Markdown."""
    return [
        "# Selective-DPSGD on all of WikiText-2",
        "",
        *introduction(full),
        "",
        *about_levels(full),
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(full)),
        "",
        "## All models",
        "",
        *main_table(full, WIKITEXT2),
        "",
        *below_the_table(),
        "",
        "## What was aimed at",
        "",
        "Reached or missed is the figure, not its interval. Perplexities are per token of GPT-2.",
        "",
        *table(("aim", "found", ""), aims(full)),
        "",
        "## The paper's setting, by both accountings",
        "",
        *accountings(),
        "",
        "## Where this was computed",
        "",
        *where(full),
    ]


def introduction(full: Figures) -> Iterator[str]:
    """What was trained on what."""
    point = full.point(NO_PRIVACY, None, PERPLEXITY)
    tokens = 0 if point is None else point.n
    yield (
        "Shi et al. (2022) train one-layer LSTMs with 200 numbers on WikiText-2, articles of "
        "Wikipedia, without privacy, with DP-SGD and with their Selective-DPSGD, in which only "
        "digits are private. Here are the same network, all 17,556 paragraphs (no headings) to "
        "train on and all 2,185 to measure on, and the policy `digits`, with levels that are "
        "*proven*. Of our decoupled version the public steps come first and read paragraphs with "
        "[made-up numbers](../how-to-train-selectively.md#made-up-values-in-the-place-of-masks) "
        "in the place of the true ones, whose "
        "[forms are learned](../how-to-train-selectively.md#forms-that-are-learned) with a part "
        "of the level."
    )
    yield ""
    yield (
        "The vocabulary has 4,096 tokens, learned from reviews of films "
        "(`studies/public_reviews.py`), where the paper has GPT-2's 50,257: most of the time of a "
        "step goes into the scores of all tokens. The paragraphs measured on have "
        f"{tokens:,} of our tokens, ends included, and {WIKITEXT2.tokens:,} of GPT-2's "
        "(`studies/gpt2_tokens.py`). A perplexity per token of GPT-2 is the same loss of the whole "
        "text shared by that number of tokens; it is what can be set beside the paper's, which may "
        "have counted headings, too."
    )


def about_levels(full: Figures) -> Iterator[str]:
    """What a level is for, and what else differs from the paper."""
    deltas = sorted({run["delta"] for run in full.runs(LEARNED, 3.0)})
    said = f" (δ = {deltas[0]:g}; the paper has 8e-05)" if deltas else ""
    yield (
        "A level of Selective-DPSGD is for the numbers of one paragraph, that of DP-SGD for all of "
        f"a paragraph{said}: equal numbers are not equal privacy. A secret that is planted ten "
        "times stands in several paragraphs, and is protected in each of them, not in all "
        "together. The paper trains 50 to 100 epochs with plain SGD, of rate 20 without privacy "
        "and 0.05 with it, and tunes on the validation set; our settings are in "
        "`studies/selective-wikitext2.toml`. The first were set beforehand; larger steps were "
        "taken after the first models had been measured on the test paragraphs, so that these are "
        "not blind, and that choice is not paid for. The paper's figures "
        "are means of five models each, ± 0.48 without privacy, ± 4.86 for Selective-DPSGD and "
        "± 3.00 for DP-SGD."
    )


def findings(full: Figures) -> Iterator[str]:
    """Sentences about what the tables show."""
    for plain, ours, how in (
        (NO_PRIVACY, LEARNED, "The models that were planned"),
        (LARGER, OURS_LARGER, "Those with steps three times as large"),
    ):
        yield from _both(full, plain, ours, how)
    yield (
        "**The paper** has 60.98 without privacy and 160.04, 2.62 times as much, with "
        "Selective-DPSGD at a level of 4.91 by an accounting that leaves costs out "
        "([below](#the-papers-setting-by-both-accountings))."
    )
    yield from _why_not(full)
    yield from _private_tokens(full)
    yield from _beside_dp_sgd(full)
    yield from about_secrets(full, "numbers of the training text")


def _both(full: Figures, plain: str, ours: str, how: str) -> Iterator[str]:
    """Without privacy and with it, trained alike."""
    free, held = WIKITEXT2.per_token(full, plain, None), WIKITEXT2.per_token(full, ours, 3.0)
    if free is None:
        return
    said = (
        f"**{how}** have a perplexity of {shown(free)} per token of GPT-2 without privacy, after "
        f"{epochs_of(full, plain)} epochs"
    )
    if held is not None:
        said += (
            f", and of {shown(held)} with Selective-DPSGD at a proven ε = 3: "
            f"{number(held.value / free.value)} times that without privacy"
        )
    yield f"{said}."


def _why_not(full: Figures) -> Iterator[str]:
    """What is known of why the paper's perplexities are not reached."""
    free = [WIKITEXT2.per_token(full, one, None) for one in (NO_PRIVACY, LARGER)]
    best = min((one.value for one in free if one is not None), default=0.0)
    if best <= WIKITEXT2.published[NO_PRIVACY][0]:
        return
    said = "**The paper's perplexities are not reached, without privacy either.** "
    if free[0] is not None and free[1] is not None:
        epochs = f"in {epochs_of(full, LARGER)} epochs", f"in {epochs_of(full, NO_PRIVACY)}"
        said += (
            f"Larger steps {epochs[0]} are told from the planned ones {epochs[1]}: the rate is a "
            "part of the reason. "
            if told_apart(free[0], free[1])
            else f"Larger steps {epochs[0]} are not told from the planned ones {epochs[1]}, so the "
            "rate is not the reason. "
        )
    yield said + (
        "Our network has 1.6 million weights in the vectors of its 4,096 tokens, the paper's 20 "
        "million in those of 50,257, and that network reads the text 50 to 100 times. Which of "
        "these matters more has not been computed."
    )


def _private_tokens(full: Figures) -> Iterator[str]:
    said = []
    for name, level, how in (
        (LEARNED, 3.0, "with Selective-DPSGD at ε = 3"),
        (NO_PRIVACY, None, "without privacy"),
        (OURS_LARGER, 3.0, "with Selective-DPSGD and larger steps"),
        (LARGER, None, "without privacy and with larger steps"),
        (MASKED, None, "with masks alone"),
    ):
        secret, other = full.point(name, level, PRIVATE), full.point(name, level, OTHER)
        if secret is not None and other is not None:
            said.append(f"{shown(secret)} on numbers and {shown(other)} on all else {how}")
    if len(said) > 1:
        yield (
            "**Numbers are a small part**, so that most of a perplexity is of public text. Per "
            f"token of our own it is {'; '.join(said)}."
        )


def _beside_dp_sgd(full: Figures) -> Iterator[str]:
    said = [
        f"{shown(point)} at ε = {level:g} in {steps_of(full.runs('DP-SGD', level))} steps"
        for level in (3.0, 8.0)
        if (point := WIKITEXT2.per_token(full, "DP-SGD", level)) is not None
    ]
    if said:
        yield (
            f"**DP-SGD on everything** has {', '.join(said)}, per token of GPT-2; the paper has "
            "305.86 at 4.89."
        )


def below_the_table() -> Iterator[str]:
    """What the columns mean."""
    yield (
        "In parentheses the 95 % interval over paragraphs; there is one seed, and another one "
        "would give other figures. *Per token of the paper* is per token of GPT-2; all other "
        "perplexities are per token of our own vocabulary, and so is top-1, which the paper's is "
        "not. The paper's figures stand beside the methods that are nearest; its Selective-DPSGD "
        "is *interleaved*, and has neither made-up values nor forms that are learned."
    )


def aims(full: Figures) -> Iterator[tuple[str, str, str]]:
    """What was to be reached, what was, and whether it was."""
    for name in (NO_PRIVACY, LARGER):
        plain = WIKITEXT2.per_token(full, name, None)
        yield f"{name}: towards the paper's 60.98", shown(plain), reached(plain, most=60.98)
    for name in (LEARNED, OURS_LARGER):
        ours = WIKITEXT2.per_token(full, name, 3.0)
        yield f"{name}, at a proven ε = 3: below 160", shown(ours), reached(ours, most=160.0)
    for level in (3.0, 8.0):
        point = WIKITEXT2.per_token(full, "DP-SGD", level)
        yield f"DP-SGD at ε = {level:g}: below 306", shown(point), reached(point, most=306.0)


def accountings() -> Iterator[str]:
    """What the paper prints of its own setting, and what is proven of it."""
    yield (
        f"The paper trains with σ = {PAPER_NOISE} for {PAPER_EPOCHS} epochs and prints ε = "
        f"{PAPER_LEVEL} at δ = 8e-05. That accounts for the gradients of random batches, takes "
        "these batches for secret and counts no states; but public steps on the same paragraphs "
        "have no noise and show which they are, and a paragraph with K numbers is in K private "
        "steps of each epoch and releases K states. "
        "[What is proven](../how-to-train-selectively.md#interleaved) of the same noise, for a "
        f"paragraph with one number and for that with the most, which has {MOST_NUMBERS}:"
    )
    yield ""
    head = (
        *("numbers in the paragraph", "state after a number", "ε printed", "ε proven"),
        f"σ that proves {PAPER_LEVEL}",
    )
    yield from table(head, _visits())
    yield ""
    yield (
        "The proof takes every number of a paragraph as private at once. Our decoupled version has "
        "no states to release, and its batches are secret, since no public step shows them: that "
        "is why its level is proven with little noise."
    )


def _visits() -> Iterator[tuple[str, ...]]:
    for numbers in (1, MOST_NUMBERS):
        for state, called in (("noise", "clipped, with noise"), ("reset", "forgotten")):
            visits = Visits(epochs=PAPER_EPOCHS, stretches=numbers, state=state)
            yield (
                *(str(numbers), called, f"{PAPER_LEVEL}"),
                number(visits.epsilon(PAPER_NOISE, delta=PAPER_DELTA)),
                number(visits.noise_for(PAPER_LEVEL, delta=PAPER_DELTA)),
            )


def where(full: Figures) -> Iterator[str]:
    """Commands, time, and what is missing."""
    yield "```sh"
    yield "python studies/public_reviews.py RESOURCES/data/imdb-15k/train.jsonl.gz REVIEWS"
    yield (
        "SFUMATO_RESOURCES=RESOURCES SFUMATO_REVIEWS=REVIEWS sfumato study run "
        f"studies/{FULL}.toml --workers 2 --allow-path RESOURCES --allow-path REVIEWS"
    )
    yield "```"
    yield ""
    took, cells = spoken(full.content["cpu_seconds"]), full.content["cells"]
    yield f"{full.content['done']} of {cells} cells, {took} of processor time."
    missing = full.missing()
    if missing:
        yield ""
        yield f"Not computed yet: {'; '.join(missing)}."


if __name__ == "__main__":
    main()
