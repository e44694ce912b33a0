"""``sfumato serve`` as a process of its own, asked over HTTP by the client."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

import canaries
import crashing_service as crashing
from running_service import EVERY, TEXT, address, new_budget
from sfumato import Budget, Client, Span
from sfumato.accounting.budget import Limit
from sfumato.core.errors import BudgetExceeded, InvalidArgument, MissingAccount, MissingRight
from sfumato.service.tokens import Tokens, make_token
from system import warm
from system.conftest import environment

LOADED = (*warm.LIGHT, "fastapi", "uvicorn.protocols.http.h11_impl", "uvicorn.loops.auto",
          "uvicorn.lifespan.on", "sfumato.service.app", "sfumato.policies.pii.tagger")  # fmt: skip
FOR_EVER = 3600.0
# How often a service is killed; SFUMATO_KILLS=40 takes some minutes.
KILLS = int(os.environ.get("SFUMATO_KILLS", "3"))
PROGRAM = "from sfumato.cli.main import run; run()"
# Without loading what these requests do not need, before the first of them.
QUICK = f"from sfumato.service import state; state.warm_up = lambda: None; {PROGRAM}"
# With the frequent words only: for hundreds of requests that are not about words.
FEW_WORDS = f"""
import sys
sys.path.insert(0, {str(warm.TESTS)!r})
from few_words import few_words
with few_words():
    {PROGRAM}
