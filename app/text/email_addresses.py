"""One spelling of every e-mail address, without characters that nobody sees."""

import unicodedata

import idna

from app.text.confusable_names import is_invisible

MAX_EMAIL_LENGTH = 320
# Controls, formatting signs (bidirectional ones among them), surrogates, private and unassigned ones, separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def normalize_email(text: str) -> str:
    """The one spelling of an address: composed (NFC), in lower case, its domain in ASCII (IDNA).

    Raises ValueError for what is no address, and for invisible, control or compatibility characters.
    """
    local, sign, domain = unicodedata.normalize("NFC", text.strip()).rpartition("@")
    if not sign or not local or "@" in local or not domain:
        raise ValueError("must be an address such as ada@example.org")
    for letter in local + domain:
        if unicodedata.category(letter) in _REFUSED_CATEGORIES or is_invisible(letter):
            msg = f"must not contain invisible or control characters, such as U+{ord(letter):04X}"
            raise ValueError(msg)
    if unicodedata.normalize("NFKC", local) != local:
        raise ValueError("must not contain compatibility characters, such as full-width letters, before the @")
    local = unicodedata.normalize("NFC", local.lower())
    normal = f"{local}@{_ascii_domain(domain)}"
    if len(normal) > MAX_EMAIL_LENGTH:
        msg = f"must have at most {MAX_EMAIL_LENGTH} characters, with the domain written in ASCII"
        raise ValueError(msg)
    return normal


def _ascii_domain(domain: str) -> str:
    try:
        return idna.encode(domain.removesuffix("."), uts46=True, transitional=False).decode("ascii")
    except idna.IDNAError as fault:
        raise ValueError("must have the name of a host after the @, such as example.org") from fault


def email_spellings(text: str) -> list[str]:
    """Under which an account of this address may be stored, the one as typed first.

    Accounts from before addresses were brought into one spelling are stored trimmed and in lower case.
    """
    typed = text.strip().lower()
    try:
        normal = normalize_email(text)
    except ValueError:
        return [typed]
    local, _, domain = normal.rpartition("@")
    shown = f"{local}@{_unicode_domain(domain)}"
    return list(
        dict.fromkeys((typed, normal, shown, *(unicodedata.normalize("NFD", each) for each in (normal, shown))))
    )


def login_limit_key(text: str) -> str:
    """What attempts to log in with this address are counted under."""
    try:
        return normalize_email(text)
    except ValueError:
        return text.strip().lower()


def _unicode_domain(domain: str) -> str:
    try:
        return idna.decode(domain)
    except idna.IDNAError:
        return domain
