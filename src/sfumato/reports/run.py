"""The page of a training run: what is proven about the model, how it was made, how good it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfumato.charts.numbers import as_number, epsilon_of, interval, number
from sfumato.core.errors import BadInput, InvalidArgument, SfumatoError
from sfumato.core.json import read_json
from sfumato.guarantees.guarantee import Guarantee
from sfumato.reports.markup import CellValue, Table, properties
from sfumato.reports.page import NOT_FOR_RELEASE, Page, Section, paragraph
from sfumato.reports.samples import Showing
from sfumato.reports.sections.limits import guarantee_section, run_limits
from sfumato.training.folder import SCHEMA, RunFolder, open_run


def run_page(path: Path, showing: Showing) -> Page:
    """The page of a run; its folder contains no text, so none can be shown."""
    if showing.samples or showing.originals is not None:
        raise InvalidArgument(
            "a training run keeps no text, so there are no samples to show; leave out "
            "`samples=...` and `originals=...`"
        )
    folder = open_run(path)
    settings = folder.settings()
    content = _content(folder.guarantee)
    guarantee = _guarantee(content, folder)
    return Page(
        kind="Report on a trained model",
        title=path.resolve().name,
        lead=_lead(settings),
        notices=[] if guarantee.for_release else [NOT_FOR_RELEASE],
        sections=[
            guarantee_section(guarantee, _beside(content)),
            _covered(settings),
            _results(folder),
            _made(settings, content, _content(folder.config)),
            run_limits(guarantee),
        ],
    )


def _content(path: Path) -> Mapping[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise BadInput(f"{path} was not written by this version")
    return content


def _guarantee(content: Mapping[str, Any], folder: RunFolder) -> Guarantee:
    try:
        return Guarantee.from_dict(content["guarantee"])
    except (SfumatoError, KeyError, TypeError, AttributeError):
        raise BadInput(f"{folder.guarantee} holds no guarantee that can be read") from None


def _lead(settings: Mapping[str, Any]) -> str:
    kind = "A classifier" if settings.get("kind") == "classifier" else "A language model"
    return f"{kind} ({settings.get('model')}), trained on private text."


def _beside(content: Mapping[str, Any]) -> list[tuple[str, CellValue]]:
    """What was planned, and what a paper would claim for the same."""
    lines: list[tuple[str, CellValue]] = []
    planned = as_number(content.get("epsilon_planned"))
    if planned is not None:
        lines.append(("planned ε", epsilon_of(planned)))
    paper = content.get("as_in_the_paper")
    if isinstance(paper, dict):
        lines.append(("ε as the paper counts it", epsilon_of(as_number(paper.get("epsilon")))))
        lines.append(("is that proven?", str(paper.get("why") or paper.get("proven"))))
    return lines


def _covered(settings: Mapping[str, Any]) -> Section:
    policy = settings.get("policy")
    said = (
        f"What the policy {policy} finds in a document is protected; all other text is public here."
        if policy
        else "Every token of a record is protected: no policy selected some of them."
    )
    return Section(name="found", title="What is protected", parts=[paragraph(said)])


def _results(folder: RunFolder) -> Section:
    rows = [
        (
            str(row.get("metric")),
            _figure(row),
            interval(as_number(row.get("low")), as_number(row.get("high"))),
            as_number(row.get("n")),
            str(row.get("corpus") or "–"),
        )
        for row in folder.measured()
    ]
    head = ("figure", "value", "95 % interval", "n", "measured on")
    table = Table(caption="What the run recorded", head=head, rows=rows)
    said = paragraph(
        "Losses on the training text, time and memory are not here: they depend on private "
        "text, and a run never records them."
    )
    return Section(name="results", title="Results", parts=[table.html(), said])


def _figure(row: Mapping[str, Any]) -> str:
    value = as_number(row.get("value"))
    return epsilon_of(value) if row.get("metric") in ("epsilon", "delta") else number(value)


def _made(
    settings: Mapping[str, Any], content: Mapping[str, Any], config: Mapping[str, Any]
) -> Section:
    versions = config.get("versions")
    plan = content.get("plan")
    parts = [properties("Settings", _lines(settings, without="plan"))]
    if isinstance(plan, dict):
        parts.insert(0, properties("The plan", _lines(plan)))
    if isinstance(versions, dict):
        parts.append(properties("Versions", _lines(versions)))
    return Section(name="provenance", title="How this was made", parts=parts)


def _lines(values: Mapping[str, Any], without: str = "") -> list[tuple[str, CellValue]]:
    return [
        (
            key.replace("_", " "),
            one if isinstance(one, str) else json.dumps(one, ensure_ascii=False),
        )
        for key, one in values.items()
        if key != without and one not in (None, {}, [])
    ]
