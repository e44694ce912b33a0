"""A federation as Flower deploys it: a SuperLink and two SuperNodes, each a process of its own.

It starts servers on this machine and takes a minute or two, so it is run by name only:
``make test-deployment``.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import sfumato
from unit.training.runs import tokenizer

BIN = Path(sys.executable).parent
LONGEST = 1800  # seconds; ends a deadlock, nothing more

APP = """
[project]
name = "federation"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "nobody"

[tool.flwr.app.components]
serverapp = "sfumato.federation.flower:server_app"
clientapp = "sfumato.federation.flower:client_app"

[tool.flwr.app.config]
clients = 2
output = "{output}"
epsilon = 8.0
delta = 0.1
rounds = 2
clients_per_round = 2
accountant = "rdp"
model = "lstm"
model_settings = "hidden=4,embedding=4,context=12"
tokenizer = "{tokenizer}"
timeout = 1500.0
"""

HOME = """
[superlink]
default = "here"

[superlink.here]
address = "127.0.0.1:{port}"
insecure = true
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(*command: str, log: Path, environment: dict[str, str]) -> Iterator[None]:
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.mark.deployment
def test_two_rounds_of_two_nodes(tmp_path: Path) -> None:
    app, home, output = tmp_path / "app", tmp_path / "home", tmp_path / "run"
    port = free_port()
    for folder in (app, home):
        folder.mkdir()
    tokenizer().backend.save_pretrained(tmp_path / "tokenizer")
    (app / "pyproject.toml").write_text(APP.format(output=output, tokenizer=tmp_path / "tokenizer"))
    (home / "config.toml").write_text(HOME.format(port=port))
    environment = os.environ | {
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "OMP_NUM_THREADS": "1",
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
    }
    with ExitStack() as stack:
        link = (
            str(BIN / "flower-superlink"), "--insecure", "--host", "127.0.0.1", "--port",
            str(port), "--disable-runtime-dependency-installation",
        )  # fmt: skip
        stack.enter_context(running(*link, log=tmp_path / "link.log", environment=environment))
        for number, text in enumerate(("nothing at all", "a public text")):
            corpus = tmp_path / f"{number}.jsonl"
            corpus.write_text(json.dumps({"text": text}) + "\n")
            node = (
                str(BIN / "flower-supernode"), "--insecure", "--superlink", f"127.0.0.1:{port}",
                "--port", str(free_port()), "--node-config", f'corpus="{corpus}"',
            )  # fmt: skip
            log = tmp_path / f"node{number}.log"
            stack.enter_context(running(*node, log=log, environment=environment))
        until = time.monotonic() + LONGEST
        run = [str(BIN / "flwr"), "run", str(app), "here"]
        while subprocess.run(run, env=environment, capture_output=True, check=False).returncode:
            assert time.monotonic() < until, (tmp_path / "link.log").read_text()
            time.sleep(2)
        while not (output / "guarantee.json").is_file():
            assert time.monotonic() < until, (tmp_path / "link.log").read_text()
            time.sleep(1)
    found = sfumato.Run.open(output)
    assert found.guarantee.for_release
    assert found.guarantee.unit == "author"
    assert len((output / "ledger.jsonl").read_text().splitlines()) == 1 + 2
    for log in tmp_path.glob("*.log"):
        assert "nothing at all" not in log.read_text()
