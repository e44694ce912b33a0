"""The folder of a training run: what was asked for, what it cost, what came of it.

::

    RUN/
      config.json      all settings, the plan included, and the versions that computed it
      ledger.jsonl     every step, charged before its result was saved
      checkpoint.pt    weights and optimiser of an unfinished run; removed at the end
      results.jsonl    flat rows: metric, value, low, high, n, seconds
      guarantee.json   what is proven about the model
      model/           the model in Hugging Face's format

Care
    ``checkpoint.pt`` is covered by the guarantee like the model; the optimiser's state in it is
    computed from private gradients alone. Losses on the training data are not: they are shown
    while training and written nowhere.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sfumato.accounting.guarantee import Guarantee
from sfumato.core.errors import BadInput, CannotResume, OutputExists, StorageFailed
from sfumato.core.files import write_whole

SCHEMA = 1
PACKAGES = ("sfumato", "torch", "transformers", "dp-accounting", "peft", "numpy", "randomgen")


@dataclass(frozen=True)
class RunFolder:
    """Where everything about one run stands."""

    path: Path

    @property
    def config(self) -> Path:
        """Settings and versions."""
        return self.path / "config.json"

    @property
    def ledger(self) -> Path:
        """Steps charged."""
        return self.path / "ledger.jsonl"

    @property
    def checkpoint(self) -> Path:
        """Where an unfinished run stands."""
        return self.path / "checkpoint.pt"

    @property
    def results(self) -> Path:
        """What was measured."""
        return self.path / "results.jsonl"

    @property
    def guarantee(self) -> Path:
        """What is proven."""
        return self.path / "guarantee.json"

    @property
    def model(self) -> Path:
        """The model; it is there when the run is finished."""
        return self.path / "model"

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to do."""
        return self.model.is_dir() and self.guarantee.is_file()

    def begin(self, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder, or make sure that it belongs to a run with the same settings."""
        content = {"schema": SCHEMA, "settings": settings, "versions": versions()}
        if self.config.is_file():
            if not resume:
                raise OutputExists(f"{self.path} holds a run already; --resume goes on with it")
            self._compare(settings)
            return
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise OutputExists(f"{self.path} exists already and is no run; choose another folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.config, _spelled(content))
        except OSError as error:
            problem = error.strerror or "writing failed"
        else:
            return
        raise StorageFailed(f"cannot write {self.path}: {problem}")

    def settings(self) -> dict[str, Any]:
        """What the run was asked for."""
        return _settings_in(self.config)

    def add_results(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append measurements, one JSON object a line."""
        with self.results.open("a", encoding="utf-8") as stream:
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def write_guarantee(self, guarantee: Guarantee, extra: Mapping[str, Any]) -> None:
        """State what is proven, with what the plan says beside it."""
        content = {
            "schema": SCHEMA,
            "sentence": guarantee.sentence(),
            "for_release": guarantee.for_release,
            "guarantee": guarantee.as_dict(),
        }
        write_whole(self.guarantee, _spelled(content | dict(extra)))

    def _compare(self, settings: Mapping[str, Any]) -> None:
        begun, asked = self.settings(), json.loads(json.dumps(settings))
        different = sorted(
            key for key in begun.keys() | asked.keys() if begun.get(key) != asked.get(key)
        )
        if different:
            raise CannotResume(
                f"{self.path} holds a run with another {', '.join(different)}; resume with the "
                "same settings, or choose another folder"
            )


def opened_run(path: Path) -> RunFolder:
    """A finished run, or the reason why it is none."""
    folder = RunFolder(path)
    if not folder.config.is_file():
        raise StorageFailed(f"{path} is not the folder of a training run: it has no config.json")
    if not folder.finished:
        raise BadInput(f"the run in {path} is not finished; sfumato train … --resume goes on")
    return folder


def versions() -> dict[str, str]:
    """What computed a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _settings_in(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        settings = content["settings"]
    except OSError as error:
        problem = error.strerror or "reading failed"
    except (ValueError, KeyError, TypeError):
        problem = "it is not a run's configuration"
    else:
        if isinstance(settings, dict) and content.get("schema") == SCHEMA:
            return settings
        problem = "another version of sfumato wrote it"
    raise BadInput(f"cannot read {path}: {problem}")


def _spelled(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
