"""A model's name on the hub becomes a folder: fetched, or found in the local cache.

Only the name of the model leaves the machine, and weights come in safetensors alone.
"""

from __future__ import annotations

from pathlib import Path

from sfumato.catalog import entries
from sfumato.core.checks import extra
from sfumato.core.errors import MissingModel, suggestion
from sfumato.models.name import local_folder
from sfumato.models.pooling import STATED_IN

SECONDS = 10.0
# Weights in other formats are never read, so they are not fetched.
_WANTED = ["*.json", "*.txt", "*.model", "*.safetensors"]


def folder_of(spec: str) -> Path:
    """The folder of a path, or of a name on the hub."""
    here = local_folder(spec)
    return _from_hub(spec) if here is None else here


def _from_hub(name: str) -> Path:
    extra("huggingface_hub", needed_for="a model from the hub", extra="train")
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    try:
        # One request first: the loader's own requests are retried for most of a minute.
        HfApi().model_info(name, timeout=SECONDS)
        return _snapshot(name, offline=False)
    except RepositoryNotFoundError:
        problem = "the hub has no such model that is open to you"
    except HfHubHTTPError as error:
        problem = f"the hub answered with an error ({type(error).__name__})"
    except Exception as error:  # the HTTP library has its own errors, which change between versions
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
        # The same patterns as for fetching: with others, the cache reports files as missing.
        return _snapshot(name, offline=True)
    except LocalEntryNotFoundError:
        return None


def _snapshot(name: str, *, offline: bool) -> Path:
    from huggingface_hub import snapshot_download

    # Subfolders hold the same weights in formats for other programs, but for one small file.
    found = snapshot_download(
        name, allow_patterns=_WANTED, ignore_patterns="*/*", local_files_only=offline
    )
    snapshot_download(name, allow_patterns=STATED_IN, local_files_only=offline)
    return Path(found)