"""


class Served:
    """A service that can be started: its token, its budget and what it has said so far."""

    def __init__(self, folder: Path, **limits: float) -> None:
        self.folder = folder
        self.place, self.key = new_budget(folder, **limits)
        self.tokens = Tokens(folder / "tokens.json")
        self.token = self.add(EVERY)
        self.said = b""

    def add(self, rights: tuple[str, ...]) -> str:
        spelled, kept = make_token("", rights)
        self.tokens.add(kept)
        return spelled

    @contextmanager
    def start(self, *more: str, program: str = PROGRAM) -> Iterator[tuple[warm.WarmProcess, str]]:
        """The process and its address; what it says is kept."""
        arguments = ["serve", "--port", "0", "--tokens", str(self.folder / "tokens.json"),
                     "--budget", self.place, "--budget-key", str(self.key), *more]  # fmt: skip
        with (self.folder / "said.txt").open("ab") as errors:
            process = warm.start(
                program, arguments, modules=LOADED, cwd=self.folder, env=environment(),
                stderr=errors.fileno(),
            )  # fmt: skip
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process, address(line)
        finally:
            process.send_signal(signal.SIGKILL)
            self.said += line + process.stdout.read()
            process.stdout.close()
            process.wait()

    def all_it_said(self) -> bytes:
        return self.said + (self.folder / "said.txt").read_bytes()


def test_whatever_ends_a_service_what_was_released_is_charged(tmp_path: Path) -> None:
    served = Served(tmp_path, text_memo=1e6)
    ledger, start = crashing.Ledger(), partial(served.start, program=QUICK)
    for round_ in range(KILLS):
        after = 1 + 3 * round_ % 11
        crashing.end_in_the_middle(start, served.token, ledger, signal.SIGKILL, after)
    killed = len(ledger.answered)
    assert set(ledger.codes) == {-signal.SIGKILL}
    # Asked to stop, it answers everyone who has reached it, and ends well.
    crashing.end_in_the_middle(start, served.token, ledger, signal.SIGTERM, 5)
    assert len(ledger.answered) >= killed + 5
    found = crashing.judge(start, served.token, ledger, served.place, served.key)
    assert (found.uncharged, found.changed) == (0, 0)
    assert found.charged == found.answered + found.recovered
    assert ledger.codes[KILLS:] == [0, 0]
    assert served.all_it_said().count(b"\n") == served.all_it_said().count(b"serving at")


def test_the_client_and_a_service_understand_each_other(tmp_path: Path) -> None:
    served = Served(tmp_path)
    only_analyze = served.add(("analyze",))
    with served.start("--waiting", "4") as (process, url), Client(url, served.token) as client:
        assert client.health().status == "ok"
        assert client.open_account("author:u-17", 60).left == 60
        assert client.open_account("author:u-17", 60).charges == 0
        with pytest.raises(InvalidArgument, match="already"):
            client.open_account("author:u-17", 61)
        found = client.analyze(TEXT)
        assert [(TEXT[one.start : one.end], one.label) for one in found] == [
            ("Ada Lovelace", "PERSON"), ("515 555 0146", "PHONE"),
        ]  # fmt: skip
        assert [len(one) for one in client.analyze([TEXT, "nothing"])] == [2, 0]
        level: dict[str, Any] = {"mechanism": "laplace", "epsilon": 5}
        released = client.privatize(TEXT, account="author:u-17", **level)
        assert released.bill is not None
        assert (released.bill.charged, released.bill.account.left) == (25.0, 35.0)
        assert released.guarantee == client.guarantee(**level)
        again = client.privatize(TEXT, account="author:u-17", key=released.key, **level)
        assert (again.text, again.repeated) == (released.text, True)
        with pytest.raises(BudgetExceeded, match="costs 50 and 35 is left"):
            client.privatize([TEXT, TEXT], account="author:u-17", **level)
        two = client.privatize([TEXT, "My ID is 145572."], mechanism="redact")
        assert (len(two.texts), two.bill) == (2, None)
        made = client.anonymize(TEXT, found, {"DEFAULT": {"type": "redact"}})
        assert made.text == "Ask  at ."
        assert [one.label for one in made.items] == ["PHONE", "PERSON"]
        preview = client.explain(TEXT, draws=5, **level)
        assert preview.words[0].original == "Ada"
        assert {one.name for one in client.mechanisms()} >= {"laplace", "auto"}
        assert {one.name for one in client.policies()} == {"digits", "everything", "nothing", "pii"}
        assert "| used |" in client.report("author:u-17")
        assert client.account("author:u-17").spent == 25.0
        with pytest.raises(MissingAccount):
            client.account("author:nobody")
        assert client.close_account("author:u-17").closed is not None
        assert "Lovelace" not in repr((released, made, preview, client, two))
        with Client(url, only_analyze) as poor:
            assert poor.analyze("Ada Lovelace") == (
                Span(0, 12, "PERSON", "person-listed", "stands in a list of names"),
            )
            with pytest.raises(MissingRight, match="'release'"):
                poor.privatize(TEXT, **level)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_a_canary_is_in_nothing_that_the_process_says_or_keeps(tmp_path: Path) -> None:
    served = Served(tmp_path)
    with Budget.at(served.place, served.key) as budget:
        budget.open(f"text:{canaries.WORD}", Limit.of("level", 1e6))
    patient = httpx.Client(trust_env=False, timeout=FOR_EVER)
    with served.start(program=FEW_WORDS) as (process, url), patient as http:
        http.base_url = url

        def ask(method: str, path: str, body: bytes, headers: dict[str, Any]) -> Any:
            usual = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
            sent = [(name, value.encode("latin-1")) for name, value in (usual | headers).items()]
            return http.request(method, path, content=body or None, headers=sent)

        sent = canaries.send_everywhere(ask, http.get("/openapi.json").json(), few=True)
        assert {200, 400, 401, 404, 405, 413, 415, 421, 422} <= {one.status for one in sent}
        assert max(one.status for one in sent) < 500
        assert canaries.repeated(sent) == []
        assert not canaries.holds(ask("GET", "/metrics", b"", {}).content)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert not canaries.holds(served.all_it_said())
    with Budget.at(served.place, served.key) as budget:
        budget.forget_outcomes(timedelta(seconds=-60))
    kept = [one for one in tmp_path.iterdir() if canaries.holds(one.read_bytes())]
    assert kept == []


def test_what_cannot_be_served_is_said_at_once(tmp_path: Path) -> None:
    from system.conftest import run_here

    served = Served(tmp_path)
    tokens = str(tmp_path / "tokens.json")
    other = tmp_path / "other.key"
    other.write_text("f" * 64)
    under = ("--budget-key", str(other))
    for words, code, said in (
        (("--port", "0"), 2, "--tokens"),
        (("--port", "0", "--tokens", str(tmp_path / "none.json")), 2, "no token"),
        (("--tokens", tokens, "--budget", served.place, *under), 3, "another key"),
        (("--tokens", tokens, "--budget", str(tmp_path / "no.db"), *under), 4, "no budget"),
        (("--tokens", tokens, "--port", "70000"), 2, "65,535"),
        (("--tokens", tokens, "--allow-host", "https://a.org/"), 2, "without a path"),
    ):  # fmt: skip
        done: subprocess.CompletedProcess[bytes] = run_here("serve", *words)
        assert (done.returncode, said in done.stderr.decode()) == (code, True), done.stderr
    listed = run_here("serve", "token", "list", "--tokens", tokens, "--json")
    [kept] = json.loads(listed.stdout)
    assert set(kept) == {"id", "label", "rights", "made", "expires"}
    gone = run_here("serve", "token", "revoke", kept["id"], "--tokens", tokens)
    assert gone.returncode == 0
    assert run_here("serve", "token", "revoke", kept["id"], "--tokens", tokens).returncode == 3
    made = run_here("serve", "token", "add", "--tokens", tokens, "--rights", "analyze,release")
    assert made.stdout.decode().strip() not in (tmp_path / "tokens.json").read_text()
