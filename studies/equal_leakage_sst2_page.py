"""The page ``docs/results/equal-leakage-sst2.md`` and its charts (``equal_leakage_page``).

python studies/equal_leakage_sst2_page.py > docs/results/equal-leakage-sst2.md
"""

from __future__ import annotations

from collections.abc import Iterator

import equal_leakage_page as dialogues
from equal_leakage import PERPLEXITY
from equal_leakage_subjects import SST2
from kept import Figures, shown, table
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT

SEARCH = f"{SST2.file}-search"
SEARCHED = "exposure at 8 repetitions"
TAKEN = "DP-SGD, 16 passes, batches of 160"
CALLED = {NO_PRIVACY: "2 passes", RANDOM_OUTPUT: "no training: the public model"}


def main() -> None:
    """Print the page and write its charts."""
    names = (SST2.file, f"{SST2.file}-pool", SEARCH)
    found, *others = (Figures.read(dialogues.FIGURES / f"{name}.json") for name in names)
    dialogues.write_charts(found, SST2)
    print("\n".join(page(found, *others)))


def page(computed: Figures, public: Figures, search: Figures) -> list[str]:
    """All of it in Markdown."""
    return [
        *dialogues.page(computed, public, SST2),
        *("", "## How passes and rates were searched", ""),
        *about_the_search(computed, search),
    ]


def charts(found: Figures) -> dict[str, bytes]:
    """The charts by the names of their files."""
    return dialogues.charts(found, SST2)


def about_the_search(computed: Figures, search: Figures) -> Iterator[str]:
    """The settings that were tried, on sentences that are not compared."""
    ratio = noise(search, TAKEN, 15.0) / noise(computed, "DP-SGD", 8.0)
    yield (
        "On 800 sentences of SST-2 that are in none of the files above, with as many secrets for "
        f"each sentence (`studies/{SEARCH}.toml`). Training is in batches of 16 at a rate of "
        "0.005, or as a line says. Private steps are at ε = 15: beside a mean gradient there is "
        f"{ratio:.2g} times as much noise as at ε = 8 with 1,500 sentences. One seed: intervals "
        "are over 300 sentences, and over secrets."
    )
    yield ""
    lines = [
        (
            CALLED.get(name, name),
            *(shown(search.point(name, level, one)) for one in (PERPLEXITY, SEARCHED)),
        )
        for name, level in search.places()
    ]
    yield from table(("setting", "perplexity", "exposure"), lines)


def noise(found: Figures, method: str, level: float) -> float:
    """The deviation of the noise in a mean gradient, in clipping norms."""
    (stage, *_) = found.runs(method, level)[0]["stages"]
    return float(stage["noise_multiplier"]) / float(stage["batch_size"])


if __name__ == "__main__":
    main()
