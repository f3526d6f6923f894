"""A file store in a bucket of an S3 object store, for services that run on several machines."""

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import obstore
import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store

from app.errors import StorageAlmostFull, Unavailable
from app.files import KEY_FOLDERS, NAME_PATTERN, UPLOADS, StoredFile, new_key
from app.files.download_cache import DownloadCache
from app.files.partial_upload import PartialUpload
from app.settings import MIB, Settings

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config, S3Credential

KEY_PATTERN = re.compile(f"({'|'.join(KEY_FOLDERS)})/{NAME_PATTERN}")
BUCKET_PATTERN = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
ENDPOINT_PATTERN = re.compile(r"(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!-~]*)?)?")
PRINTABLE_PATTERN = re.compile("[!-~]+")
PART_BYTES = 8 * MIB  # size of one request of a multipart upload
MAX_CONCURRENT_PARTS = 3  # few, so that on a slow link each one ends before its timeout
RETRY_TIMEOUT_SECONDS = 10  # after the first attempt; no retry begins later

log = structlog.get_logger()


class FileStoreUnavailable(Unavailable):
    """The object store of the uploads did not answer; nothing was stored."""

    code = "files_away"
    remedy = (
        "Repeat the request after the time in Retry-After. If it persists, the administrator has to check the bucket:"
        " ASSAY_FILES_URL, ASSAY_S3_ENDPOINT, the keys, and the object store itself."
    )


@dataclass(frozen=True, slots=True)
class BucketTimeouts:
    """Timeouts in seconds, retries, and for how long the result of `check` is cached.

    A query is short. An upload request sends one part. A download has two limits: the whole may take long, because
    files are large, but a pause without bytes means that the connection is dead.
    """

    query_seconds: float = 5
    upload_seconds: float = 120
    read_pause_seconds: float = 20
    download_seconds: float = 900
    max_retries: int = 4
    check_cache_seconds: float = 2


class BucketUpload(PartialUpload):
    """Bytes in a spool file, which is put into the bucket once it is complete."""

    def __init__(self, files: "BucketFileStore", spool: Path, min_free: int) -> None:
        key = new_key(UPLOADS)
        super().__init__(key, spool / key.rpartition("/")[2], min_free)
        self._files = files

    def finish(self) -> StoredFile:
        """Put the file into the bucket; only then may a row refer to it.

        Raises FileStoreUnavailable, and then leaves nothing behind.
        """
        try:
            self._file.close()
        except OSError as full:
            self.abort()
            raise StorageAlmostFull from full
        try:
            self._files.put(self.key, self._part, self.size)
        finally:
            self.abort()
        return StoredFile(self.key, self._hash.hexdigest(), self.size)


