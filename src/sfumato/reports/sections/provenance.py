"""How a study was made, to the letter: command, file, versions; and how to cite it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from sfumato.reports.markup import Html, tag
from sfumato.reports.numbers import plain
from sfumato.reports.parts import Section, paragraph
from sfumato.reports.studied import Studied
from sfumato.reports.tables import Table, folded, properties


def provenance(study: Studied) -> Section:
    """Everything it takes to compute the same again."""
    command, file = study.said("command"), study.said("file")
    parts: list[Html] = []
    if command:
        parts += [paragraph("The command:"), tag("pre", {}, tag("code", {}, command))]
    methods = [one for one in study.about.get("methods") or () if isinstance(one, dict)]
    if methods:
        parts.append(_methods(methods))
    if file:
        text = tag("pre", {}, tag("code", {}, file))
        parts.append(folded("The study as it was described", text, kind="print"))
    versions = {**study.listed("versions"), **study.listed("machine")}
    if versions:
        parts.append(
            properties("Versions and machine", [(key, str(one)) for key, one in versions.items()])
        )
    return Section(
        name="provenance",
        title="How this was made, and how to cite it",
        parts=[*parts, _citation(study)],
    )


def _methods(methods: list[dict[str, Any]]) -> Html:
    rows = [
        (
            str(one.get("name", "")),
            str(one.get("kind", "")),
            str(one.get("parameter") or "–"),
            ", ".join(map(_level, one.get("levels") or ())) or "–",
            spelled(one.get("settings")),
        )
        for one in methods
    ]
    head = ("method", "kind", "parameter", "levels", "settings")
    return Table(caption="Methods", head=head, rows=rows).html()


def _level(level: object) -> str:
    return plain(float(level)) if isinstance(level, (int, float)) else str(level)


def spelled(settings: object) -> str:
    """Settings on one line.

    >>> spelled({"a": 1, "b": {"c": "x"}})
    'a = 1, b = {"c": "x"}'
    """
    if not isinstance(settings, Mapping):
        return "–"
    said = (
        f"{key} = {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in settings.items()
    )
    return ", ".join(said) or "–"


def _citation(study: Studied) -> Html:
    digest = sha256(study.folder.description.read_bytes()).hexdigest()
    version = study.listed("versions").get("sfumato", "of unknown version")
    said = f"“{study.title}”, a study computed with sfumato {version}; study.json has the SHA-256 "
    return paragraph("To cite: ", said, tag("code", {}, digest), ".")
