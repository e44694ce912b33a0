"""Where a model lies: a folder on this machine, or a name on the Hugging Face hub.

A hub name becomes a folder first (fetched, or found in the local cache), and everything after
that works on the folder alone. Only the name of the model leaves the machine; no code that comes
with a model is ever run.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.catalog import entries
from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel, suggestion
from sfumato.models.naming import local_folder

SECONDS = 10.0
# Weights in no other format are fetched, for no other is read.
_WANTED = ["*.json", "*.txt", "*.model", "*.safetensors"]


def folder_of(spec: str) -> Path:
    """The folder that a path or a name on the hub stands for."""
    here = local_folder(spec)
    return _from_hub(spec) if here is None else here


def _from_hub(name: str) -> Path:
    extra("huggingface_hub", needed_for="a model from the hub", extra="train")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        # Asked first, and once: the loader's own requests are repeated for most of a minute.
        HfApi().model_info(name, timeout=SECONDS)
        return _snapshot(name, offline=False)
    except RepositoryNotFoundError:
        problem = "the hub has no such model that is open to you"
    except HfHubHTTPError as error:
        problem = f"the hub answered with an error ({type(error).__name__})"
    except Exception as error:  # the transport has errors of its own, and they change
        problem = f"the hub cannot be reached ({type(error).__name__})"
    cached = _from_cache(name)
    if cached is None:
        raise MissingModel(
            f"no model {name!r}: it is no folder here, and {problem}; "
            f"{suggestion(name, entries('models'))}"
        )
    return cached


def _from_cache(name: str) -> Path | None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        # The same files as were fetched: the cache calls any others missing.
        return _snapshot(name, offline=True)
    except LocalEntryNotFoundError:
        return None


def _snapshot(name: str, *, offline: bool) -> Path:
    from huggingface_hub import snapshot_download

    # What lies in folders inside the model's own are the same weights for other programs.
    return Path(
        snapshot_download(
            name, allow_patterns=_WANTED, ignore_patterns="*/*", local_files_only=offline
        )
    )
