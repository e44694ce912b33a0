"""A trained model as a folder in Hugging Face's format: safetensors, config and tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sfumato.core.errors import OutputExists, StorageFailed
from sfumato.core.pretrained import quiet
from sfumato.models.load import LoadedModel
from sfumato.models.lora import is_adapted, merge_adapter


def save_model(model: LoadedModel, folder: Path) -> None:
    """Write the model; low-rank factors are multiplied out, so the folder stands on its own.

    A reader sees no folder or a whole one.
    """
    if folder.exists():
        raise OutputExists(f"{folder} exists already")
    if not folder.parent.is_dir():
        raise StorageFailed(f"cannot write {folder}: there is no folder {folder.parent}")
    network: Any = model.network
    if is_adapted(network):
        network = merge_adapter(network)
    beside = folder.with_name(folder.name + ".unfinished")
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir()
        with quiet():
            network.save_pretrained(beside)
            model.tokenizer.backend.save_pretrained(beside)
        beside.replace(folder)
    except OSError as error:
        problem = error.strerror or "writing failed"
        raise StorageFailed(f"cannot write {folder}: {problem}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
