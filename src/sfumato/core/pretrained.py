"""The one way in which models and tokenizers are read from a folder.

Guarantee
    Reading a folder that somebody else made runs none of its code: no module beside the weights, no
    pickle, no kernel and no second model that its files name, whatever standard input contains.

Why it holds
    All entries that the library would act on are checked first, at any depth. A folder is refused
    if it names code (``auto_map`` and similar keys), quantized weights (``quantization_config``),
    an adapter for another model, an attention implementation outside torch, a tokenizer class that
    is none, or a file outside the folder. Then the library is called with
    ``trust_remote_code=False``, so that it does not ask the user either, for safetensors only (a
    pickle is a program), and without the network. The configuration's choice of an attention
    implementation is ignored.

What weakens it
    The library's own code parses weights and tables; a bug in it is not excluded.

``quiet`` hides the library's own progress bars and notices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfumato.core.errors import BadInput, MissingModel, SfumatoError
from sfumato.core.json import read_json, read_object

# The setting of a configuration that says that adapters stand in a file beside the weights.
ADAPTER_KEY = "sfumato_adapter"
# Tables of tokens, read by compiled code; all other JSON files can change what the library does.
_TABLES = ("tokenizer.json", "vocab.json")
_CODE = {
    "auto_map": "code of its own",
    "custom_generate": "code of its own",
    "custom_pipelines": "code of its own",
    "kernel_config": "kernels to fetch",
    "use_kernels": "kernels to fetch",
    "quantization_config": "quantized weights",
    "compression_config": "quantized weights",
}
# Implementations of attention and similar operations that are part of torch.
_OF_TORCH = (None, True, False, "eager", "sdpa", "batched_mm", "grouped_mm")
_TOKENIZER = re.compile(r"\w*Tokenizer(Fast)?|TokenizersBackend|PreTrainedTokenizer(Fast)?")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack")


def read_config(folder: Path, *, classes: int | None = None) -> Any:
    """The configuration of a model; ``classes`` is the number of classes of a new head."""
    require_model(folder)
    return _attempt(lambda: _config(folder, classes), folder, "a model")


def read_network(
    automatic: str,
    folder: Path,
    what: str,
    *,
    classes: int | None = None,
    adapters: bool = False,
    as_kind: Callable[[Any], Any] | None = None,
) -> tuple[Any, list[str]]:
    """A network in float32, loaded by the named Auto class, and the names of missing weights.

    A folder with adapters in a file of their own is refused, unless the caller reads these, too.
    ``as_kind`` makes of the folder's configuration that of a network that takes some of its
    weights.
    """
    require_model(folder)
    if not adapters and ADAPTER_KEY in read_object(folder / "config.json", "a configuration"):
        raise BadInput(
            f"{folder} holds a model with adapters, which cannot be read as {what} here: without "
            "them it would be another model. Take one that was trained without adapters"
        )
    network, report = _attempt(lambda: _network(automatic, folder, classes, as_kind), folder, what)
    return network, sorted(report["missing_keys"])


def read_tokenizer(folder: Path) -> Any:
    """The library's tokenizer of a folder."""
    _refuse_code(folder)
    return _attempt(lambda: _tokenizer(folder), folder, "a tokenizer")


def require_model(folder: Path) -> None:
    """Refuse a folder that holds no model, or that would run code."""
    if not (folder / "config.json").is_file():
        raise MissingModel(f"{folder} holds no model: there is no config.json in it")
    _refuse_code(folder)
    if not any(folder.glob("*.safetensors")):
        pickled = sorted(one.name for kind in _PICKLES for one in folder.glob(kind))
        found = f"what is there ({pickled[0]}) may be a program" if pickled else "there are none"
        raise BadInput(
            f"{folder} cannot be loaded as a model: only weights in safetensors are read, and "
            f"{found}; whoever made the model can save it in that format"
        )