class BucketFileStore:
    """The store at `s3://bucket/prefix`; `work` is a folder of this process for the spool and the cache."""

    def __init__(self, settings: Settings, work: Path, timeouts: BucketTimeouts | None = None) -> None:
        timeouts = timeouts or BucketTimeouts()
        self._spool = work / "spool"
        self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._copies = DownloadCache(work / "cache", settings.files_cache)
        self._min_free = settings.min_free
        self._query_client = _create_client(settings, timeouts.query_seconds, timeouts.max_retries)
        self._upload_client = _create_client(settings, timeouts.upload_seconds, timeouts.max_retries)
        self._download_client = _create_client(
            settings, timeouts.download_seconds, timeouts.max_retries, timeouts.read_pause_seconds
        )
        self._check_lock = threading.Lock()
        self._check_cache_seconds = timeouts.check_cache_seconds
        self._checked_until = 0.0
        self._fault: FileStoreUnavailable | None = None

    def begin(self) -> BucketUpload:
        """Start an upload; raises errors.StorageAlmostFull when little space is left for the spool."""
        self._require_space()
        try:
            return BucketUpload(self, self._spool, self._min_free)
        except OSError as full:
            raise StorageAlmostFull from full

    def put(self, key: str, path: Path, size: int) -> None:
        """Put a file into the bucket and check its size there.

        Raises FileStoreUnavailable, and then the file is not stored.
        """
        try:
            self._upload(key, path, size)
        except BaseException:
            self._checked_until = 0.0  # expire the cached result of `check`
            with suppress(FileStoreUnavailable):  # the sweep removes what cannot be deleted now
                self.delete(key)
            raise

    @contextmanager
    def local_path(self, key: str) -> Iterator[Path]:
        """The path of a complete local copy; raises FileNotFoundError, FileStoreUnavailable."""
        if not KEY_PATTERN.fullmatch(key):
            raise FileNotFoundError(key)
        with self._copies.local_path(key, lambda out: self.fetch(key, out)) as path:
            yield path

    def stored_path(self, key: str) -> None:
        """None: the file is not on this machine."""

    def fetch(self, key: str, out: BinaryIO) -> None:
        """Write the bytes of a file to `out`; raises FileNotFoundError, FileStoreUnavailable."""
        if not KEY_PATTERN.fullmatch(key):
            raise FileNotFoundError(key)
        try:
            with _translate_errors("get", key):
                response = obstore.get(self._download_client, key)
                out.writelines(response.stream(MIB))
        except FileNotFoundError as missing:
            raise FileNotFoundError(key) from missing
        if out.tell() != (size := response.meta["size"]):
            raise FileStoreUnavailable(f"The object store sent only {out.tell()} of {size} bytes of a file.")

    def size(self, key: str) -> int:
        """The size of a file in bytes; raises FileNotFoundError, FileStoreUnavailable."""
        if not KEY_PATTERN.fullmatch(key):
            raise FileNotFoundError(key)
        with _translate_errors("head", key):
            return int(obstore.head(self._query_client, key)["size"])

    def keys(self, *, older: float) -> Iterator[str]:
        """The keys of the files older than `older` seconds; ignores objects that no store created."""
        limit = datetime.now(UTC) - timedelta(seconds=older)
        for folder in KEY_FOLDERS:
            with _translate_errors("list", folder):
                for page in obstore.list(self._query_client, folder, chunk_size=1000):
                    for item in page:
                        if KEY_PATTERN.fullmatch(item["path"]) and item["last_modified"] < limit:
                            yield item["path"]

    def delete(self, key: str) -> None:
        """Delete a file; does nothing if it does not exist; raises FileStoreUnavailable."""
        with suppress(FileNotFoundError), _translate_errors("delete", key):
            obstore.delete(self._query_client, key)
        self._copies.delete(key)

    def check(self) -> None:
        """Raise errors.StorageAlmostFull when the spool lacks space, FileStoreUnavailable when the bucket fails."""
        self._require_space()
        with self._check_lock:  # concurrent callers share one request and its result
            if time.monotonic() >= self._checked_until:
                self._fault = self._check_bucket()
                self._checked_until = time.monotonic() + self._check_cache_seconds
            fault = self._fault
        if fault is not None:
            raise FileStoreUnavailable(fault.detail)

    def clear_leftovers(self, *, older: float) -> int:
        """Delete spool files older than `older` seconds; returns how many."""
        limit, removed = time.time() - older, 0
        for path in self._spool.iterdir():
            with suppress(FileNotFoundError):  # an upload may end at the same time
                if path.stat().st_mtime <= limit:
                    path.unlink()
                    removed += 1
        return removed

    def _check_bucket(self) -> FileStoreUnavailable | None:
        try:
            with _translate_errors("check", ""):
                list(obstore.list(self._query_client, "check"))  # always empty, so the reply is short
        except FileStoreUnavailable as fault:
            return fault
        return None

    def _upload(self, key: str, path: Path, size: int) -> None:
        try:
            with _translate_errors("put", key):
                obstore.put(self._upload_client, key, path, chunk_size=PART_BYTES, max_concurrency=MAX_CONCURRENT_PARTS)
                stored_size = obstore.head(self._query_client, key)["size"]
        except FileNotFoundError as missing:
            raise FileStoreUnavailable(
                "The object store lost a file after the upload; nothing was stored."
            ) from missing
        if stored_size != size:
            raise FileStoreUnavailable(f"The object store holds {stored_size} of {size} bytes; nothing was stored.")

    def _require_space(self) -> None:
        if shutil.disk_usage(self._spool).free < self._min_free:
            raise StorageAlmostFull


