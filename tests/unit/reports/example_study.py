"""The folder of a small study, as a study leaves it; its attacks were run, its figures computed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.attacks.exposure.attack import Exposure
from sfumato.attacks.membership.candidates import random_halves
from sfumato.attacks.membership.figures import Findings
from sfumato.audits.coins import Audited
from sfumato.audits.lower_bounds import Guesses, gaussian_bound, one_run_bound, two_run_bound
from sfumato.core.randomness import Randomness
from sfumato.guarantees.guarantee import Guarantee, Notion, metric_dp
from sfumato.mechanisms.exponential import Exponential
from sfumato.metrics.deniability import DrawEffort
from sfumato.metrics.population import frequent_words
from sfumato.metrics.protection import Watched, measure_protection
from sfumato.results.measured import Measured
from sfumato.results.row import NO_PRIVACY, RANDOM_OUTPUT, Row
from sfumato.results.scores import Control, Scores
from sfumato.vectors.space import Space
from unit.attacks.exposure.subjects import bytes_only, canaries, target, tiny

LEVELS = (2.0, 8.0)
DONE, FAILED, MISSING = "done", "failed", "missing"

Entry = dict[str, Any]
State = Callable[[Entry], str]


@dataclass(frozen=True, kw_only=True)
class Said:
    """Every free text of a study's folder."""

    title: str = "Private customer service"
    corpus: str = "600 generated customer-service dialogues"
    text_method: str = "SMDP"
    training_method: str = "DP-SGD"
    field: str = "country"
    groups: tuple[str, ...] = ("US", "GB", "JP")
    error_type: str = "BadInput"
    error: str = "the corpus of the study holds no document"
    secret: str = "My ID is {}."
    note: str = "3 planted secrets are too few for a sharp figure"
    command: str = "sfumato study run study.toml -o out"
    file: str = 'title = "Private customer service"\n'
    setting: str = "digits"

    @classmethod
    def hostile(cls, text: str) -> Said:
        """The same text wherever somebody may write."""
        return cls(
            title=f"title {text}",
            corpus=f"corpus {text}",
            text_method=f"text {text}",
            training_method=f"training {text}",
            field=f"field {text}",
            groups=(f"one {text}", f"two {text}"),
            error_type=f"type {text}",
            error=f"message {text}",
            secret="</script><script>alert(1) {}",
            note=f"note {text}",
            command=f"command {text}",
            file=f"file {text}",
            setting=f"setting {text}",
        )


def everything(entry: Entry) -> str:
    return DONE


def nothing(entry: Entry) -> str:
    return MISSING


def partly(entry: Entry) -> str:
    """At the larger level of the second method one attack failed, and nothing came of the rest."""
    if entry["method"] in (NO_PRIVACY, RANDOM_OUTPUT, "") or entry["level"] == LEVELS[0]:
        return DONE
    return {"exposure": FAILED, "membership": MISSING, "": MISSING}.get(entry["name"], DONE)


def write_study(
    folder: Path, said: Said | None = None, *, state: State = everything, public: bool = True
) -> Path:
    """A study's folder; ``state`` says of every cell what became of it."""
    said = said or Said()
    grid = _grid(said)
    folder.mkdir(parents=True, exist_ok=True)
    description = {
        "schema": 1, "name": "example", "title": said.title, "file": said.file,
        "command": said.command, "public": public, "corpus": said.corpus,
        "versions": {"python": "3.11.7", "sfumato": "0.1.0", "torch": "2.13.0"},
        "machine": {"system": "Linux x86_64", "processors": 2},
        "methods": [
            {"name": said.text_method, "kind": "text", "parameter": "epsilon",
             "levels": list(LEVELS), "settings": {"policy": said.setting}},
            {"name": said.training_method, "kind": "training", "parameter": "epsilon",
             "levels": list(LEVELS), "settings": {"training": "private"}},
        ],
        "cells": grid,
    }  # fmt: skip
    (folder / "study.json").write_text(json.dumps(description))
    for entry in grid:
        became = state(entry)
        if became == MISSING:
            continue
        place = folder / "cells" / entry["key"]
        place.mkdir(parents=True)
        content = entry | {"state": became}
        if became == FAILED:
            content |= {"error": {"type": said.error_type, "message": said.error}}
        else:
            content |= _found(entry, said)
        (place / "cell.json").write_text(json.dumps(content))
    return folder


