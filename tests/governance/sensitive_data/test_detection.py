"""What is sensitive is found, and what only looks like it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.keys import key_generate
from apps.core.data_classes import DATA_CLASSES, highest
from apps.governance.sensitive_data.classification import classify
from apps.governance.sensitive_data.detection import CLASS_OF, KINDS, findings_in
from apps.governance.sensitive_data.plain_form import plain_form

ROOT = Path(__file__).resolve().parents[3]


def kinds(text: str) -> list[str]:
    return [each.kind for each in findings_in(text)]


def texts(text: str) -> list[str]:
    return [text[each.start : each.end] for each in findings_in(text)]


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        (
            "Pay DE89 3704 0044 0532 0130 00 today",
            "iban",
            "DE89 3704 0044 0532 0130 00",
        ),
        ("GB82WEST12345698765432.", "iban", "GB82WEST12345698765432"),
        ("IBAN: nl91abna0417164300", "iban", "nl91abna0417164300"),
        ("card 4111 1111 1111 1111 exp", "card", "4111 1111 1111 1111"),
        ("378282246310005", "card", "378282246310005"),
        ("5500-0055-5555-5559", "card", "5500-0055-5555-5559"),
        ("write to ana.b+x@mail.example.org!", "email", "ana.b+x@mail.example.org"),
        ("call +49 30 901820 now", "phone", "+49 30 901820"),
        ("0044 20 7946 0018", "phone", "0044 20 7946 0018"),
        ("Steuer-ID 36 574 261 809", "tax_number", "36 574 261 809"),
        ("DNI 54362315K", "tax_number", "54362315K"),
        ("RCCMNL83S18D969H", "tax_number", "RCCMNL83S18D969H"),
        ("his SSN is 536-90-4399", "tax_number", "536-90-4399"),
        ("PESEL 44051401359", "tax_number", "44051401359"),
        ("AKIAIOSFODNN7EXAMPLE", "secret", "AKIAIOSFODNN7EXAMPLE"),
        ("password: hT7#kQ2!vX9z", "secret", "hT7#kQ2!vX9z"),
        ("api_key='a8Fk39dLq02Zm5Tx'", "secret", "a8Fk39dLq02Zm5Tx"),
        ("card 4111.1111.1111.1111 exp", "card", "4111.1111.1111.1111"),
        ("4111\u00a01111  1111\n1111!", "card", "4111\u00a01111  1111\n1111"),
        (
            "４１１１ １１１１ １１１１ １１１１",
            "card",
            "４１１１ １１１１ １１１１ １１１１",
        ),
        ("é 4111\u200b1111\u00ad1111–1111", "card", "4111\u200b1111\u00ad1111–1111"),
        ("DE89-3704-0044-0532-0130-00", "iban", "DE89-3704-0044-0532-0130-00"),
        ("to ana＠example．org", "email", "ana＠example．org"),
        (
            "-----BEGIN RSA PRIVATE KEY-----",
            "secret",
            "-----BEGIN RSA PRIVATE KEY-----",
        ),
    ],
)
def test_sensitive_data_is_found(text: str, kind: str, found: str) -> None:
    assert (kinds(text), texts(text)) == ([kind], [found])


def test_our_own_keys_are_secrets() -> None:
    assert kinds(f"use {key_generate().secret} please") == ["secret"]


@pytest.mark.parametrize(
    "text",
    [
        "DE89 3704 0044 0532 0130 01",  # wrong check digits
        "4111 1111 1111 1112",  # fails Luhn
        "order 1234567890123452",  # Luhn, but of no issuer
        "36 574 261 809",  # a tax number, without a word that says so
        "536-90-4399",
        "123456782",
        "2026-11-23T10:00:00Z",
        "192.168.100.200 and 2001:db8::1",
        "version 10.2.3-rc.1",
        "ISBN 978-3-16-148410-0",
        "0199c0de-0000-7000-8000-000000000001",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "+1 2 3 = 6 and 17 * 23 + 4",
        "@decorator and a@b",
        "password: correct horse battery staple",
        "password=<your-password>",
        "token: ${TOKEN_FROM_VAULT_1}",
        "the token is ready",
        "x = y['password']",
    ],
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert findings_in(text) == ()


def test_the_documentation_holds_no_numbers_of_people_or_accounts() -> None:
    """Precision on ordinary text: prose, code and tables. Examples are about both."""
    pages = sorted({*ROOT.glob("docs/**/*.md")} - {*ROOT.glob("docs/examples/**/*.md")})
    text = "\n".join(page.read_text("utf-8") for page in pages)
    assert len(text) > 200_000
    wrong = {"card", "iban", "tax_number", "phone"}
    assert [text[e.start : e.end] for e in findings_in(text) if e.kind in wrong] == []


@given(st.text(alphabet=st.sampled_from("0123456789 -+@.DE:=abcKey_sk"), max_size=300))
def test_findings_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for each in findings_in(text):
        assert each.kind in KINDS
        assert end <= each.start < each.end <= len(text)
        end = each.end


@pytest.mark.parametrize(
    "unit", ["4111 ", "a@", "+49", "DE89 ", "password=", "1-", "eyJabcdefghij."]
)
def test_long_texts_are_read_to_the_end(unit: str) -> None:
    """A pattern that goes back and forth would not come to an end here."""
    text = (unit * 500_000)[:500_000]
    assert kinds(f"{text} write to ana@example.org")[-1:] == ["email"]


def test_every_kind_has_a_class() -> None:
    assert set(CLASS_OF) == set(KINDS)


def test_the_highest_class_wins() -> None:
    assert classify(["hello"]).data_class == "internal"
    assert classify(["hello"], ["public"]).data_class == "public"
    found = classify(["DE89 3704 0044 0532 0130 00", "a@example.org"], ["public"])
    assert found.data_class == "confidential"
    assert found.findings == {"iban": 1, "email": 1}
    assert classify(["x"], ["restricted", "public"]).data_class == "restricted"
    assert highest(()) == DATA_CLASSES[0]


@given(st.text(alphabet="a \n\u00a0\u200b\u00ade\u0301é１–-x\ufb01한ᄒ", max_size=30))
def test_each_part_of_the_plain_form_stands_somewhere_in_the_text(text: str) -> None:
    plain = plain_form(text)
    places = [plain.span(n, n + 1) for n in range(len(plain.text))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)
    if plain.text:
        start, end = plain.span(0, len(plain.text))
        assert plain_form(text[start:end]).text == plain.text
