"""Planted secrets: how exposed they are after so many repetitions, and what an attacker sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sfumato.charts.exposure import MeanExposure, exposure_chart, repetitions_chart
from sfumato.reports.markup import CellValue, Html, Table, fold_table
from sfumato.reports.numbers import as_number, interval, number
from sfumato.reports.parts import Figure, Section, draw_figure, paragraph
from sfumato.reports.studied import Studied, describe_method
from sfumato.studies.folder import CellRecord

# The most exposed ones; further ones stand in the cells.
MOST_SECRETS = 60

Details = Mapping[str, Any]


def secrets(study: Studied) -> Section | None:
    """Means by repetitions for all methods, one attack in full, and the secrets."""
    found = [
        (cell, scores["details"])
        for cell, scores in study.attacks("exposure")
        if _readable(scores.get("details"))
    ]
    if not found:
        return None
    first = min(cell.seed for cell, _ in found)
    mine = [(cell, details) for cell, details in found if cell.seed == first]
    means = [mean for cell, details in mine for mean in _means(cell, details)]
    worst, most = max(mine, key=lambda one: max(c["exposure"] for c in one[1]["canaries"]))
    parts: list[Html | Figure] = [
        paragraph(
            "Made-up secrets were planted in the corpus, some of them many times. Exposure is how "
            "many bits the model saves an attacker who guesses one: 0 if it tells nothing, all "
            "bits of the secret if it is the first guess. The secrets are nobody's."
        ),
        Figure(
            title="Mean exposure by repetitions.",
            description="A line for each level of a method; the dashed lines are the two ends. "
            f"Seed {first}.",
            table=_means_table(found),
            chart=draw_figure(lambda: repetitions_chart(means)),
        ),
        Figure(
            title=f"Every planted secret against {describe_method(worst)}.",
            description="The attack on which a secret is exposed most; the band holds 19 of 20 "
            "secrets that were never planted.",
            table=_secrets_table([(worst, most)], "Planted secrets, the most exposed first"),
            chart=draw_figure(lambda: exposure_chart(most)),
        ),
    ]
    others = [one for one in mine if one[0] is not worst]
    if others:
        caption = "Planted secrets as the attacker ranks them, the most exposed first"
        parts.append(
            fold_table(
                "The secrets against every other method", _secrets_table(others, caption).html()
            )
        )
    return Section(name="secrets", title="Secrets that can be told from the model", parts=parts)


def _readable(details: object) -> bool:
    if not isinstance(details, dict) or not details.get("canaries") or not details.get("means"):
        return False
    return all(as_number(one.get("exposure")) is not None for one in details["canaries"])


def _means(cell: CellRecord, details: Details) -> list[MeanExposure]:
    return [
        MeanExposure(
            method=cell.method,
            level=cell.level,
            repetitions=one["repetitions"],
            exposure=one["mean"],
            low=one["low"],
            high=one["high"],
            how=one["method"],
        )
        for one in details["means"]
    ]


def _means_table(found: Sequence[tuple[CellRecord, Details]]) -> Table:
    rows = [
        (
            describe_method(cell),
            cell.seed,
            one["repetitions"],
            one["method"],
            as_number(one["mean"]),
            interval(as_number(one["low"]), as_number(one["high"])),
            one["n"],
        )
        for cell, details in found
        for one in details["means"]
    ]
    head = ("method", "seed", "times planted", "ranked", "mean exposure in bits", "95 % interval")
    return Table(caption="Mean exposure", head=(*head, "secrets"), rows=rows)


def _secrets_table(found: Sequence[tuple[CellRecord, Details]], caption: str) -> Table:
    canaries = [(cell, one) for cell, details in found for one in details["canaries"]]
    canaries.sort(key=lambda item: -item[1]["exposure"])
    if len(canaries) > MOST_SECRETS:
        caption += f"; {MOST_SECRETS} of {len(canaries):,}"
    return Table(
        caption=caption,
        head=("what the attacker asks", "secret", "against", "planted", "rank", "of", "exposure"),
        rows=[_secret(cell, one) for cell, one in canaries[:MOST_SECRETS]],
    )


def _secret(cell: CellRecord, one: Mapping[str, Any]) -> list[CellValue]:
    template = str(one.get("template", ""))
    times = one.get("repetitions")
    return [
        template.replace("{}", "·····"),
        str(one.get("secret", "")),
        describe_method(cell),
        f"{times}×" if times else "never",
        _rank(one),
        one.get("space"),
        f"{number(one['exposure'])} bits",
    ]


def _rank(one: Mapping[str, Any]) -> str:
    """Among all secrets, or how many of a sample were as likely."""
    if "rank" in one:
        return number(one["rank"])
    as_likely = one.get("at_least_as_likely")
    if one.get("beyond_the_sample"):
        return "before all drawn ones"
    return f"{number(as_likely)} drawn ones as likely"
