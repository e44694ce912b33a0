"""The tables of ``docs/results/dp-t5.md``, from a study that ``dp-t5.toml`` describes.

    python studies/dp_t5_page.py STUDY

STUDY is the folder that 'sfumato study run' has filled, in part or whole. Ratios are of shares over
the same documents, with intervals that hold for any number of hits.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.memorization import Memorization, TrainedOn
from sfumato.attacks.model_target import open_model
from sfumato.core.randomness import Randomness
from sfumato.files.layout import Layout
from sfumato.files.source import Source
from sfumato.statistics.ratios import ratio_of_shares, trials_to_show
from sfumato.studies.cell import ATTACK, CORPUS, MEASURE, RUN
from sfumato.studies.expected import spoken
from sfumato.studies.folder import DONE, CellRecord, StudyFolder

PLAIN = {"prefix": "prefix, no privacy", "spans": "spans, no privacy"}
# What the paper says, to set ours beside.
PUBLISHED = {6.23: 366, 320.0: 15}
BASELINE = 0.02
SPAN = Memorization(prefix=8, suffix=3, by="span", most=1000)

Found = dict[tuple[str, float | None], CellRecord]


def main() -> None:
    """Print all tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("study", type=Path, help="the folder of the study")
    for line in tables(StudyFolder(parser.parse_args().study)):
        print(line, flush=True)


def tables(folder: StudyFolder) -> Iterator[str]:
    """All tables, each with a heading."""
    cells = folder.cells()
    done = [cell for cell in cells if cell.state == DONE]
    runs, attacks, measures = (
        {(cell.method, cell.level): cell for cell in done if cell.kind == kind}
        for kind in (RUN, ATTACK, MEASURE)
    )
    yield from power(attacks)
    yield "\n## What comes back\n"
    yield from memorized(runs, attacks)
    yield "\n## By copies and rarity\n"
    yield from by_group(attacks)
    yield "\n## What is learned\n"
    yield from learned(runs, measures)
    yield "\n## Time\n"
    yield from times(runs)
    yield "\n## Spans, asked for as spans\n"
    yield from as_spans(folder, cells, runs)
    seconds = sum(cell.cpu_seconds or 0.0 for cell in done)
    yield f"\n{len(done)} of {len(cells)} computations are done, in {spoken(seconds)} of processor."


def power(attacks: Found) -> Iterator[str]:
    """How large a ratio could be shown at all."""
    plain = attacks.get((PLAIN["prefix"], None))
    if plain is None:
        return
    hits = exact(plain)
    most = ratio_of_shares(hits, np.zeros_like(hits)).low
    yield "## What can be told apart here\n"
    yield (
        f"{int(hits.sum())} of {len(hits)} beginnings come back from the model without privacy. If "
        f"none came back from another one, that would show a ratio of at least {most:.2g}."
    )
    for level, times_less in PUBLISHED.items():
        needed = {share: trials_to_show(times_less, share) for share in (BASELINE, hits.mean())}
        said = " or ".join(
            f"{count:,} at a share of {share:.2g}" for share, count in needed.items()
        )
        yield f"\nTo show {times_less} (published for ε = {level:g}) takes beginnings: {said}."


def exact(cell: CellRecord) -> Any:
    """Which beginnings came back."""
    return np.array(_details(cell)["exact"], dtype=np.bool_)


def memorized(runs: Found, attacks: Found) -> Iterator[str]:
    """Shares, and how many times less than without privacy."""
    heads = ("model", "proven ε", "exact", "near", "met in 100 tries", "times less, exact")
    yield f"| {' | '.join(heads)} | met, times less |"
    yield "|---|---|---|---|---|---|---|"
    for key, cell in attacks.items():
        base = attacks.get((PLAIN[key[0].split(",")[0]], None))
        figures = {one["metric"]: one for one in (cell.scores or {})["figures"]}
        told = [shown(figures[name]) for name in ("exact", "near", "met in 100 tries")]
        less = fewer = "–"
        if base is not None and base is not cell:
            less = _less(exact(base), exact(cell))
            before = {one["metric"]: one for one in (base.scores or {})["figures"]}
            met = [float(one["met in 100 tries"]["value"]) for one in (before, figures)]
            fewer = f"{met[0] / max(met[1], 1e-300):.3g}"
        yield f"| {_name(key)} | {_level(runs.get(key))} | {' | '.join(told)} | {less} | {fewer} |"


