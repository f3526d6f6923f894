"""Normalizes e-mail addresses, and rejects those with invisible characters."""

import unicodedata

import idna

from app.text.confusable_names import is_invisible

MAX_EMAIL_LENGTH = 320
DELETED_DOMAIN = "users.invalid"
"""The domain of the addresses of deleted accounts: a person with such an address would keep another from deleting one."""
# Controls, format characters (such as bidirectional ones), surrogates, private use, unassigned, separators.
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})


def normalize_email(text: str) -> str:
    """The canonical form of an address: composed (NFC), in lower case, its domain in ASCII (IDNA).

    Raises ValueError for text that is no address, and for invisible, control or compatibility characters.
    """
    local, separator, domain = unicodedata.normalize("NFC", text.strip()).rpartition("@")
    if not separator or not local or "@" in local or not domain:
        raise ValueError("must be an address such as ada@example.org")
    for letter in local + domain:
        if unicodedata.category(letter) in _REFUSED_CATEGORIES or is_invisible(letter):
            msg = f"must not contain invisible or control characters, such as U+{ord(letter):04X}"
            raise ValueError(msg)
    if unicodedata.normalize("NFKC", local) != local:
        raise ValueError("must not contain compatibility characters, such as full-width letters, before the @")
    local = unicodedata.normalize("NFC", local.lower())
    normal = f"{local}@{_ascii_domain(domain)}"
    if normal.endswith(f"@{DELETED_DOMAIN}"):
        msg = f"must have another domain than {DELETED_DOMAIN}, which stands for deleted accounts"
        raise ValueError(msg)
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
    """The spellings under which an account with this address may be stored, the one as typed first.

    Accounts created before addresses were normalized are stored trimmed and in lower case.
    """
    typed = text.strip().lower()
    try:
        normal = normalize_email(text)
    except ValueError:
        return [typed]
    local, _, domain = normal.rpartition("@")
    unicode_form = f"{local}@{_unicode_domain(domain)}"
    decomposed = (unicodedata.normalize("NFD", spelling) for spelling in (normal, unicode_form))
    return list(dict.fromkeys((typed, normal, unicode_form, *decomposed)))


def login_limit_key(text: str) -> str:
    """The key under which login attempts with this address are counted."""
    try:
        return normalize_email(text)
    except ValueError:
        return text.strip().lower()


def _unicode_domain(domain: str) -> str:
    try:
        return idna.decode(domain)
    except idna.IDNAError:
        return domain
