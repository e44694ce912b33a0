"""What ``selective_dp`` found, in Markdown, beside what the paper has published."""

from __future__ import annotations

import math
import os
import platform
import shlex
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

from selective_dp_cells import EXCEPT, METHODS, MISSED, MISSING, POLICIES, Cell, Setting
from sfumato.training.folder import versions

EXPOSURES = ("exposure at 10 repetitions", "exposure at 1 repetition", "largest exposure")
PUBLISHED = {
    ("customersim", "plain"): (3.06, 0.75, None),
    ("customersim", "private"): (11.82, 0.70, 2.51),
    ("customersim", "interleaved"): (10.42, 0.69, 2.74),
    ("wikitext-2", "plain"): (60.98, 0.36, None),
    ("wikitext-2", "private"): (305.86, 0.27, 4.89),
    ("wikitext-2", "interleaved"): (160.04, 0.31, 4.91),
}


def first_table(found: dict[str, dict[str, Any]], seeds: int) -> list[str]:
    """Table 2 and figures 3b and 3c."""
    lines = [
        "| corpus | method | perplexity | on private tokens | on other tokens | top-1 | ε proven | "
        "ε as in the paper | exposure, 10 × | AUC of planted secrets | "
        "perplexity, top-1, ε published |",
        "|---" * 11 + "|",
    ]
    for corpus, method in product(POLICIES, METHODS):
        done = finished(found, corpus, method, seeds)
        if not done:
            continue
        columns = [
            *perplexities(done),
            spread([measured(cell, "accuracy", "all") for cell in done]),
            level(done[0]["guarantee"]["epsilon"]),
            level(done[0]["as_in_the_paper"]),
            exposures(done, "exposure at 10 repetitions"),
            spread([cell["membership"]["auc secrets"]["value"] for cell in done]),
            published(corpus, method),
        ]
        lines.append(f"| {corpus} | {method} | " + " | ".join(columns) + " |")
    return lines


def second_table(found: dict[str, dict[str, Any]], seeds: int) -> list[str]:
    """Figure 6: the same secrets, found by the policy and missed by it."""
    lines = [
        "| method | planted secrets | perplexity | on private tokens | on other tokens | "
        "ε proven | exposure, 10 × | exposure, once | largest exposure |",
        "|---" * 9 + "|",
    ]
    chances: dict[str, float] = {}
    for method in MISSED:
        done = finished(found, MISSING, method, seeds)
        if not done:
            continue
        chances = {metric: one["chance"] for metric, one in done[0]["exposure"].items()}
        columns = [
            method.removesuffix("-missing"),
            "missed" if method.endswith("-missing") else "found",
            *perplexities(done),
            level(done[0]["guarantee"]["epsilon"]),
            *(exposures(done, metric) for metric in EXPOSURES),
        ]
        lines.append("| " + " | ".join(columns) + " |")
    if chances:
        shown = [f"{chances[metric]:.3g}" for metric in EXPOSURES]
        lines.append("| chance | | | | | | " + " | ".join(shown) + " |")
    return lines


def report(setting: Setting, found: dict[str, dict[str, Any]], seeds: tuple[int, int]) -> str:
    """What was found, in Markdown."""
    lines = [
        "# Selective-DPSGD beside its paper",
        "",
        f"One-layer LSTMs, ε = {setting.epsilon:g}, epochs: {setting.epochs}; "
        f"{setting.sizes['customersim']:,} dialogues of CustomerSim with the policy "
        f"`{POLICIES['customersim']}`, {setting.sizes['wikitext-2']:,} paragraphs of WikiText-2 "
        f"with `{POLICIES['wikitext-2']}`, and {setting.tested:,} of each to measure on. Seeds "
        f"up to {seeds[0]}: the mean, with the ends in parentheses. `selective` reads text with "
        "masks twice as often, before the first private step. The published figures are of whole "
        "corpora, more epochs, and levels by the paper's accounting.",
        "",
        *first_table(found, seeds[0]),
        "",
        "## An imperfect policy",
        "",
        f"WikiText-2, seeds up to {seeds[1]}. The planted secrets are found by the policy "
        f"`{POLICIES[MISSING]}`, or missed by it (`--except '{EXCEPT}'`); then they stand in the "
        "text that is trained on in the clear, and no guarantee covers them. Both methods read "
        "text with masks equally often. Private tokens are those that the policy without the miss "
        "finds in the text measured on, which has no planted secrets.",
        "",
        *second_table(found, seeds[1]),
        "",
        "The paper (Section 5.4.2, figure 6) finds that the exposure of a missed secret becomes "
        "high with both methods as perplexity falls, and that Selective-DPSGD exposes it less than "
        "masks do around the middle.",
        "",
        "## Where this was computed",
        "",
        *circumstances(setting, found),
    ]
    return "\n".join(lines) + "\n"


