"""The private key of receipts: a file that the database never holds; its public key is registered there."""

import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from sqlalchemy import event

from app.actions.operations.backup_folder import create_file_once, replace_private_file
from app.durable_files import fsync_folder
from app.errors import AssayError
from app.receipts.dsse import PAYLOAD_TYPE, encode_envelope, pre_authentication_encoding
from app.receipts.jwk import decode_base64url, encode_base64url, key_id, key_set
from app.settings import Settings
from app.store import clock
from app.store.queries import receipts
from app.store.session import ReadSession, WriteSession

KEYS_FOLDER: Final = "keys"
KEY_FILENAME: Final = "receipts.pem"


class ReceiptKeyUnusable(AssayError):
    """The private key of receipts cannot be read."""

    code = "receipt_key_unusable"
    remedy = (
        "Let ASSAY_RECEIPT_KEY_FILE name a file that the service's account can read, with an Ed25519 key in PEM: "
        "openssl genpkey -algorithm ed25519 -out FILE."
    )


class ReceiptKeyConfigured(AssayError):
    """The key of receipts is in a file that the settings name, so it is not replaced here."""

    code = "receipt_key_configured"
    remedy = (
        "Write a new key into that file: openssl genpkey -algorithm ed25519 -out FILE. Workers use it from the next "
        "receipt on."
    )


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    """A private key and its name."""

    private_key: Ed25519PrivateKey
    public_key: bytes
    id: str

    @classmethod
    def of(cls, private_key: Ed25519PrivateKey) -> "ReceiptKey":
        """The key with the thumbprint as its name."""
        public_key = private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return cls(private_key, public_key, key_id(public_key))

    def envelope(self, payload: bytes) -> str:
        """The envelope of a payload that this key signs."""
        return encode_envelope(
            payload, {self.id: self.private_key.sign(pre_authentication_encoding(PAYLOAD_TYPE, payload))}
        )

    def register(self, session: WriteSession) -> None:
        """Store the public key, unless it is stored; raises ReceiptKeyUnusable for the key of a log."""
        if not receipts.register_key(session, self.id, encode_base64url(self.public_key), clock.now(session)):
            remedy = "Let ASSAY_RECEIPT_KEY_FILE and ASSAY_LOG_KEY_FILE name files with different keys."
            raise ReceiptKeyUnusable("The key of receipts is that of the transparency log as well.", remedy=remedy)


def receipt_key_path(settings: Settings) -> Path:
    """The file of the private key."""
    return settings.receipt_key_file or settings.data_dir / KEYS_FOLDER / KEY_FILENAME


class ReceiptKeyFile:
    """The private key of this process: created at first use, and read again when its file was replaced."""

    def __init__(self, settings: Settings) -> None:
        self.path = receipt_key_path(settings)
        self._may_create = settings.receipt_key_file is None
        self._lock = threading.Lock()
        self._version: tuple[int, int] | None = None
        self._key: ReceiptKey | None = None
        self._registered: set[str] = set()

    def current(self) -> ReceiptKey:
        """The key in the file now; raises ReceiptKeyUnusable."""
        with self._lock:
            try:
                found = self.path.stat()
            except OSError:
                if self._key is not None:
                    return self._key  # it may be replaced just now
                if not self._may_create:
                    raise ReceiptKeyUnusable(f"The key of receipts {self.path} cannot be read.") from None
                _create_key_file(self.path)
                found = self.path.stat()
            if self._key is None or self._version != (found.st_ino, found.st_mtime_ns):
                self._key, self._version = read_key(self.path), (found.st_ino, found.st_mtime_ns)
            return self._key

    def registered(self, session: WriteSession) -> ReceiptKey:
        """The key, whose public key is registered at the latest when this transaction commits."""
        key = self.current()
        if key.id not in self._registered:
            key.register(session)
            event.listen(session, "after_commit", partial(self._remember, key.id), once=True)
        return key

    def _remember(self, name: str, _session: WriteSession) -> None:
        self._registered.add(name)


def read_key(path: Path) -> ReceiptKey:
    """The key in a PEM file; raises ReceiptKeyUnusable."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise ReceiptKeyUnusable(f"The key of receipts {path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise ReceiptKeyUnusable(f"The key of receipts {path} is no unencrypted private key in PEM.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise ReceiptKeyUnusable(f"The key of receipts {path} is no Ed25519 key.")
    return ReceiptKey.of(key)


def rotate_key(session: WriteSession, settings: Settings) -> tuple[ReceiptKey | None, ReceiptKey]:
    """Replace the private key; returns the old and the new key, both registered. The old private key is deleted.

    The file is replaced before this transaction commits: a worker that reads it meanwhile registers it itself. Raises
    ReceiptKeyConfigured and ReceiptKeyUnusable.
    """
    if settings.receipt_key_file is not None:
        raise ReceiptKeyConfigured(f"ASSAY_RECEIPT_KEY_FILE is {settings.receipt_key_file}.")
    path = receipt_key_path(settings)
    old, new = read_key(path) if path.exists() else None, Ed25519PrivateKey.generate()
    for key in (old, ReceiptKey.of(new)):
        if key is not None:
            key.register(session)
    replace_private_file(path, _pem(new))
    return old, ReceiptKey.of(new)


def public_key_set(session: ReadSession) -> dict[str, Any]:
    """The JWK set of all keys that sign or signed receipts, the newest first."""
    stored = (decode_base64url(row.public_key) for row in receipts.receipt_keys(session))
    return key_set(each for each in stored if each is not None)


def _create_key_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    create_file_once(path, _pem(Ed25519PrivateKey.generate()))
    fsync_folder(path.parent)


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
