"""The header Host: which spellings are a name of the service, and which are none at all."""

from __future__ import annotations

import socket

import pytest

from sfumato.core.errors import InvalidArgument
from sfumato.service.hosts import Host, Names
from sfumato.service.running import address_of, bind
from sfumato.service.settings import ServiceSettings

ZONE = "fe80::1%eth0"


@pytest.mark.parametrize(
    ("given", "header"),
    [
        ("privacy.example.org", "privacy.example.org"),
        ("privacy.example.org", "PRIVACY.Example.ORG:8470"),
        ("privacy.example.org", "privacy.example.org."),
        ("privacy.example.org.", "privacy.example.org.:1"),
        ("Privacy.Example.Org", "privacy.example.org"),
        ("privacy.example.org:8470", "privacy.example.org:8470"),
        ("privacy.example.org:443", "privacy.example.org"),
        ("privacy.example.org:80", "privacy.example.org"),
        ("10.0.0.7", "10.0.0.7:8470"),
        ("2001:db8::1", "[2001:db8::1]"),
        ("2001:DB8:0:0::1", "[2001:db8::1]:8470"),
        ("[2001:db8::1]", "[2001:0db8::0001]:1"),
        ("[2001:db8::1]:8470", "[2001:DB8::1]:8470"),
        ("::ffff:10.0.0.7", "[::ffff:a00:7]"),
        (ZONE, "[fe80::1]:8470"),
        (f"[{ZONE}]", "[fe80::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("bücher.example:8470", "xn--bcher-kva.example:8470"),
        ("a_b", "a_b:80"),
    ],
)
def test_a_name_is_answered_in_any_of_its_spellings(given: str, header: str) -> None:
    assert ServiceSettings(hosts=(given,)).names.include(header.encode())
    if Host.given(given).port is None:  # where it listens is a name, too
        assert ServiceSettings(host=given).names.include(header.encode())
    assert not ServiceSettings().names.include(header.encode())


@pytest.mark.parametrize(
    "header",
    [
        "", ".", "..", ":", ":80", "localhost:", "localhost..", ".localhost", "localhost:80:80",
        "localhost:-1", "localhost:+80", "localhost:80 ", " localhost", "localhost ", "local host",
        "localhost\t", "localhost\n", "localhost\x00", "localhost:65536", "localhost:999999",
        "localhost:８０", "localhost:0x50", "user@localhost", "user:pw@localhost", "localhost@",
        "evil.org#localhost", "localhost/", "localhost/x", "localhost?x", "localhost\\.evil.org",
        "http://localhost", "localhost,evil.org", "localhost, localhost", "localhost;x",
        "%6cocalhost", "localhost%00", "localhost%2eevil.org", "localhost%25", "ｌocalhost",
        "lo\u200bcalhost", "localhost\xad", "localhost.evil.org", "evil.localhost", "notlocalhost",
        "xlocalhost", "127.0.0.1.evil.org", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1",
        "127.0.0.1%eth0", "0.0.0.0", "[::]", "::1", "::1:80", "[::1", "::1]", "[[::1]]", "[]",
        "[::1]x", "[::1].evil.org", "[::1]:", "[::1]:80.evil.org", "[::1%lo]", "[::1%25lo]",
        "[::1 ]", "[localhost]", "[127.0.0.1]", "[::ffff:127.0.0.1]", "[v1.x]", "[::g]",
        "10.0.0.8", "[2001:db8::2]", "named.example.org:8471", "named.example.org",
        "a" * 64, ".".join(["a"] * 200),
    ],
)  # fmt: skip
def test_anything_else_is_no_name_of_the_service(header: str) -> None:
    names = ServiceSettings(
        host="10.0.0.7", hosts=("2001:db8::1", "named.example.org:8470", "privacy.example.org")
    ).names
    assert not names.include(header.encode())
    assert not names.include(header.encode("utf-16"))
    for hidden in ("privacy.example.org", "[2001:db8::1]"):
        assert not names.include(header.replace("localhost", f"{hidden}@").encode())


def test_of_all_interfaces_none_is_a_name() -> None:
    for everywhere in ("0.0.0.0", "::", "[::]", "0:0::0"):
        assert ServiceSettings(host=everywhere).names == Names.of(())


@pytest.mark.parametrize(
    "written",
    [
        "", " ", "http://example.org", "example.org/path", "user@example.org", "two names",
        "name:", "name:port", "name:70000", "[::1", "[::1]x", "[fe80::1%eth0]:80", "-a.org", "a..b",
        "*", "*.example.org", "%61", "a" * 300, "\udc80.org", "☃" * 100,
    ],
)  # fmt: skip
def test_what_is_no_name_is_refused_before_anything_listens(written: str) -> None:
    for settings in ({"hosts": (written,)}, {"host": written}):
        with pytest.raises(InvalidArgument, match="a host is a name or an address"):
            ServiceSettings(**settings)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True),
        ("LOCALHOST", True), ("localhost.", True), ("0.0.0.0", False), ("::", False),
        ("10.0.0.7", False), (ZONE, False), ("localhost.evil.org", False),
    ],
)  # fmt: skip
def test_which_addresses_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert ServiceSettings(host=host).is_loopback is loopback


def test_the_address_that_is_shown_is_answered() -> None:
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        settings = ServiceSettings(host=host, port=0)
        with bind(settings) as listening:
            shown = address_of(settings, listening)
            asked = shown.removeprefix("http://").removesuffix("/")
            assert settings.names.include(asked.encode())
            with socket.create_connection(("127.0.0.1", listening.getsockname()[1])):
                pass
