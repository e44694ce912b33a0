"""A name on the hub: fetched from a hub that runs here, found in the cache, or missing.

The library reads the address of the hub when it is imported, so each case is a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sfumato.core.randomness import Randomness
from sfumato.models.load import load_model
from sfumato.models.pooling import STATED_IN, stated_pooling
from unit.models import folders

COMMIT = "1" * 40
NAME = "somebody/tiny"
PROGRAM = """
import sys
from sfumato.core.errors import MissingModel
from sfumato.models import hub
from sfumato.models.hub import folder_of
hub.SECONDS = 1200.0  # a busy machine takes long to answer
try:
    print(folder_of(sys.argv[1]))
except MissingModel as error:
    print("missing:", error)
"""


class Hub:
    """The three answers of a hub that loading needs."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.do_GET(body=False)

            def do_GET(self, *, body: bool = True) -> None:
                hub.asked.append(f"{self.command} {self.path}")
                content = hub.content(folder, self.path)
                self.send_response(404 if content is None else 200)
                if content is None:
                    self.send_header("X-Error-Code", "RepoNotFound")
                self.send_header("Content-Length", str(len(content or b"")))
                self.send_header("Content-Type", "application/json")
                self.send_header("ETag", f'"{hash(content):x}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.end_headers()
                if body:
                    self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def content(self, folder: Path, path: str) -> bytes | None:
        place, _, _ = path.partition("?")
        files = (one for one in folder.rglob("*") if one.is_file())
        names = sorted(str(one.relative_to(folder)) for one in files)
        if place.startswith(f"/api/models/{NAME}/tree/"):
            listed = [
                {"type": "file", "path": name, "size": (folder / name).stat().st_size, "oid": name}
                for name in names
            ]
            return json.dumps(listed).encode()
        if place in (f"/api/models/{NAME}", f"/api/models/{NAME}/revision/main"):
            siblings = [{"rfilename": name} for name in names]
            return json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode()
        name = place.removeprefix(f"/{NAME}/resolve/{COMMIT}/")
        return (folder / name).read_bytes() if name in names else None


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    folder = folders.with_our_tokenizer(folders.gpt2(), tmp_path_factory.mktemp("hub"))
    (folder / "pytorch_model.bin").write_bytes(b"the same weights in another format")
    (folder / "modeling_own.py").write_text("raise SystemExit('was run')")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "copy.safetensors").write_bytes(b"the same weights for another program")
    (folder / STATED_IN).parent.mkdir()
    (folder / STATED_IN).write_text('{"pooling_mode_mean_tokens": true}')
    hub = Hub(folder)
    thread = threading.Thread(target=hub.server.serve_forever, daemon=True)
    thread.start()
    yield hub
    hub.server.shutdown()
    hub.server.server_close()


def run(name: str, *, address: str, home: Path, offline: bool = False) -> str:
    environment = {
        **os.environ, "HF_ENDPOINT": address, "HF_HOME": str(home),
        "HF_HUB_OFFLINE": str(int(offline)), "HF_HUB_DISABLE_XET": "1", "no_proxy": "127.0.0.1",
        "HF_HUB_ETAG_TIMEOUT": "1200", "HF_HUB_DOWNLOAD_TIMEOUT": "1200",
    }  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return result.stdout.strip()


def test_a_name_is_fetched_once_and_then_found_in_the_cache(hub: Hub, tmp_path: Path) -> None:
    folder = run(NAME, address=hub.address, home=tmp_path)
    loaded = load_model(folder, randomness=Randomness.secure())
    assert type(loaded.network).__name__ == "GPT2LMHeadModel"
    fetched = {one.rpartition("/")[2] for one in hub.asked if one.startswith("GET")}
    assert "model.safetensors" in fetched
    assert "pytorch_model.bin" not in fetched
    assert "modeling_own.py" not in fetched
    assert "copy.safetensors" not in fetched
    assert stated_pooling(Path(folder)) == "mean"  # of all subfolders, this one file
    count = len(hub.asked)
    assert run(NAME, address=hub.address, home=tmp_path, offline=True) == folder
    assert len(hub.asked) == count


def test_a_name_the_hub_does_not_know(hub: Hub, tmp_path: Path) -> None:
    answer = run("somebody/else", address=hub.address, home=tmp_path)
    assert answer.startswith("missing: no model 'somebody/else': it is no folder here, and the hub")
    assert "has no such model" in answer


def test_a_hub_that_cannot_be_reached(tmp_path: Path) -> None:
    answer = run("lstn", address="http://127.0.0.1:9", home=tmp_path)
    assert "the hub cannot be reached" in answer
    assert "did you mean 'lstm'?" in answer
    assert "\n" not in answer
