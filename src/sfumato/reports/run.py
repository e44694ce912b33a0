"""The page of a training run: what is proven about the model, how it was made, how good it is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfumato.charts.bars import Level, Line, bars_picture
from sfumato.charts.numbers import as_number, epsilon_of, interval, number, rounded
from sfumato.core.errors import BadInput, InvalidArgument
from sfumato.core.json import read_json
from sfumato.guarantees.guarantee import Guarantee
from sfumato.reports.page import (
    NOT_FOR_RELEASE,
    Block,
    CellValue,
    Figure,
    Page,
    Question,
    Section,
    Table,
    paragraph,
    properties,
)
from sfumato.reports.samples import Showing
from sfumato.reports.sections.attacked import attack_sentence, attacked, read_scores
from sfumato.reports.sections.learned_forms import forms_section
from sfumato.reports.sections.limits import (
    at_a_glance,
    guarantee_section,
    last_questions,
    read_guarantee,
    run_limits,
    three_sentences,
)
from sfumato.reports.sections.rebuilt import rebuilt_section
from sfumato.reports.settings import lines_of, short_path
from sfumato.reports.words import best_guess
from sfumato.results.scores import Scores
from sfumato.training.folder import SCHEMA, open_run
from sfumato.training.vocabulary import say_parts

_ACCOUNTED = ("epsilon", "delta")
_OF_TRAINING = (*_ACCOUNTED, "steps")
# As cards name what a model does, and as a sentence does; any other is a language model.
_TASKS = {"classifier": "text-classification", "tagger": "token-classification"}
_KINDS = {"classifier": "A classifier", "tagger": "A tagger"}


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
    guarantee = read_guarantee(content, folder.guarantee)
    measured = folder.measured()
    scores = read_scores(showing.scores)
    found = attacked(scores)
    return Page(
        kind="Report on a trained model",
        title=path.resolve().name,
        lead=_lead(settings),
        notices=[] if guarantee.for_release else [NOT_FOR_RELEASE],
        sentences=three_sentences(guarantee, attack_sentence(scores)),
        overview=[*_certainty(guarantee), at_a_glance(guarantee)],
        metadata=_metadata(path.resolve().name, settings, measured, scores),
        questions=[
            Question(
                name="safe",
                title="Is it safe?",
                answer="The exact statement, what it covers, and what attacks found.",
                sections=[
                    guarantee_section(guarantee, _beside(content)),
                    _covered(settings),
                    *forms_section(folder),
                    *rebuilt_section(_whole_plan(content), guarantee, scores),
                    *([] if found is None else [found]),
                ],
            ),
            Question(
                name="useful",
                title="Is it still useful?",
                answer=_useful(measured),
                sections=[_results(measured)],
            ),
            *last_questions(
                guarantee,
                run_limits(guarantee),
                _made(settings, content, _content(folder.config)),
                "The plan, every setting and the versions.",
            ),
        ],
    )


def _metadata(
    name: str,
    settings: Mapping[str, Any],
    measured: Sequence[Mapping[str, Any]],
    scores: Sequence[Scores],
) -> dict[str, Any]:
    """What a model card says in front, in the format of Hugging Face."""
    task = _TASKS.get(str(settings.get("kind")), "text-generation")
    results = [
        _result(task, short_path(str(row.get("corpus") or "not named")), str(row["metric"]), value)
        for row in measured
        if row.get("metric") not in (*_OF_TRAINING, None)
        and (value := as_number(row.get("value"))) is not None
        and math.isfinite(value)
    ]
    results += [
        _result(task, "private text, not published", f"{one.attack}: {figure.metric}", figure.value)
        for one in scores
        for figure in one.figures
        if math.isfinite(figure.value)
    ]
    front: dict[str, Any] = {
        "library_name": "transformers",
        "pipeline_tag": task,
        "tags": ["differential-privacy", "privacy", "sfumato"],
    }
    # An index without results is refused where cards are read.
    return front | ({"model-index": [{"name": name, "results": results}]} if results else {})


def _result(task: str, on: str, metric: str, value: float) -> dict[str, Any]:
    return {
        "task": {"type": task},
        "dataset": {"name": on, "type": on},
        "metrics": [{"type": metric, "value": value, "name": metric}],
    }


def _content(path: Path) -> Mapping[str, Any]:
    content = read_json(path)
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise BadInput(f"{path} was not written by this version")
    return content


def _lead(settings: Mapping[str, Any]) -> str:
    kind = _KINDS.get(str(settings.get("kind")), "A language model")
    return f"{kind} ({short_path(str(settings.get('model')))}), trained on private text."


def _certainty(guarantee: Guarantee) -> list[Block]:
    """How sure the best attacker can be about one record, by the proof alone."""
    best = best_guess(guarantee)
    if best is None:
        return []
    one = guarantee.record or guarantee.unit
    levels = [("by guessing", 0.5), ("by the proof, at most", best), ("if nothing was proven", 1.0)]
    picture = bars_picture(
        [
            Level(name=name, value=share, said=_percent(share), series=place)
            for place, (name, share) in enumerate(levels)
        ],
        most=1.0,
        lines=[Line(value=0.5, name="a coin")],
    )
    table = Table(
        caption="The most an attacker can be right", head=("how", "share of right guesses"),
        rows=levels,
    )  # fmt: skip
    figure = Figure(
        title="How sure can an attacker be?",
        description=f"Somebody who sees the model and guesses between two neighbors at even odds, "
        f"such as whether one {one} was used, is right at most so often, whatever else is known. "
        "It is a limit for the worst case; attacks usually reach much less.",
        table=table,
        picture=picture,
    )
    return [figure]


def _percent(share: float) -> str:
    """A share, never rounded down to less than it is.

    >>> _percent(0.5), _percent(0.99966), _percent(1.0)
    ('50 %', '99.97 %', '100 %')
    """
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def _useful(measured: Sequence[Mapping[str, Any]]) -> str:
    said = [
        f"{row.get('metric')} {rounded(as_number(row.get('value')))}"
        for row in measured
        if row.get("metric") not in _OF_TRAINING
    ]
    return "; ".join(said) or "Nothing was measured on new text yet."


def _whole_plan(content: Mapping[str, Any]) -> object:
    """The plan, if all that was released is in it; a private tokenizer is not.

    For the best model of a search it is the plan of the search: that of one trial says too little.
    """
    if content.get("search"):
        return content["search"]
    return None if content.get("parts") else content.get("plan")


def _beside(content: Mapping[str, Any]) -> list[tuple[str, CellValue]]:
    """What was planned, and what a paper would claim for the same."""
    lines: list[tuple[str, CellValue]] = []
    planned = as_number(content.get("epsilon_planned"))
    if planned is not None:
        lines.append(("planned ε", epsilon_of(planned)))
    if content.get("parts"):
        with suppress(KeyError, TypeError, ValueError):  # a damaged file
            lines.append(("what is released", say_parts(content["parts"])))
    if content.get("search"):
        with suppress(KeyError, TypeError, ValueError):  # a damaged file
            lines.append(("a search", _search_line(content["search"])))
    paper = content.get("as_in_the_paper")
    if isinstance(paper, dict):
        lines.append(("ε as the paper counts it", epsilon_of(as_number(paper.get("epsilon")))))
        lines.append(("is that proven?", str(paper.get("why") or paper.get("proven"))))
    return lines


def _search_line(search: Mapping[str, Any]) -> str:
    trials, space = search["trials"], search["space"]
    tried = "; ".join(f"{name} from {law}" for name, law in space.items())
    return (
        f"the best of {trials['mean']:g} trials on average ({trials['law']}), all of them charged; "
        f"each drew {tried}"
    )


def _covered(settings: Mapping[str, Any]) -> Section:
    policy = settings.get("policy")
    said = (
        f"What the policy {policy} finds in a document is protected; all other text is public here."
        if policy
        else "Every token of a record is protected: no policy selected some of them."
    )
    return Section(name="found", title="What is protected", parts=[paragraph(said)])


def _results(measured: Sequence[Mapping[str, Any]]) -> Section:
    rows = [
        (
            str(row.get("metric")),
            _figure(row),
            interval(as_number(row.get("low")), as_number(row.get("high"))),
            as_number(row.get("n")),
            short_path(str(row.get("corpus") or "–")),
        )
        for row in measured
    ]
    head = ("figure", "value", "95 % interval", "n", "measured on")
    table = Table(caption="What the run recorded", head=head, rows=rows)
    said = paragraph(
        "Losses on the training text, time and memory are not here: they depend on private "
        "text, and a run never records them."
    )
    return Section(name="results", title="Results", parts=[table, said])


def _figure(row: Mapping[str, Any]) -> str:
    value = as_number(row.get("value"))
    return epsilon_of(value) if row.get("metric") in _ACCOUNTED else number(value)


def _made(
    settings: Mapping[str, Any], content: Mapping[str, Any], config: Mapping[str, Any]
) -> Section:
    versions = config.get("versions")
    plan = content.get("plan")
    others = {key: one for key, one in settings.items() if key not in ("plan", "search")}
    if isinstance(others.get("corpus"), dict):
        # Which file it was is for going on with a run, not for people.
        others["corpus"] = {key: one for key, one in others["corpus"].items() if key != "input"}
    parts: list[Block] = [properties("Settings", lines_of(others))]
    if isinstance(plan, dict):
        parts.insert(0, properties("The plan", lines_of(plan)))
    if isinstance(versions, dict):
        parts.append(properties("Versions", lines_of(versions)))
    return Section(name="provenance", title="Plan, settings and versions", parts=parts)
