"""Keys by their beginning and by their name; the name is kept."""

from __future__ import annotations

import pytest

from sfumato.policies.pii.reading import Page, Reading
from sfumato.policies.pii.secrets import ApiKey


def found(text: str) -> list[tuple[str, str]]:
    return [(text[span.start : span.end], span.rule) for span in ApiKey().find(Reading.of(text))]


@pytest.mark.parametrize(
    ("text", "expected", "rule"),
    [
        ("id AKIAQX7RBTVE2MNPLK4D ok", "AKIAQX7RBTVE2MNPLK4D", "key-prefix"),
        ("ghp_R4nD0mInv3nt3dT0k3nF0rT3st1ngOnly99", None, "key-prefix"),
        ("github_pat_11AAAAAAA0inventedinvented_42", None, "key-prefix"),
        ("xoxb-2048139-77120394-aBcDeFgHiJkL", None, "key-prefix"),
        ("sk_live_51Hx0TeStOnLyInVeNtEd", None, "key-prefix"),
        ("AIzaSyInv3nt3dKeyF0rT3st1ngPurp0ses12", None, "key-prefix"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0NzExIn0.q8Zt2mXwPl_4Rk", None, "key-prefix"),
        ("password=hunter2!", "hunter2!", "key-field"),
        ("DB_PASSWORD: s3cr3t", "s3cr3t", "key-field"),
        ('"api_key": "9f8e7d6c"', "9f8e7d6c", "key-field"),
        ("client_secret = 'a b c d'", "a b c d", "key-field"),
        ("passwort=geheim123 host=db01", "geheim123", "key-field"),
        ("clave=s3cr3t0Total", "s3cr3t0Total", "key-field"),
        ("mot_de_passe=Azerty2024!", "Azerty2024!", "key-field"),
        ("Authorization: Bearer abcdef123456", "abcdef123456", "key-context"),
        ("the password is blueHeron88.", "blueHeron88", "key-context"),
        ("pw was Tulip!2041 but", "Tulip!2041", "key-context"),
        ("la contraseña es Girasol_2022", "Girasol_2022", "key-context"),
    ],
)
def test_secrets_are_found_with_their_rule(text: str, expected: str | None, rule: str) -> None:
    assert (expected or text, rule) in found(text)


def test_a_framed_key_is_found_whole_and_without_its_end_as_far_as_it_goes() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIB\nabcd\n-----END RSA PRIVATE KEY-----"
    assert found(f"key:\n{key}\nbye") == [(key, "key-block")]
    cut = "-----BEGIN PRIVATE KEY-----\nMIIB"
    assert found(cut) == [(cut, "key-block")]
    assert found("-----BEGIN PUBLIC KEY-----\nMIIB") == []


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "password: required",
        "password=********",
        "token=${TOKEN}",
        "please reset my password today",
        "a key point",
        "the secret garden",
        "skiing and xoxo",
    ],
)
def test_talk_about_secrets_is_left_alone(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "éAKIAQX7RBTVE2MNPLK4D",
        "épassword=hunter2!",
        "pa\u017f\u017fword=hunter2!",
        "api_\u212aey=9f8e7d6c",
        "日本AKIAQX7RBTVE2MNPLK4D",
        "é -----BEGIN PRIVATE KEY-----abc",
        "-----BEGIN RSA PRIVATE KEY-----abc",
    ],
)
def test_a_document_with_a_secret_is_looked_at_among_many(text: str) -> None:
    """Letters beyond ASCII stand where a word seems to go on, or count as letters of ASCII."""
    others = [f"the pass {number}, a key; the monkey é" for number in range(30)]
    page = Page([*others, text])
    assert found(text)
    assert list(ApiKey().where(page)) == [len(others)]
