"""The folder of a training run: its settings, its cost and its results.

::

    RUN/
      tokenizer/       a private tokenizer, if one was learned for the run, with its guarantee
      tokenizer.spent.json  that it is drawn, and with which settings; written before the draw
      forms.json       the forms of made-up values, if they were learned for the run
      forms.spent.json that they are drawn; written before the draw
      budget.json      under which code an account pays for the run, if one does
      config.json      all settings, the plan included, and the versions that computed it
      ledger.jsonl     every step, charged before its result was saved
      checkpoint.pt    weights and optimizer of an unfinished run, sealed; removed at the end
      results.jsonl    flat rows: metric, value, low, high, n, and on what it was measured
      guarantee.json   what is proven about the model
      model/           the model in Hugging Face's format

Care
    ``checkpoint.pt`` is covered by the guarantee like the model; the optimizer's state in it is
    computed from noisy gradients alone. Losses on the training data are not covered: they are shown
    during training and written nowhere. The duration of training and its memory are not written
    either, because they depend on the lengths of private documents. Measurements on a separate file
    are written; they are as public as that file.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, CannotResume, OutputExists, StorageFailed
from sfumato.core.files import reading, write_whole
from sfumato.core.json import read_object, update_names
from sfumato.guarantees.guarantee import Guarantee
from sfumato.models.draws import note_beside, refuse_spent

SCHEMA = 1
PACKAGES = ("sfumato", "torch", "transformers", "dp-accounting", "peft", "numpy", "randomgen")


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def config(self) -> Path:
        """Settings and versions."""
        return self.path / "config.json"

    @property
    def tokenizer(self) -> Path:
        """The private tokenizer of the run, if one was learned for it."""
        return self.path / "tokenizer"

    @property
    def forms(self) -> Path:
        """The forms of made-up values, if they were learned for the run."""
        return self.path / "forms.json"

    @property
    def budget(self) -> Path:
        """The code under which the run is paid for, if it is."""
        return self.path / "budget.json"

    @property
    def ledger(self) -> Path:
        """The charged steps."""
        return self.path / "ledger.jsonl"

    @property
    def checkpoint(self) -> Path:
        """The state of an unfinished run."""
        return self.path / "checkpoint.pt"

    @property
    def results(self) -> Path:
        """The measurements."""
        return self.path / "results.jsonl"

    @property
    def guarantee(self) -> Path:
        """The guarantee of the model."""
        return self.path / "guarantee.json"

    @property
    def model(self) -> Path:
        """The model; it exists when the run is finished."""
        return self.path / "model"

    @property
    def finished(self) -> bool:
        """Whether the run is complete."""
        return self.model.is_dir() and self.guarantee.is_file()

    def refuse(self, *, resume: bool) -> None:
        """Refuse a folder that cannot be used, before anything expensive begins."""
        if not self.config.is_file() and not self.tokenizer.is_dir():
            refuse_spent(self.tokenizer)
        if not self.forms.is_file():
            refuse_spent(self.forms.with_suffix(""))
        if self.config.is_file() or (self.tokenizer.is_dir() and not self._strangers()):
            if not resume:
                raise OutputExists(
                    f"{self.path} holds a run already; `resume=True` goes on with it"
                )
        elif self.path.exists() and (not self.path.is_dir() or self._strangers()):
            raise OutputExists(f"{self.path} exists already and is no run; choose another folder")

    def begin(self, settings: Mapping[str, Any], *, resume: bool) -> None:
        """Create the folder, or check that it belongs to a run with the same settings."""
        self.refuse(resume=resume)
        if self.config.is_file():
            self._compare(settings)
            return
        content = {"schema": SCHEMA, "settings": settings, "versions": versions()}
        with _storing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            write_whole(self.config, _spell(content))

    def settings(self) -> dict[str, Any]:
        """The settings of the run."""
        return _settings_in(self.config)

    def add_settings(self, more: Mapping[str, Any]) -> None:
        """Write further settings of a finished run, in the place of those of the same name."""
        content = read_object(self.config, "a run's configuration")
        with _storing(self.config):
            write_whole(self.config, _spell(content | {"settings": self.settings() | dict(more)}))

    def add_results(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write measurements, one JSON object a line; they replace older ones of the same kind."""
        replaced = {_subject(row) for row in rows}
        kept = [row for row in self.measured() if _subject(row) not in replaced]
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in (*kept, *rows))
        with _storing(self.results):
            write_whole(self.results, "".join(lines).encode())

    def measured(self) -> list[dict[str, Any]]:
        """The rows written so far."""
        if not self.results.is_file():
            return []
        with reading(self.results, "one JSON object a line"):
            found = [json.loads(line) for line in self.results.read_bytes().splitlines()]
        if not all(isinstance(row, dict) for row in found):
            raise BadInput(f"cannot read {self.results}: it does not hold one JSON object a line")
        return found

    def write_guarantee(self, guarantee: Guarantee, extra: Mapping[str, Any]) -> None:
        """Write the guarantee, together with details of the plan."""
        content = {
            "schema": SCHEMA,
            "sentence": guarantee.sentence(),
            "for_release": guarantee.for_release,
            "guarantee": guarantee.as_dict(),
        }
        with _storing(self.guarantee):
            write_whole(self.guarantee, _spell(content | dict(extra)))

    def clear(self) -> None:
        """Remove what only an unfinished run needs, and partial files left by a kill."""
        self.checkpoint.unlink(missing_ok=True)
        for left in self.path.glob("*.unfinished"):
            if left.is_file():
                left.unlink()

    def _strangers(self) -> bool:
        """Whether there are other files than those of a run that was killed at its very start."""
        first = (note_beside(self.tokenizer).name, self.budget.name)
        own = {self.tokenizer.name, *first, f"{self.config.name}.unfinished"}
        drafts = tuple(f"{one}." for one in first)
        return any(
            one.name not in own
            and not (one.name.startswith(drafts) and one.suffix == ".unfinished")
            for one in self.path.iterdir()
        )

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


def open_run(path: Path) -> RunFolder:
    """The folder of a finished run; an error says why it is none."""
    folder = RunFolder(path)
    if not folder.config.is_file():
        raise StorageFailed(f"{path} is not the folder of a training run: it has no config.json")
    if not folder.finished:
        raise BadInput(f"the run in {path} is not finished; training with `resume=True` goes on")
    return folder


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect a result."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _settings_in(path: Path) -> dict[str, Any]:
    content = read_object(path, "a run's configuration")
    settings = content.get("settings")
    if "settings" not in content:
        raise BadInput(f"cannot read {path}: it is not a run's configuration")
    if not isinstance(settings, dict) or content.get("schema") != SCHEMA:
        raise BadInput(f"cannot read {path}: another version of sfumato wrote it")
    return update_names(settings)


def _subject(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row.get("metric"), row.get("corpus")


@contextmanager
def _storing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = error.strerror or "writing failed"
    else:
        return
    raise StorageFailed(f"cannot write {path}: {problem}")


def _spell(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
