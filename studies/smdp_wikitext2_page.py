"""The page about ``smdp-wikitext2.toml``: its figures beside tables A.1 to A.3 of the thesis.

    python studies/smdp_wikitext2_page.py STUDY RESOURCES > docs/results/smdp-wikitext2.md

STUDY is the folder that 'sfumato study run' has filled, in part or whole; RESOURCES is what
``SFUMATO_RESOURCES`` was, for the word vectors behind the samples.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import thesis_figures as thesis
from sfumato.core.randomness import Randomness
from sfumato.mechanisms.mechanism import PointMechanism
from sfumato.mechanisms.selective import Selective
from sfumato.mechanisms.vocabulary import OverVocabulary
from sfumato.metrics.deniability import DrawEffort, measure_deniability
from sfumato.metrics.population import frequent_words
from sfumato.releases.privatizer import Privatizer
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row
from sfumato.studies.cell import RELEASE
from sfumato.studies.expected import spoken
from sfumato.studies.folder import DONE, StudyFolder

EXPOSED = "exposure at 10 repetitions (sampled)"
WITHOUT = {"perplexity": thesis.NO_NOISE_PERPLEXITY, EXPOSED: thesis.NO_NOISE_EXPOSURE}
SECRET = "145572"  # planted, and nobody's
# Our own sentences: the corpus may not be copied here.
SENTENCES = ("My ID is 145572.", "The bridge over 12 arches was opened on 3 May 1904 by 36 masons.")
SAMPLED = (8.0, 12.0, 29.0)
WATCHED = 300

Values = dict[tuple[str, float | None], list[float]]


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    parser.add_argument("resources", type=Path, help="the folder with vectors/")
    given = parser.parse_args()
    print(page(StudyFolder(given.study), given.resources), end="")


def page(folder: StudyFolder, resources: Path) -> str:
    """All of it in Markdown."""
    described, rows = folder.study(), folder.rows()
    cells = folder.cells()
    done = [cell for cell in cells if cell.state == DONE]
    model = tomllib.loads(described["file"])["model"]
    tokens = max((row.n or 0 for row in rows if row.metric == "perplexity"), default=0)
    lines = [
        "# The thesis's experiment on WikiText-2, small",
        "",
        f"{described['corpus'][0].upper()}{described['corpus'][1:]}. The model is stories15m (15 "
        "million parameters, trained on simple stories), fine-tuned on privatized text for "
        f"{model['epochs']} epochs in batches of {model['batch_size']} at a rate of "
        f"{model['learning_rate']} that falls to nothing, with rows of at most 256 tokens, and "
        f"measured on {tokens:,} tokens; the thesis fine-tunes GPT-2 small on all of "
        "WikiText-2. The space is GloVe 840B cut down to 33,860 words. Its levels are "
        "not those of the thesis's space, so curves are to be compared, not single levels; "
        "perplexities are far apart because the models are. [SmolLM2](smdp-smollm2.md) is nearer "
        "to GPT-2. Replacements come without capitals, "
        "which the test text has: that is a part of what MDP loses here. "
        f"{len(done)} of {len(cells)} computations are done.",
        "",
        "## Perplexity on untouched test text (table A.2)",
        "",
        *_table(rows, "perplexity", thesis.PERPLEXITY),
        "",
        *_thesis_grid(resources),
        "",
        "## Exposure of the planted secret in bits (table A.3)",
        "",
        "Ours is the rank among 10,000 secrets drawn at random, of 13.3 bits at most; a secret "
        "that was never planted has 1.44 on average. The thesis ranks among all 1,000,000 (19.9 "
        "bits at most), and reports figures between 2.68 and 4.65.",
        "",
        *_table(rows, EXPOSED, thesis.EXPOSURE),
        "",
        "## What becomes of words",
        "",
        "The chance that a frequent word stays as it is (the median word), the overlap of words "
        f'between a paragraph and its privatized version, and how often "{SECRET}", planted ten '
        "times, still stands in the privatized text. It is not in the vocabulary. Under the "
        "thesis's rule such words are kept: the secret stays in the clear at every level.",
        "",
        *_kept(folder, rows),
        "",
        "## Samples (as table A.1)",
        "",
        *_samples(resources),
        "",
        "## Where this was computed",
        "",
        f"    {described['command']}",
        "",
        _where(folder, described),
    ]
    return "\n".join(lines) + "\n"


def _table(rows: list[Row], metric: str, published: Mapping[str, Sequence[float]]) -> list[str]:
    values: Values = defaultdict(list)
    for row in rows:
        if row.metric == metric and row.group is None and row.value is not None:
            values[row.method, row.level].append(row.value)
    levels = sorted({level for _, level in values if level is not None})
    methods = list(dict.fromkeys(method for method, level in values if level is not None))
    shown = sorted({*levels, *map(float, thesis.LEVELS)})
    lines = [
        "| ε | " + " | ".join(f"{level:g}" for level in shown) + " | no noise | untrained |",
        "|---|" + "---|" * (len(shown) + 2),
    ]
    ends = [_spread(values.get((name, None), [])) for name in (NO_PRIVACY, RANDOM_OUTPUT)]
    for method in methods:
        found = [_spread(values.get((method, level), [])) for level in shown]
        lines.append(f"| {method} | " + " | ".join([*found, *ends]) + " |")
    for method, figures in published.items():
        known = dict(zip(map(float, thesis.LEVELS), figures, strict=True))
        found = [f"{known[level]:.2f}" if level in known else "" for level in shown]
        last = [f"{WITHOUT[metric]:.2f}", ""]
        lines.append(f"| {method}, thesis (GPT-2) | " + " | ".join([*found, *last]) + " |")
    return lines


def _thesis_grid(resources: Path) -> list[str]:
    """What the thesis's levels do to words of this space."""
    randomness = Randomness.reproducible(1)
    stays: dict[int, float] = {}
    for place, level in enumerate(thesis.LEVELS):
        points = _mechanism(resources, level)
        words = frequent_words(points.space).some(WATCHED, randomness.stream(0))
        found = measure_deniability(
            points, words, DrawEffort(draws=50), randomness.stream(1 + place)
        )
        stays[level] = float(found.keep.mean())
    middle = thesis.LEVELS[len(thesis.LEVELS) // 2]
    return [
        f"The thesis's levels reach further than this space goes. Of {WATCHED:,} frequent words "
        f"drawn at random, the share that stays as it is, on average: {stays[middle]:.0%} at "
        f"ε = {middle}, and more above; so the upper half of its grid hides next to nothing here.",
        "",
        "| ε of the thesis | " + " | ".join(map(str, stays)) + " |",
        "|---|" + "---|" * len(stays),
        "| words that stay, here | " + " | ".join(f"{one:.1%}" for one in stays.values()) + " |",
    ]


def _mechanism(resources: Path, level: float) -> PointMechanism:
    vectors = str(resources / "vectors" / "glove-840b-300d-34k.npy")
    privatizer = Privatizer(
        policy="everything", mechanism="laplace", epsilon=level, vectors=vectors, seed=1
    )
    selective = privatizer.selective
    assert isinstance(selective, Selective)
    assert isinstance(selective.mechanism, OverVocabulary)
    return selective.mechanism.points


def _spread(values: list[float]) -> str:
    """The mean, with the ends in parentheses if there are several seeds."""
    if not values:
        return ""
    mean = f"{fmean(values):.4g}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.4g}–{max(values):.4g})"


def _kept(folder: StudyFolder, rows: list[Row]) -> list[str]:
    lines = [
        "| method | ε | a word stays | word overlap | the secret is still there |",
        "|---|---|---|---|---|",
    ]
    cells = folder.cells()
    names = list(dict.fromkeys(cell.method for cell in cells))
    for cell in sorted(cells, key=lambda one: (names.index(one.method), one.level or 0)):
        if cell.kind != RELEASE or cell.state != DONE or cell.seed != 1:
            continue
        mine = [
            row for row in rows if (row.method, row.level, row.seed) == (cell.method, cell.level, 1)
        ]
        found = {row.metric: f"{row.value:.3g}" for row in mine if row.value is not None}
        texts = (folder.cell(cell.key) / "text.jsonl").read_text("utf-8").splitlines()
        times = sum(json.loads(line)["text"].count(SECRET) for line in texts)
        level = "" if cell.level is None else f"{cell.level:g}"
        stays, overlap = found.get("chance to stay", ""), found.get("word overlap", "")
        lines.append(f"| {cell.method} | {level} | {stays} | {overlap} | {times} times |")
    return lines


def _samples(resources: Path) -> list[str]:
    vectors = str(resources / "vectors" / "glove-840b-300d-34k.npy")
    lines = ["| method | ε | text |", "|---|---|---|", f"| originals | | {' '.join(SENTENCES)} |"]
    for unknown, said in (("centroid", ""), ("keep", ", unknown words kept")):
        for name, policy in (("MDP", "everything"), ("SMDP", "digits")):
            for level in SAMPLED:
                privatizer = Privatizer(
                    policy=policy, mechanism="laplace", epsilon=level, vectors=vectors,
                    unknown=unknown, seed=1,
                )  # fmt: skip
                text = " ".join(privatizer.privatize(list(SENTENCES)))
                lines.append(f"| {name}{said} | {level:g} | {text.replace('|', '¦')} |")
    return lines


def _where(folder: StudyFolder, described: dict[str, object]) -> str:
    seconds = sum(cell.seconds or 0 for cell in {one.key: one for one in folder.cells()}.values())
    versions = described["versions"]
    machine = described["machine"]
    assert isinstance(versions, dict)  # as written by the study
    assert isinstance(machine, dict)
    said = ", ".join(f"{name} {value}" for name, value in versions.items())
    return (
        f"{spoken(seconds)} of computing in all, on {machine['system']} with "
        f"{machine['processors']} processors; {said}. Printed at commit {commit()}."
    )


def commit() -> str:
    """The commit of the clone that this file is in, marked if it was changed; "" without one."""
    root = Path(__file__).resolve().parents[1]
    if not (root / ".git").exists():
        return ""
    asked = [
        ["rev-parse", "--short=12", "HEAD"],
        ["status", "--porcelain", "-uno", "src", "studies"],
    ]
    try:
        said = [
            subprocess.run(
                ["git", "-C", str(root), *one], capture_output=True, text=True, check=True
            ).stdout.strip()
            for one in asked
        ]
    except (OSError, subprocess.CalledProcessError):
        return ""
    return said[0] + (" with changes" if said[1] else "")


if __name__ == "__main__":
    main()