def _grid(said: Said) -> list[Entry]:
    entries = [_entry("corpus", "", None)]
    for name in (NO_PRIVACY, RANDOM_OUTPUT):
        entries += _model(name, None)
    for level in LEVELS:
        entries += [
            _entry("release", said.text_method, level),
            _entry("measure", said.text_method, level, "deniability"),
            _entry("attack", said.text_method, level, "token-inference"),
            *_model(said.text_method, level),
        ]
    for level in LEVELS:
        entries += _model(said.training_method, level)
    for number, entry in enumerate(entries):
        entry["key"] = f"{entry['kind']}-{number:03}"
    return entries


def _model(method: str, level: float | None) -> list[Entry]:
    cells = [
        _entry("run", method, level),
        _entry("measure", method, level, "perplexity"),
        _entry("attack", method, level, "exposure"),
        _entry("attack", method, level, "membership"),
    ]
    return cells if level is None else [*cells, _entry("audit", method, level)]


def _entry(kind: str, method: str, level: float | None, name: str = "") -> Entry:
    return {
        "key": "", "kind": kind, "method": method, "seed": 1, "name": name, "inputs": [],
        "parameter": None if level is None else "epsilon", "level": level,
    }  # fmt: skip


def _found(entry: Entry, said: Said) -> dict[str, Any]:
    cost = {"seconds": 1.25, "cpu_seconds": 1.5, "peak_memory": 250_000_000}
    none: dict[str, Any] = {
        "rows": [], "guarantee": None, "sentence": None, "scores": None, "details": {},
        "finished": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    finder = _FINDERS.get(entry["name"] or entry["kind"])
    return none | cost | (finder(entry, said) if finder else {})


def strength(entry: Entry) -> float:
    """How much shows through: nothing at random output, everything without privacy."""
    if entry["level"] is None:
        return 1.0 if entry["method"] == NO_PRIVACY else 0.0
    return float(entry["level"]) / 16


def _row(entry: Entry, measured: Measured, **meaning: Any) -> dict[str, Any]:
    return Row(
        cell=entry["key"], method=entry["method"], parameter=entry["parameter"],
        level=entry["level"], seed=entry["seed"], metric=measured.metric, value=measured.value,
        low=measured.low, high=measured.high, n=measured.n, **meaning,
    ).as_dict()  # fmt: skip


def _scored(entry: Entry, scores: Scores) -> dict[str, Any]:
    rows = [
        _row(entry, one, role="leakage", better="lower", by=scores.attack,
             chance=scores.chance.get(one.metric))
        for one in scores.figures
    ]  # fmt: skip
    # As it stands in a file: JSON and back.
    return {"rows": rows, "scores": json.loads(json.dumps(scores.as_dict()))}


@cache
def _ranked(template: str) -> Scores:
    planted = canaries(("482", 10), ("903", 10), ("117", 1), ("265", 0), template=template)
    model = target(tiny("lstm", bytes_only()))
    return Exposure(controls=40).score(model, planted, Randomness.reproducible(1))


def _exposure(entry: Entry, said: Said) -> dict[str, Any]:
    scores = _ranked(said.secret)
    return _scored(entry, Scores(**{**vars(scores), "notes": (said.note,)}))


def _membership(entry: Entry, said: Said) -> dict[str, Any]:
    draws = np.random.default_rng(3)
    findings = Findings(Randomness.reproducible(2))
    half = random_halves(120, Randomness.reproducible(4))
    for name, gain in (("loss", 1.0), ("min-k", 1.5)):
        members = draws.normal(strength(entry) * gain, 1, 120)
        findings.add_signal(name, members, draws.normal(0, 1, 120), half)
    scores = Scores(
        attack="membership", knowledge="The attacker has the texts in question.",
        figures=tuple(findings.figures), chance=findings.chance, control=findings.control(),
        details=findings.details(), notes=(said.note,),
    )  # fmt: skip
    return _scored(entry, scores)


def _token_inference(entry: Entry, said: Said) -> dict[str, Any]:
    shares = [min(1.0, strength(entry) + 0.02 * guesses) for guesses in range(1, 6)]
    success = [
        {"guesses": place, "share": share, "control": 0.01 * place, "chance": 0.012 * place}
        for place, share in enumerate(shares, start=1)
    ]
    top = Measured("top-1", shares[0], shares[0] - 0.05, shares[0] + 0.05, 300)
    scores = Scores(
        attack="token-inference", knowledge="The attacker knows the mechanism.", figures=(top,),
        chance={"top-1": 0.012}, notes=(said.note,),
        control=Control(what="unrelated words", figures=(Measured("top-1", 0.01, 0.0, 0.03, 300),)),
        details={"attacker": "bayes", "prior": "unigram", "success": success},
    )  # fmt: skip
    return _scored(entry, scores) | {
        "details": {"left_out": {said.groups[-1]: "2 documents are too few"}}
    }


def _perplexity(entry: Entry, said: Said) -> dict[str, Any]:
    rows = []
    for place, group in enumerate((None, *said.groups)):
        value = 20 + 60 * (1 - strength(entry)) + 6 * place
        figure = Measured("perplexity", value, value - 2 - place, value + 2 + place, 900 >> place)
        field = None if group is None else said.field
        rows.append(
            _row(entry, figure, role="utility", better="lower", by="perplexity",
                 group_field=field, group=group)
        )  # fmt: skip
    return {"rows": rows}


def _deniability(entry: Entry, said: Said) -> dict[str, Any]:
    vectors = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
    space = Space("made up", [f"w{number}" for number in range(60)], vectors)
    randomness = Randomness.reproducible(6)
    watched = Watched.of(frequent_words(space), 40, randomness)
    mechanism = Exponential(space=space, epsilon=entry["level"])
    found = measure_protection(mechanism, watched, DrawEffort(), randomness)
    median = found.median
    figure = Measured("chance to stay", median.value, median.low, median.high, found.words)
    return {
        "rows": [_row(entry, figure, role="leakage", better="lower", by="deniability")],
        "details": {
            "keep": asdict(found.keep), "keep_worst": found.worst_keep,
            "outputs": asdict(found.outputs), "outputs_worst": found.worst_outputs,
            "draws": found.draws, "eta": 0.1, "space": space.name,
        },
    }  # fmt: skip


def _audit(entry: Entry, said: Said) -> dict[str, Any]:
    counted = Guesses(members=50, found=20 + int(20 * strength(entry)), others=50, accused=15)
    found = Audited(
        claimed=entry["level"], delta=1e-3, guesses=40, right=28,
        one_run=one_run_bound(coins=200, guesses=40, right=28, delta=1e-3),
        two_run=two_run_bound(counted, delta=1e-3),
        gaussian=gaussian_bound(counted, delta=1e-3)[1],
        comparable=entry["method"] == said.training_method,
    )  # fmt: skip
    return {"details": found.as_dict()}


def _proven(entry: Entry, said: Said) -> dict[str, Any]:
    if entry["level"] is None:
        return {"sentence": "This model was never trained on the corpus."}
    if entry["method"] == said.text_method:
        guarantee = metric_dp(epsilon=entry["level"], metric="Euclidean distance").reproducible()
    else:
        guarantee = Guarantee(
            notion=Notion.APPROXIMATE_DP, unit="document", neighbors="a document more or less",
            epsilon=entry["level"] * math.nextafter(1, 0), delta=1e-3,
            scope="the weights of the model", uncovered=(f"what {said.setting} does not find",),
        )  # fmt: skip
    return {"guarantee": guarantee.as_dict(), "sentence": guarantee.sentence()}


_FINDERS: dict[str, Callable[[Entry, Said], dict[str, Any]]] = {
    "release": _proven,
    "run": _proven,
    "deniability": _deniability,
    "token-inference": _token_inference,
    "perplexity": _perplexity,
    "exposure": _exposure,
    "membership": _membership,
    "audit": _audit,
}
