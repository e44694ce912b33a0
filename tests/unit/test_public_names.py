"""What is public: the names that the package and its rooms export, and nothing else in examples."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PACKAGES = sorted(
    ".".join(path.parent.relative_to(SOURCE).parts)
    for path in SOURCE.rglob("__init__.py")
    if "core.lazy import export" in path.read_text(encoding="utf-8")
)
PAGES = sorted(
    [*(Path(__file__).parents[2] / "docs").rglob("*.md"), Path(__file__).parents[2] / "README.md"]
)
BLOCK = re.compile(r"^```python[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown_to_editors(package: str) -> set[str]:
    """The names that type checkers see: imports under ``TYPE_CHECKING``."""
    tree = ast.parse((SOURCE.joinpath(*package.split(".")) / "__init__.py").read_text("utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name
        for block in blocks
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_editors_and_python_see_the_same_names(package: str) -> None:
    module = import_module(package)
    assert shown_to_editors(package) == set(module.__all__) == set(dir(module))
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_is_that_of_a_module_beside_it(package: str) -> None:
    # Importing the module would put it in the place of the name.
    folder = SOURCE.joinpath(*package.split("."))
    beside = {path.stem for path in folder.glob("*.py")} | {
        path.name for path in folder.iterdir() if path.is_dir()
    }
    assert not beside & set(import_module(package).__all__)


def test_what_is_not_there_is_said() -> None:
    for package in PACKAGES:
        with pytest.raises(AttributeError, match=f"{package}.*has no attribute 'Nonsense'"):
            _ = import_module(package).Nonsense


def imports(text: str) -> Iterator[tuple[str, str]]:
    """Module and name of every import from sfumato in a piece of Python."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sfumato":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (
                (alias.name, "") for alias in node.names if alias.name.startswith("sfumato.")
            )


def private_imports(text: str) -> list[str]:
    """Imports of a page that are not of public names."""
    found = []
    for block in BLOCK.findall(text):
        plain = re.sub(r"^(>>>|\.\.\.) ?", "", block, flags=re.MULTILINE)
        for module, name in imports(plain):
            public = [*PACKAGES, "sfumato.testing"]
            if module not in public or name not in import_module(module).__all__:
                found.append(f"{module}: {name}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_import_public_names_only(page: Path) -> None:
    assert private_imports(page.read_text(encoding="utf-8")) == []


def test_twin_a_deep_import_in_an_example_is_seen() -> None:
    assert private_imports("```python\nfrom sfumato.core.errors import BadInput\n```\n")
    assert private_imports("```python\nimport sfumato.core.errors\n```\n")
    assert private_imports("```python\nfrom sfumato.core import _secret\n```\n")
    assert not private_imports("```python\nfrom sfumato.core import BadInput\n```\n")


def test_importing_the_package_and_its_rooms_is_light() -> None:
    heavy = "{'numpy', 'torch', 'transformers', 'rich', 'typer', 'regex', 'pandas'}"
    code = (
        f"import sys; from importlib import import_module\n"
        f"for name in {PACKAGES!r}: import_module(name)\n"
        f"print(sorted({heavy} & set(sys.modules)))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert found.strip() == "[]"