@contextmanager
def _translate_errors(doing: str, key: str) -> Iterator[None]:
    """Turn failures of the object store into FileStoreUnavailable; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, BaseError) as fault:
        message = str(fault)
        if isinstance(fault, FileNotFoundError) and "NoSuchBucket" not in message:
            raise
        log.warning("object_store_away", doing=doing, key=key, reason=message.partition("\n")[0][:500])
        raise FileStoreUnavailable(_failure_reason(message)) from fault


def _failure_reason(message: str) -> str | None:
    if "NoSuchBucket" in message:
        return "The bucket of the uploads does not exist; nothing was stored."
    if "403 Forbidden" in message or "401 Unauthorized" in message:
        return "The object store refuses this service: its keys are wrong or missing; nothing was stored."
    return None


def _create_client(settings: Settings, timeout: float, max_retries: int, pause: float | None = None) -> S3Store:
    """A client that gives up a request after `timeout` seconds, or when no bytes arrive for `pause` seconds."""
    bucket, _, prefix = settings.files_url.removeprefix("s3://").partition("/")
    endpoint = settings.s3_endpoint or _environment_value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    region = settings.s3_region or _environment_value("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"
    _require_match(BUCKET_PATTERN, bucket, "bucket")
    _require_match(ENDPOINT_PATTERN, endpoint, "address (http://… or https://…)")
    _require_match(PRINTABLE_PATTERN, region, "region")
    # Not every store supports bulk deletion, and files are deleted one by one.
    config: S3Config = {"region": region, "disable_bulk_delete": True}
    if endpoint:  # under both names: the second takes precedence, even if it comes from the environment
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint, "virtual_hosted_style_request": False}
    client: ClientConfig = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=min(5, timeout)),
        "timeout": timedelta(seconds=timeout),
    }
    if pause:
        client["read_timeout"] = timedelta(seconds=pause)
    keys = _credentials(settings)
    with _translate_errors("connect", ""):
        return S3Store(
            bucket,
            prefix=prefix.strip("/") or None,
            config=config,
            client_options=client,
            credential_provider=keys,
            retry_config={
                "max_retries": max_retries,
                "retry_timeout": timedelta(seconds=RETRY_TIMEOUT_SECONDS),
                "backoff": {
                    "init_backoff": timedelta(seconds=0.1),
                    "max_backoff": timedelta(seconds=2),
                    "base": 2,
                },
            },
        )


def _credentials(settings: Settings) -> "Callable[[], S3Credential] | None":
    """The keys from the settings, else from the environment, else None for the role of the machine."""
    key = settings.s3_access_key or _environment_value("AWS_ACCESS_KEY_ID")
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else ""
    if not secret and settings.s3_secret_key_file:
        secret = settings.s3_secret_key_file.read_text(encoding="utf-8").strip()
    secret = secret or _environment_value("AWS_SECRET_ACCESS_KEY")
    if bool(key) != bool(secret):
        raise FileStoreUnavailable(
            "Only one key of the object store is set; the access key and the secret key are both required."
        )
    if not key:
        return None
    for word in (key, secret):
        _require_match(PRINTABLE_PATTERN, word, "key", shown=False)
    token = None if settings.s3_access_key else _environment_value("AWS_SESSION_TOKEN") or None
    keys: S3Credential = {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}
    return lambda: keys


def _require_match(pattern: re.Pattern[str], value: str, what: str, *, shown: bool = True) -> None:
    """Reject a value that fits into no request: instead of raising an error, the library would panic."""
    if not pattern.fullmatch(value):
        raise FileStoreUnavailable(
            f"{repr(value) if shown else 'A configured value'} is not a valid {what} of an object store."
        )


def _environment_value(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")
