"""What a study's folder says of the study itself: the file, the grid, the versions, the machine."""

from __future__ import annotations

import os
import platform
import shlex
from typing import Any

from sfumato.accounting.empirical import written
from sfumato.studies.config import GENERATED, WIKITEXT, Corpus, Study
from sfumato.studies.folder import SCHEMA
from sfumato.studies.grid import Grid
from sfumato.studies.points import points
from sfumato.training.run_folder import versions


def described(study: Study, wanted: Grid, command: list[str]) -> dict[str, Any]:
    """For ``study.json``; figures and texts are not in it."""
    return {
        "schema": SCHEMA,
        "name": study.name,
        "title": study.title or study.name,
        "file": study.text,
        "command": shlex.join(command),
        "versions": versions(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processors": os.cpu_count(),
        },
        "public": study.corpus.copied,
        "corpus": _corpus(study),
        "groups": study.groups,
        "methods": _methods(study),
        "cells": [cell.entry() for cell in wanted.cells],
    }


def _methods(study: Study) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for point in (point for method in study.methods for point in points(method)):
        entry = found.setdefault(
            point.method,
            {
                "name": point.method,
                "kind": "text" if "mechanism" in point.settings else "training",
                "parameter": point.parameter,
                "levels": [],
                "settings": {
                    key: value for key, value in point.settings.items() if key != point.parameter
                },
            },
        )
        if point.level is not None:
            entry["levels"].append(written(point.level))
    return list(found.values())


def _corpus(study: Study) -> str:
    said = [_of(study.corpus)]
    if study.canaries is not None and study.canaries.manifest is None:
        times = ", ".join(map(str, study.canaries.repetitions))
        said.append(f"with canaries planted {times} times")
    if study.coins is not None:
        said.append(f"with made-up documents by {study.coins.count:,} coins")
    if study.test is not None:
        said.append(f"measured on {_of(study.test)}")
    return ", ".join(said)


def _of(corpus: Corpus) -> str:
    count = "all documents" if corpus.count is None else f"{corpus.count:,} documents"
    if corpus.kind == GENERATED:
        return f"{corpus.count:,} generated customer-service dialogues (seed {corpus.seed})"
    if corpus.kind == WIKITEXT:
        return f"{count} of WikiText, each a {corpus.record}"
    return f"{count} of a {'public' if corpus.public else 'private'} file"
