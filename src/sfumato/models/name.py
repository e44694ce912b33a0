"""Checks of the name of a model, without reading weights or asking the hub."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from sfumato.catalog import entries
from sfumato.core.errors import InvalidArgument, MissingModel
from sfumato.core.files import from_home
from sfumato.core.pretrained import require_model
from sfumato.core.settings import configure

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?")


def is_built_in(spec: str) -> bool:
    """Whether a name is that of a built-in model; a folder of the same name takes precedence."""
    return spec in entries("models") and not Path(spec).is_dir()


def local_folder(spec: str) -> Path | None:
    """The local folder that is meant, or None if the name can only be one on the hub."""
    path = from_home(spec)
    if path.is_dir():
        return path
    if path.exists():
        raise MissingModel(f"{spec} is a file; a model is a folder with config.json and weights")
    if not HUB_NAME.fullmatch(spec):
        raise MissingModel(f"there is no folder {spec} to load a model from")
    return None


def check_model(spec: str, settings: Mapping[str, object]) -> None:
    """Refuse settings that the model does not have, and paths without a model."""
    if is_built_in(spec):
        configure(entries("models")[spec].load(), settings)
        return
    if settings:
        raise InvalidArgument(
            f"settings are for the built-in models ({', '.join(entries('models'))}); the "
            f"sizes of {spec} are fixed"
        )
    folder = local_folder(spec)
    if folder is not None:
        require_model(folder)