def _less(base: Any, other: Any) -> str:
    # Another tokenizer cuts other windows, of which there may be more or fewer.
    return ratio_of_shares(base, other).said()


def by_group(attacks: Found) -> Iterator[str]:
    """Exact shares by the number of copies, by rarity, and of unseen documents."""
    names = (
        "exact, 1 copy", "exact, 2 to 9 copies", "exact, 10 or more copies",
        "exact, common third", "exact, middle third", "exact, rare third",
        "exact, unseen documents",
    )  # fmt: skip
    yield "| model | " + " | ".join(one.removeprefix("exact, ") for one in names) + " |"
    yield "|---|" + "---|" * len(names)
    for key, cell in attacks.items():
        figures = {one["metric"]: one for one in (cell.scores or {})["figures"]}
        told = [shown(figures[name]) if name in figures else "" for name in names]
        yield f"| {_name(key)} | {' | '.join(told)} |"


def learned(runs: Found, measures: Found) -> Iterator[str]:
    """Perplexity and accuracy on paragraphs that no model has seen."""
    yield "| model | noise multiplier | perplexity | accuracy |"
    yield "|---|---|---|---|"
    for key, cell in measures.items():
        figures = {row.metric: row for row in cell.rows}
        noise = _noise(runs.get(key))
        told = (
            f"{row.value:.3g} ({row.low:.3g}–{row.high:.3g})"
            for row in (figures["perplexity"], figures["accuracy"])
        )
        shown_noise = f"{noise:.3g}" if noise else "–"
        yield f"| {_name(key)} | {shown_noise} | {' | '.join(told)} |"


def times(runs: Found) -> Iterator[str]:
    """Processor time of training, beside that without privacy."""
    yield "| model | processor seconds | of training without privacy |"
    yield "|---|---|---|"
    for key, cell in runs.items():
        base = runs.get((PLAIN[key[0].split(",")[0]], None))
        mine = cell.cpu_seconds or 0.0
        beside = mine / (base.cpu_seconds or 1.0) if base is not None else 1.0
        yield f"| {_name(key)} | {mine:.0f} | {beside:.2f} |"


def as_spans(folder: StudyFolder, cells: Sequence[CellRecord], runs: Found) -> Iterator[str]:
    """Models that fill in spans, asked for one of three tokens with what stands around it."""
    corpus = next((one for one in cells if one.kind == CORPUS), None)
    if corpus is None:
        return
    here = folder.cell(corpus.key)
    members, others = (
        tuple(Source.of(here / name, Layout()).documents())
        for name in ("train.jsonl", "others.jsonl")
    )
    for key, cell in runs.items():
        if key[0].startswith("spans"):
            target = open_model(folder.cell(cell.key) / "run", any_kind=True)
            data = TrainedOn(members, None, others)
            for suffix in (3, 4):
                attack = replace(SPAN, suffix=suffix)
                scores = attack.score(target, data, Randomness.reproducible(1))
                figures = {one["metric"]: one for one in scores.as_dict()["figures"]}
                said = ", ".join(
                    f"{name} {shown(figures[name])}"
                    for name in ("exact", "exact, 10 or more copies", "exact, unseen documents")
                    if name in figures
                )
                yield f"- {_name(key)}, {suffix} tokens: {said}"


def shown(figure: Mapping[str, Any]) -> str:
    """A share with its interval."""
    value, low, high = (float(figure[name]) for name in ("value", "low", "high"))
    return f"{value:.3f} ({low:.3f}–{high:.3f})"


def _details(cell: CellRecord) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (cell.scores or {}).get("details", {})
    return found


def _name(key: tuple[str, float | None]) -> str:
    method, level = key
    return method if level is None else f"{method}, ε = {level:g}"


def _noise(cell: CellRecord | None) -> float:
    """The noise multiplier of a run's first stage; 0 without noise."""
    plan: Mapping[str, Any] = {} if cell is None else cell.details.get("plan", {})
    stages = plan.get("stages") or [{}]
    return float(stages[0].get("noise_multiplier", 0.0))


def _level(cell: CellRecord | None) -> str:
    stated = {} if cell is None else cell.guarantee or {}
    level = stated.get("epsilon")
    return "none" if level in (None, "inf") else f"{float(str(level)):.4g}"


if __name__ == "__main__":
    main()