def circumstances(setting: Setting, found: dict[str, dict[str, Any]]) -> list[str]:
    """Command, machine, versions and commits."""
    commits = Counter(cell.get("commit") or "not recorded" for cell in found.values())
    total = sum(cell["seconds"] for cell in found.values())
    said = ", ".join(f"{one} ({count} models)" for one, count in commits.items())
    having = ", ".join(f"{name} {version}" for name, version in versions().items())
    return [
        f"    {command_line(setting)}",
        "",
        f"{len(found)} models, {total / 60:.0f} minutes in all, each on one of {os.cpu_count()} "
        f"processors ({platform.machine()}); {having}. Trained at commit {said}; printed at "
        f"{commit() or 'no commit'}.",
    ]


def command_line(setting: Setting) -> str:
    """The command that was given, with the folders of this machine left out."""
    given = ["RESOURCES" if one == str(setting.resources) else one for one in sys.argv[1:]]
    shown = [Path(one).name if Path(one).is_absolute() else one for one in given]
    return shlex.join(["python", "studies/selective_dp.py", *shown])


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


def finished(
    found: dict[str, dict[str, Any]], corpus: str, method: str, seeds: int
) -> list[dict[str, Any]]:
    """The cells of a row, as far as they are there."""
    names = [Cell(corpus, method, seed).name for seed in range(1, seeds + 1)]
    return [found[name] for name in names if name in found]


def perplexities(cells: list[dict[str, Any]]) -> list[str]:
    """On all tokens, on those that the policy finds, on the others."""
    return [
        spread([measured(cell, "perplexity", tokens) for cell in cells])
        for tokens in ("all", "selected", "other")
    ]


def measured(cell: dict[str, Any], metric: str, tokens: str) -> float:
    """One figure of ``evaluate``; not a number if there was no such token."""
    value = next(
        row["value"]
        for row in cell["measured"]
        if row["metric"] == metric and row["tokens"] == tokens
    )
    return float("nan") if value is None else float(value)


def exposures(cells: list[dict[str, Any]], metric: str) -> str:
    """An exposure over seeds."""
    return spread([cell["exposure"][metric]["value"] for cell in cells])


def spread(values: list[float]) -> str:
    """The mean, and the ends if they differ."""
    mean = shown(sum(values) / len(values))
    if len(values) == 1:
        return mean
    return f"{mean} ({shown(min(values))}–{shown(max(values))})"


def shown(value: float) -> str:
    """Three digits.

    >>> shown(0.12345), shown(7191.4), shown(2.5e7), shown(float("nan"))
    ('0.123', '7,190', '2.5e+07', '–')
    """
    if math.isnan(value):
        return "–"
    rounded = f"{value:.3g}"
    return f"{float(rounded):,.0f}" if 1_000 <= value < 1_000_000 else rounded


def level(value: Any) -> str:
    """An epsilon, if there is one."""
    return "–" if value in (None, "inf") else f"{float(value):.3g}"


def published(corpus: str, method: str) -> str:
    """The paper's figures, if it has any."""
    figures = PUBLISHED.get((corpus, method))
    return (
        "–" if figures is None else ", ".join("–" if one is None else str(one) for one in figures)
    )
