"""A bucket of an S3 object store as the file store: for services that run on several machines."""

import os
import re
import shutil
import threading
import time
import uuid
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
from app.files import StoredFile
from app.files.download_cache import DownloadCache
from app.files.partial_upload import PartialUpload
from app.settings import MIB, Settings

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config, S3Credential

KEY_PATTERN = re.compile("uploads/[0-9a-f]{32}")
BUCKET_PATTERN = re.compile("[A-Za-z0-9][A-Za-z0-9._-]*")
ENDPOINT_PATTERN = re.compile(r"(https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!-~]*)?)?")
PRINTABLE_PATTERN = re.compile("[!-~]+")
PART_BYTES = 8 * MIB  # bytes of one request of a large upload
MAX_CONCURRENT_PARTS = 3  # so that on a slow link each still ends in time
RETRY_TIMEOUT_SECONDS = 10  # no try begins later than this after the first

log = structlog.get_logger()


class FileStoreUnavailable(Unavailable):
    """The object store of the uploads did not answer; nothing was stored."""

    code = "files_away"
    remedy = (
        "Repeat the request after the time in Retry-After. If it persists, the administrator has to look at the bucket:"
        " ASSAY_FILES_URL, ASSAY_S3_ENDPOINT, the keys, and the store itself."
    )


@dataclass(frozen=True, slots=True)
class BucketTimeouts:
    """Seconds that one request may take: a question, a part of an upload, a pause of a download, a whole download.

    And how often a request that failed is sent again, and how long the answer to `check` is believed.
    """

    query_seconds: float = 5
    upload_seconds: float = 120
    read_pause_seconds: float = 20
    reading: float = 900
    again: int = 4
    check_cache_seconds: float = 2


class BucketUpload(PartialUpload):
    """Bytes into a spool file; put into the bucket under a key of its own when whole."""

    def __init__(self, files: "BucketFileStore", spool: Path) -> None:
        name = uuid.uuid4().hex
        super().__init__(f"uploads/{name}", spool / name)
        self._files = files

    def finish(self) -> StoredFile:
        """Put the file into the bucket: only after that may a row point to it; raises FilesAway, and nothing is left."""
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
    """The store at `s3://bucket/prefix`; `work` is a folder of this process alone, for what is on its way."""

    def __init__(self, settings: Settings, work: Path, patience: BucketTimeouts | None = None) -> None:
        patience = patience or BucketTimeouts()
        self._spool = work / "spool"
        self._spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._copies = DownloadCache(work / "cache", settings.files_cache)
        self._min_free = settings.min_free
        self._query_client = _create_client(settings, patience.query_seconds, patience.again)
        self._upload_client = _create_client(settings, patience.upload_seconds, patience.again)
        self._download_client = _create_client(settings, patience.reading, patience.again, patience.read_pause_seconds)
        self._check_lock = threading.Lock()
        self._check_cache_seconds = patience.check_cache_seconds
        self._checked_until = 0.0
        self._fault: FileStoreUnavailable | None = None

    def begin(self) -> BucketUpload:
        """Start an upload; raises errors.StorageShort when little space is left for the spool."""
        self._require_space()
        try:
            return BucketUpload(self, self._spool)
        except OSError as full:
            raise StorageAlmostFull from full

    def put(self, key: str, path: Path, size: int) -> None:
        """Put a file into the bucket and see that it is there whole; raises FilesAway, and then it is not there."""
        try:
            self._upload(key, path, size)
        except BaseException:
            self._checked_until = 0.0  # an earlier answer of the check is believed no longer
            with suppress(FileStoreUnavailable):  # the sweeper removes what cannot be removed now
                self.delete(key)
            raise

    @contextmanager
    def local_path(self, key: str) -> Iterator[Path]:
        """The path of a whole copy on this machine; raises FileNotFoundError, FilesAway."""
        if not KEY_PATTERN.fullmatch(key):
            raise FileNotFoundError(key)
        with self._copies.local_path(key, lambda out: self._download(key, out)) as path:
            yield path

    def size(self, key: str) -> int:
        """The bytes of a file; raises FileNotFoundError, FilesAway."""
        if not KEY_PATTERN.fullmatch(key):
            raise FileNotFoundError(key)
        with _translate_errors("head", key):
            return int(obstore.head(self._query_client, key)["size"])

    def keys(self, *, older: float) -> Iterator[str]:
        """The keys of the files that are older than so many seconds; what no upload made is not ours to name."""
        limit = datetime.now(UTC) - timedelta(seconds=older)
        with _translate_errors("list", "uploads"):
            for page in obstore.list(self._query_client, "uploads", chunk_size=1000):
                for found in page:
                    if KEY_PATTERN.fullmatch(found["path"]) and found["last_modified"] < limit:
                        yield found["path"]

    def delete(self, key: str) -> None:
        """Remove a file; nothing happens when it is gone already; raises FilesAway."""
        with suppress(FileNotFoundError), _translate_errors("delete", key):
            obstore.delete(self._query_client, key)
        self._copies.delete(key)

    def check(self) -> None:
        """Raise errors.StorageShort when little space is left for the spool, FilesAway when the bucket is away."""
        self._require_space()
        with self._check_lock:  # many who ask at once share one request and its answer
            if time.monotonic() >= self._checked_until:
                self._fault = self._ask()
                self._checked_until = time.monotonic() + self._check_cache_seconds
            fault = self._fault
        if fault is not None:
            raise FileStoreUnavailable(fault.detail)

    def clear_leftovers(self, *, older: float) -> int:
        """Remove spool files that old; returns how many."""
        limit, removed = time.time() - older, 0
        for path in self._spool.iterdir():
            with suppress(FileNotFoundError):  # an upload may end at this moment
                if path.stat().st_mtime <= limit:
                    path.unlink()
                    removed += 1
        return removed

    def _ask(self) -> FileStoreUnavailable | None:
        try:
            with _translate_errors("check", ""):
                list(obstore.list(self._query_client, "check"))  # nothing is ever kept there, so the answer is short
        except FileStoreUnavailable as fault:
            return fault
        return None

    def _upload(self, key: str, path: Path, size: int) -> None:
        try:
            with _translate_errors("put", key):
                obstore.put(self._upload_client, key, path, chunk_size=PART_BYTES, max_concurrency=MAX_CONCURRENT_PARTS)
                found = obstore.head(self._query_client, key)["size"]
        except FileNotFoundError as lost:
            raise FileStoreUnavailable(
                "The object store does not find what it has just taken; nothing was stored."
            ) from lost
        if found != size:
            raise FileStoreUnavailable(f"The object store kept {found} of {size} bytes; nothing was stored.")

    def _download(self, key: str, out: BinaryIO) -> None:
        try:
            with _translate_errors("get", key):
                got = obstore.get(self._download_client, key)
                out.writelines(got.stream(MIB))
        except FileNotFoundError as absent:
            raise FileNotFoundError(key) from absent
        if out.tell() != got.meta["size"]:
            raise FileStoreUnavailable(
                f"Only {out.tell()} of {got.meta['size']} bytes of a file came from the object store."
            )

    def _require_space(self) -> None:
        if shutil.disk_usage(self._spool).free < self._min_free:
            raise StorageAlmostFull


