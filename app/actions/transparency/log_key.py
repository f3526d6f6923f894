"""The private key of the transparency log: a file that only the process with the sequencer needs."""

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from app.actions.operations.backup_folder import replace_private_file
from app.errors import AssayError
from app.settings import Settings
from app.store.tables import LogOrigin, SigningKey
from app.tlog.note import ED25519, VerifierKey

LOG_KEY_PATH = "keys/log.pem"
"""The file in the data folder."""


class LogKeyUnusable(AssayError):
    """The private key of the transparency log cannot be read or used."""

    code = "log_key_unusable"
    remedy = (
        "Let ASSAY_LOG_KEY_FILE name a file that the service's account can read, with an Ed25519 key in PEM; to make "
        "one: 'openssl genpkey -algorithm ed25519 -out FILE'."
    )


@dataclass(frozen=True, slots=True)
class LogKey:
    """A private key and the RFC 7638 thumbprint of its public key."""

    private_key: Ed25519PrivateKey

    @property
    def public_key(self) -> str:
        """The public key, base64url without padding."""
        return encode_base64url(self.private_key.public_key().public_bytes_raw())

    @property
    def id(self) -> str:
        """The thumbprint."""
        members = rfc8785.dumps({"crv": "Ed25519", "kty": "OKP", "x": self.public_key})
        return encode_base64url(hashlib.sha256(members).digest())


def encode_base64url(content: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def verifier_key(origin: LogOrigin, key: SigningKey) -> VerifierKey:
    """The public key of a log, as tools for transparency logs take it."""
    return VerifierKey(origin.name, ED25519, base64.urlsafe_b64decode(f"{key.public_key}="))


def sequences_here(settings: Settings) -> bool:
    """Whether a process with these settings gives positions to records, and signs checkpoints."""
    return settings.log_key_file is not None or not settings.on_postgresql


def is_managed(settings: Settings) -> bool:
    """Whether the service makes the key itself, in its data folder, and may replace it."""
    return settings.log_key_file is None


def log_key_path(settings: Settings) -> Path:
    """The file of the private key."""
    return settings.log_key_file or settings.data_dir / LOG_KEY_PATH


def read_log_key(path: Path) -> LogKey:
    """The key in a PEM file; raises LogKeyUnusable."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise LogKeyUnusable(f"The key of the log {path} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise LogKeyUnusable(f"The key of the log {path} is no unencrypted private key in PEM.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise LogKeyUnusable(f"The key of the log {path} is no Ed25519 key.")
    return LogKey(key)


def replace_log_key(path: Path) -> LogKey:
    """Write a new key in place of the one in this file, if there is any; nobody else can read it."""
    key = LogKey(Ed25519PrivateKey.generate())
    replace_private_file(path, key.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return key
