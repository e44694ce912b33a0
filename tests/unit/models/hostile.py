"""Model folders that try to have code run, read a file outside, or fetch something."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unit.models import folders

AUTOMATIC = {
    name: f"evil.{name}"
    for name in (
        "AutoConfig",
        "AutoModel",
        "AutoModelForCausalLM",
        "AutoModelForMaskedLM",
        "AutoModelForSequenceClassification",
    )
}
MARKER = "was-run"


class _Run:
    """Pickled, this is a program that leaves a file behind."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[str, ...]]:
        return eval, (f"open({str(self.marker)!r}, 'w')",)


def changed(path: Path, **entries: Any) -> None:
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(content | entries))


def code_in_config(folder: Path) -> None:
    changed(folder / "config.json", auto_map=AUTOMATIC)


def unknown_kind_of_model(folder: Path) -> None:
    changed(folder / "config.json", model_type="evil", auto_map=AUTOMATIC)


def code_inside_config(folder: Path) -> None:
    changed(folder / "config.json", text_config={"model_type": "evil", "auto_map": AUTOMATIC})


def code_in_tokenizer(folder: Path) -> None:
    auto = {"AutoTokenizer": ["evil.Tokenizer", "evil.Tokenizer"]}
    changed(folder / "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=auto)


def class_of_tokenizer(folder: Path) -> None:
    changed(folder / "tokenizer_config.json", tokenizer_class="RagRetriever")


def pickled_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Run(folder.parent / MARKER)))


def adapter(folder: Path) -> None:
    changed(
        folder / "adapter_config.json",
        base_model_name_or_path=str(folder),
        peft_type="LORA",
        auto_mapping={"parent_library": "evil", "base_model_class": "Evil"},
    )


def quantized(folder: Path) -> None:
    changed(folder / "config.json", quantization_config={"quant_method": "bitsandbytes_4bit"})


def custom_generation(folder: Path) -> None:
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")
    changed(folder / "generation_config.json", custom_generate=str(folder))


def kernel(folder: Path) -> None:
    changed(folder / "config.json", _attn_implementation="evil/kernel")


def kernel_by_another_name(folder: Path) -> None:
    changed(folder / "config.json", attn_implementation={"": "evil/kernel:attention"})


def link_out(folder: Path) -> None:
    outside = folder.parent / "outside.json"
    shutil.move(folder / "tokenizer_config.json", outside)
    (folder / "tokenizer_config.json").symlink_to(outside)


def weights_outside(folder: Path) -> None:
    shutil.copy(folder / "model.safetensors", folder.parent / "outside.safetensors")
    index = {"weight_map": {"weight": "../outside.safetensors"}}
    changed(folder / "model.safetensors.index.json", **index)


def vocabulary_outside(folder: Path) -> None:
    (folder.parent / "outside.txt").write_text("secret\n")
    changed(folder / "tokenizer_config.json", vocab_file="../outside.txt")


HOSTILE: dict[str, Callable[[Path], None]] = {
    one.__name__: one
    for one in (
        code_in_config, unknown_kind_of_model, code_inside_config, code_in_tokenizer,
        class_of_tokenizer, pickled_weights, adapter, quantized, custom_generation, kernel,
        kernel_by_another_name, link_out, weights_outside, vocabulary_outside,
    )
}  # fmt: skip


def made_hostile(folder: Path, how: str) -> Path:
    """A copy of a harmless model in ``folder``, with the harm added; returns where it would show.

    A module lies beside the weights that leaves a file when it is imported.
    """
    marker = folder.parent / MARKER
    (folder / "evil.py").write_text(f"open({str(marker)!r}, 'w')\n")
    HOSTILE[how](folder)
    return marker


def harmless(folder: Path) -> Path:
    return folders.with_word_pieces(folders.masked_bert(), folder)


def harmless_causal(folder: Path) -> Path:
    return folders.with_our_tokenizer(folders.gpt2(), folder)