def _config(folder: Path, classes: int | None) -> Any:
    from transformers import AutoConfig

    # A number of labels that is not given must not be set: the folder has its own.
    labels = {} if classes is None else {"num_labels": classes}
    config = AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False, **labels
    )
    # Torch's own attention where the architecture has it; never what the folder asks for.
    config._attn_implementation = None
    return config


def _network(
    automatic: str, folder: Path, classes: int | None, as_kind: Callable[[Any], Any] | None
) -> tuple[Any, Mapping[str, Any]]:
    import torch
    import transformers

    config = _config(folder, classes)
    network, report = getattr(transformers, automatic).from_pretrained(
        folder,
        config=config if as_kind is None else as_kind(config),
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
    )
    if network.config._attn_implementation not in _OF_TORCH:
        raise BadInput(f"{folder} asks for an attention implementation outside torch")
    return network, report


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer, PreTrainedTokenizerBase

    found = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if not isinstance(found, PreTrainedTokenizerBase):
        raise BadInput(f"{folder} names a class that is no tokenizer")
    return found


def _attempt(read: Callable[[], Any], folder: Path, what: str) -> Any:
    try:
        return read()
    except SfumatoError:
        raise
    except Exception as error:  # every architecture fails in its own way
        problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
    raise BadInput(f"{folder} cannot be loaded as {what} ({problem})")


def _refuse_code(folder: Path) -> None:
    refuse_links_out(folder)
    if (folder / "adapter_config.json").exists():
        raise BadInput(
            f"{folder} is refused: it holds an adapter, which names the model it belongs to; merge "
            "the two, and give the folder of the merged model"
        )
    for path in sorted(folder.glob("*.json")):
        if path.name not in _TABLES:
            for key, value in _entries(read_json(path)):
                _refuse_entry(path, key, value)


def _entries(content: object) -> Iterator[tuple[str, object]]:
    """Every key at every depth, with its value."""
    waiting = [content]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one.items()
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _refuse_entry(path: Path, key: str, value: object) -> None:
    if key in _CODE and value:
        problem = f"{_CODE[key]} ({key}), and sfumato runs none"
    elif key.endswith("_implementation") and not _is_of_torch(value):
        problem = f"an implementation that is not part of torch ({key})"
    elif key == "tokenizer_class" and value and not _TOKENIZER.fullmatch(str(value)):
        problem = "a class for its tokenizer that is none"
    elif key == "weight_map" and _leaves(path.parent, value):
        problem = "weights outside of its folder"
    elif key.endswith("_file") and _leaves(path.parent, {key: value}):
        problem = f"a file outside of its folder ({key})"
    else:
        return
    raise BadInput(
        f"{path.parent} is refused: {path.name} names {problem}. If the entry is not needed, take "
        "it out"
    )


def _is_of_torch(value: object) -> bool:
    values = value.values() if isinstance(value, dict) else (value,)
    return all(one in _OF_TORCH for one in values if not isinstance(one, dict | list))


def _leaves(folder: Path, named: object) -> bool:
    """Whether one of the values is the path of an existing file outside the folder."""
    names = named.values() if isinstance(named, dict) else ()
    paths = [folder / name for name in names if isinstance(name, str) and "\0" not in name]
    home = folder.resolve()
    return any(one.exists() and not one.resolve().is_relative_to(home) for one in paths)


def refuse_links_out(folder: Path) -> None:
    """Refuse a folder with a link to something outside of it.

    In the cache of the hub, files are links to the blobs beside the snapshots.
    """
    home = folder.resolve()
    homes = [home]
    if home.parent.name == "snapshots":
        homes.append(home.parent.parent / "blobs")
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not any(path.resolve().is_relative_to(one) for one in homes):
            raise BadInput(
                f"{folder} is refused: {path.relative_to(folder)} is a link to something outside; "
                "copy what it points to"
            )


@contextmanager
def quiet() -> Iterator[None]:
    """Within this block, transformers shows no messages and no progress bars."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