@contextmanager
def _translate_errors(doing: str, key: str) -> Iterator[None]:
    """Turn what the object store does wrong into FilesAway; a missing object stays a FileNotFoundError."""
    try:
        yield
    except (FileNotFoundError, BaseError) as fault:
        said = str(fault)
        if isinstance(fault, FileNotFoundError) and "NoSuchBucket" not in said:
            raise
        log.warning("object_store_away", doing=doing, key=key, reason=said.partition("\n")[0][:500])
        raise FileStoreUnavailable(_failure_reason(said)) from fault


def _failure_reason(said: str) -> str | None:
    if "NoSuchBucket" in said:
        return "The bucket of the uploads does not exist; nothing was stored."
    if "403 Forbidden" in said or "401 Unauthorized" in said:
        return "The object store refuses this service: its keys are wrong or missing; nothing was stored."
    return None


def _create_client(settings: Settings, whole: float, again: int, pause: float | None = None) -> S3Store:
    """A client that gives up a request after `whole` seconds, or when nothing comes for `pause` of them."""
    bucket, _, prefix = settings.files_url.removeprefix("s3://").partition("/")
    endpoint = settings.s3_endpoint or _environment_value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    region = settings.s3_region or _environment_value("AWS_REGION", "AWS_DEFAULT_REGION") or "us-east-1"
    _require_match(BUCKET_PATTERN, bucket, "bucket")
    _require_match(ENDPOINT_PATTERN, endpoint, "address (http://… or https://…)")
    _require_match(PRINTABLE_PATTERN, region, "region")
    config: S3Config = {
        "region": region,
        "disable_bulk_delete": True,  # not every store knows it, and files are deleted one by one
    }
    if endpoint:  # both names, for the second wins wherever it comes from
        config |= {"endpoint": endpoint, "aws_endpoint_url_s3": endpoint, "virtual_hosted_style_request": False}
    client: ClientConfig = {
        "allow_http": endpoint.startswith("http://"),
        "connect_timeout": timedelta(seconds=min(5, whole)),
        "timeout": timedelta(seconds=whole),
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
                "max_retries": again,
                "retry_timeout": timedelta(seconds=RETRY_TIMEOUT_SECONDS),
                "backoff": {
                    "init_backoff": timedelta(seconds=0.1),
                    "max_backoff": timedelta(seconds=2),
                    "base": 2,
                },
            },
        )


def _credentials(settings: Settings) -> "Callable[[], S3Credential] | None":
    """The keys of the settings, else those of the environment, else what the machine that we run on is allowed."""
    key = settings.s3_access_key or _environment_value("AWS_ACCESS_KEY_ID")
    secret = settings.s3_secret_key.get_secret_value() if settings.s3_secret_key else ""
    if not secret and settings.s3_secret_key_file:
        secret = settings.s3_secret_key_file.read_text(encoding="utf-8").strip()
    secret = secret or _environment_value("AWS_SECRET_ACCESS_KEY")
    if bool(key) != bool(secret):
        raise FileStoreUnavailable(
            "Of the keys of the object store only one is set: access key and secret key go together."
        )
    if not key:
        return None
    for word in (key, secret):
        _require_match(PRINTABLE_PATTERN, word, "key", shown=False)
    token = None if settings.s3_access_key else _environment_value("AWS_SESSION_TOKEN") or None
    made: S3Credential = {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}
    return lambda: made


def _require_match(form: re.Pattern[str], given: str, what: str, *, shown: bool = True) -> None:
    """Refuse what no request can be made of: the library would not raise an error, but panic."""
    if not form.fullmatch(given):
        raise FileStoreUnavailable(f"{repr(given) if shown else 'What is set'} is no {what} of an object store.")


def _environment_value(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")
