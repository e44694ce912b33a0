"""Models, tokenizers, pipelines and pickles are read in one place each, and safely there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import sfumato

SOURCE = Path(sfumato.__file__).parent
# What reads a folder or a file in such a way that it could run code, and where that may be done.
ALLOWED = {
    "from_pretrained": {"core/pretrained.py"},
    "torch.load": {"training/checkpoints.py"},
    "spacy.load": {"policies/linguistic/pipelines.py"},
    "pickle.load": {"studies/worker.py"},
    "pickle.loads": {"engines/errand.py"},  # what our own driver has sealed
    "np.load": {
        "attacks/membership/shadows.py",
        "attacks/properties/shadows.py",
        "attacks/token_scores.py",
        "mechanisms/rewriting/pool.py",
        "policies/pii/network.py",
        "representations/files.py",
        "vectors/load.py",
    },
    "spec_from_file_location": {"core/own_code.py"},
    "exec_module": {"core/own_code.py"},
}
ANYWHERE_BAD = {
    "pickle_loads", "joblib.load", "load_dataset", "load_model_from_path",
    "load_model_from_package", "load_adapter", "marshal.loads", "shelve.open", "unsafe_load",
    "hub.load", "built-in eval", "built-in exec",
}  # fmt: skip
# What must be said at each such call.
SAID = {
    "from_pretrained": {"trust_remote_code": False, "local_files_only": True},
    "torch.load": {"weights_only": True},
    "np.load": {"allow_pickle": False},
}


def test_every_loader_is_where_it_belongs_and_says_what_it_must() -> None:
    found = list(_complaints(SOURCE))
    assert not found, "\n".join(found)
    seen = {name for path in _modules(SOURCE) for name, _ in _calls(path)}
    assert set(ALLOWED) <= seen, "a rule that no call is under watches nothing"


@pytest.mark.parametrize(
    "line",
    [
        "AutoModel.from_pretrained(folder)",
        "transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)",
        "torch.load(path)",
        "import spacy\nspacy.load('en')",
        "import numpy as np\nnp.load(path)",
        "import pickle\npickle.loads(data)",
        "eval(text)",
    ],
)
def test_twin_a_loader_elsewhere_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "new.py").write_text(line)
    assert list(_complaints(tmp_path))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("core/pretrained.py", "A.from_pretrained(f, local_files_only=True)"),
        (
            "core/pretrained.py",
            "A.from_pretrained(f, local_files_only=True, trust_remote_code=given)",
        ),
        ("training/checkpoints.py", "torch.load(f, weights_only=False)"),
        ("vectors/load.py", "np.load(f, allow_pickle=True)"),
    ],
)
def test_twin_a_loader_that_does_not_say_so_is_found(tmp_path: Path, path: str, line: str) -> None:
    (tmp_path / path).parent.mkdir()
    (tmp_path / path).write_text(line)
    assert list(_complaints(tmp_path))


def _modules(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def _complaints(root: Path) -> Iterator[str]:
    for path in _modules(root):
        where = path.relative_to(root).as_posix()
        for name, call in _calls(path):
            at = f"{where}, line {call.lineno}: {name}"
            if name in ANYWHERE_BAD or where not in ALLOWED.get(name, {where}):
                yield f"{at} belongs elsewhere, or nowhere"
            said = {word.arg: word.value for word in call.keywords}
            for key, value in SAID.get(name, {}).items():
                given = said.get(key)
                if not isinstance(given, ast.Constant) or given.value is not value:
                    yield f"{at} must say {key}={value}"


@cache
def _calls(path: Path) -> list[tuple[str, ast.Call]]:
    """Every call by the names it could be known under: ``load`` of what, and the last name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += [(node.func.id, node), (f"built-in {node.func.id}", node)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            of = getattr(owner, "attr", getattr(owner, "id", "")).replace("numpy", "np")
            found += [(node.func.attr, node), (f"{of}.{node.func.attr}", node)]
    return found
