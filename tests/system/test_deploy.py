"""The files that deploy a service: what they promise, and that their commands run as they stand.

Containers cannot run here. Their commands are taken from the files and run as processes, with the
paths of a container replaced by those of a folder.
"""

from __future__ import annotations

import configparser
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import postgres_server
from running_service import EVERY, TEXT, address
from sfumato import Client
from sfumato.core.errors import ServiceFailed
from sfumato.service.tokens import Tokens, make_token
from system import warm
from system.conftest import environment, run_here
from system.test_service import LOADED, PROGRAM

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
HOST = "privacy.example.org"


def command() -> list[str]:
    """What the container of the service runs."""
    given: list[str] = COMPOSE["services"]["service"]["command"]
    return [re.sub(r"\$\{SFUMATO_HOST[^}]*\}", HOST, one) for one in given]


def test_containers_are_nobody_in_particular_and_write_nowhere_else() -> None:
    for name, one in COMPOSE["services"].items():
        assert one["read_only"] is True, name
        assert "no-new-privileges:true" in one["security_opt"], name
        assert "privileged" not in one
    for name in ("service", "tokens"):
        one = COMPOSE["services"][name]
        assert one["cap_drop"] == ["ALL"]
        assert re.fullmatch(r"\$\{SFUMATO_UID:-1000\}:\$\{SFUMATO_GID:-1000\}", one["user"])
    assert COMPOSE["services"]["service"]["ulimits"]["core"] == 0


def test_only_the_proxy_can_be_reached_and_only_the_service_reaches_the_budget() -> None:
    published = [name for name, one in COMPOSE["services"].items() if "ports" in one]
    assert published == ["proxy"]
    inside = [
        name for name, one in COMPOSE["services"].items() if "inside" in one.get("networks", ())
    ]
    assert inside == ["service", "db"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    caddy = (ROOT / "deploy" / "Caddyfile").read_text("utf-8")
    assert "reverse_proxy service:8470" in caddy
    assert "{$SFUMATO_HOST} {" in caddy
    assert "log" not in re.sub(r"#.*", "", caddy)
    assert caddy.count("{") == caddy.count("}")


def test_secrets_are_files_and_stand_in_no_variable() -> None:
    known = {name: one["file"] for name, one in COMPOSE["secrets"].items()}
    assert all(one.startswith("./secrets/") for one in known.values())
    used = {one for service in COMPOSE["services"].values() for one in service.get("secrets", ())}
    assert used == set(known)
    for service in COMPOSE["services"].values():
        for name, value in service.get("environment", {}).items():
            hidden = re.search(r"PASS|SECRET|TOKEN|KEY", name)
            assert not hidden or value.startswith("/run/secrets/"), name
    assert not re.search(r"://[^@/\s]*:[^@/\s]*@", " ".join(command()))
    for folder in ("secrets", "tokens"):
        assert f"/{folder}/" in (ROOT / ".gitignore").read_text("utf-8").splitlines()


def test_the_image_has_what_the_commands_need() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for name in ("service", "tokens"):
        asked = COMPOSE["services"][name]["build"]["args"]["EXTRAS"].split(",")
        assert {"service", "postgres"} <= set(asked) <= set(extras["optional-dependencies"])
    images = [one["image"] for one in COMPOSE["services"].values() if "image" in one]
    assert all(re.fullmatch(r"[a-z]+:\d+", one) for one in images)


def test_what_the_service_runs_runs_and_its_check_of_health_finds_it(tmp_path: Path) -> None:
    if reason := postgres_server.missing():
        pytest.skip(reason)
    spelled, kept = make_token("", EVERY)
    Tokens(tmp_path / "tokens.json").add(kept)
    (tmp_path / "budget.key").write_text("0" * 64)
    with postgres_server.server() as url:
        inside = {
            "/tokens/tokens.json": str(tmp_path / "tokens.json"),
            "/run/secrets/budget_key": str(tmp_path / "budget.key"),
            "postgresql://sfumato@db/sfumato": url,
            "--host=0.0.0.0": "--host=127.0.0.1",
            "8470": "0",
        }
        given = command()
        for there, here in inside.items():
            assert any(there in one for one in given), there
            given = [one.replace(there, here) for one in given]
        process = warm.start(PROGRAM, given, modules=LOADED, cwd=tmp_path, env=environment())
        assert process.stdout is not None
        where = address(process.stdout.readline())
        with Client(where, spelled) as client:
            assert client.health().status == "ok"  # it listens before it is warm
            _, python, option, check = COMPOSE["services"]["service"]["healthcheck"]["test"]
            assert (python, option) == ("python", "-c")
            here = check.replace("http://127.0.0.1:8470/", where).replace(
                "timeout=3", "timeout=300"
            )
            done = subprocess.run([sys.executable, option, here], check=False)
            assert done.returncode == 0
            client._transport._http.headers["Host"] = HOST  # as a proxy hands it on
            client.open_account("author:u-17", 30)
            made = client.privatize(TEXT, account="author:u-17", mechanism="laplace", epsilon=5)
            assert made.bill is not None
            assert made.bill.account.left == 5.0
            client._transport._http.headers["Host"] = "elsewhere.example.org"
            with pytest.raises(ServiceFailed, match="another name"):
                client.health()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        process.stdout.close()


def test_the_tool_for_tokens_is_the_command_of_the_documentation() -> None:
    entry = COMPOSE["services"]["tokens"]["entrypoint"]
    assert run_here(*entry[1:], "--help").returncode == 0
    assert COMPOSE["services"]["tokens"]["profiles"] == ["tools"]


def test_the_unit_of_systemd_is_strict_and_its_command_is_understood(tmp_path: Path) -> None:
    unit = configparser.RawConfigParser(strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((ROOT / "deploy" / "sfumato.service").read_text("utf-8"))
    settings = unit["Service"]
    assert settings["User"] not in ("", "root")
    for name in ("NoNewPrivileges", "PrivateTmp", "ProtectHome"):
        assert settings[name] == "yes"
    assert (settings["ProtectSystem"], settings["LimitCORE"], settings["UMask"]) == (
        "strict", "0", "0077",
    )  # fmt: skip
    program, *words = shlex.split(settings["ExecStart"])
    assert program.endswith("/sfumato")
    (tmp_path / "budget.key").write_text("0" * 64)
    # With a port that there is not, the command is read to its end and does not begin to serve.
    given = [one.replace("8470", "70000") for one in words]
    done = run_here(*given, cwd=tmp_path)
    assert (done.returncode, b"port=70000" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("seconds", [60])
def test_a_stop_waits_longer_than_the_longest_request(seconds: int) -> None:
    from sfumato.service.running import GRACE
    from sfumato.service.settings import Limits

    assert Limits().seconds == seconds
    longest = seconds + GRACE
    assert int(COMPOSE["services"]["service"]["stop_grace_period"].rstrip("s")) > longest
    unit = (ROOT / "deploy" / "sfumato.service").read_text("utf-8")
    (waits,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert int(waits) > longest
