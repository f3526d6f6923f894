"""Valid addresses and passwords of new accounts."""

import pytest

from app.actions.accounts.passwords import password_weakness
from app.text.email_addresses import email_spellings, login_limit_key, normalize_email
from tests.each_case import for_each


@for_each(
    "typed, normal",
    [
        (" Ada@Example.ORG ", "ada@example.org"),
        ("ada@BÜCHER.example", "ada@xn--bcher-kva.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        ("ada@example.org.", "ada@example.org"),
        ("ada@\uff45xample.org", "ada@example.org"),
        ("zoe\u0308@example.org", "zo\u00eb@example.org"),
        ("administrator@localhost", "administrator@localhost"),
        ("a.b+c@example.org", "a.b+c@example.org"),
    ],
)
def test_an_address_has_one_spelling(typed: str, normal: str) -> None:
    assert normalize_email(typed) == normal
    assert normalize_email(normal) == normal
    assert login_limit_key(typed) == normal
    assert normal in email_spellings(typed)
    assert typed.strip().lower() in email_spellings(typed)  # as former versions stored it


@for_each(
    "letter",
    ["\u200b", "\u200d", "\u00ad", "\u202e", "\u2066", "\ufeff", "\x00", "\x1f", "\x7f", "\x85", " ", "\u00a0", "\u2028",
     "\u3164", "\u2800", "\ufe0f", "\U000e0041", "\ue000", "\u0378"],
)  # fmt: skip
def test_invisible_and_control_characters_are_refused_on_both_sides(letter: str) -> None:
    for text in (f"a{letter}da@example.org", f"ada@exam{letter}ple.org"):
        with pytest.raises(ValueError, match="invisible or control"):
            normalize_email(text)
        assert email_spellings(text) == [text]  # an account that has it from before can still log in


@for_each(
    "text",
    [
        *("", "ada", "@example.org", "ada@", "a@b@example.org", "ada@-x.org", "ada@a..b", "\uff41da@example.org"),
        "deleted-0@Users.invalid",  # the account of another would get this address when it is deleted
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        normalize_email(text)


@for_each(
    "password, fault",
    [
        ("short one", "10 characters"),
        ("x" * 1001, "1000 characters"),
        ("Ada.Lovelace@Example.org", "e-mail address"),
        ("my ada.lovelace@example.org password", "e-mail address"),
        ("ada.lovelace", "besides your name"),
        ("ADA.LOVELACE1815", "besides your name"),
        ("Countess Lovelace", "besides your name"),
        ("1815 countess lovelace", "besides your name"),
        ("1234567890", "common"),
        ("Password123", "common"),
        ("qwertyuiop", "common"),
        ("correct horse battery staple", None),
        ("ada.lovelace likes engines", None),
        ("жёлтая лампа стоит", None),
    ],
)
def test_a_new_password_is_long_and_neither_common_nor_made_of_name_or_address(
    password: str, fault: str | None
) -> None:
    said = password_weakness(password, email="ada.lovelace@example.org", name="Countess Lovelace")
    assert said == fault or (said is not None and fault is not None and fault in said)


def test_a_name_of_two_letters_forbids_no_password() -> None:
    assert password_weakness("a needed pedal", email="ed@example.org", name="Ed") is None
