"""A bucket's copies on this machine, its keys and its faults: never half a file, never a hang, and well again by itself."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import obstore
import pytest
from obstore.store import S3Store

from app.errors import StorageAlmostFull
from app.files.bucket import BucketFileStore, BucketTimeouts, FileStoreUnavailable
from app.files.download_cache import DownloadCache
from app.settings import Settings
from tests.files.test_contract import LARGE, all_keys, read, store
from tests.live_service import MAX_WAIT_SECONDS, eventually
from tests.s3_servers import FaultyS3Proxy, S3Server

QUICK = BucketTimeouts(max_retries=1, check_cache_seconds=0)
IMPATIENT = BucketTimeouts(
    query_seconds=0.3, upload_seconds=0.3, read_pause_seconds=0.3, max_retries=1, check_cache_seconds=0
)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> S3Server:
    chosen: S3Server = request.getfixturevalue(getattr(request, "param", "rclone"))
    return chosen


@pytest.fixture
def proxy(server: S3Server) -> Iterator[FaultyS3Proxy]:
    faulty = FaultyS3Proxy(server)
    yield faulty
    faulty.stop()


@pytest.fixture
def settings(server: S3Server, proxy: FaultyS3Proxy, tmp_path: Path) -> Settings:
    return server.settings(tmp_path, endpoint=proxy.url, files_cache=1000)


@pytest.fixture
def files(settings: Settings, tmp_path: Path) -> BucketFileStore:
    return BucketFileStore(settings, tmp_path / "work", QUICK)


def cached(tmp_path: Path) -> set[str]:
    return {f"uploads/{path.name}" for path in (tmp_path / "work" / "cache").iterdir()}


def spooled(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "work" / "spool").iterdir())


# ---- copies


def test_many_who_ask_for_a_file_at_once_share_one_download(files: BucketFileStore, proxy: FaultyS3Proxy) -> None:
    stored, other = store(files, b"for all"), store(files, b"for one")
    proxy.flowing.clear()
    together = threading.Barrier(8, timeout=MAX_WAIT_SECONDS)

    def ask() -> tuple[bytes, Path]:
        with files.local_path(stored.key) as path:
            together.wait()  # all hold it at once
            return path.read_bytes(), path

    with ThreadPoolExecutor(8) as pool:
        downloads = [pool.submit(ask) for _ in range(8)]
        eventually(lambda: proxy.request_count("GET") == 1, "the download has begun")
        proxy.flowing.set()
        answers = [each.result(timeout=MAX_WAIT_SECONDS) for each in downloads]
    assert {content for content, _ in answers} == {b"for all"}
    assert len({path for _, path in answers}) == 1
    assert proxy.request_count("GET") == 1
    assert read(files, stored.key) == b"for all"
    assert proxy.request_count("GET") == 1, "a kept copy is not asked for again"
    assert read(files, other.key) == b"for one"


def test_a_slow_download_holds_up_no_other_file(settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path) -> None:
    files = BucketFileStore(settings, tmp_path / "work")
    slow, quick = store(files, b"slow"), store(files, b"quick")
    proxy.stalled = slow.key
    proxy.flowing.clear()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read, files, slow.key)
        eventually(lambda: proxy.request_count("GET") == 1, "the slow one has begun")
        assert read(files, quick.key) == b"quick"
        assert not waiting.done()
        proxy.flowing.set()
        assert waiting.result(timeout=MAX_WAIT_SECONDS) == b"slow"


def test_the_least_recently_used_copies_go_when_there_are_too_many_bytes(
    files: BucketFileStore, tmp_path: Path
) -> None:
    first, second, third = (store(files, bytes(400)).key for _ in range(3))
    for key in (first, second, first, third):  # 800 bytes, then 1200 of 1000
        read(files, key)
    assert cached(tmp_path) == {first, third}


def test_a_copy_in_use_stays_whatever_comes(files: BucketFileStore, tmp_path: Path) -> None:
    keys = [store(files, bytes(400)).key for _ in range(4)]
    with ExitStack() as using:
        paths = [using.enter_context(files.local_path(key)) for key in keys]
        assert [path.stat().st_size for path in paths] == [400] * 4
        large = store(files, bytes(5000)).key
        assert read(files, large) == bytes(5000)
        assert cached(tmp_path) == set(keys), "larger than the whole cache: gone when read"
    assert len(cached(tmp_path)) == 2, "when they are given back, room is made"


def test_a_file_deleted_while_it_is_read_can_be_read_to_its_end(files: BucketFileStore, tmp_path: Path) -> None:
    key = store(files, b"last words").key
    with files.local_path(key) as path:
        files.delete(key)
        with pytest.raises(FileNotFoundError), files.local_path(key):
            pass
        assert path.read_bytes() == b"last words"
    assert cached(tmp_path) == set()


def test_a_reader_of_a_failed_download_leaves_the_next_copy_alone(tmp_path: Path) -> None:
    def fail(_out: BinaryIO) -> None:
        raise FileStoreUnavailable

    cache = DownloadCache(tmp_path / "cache", 1000)
    failed, _ = cache._take("uploads/1")
    cache.delete("uploads/1")
    cache._download(failed, fail)
    with cache.local_path("uploads/1", lambda out: out.writelines([b"whole"])) as path:
        cache._release(failed)
        assert path.read_bytes() == b"whole"


def test_copies_of_an_earlier_process_are_not_trusted(
    files: BucketFileStore, settings: Settings, tmp_path: Path
) -> None:
    key = store(files, b"as it is").key
    with files.local_path(key) as path:
        path.write_bytes(b"as a crash left it")
    later = BucketFileStore(settings, tmp_path / "work", QUICK)
    assert cached(tmp_path) == set()
    assert read(later, key) == b"as it is"


def test_a_disk_that_fills_up_during_a_download_is_said_to_be_short(files: BucketFileStore, tmp_path: Path) -> None:
    key = store(files, b"no room").key
    (tmp_path / "work" / "cache" / key.removeprefix("uploads/")).with_suffix(".part").symlink_to("/dev/full")
    with pytest.raises(StorageAlmostFull), files.local_path(key):
        pass
    assert read(files, key) == b"no room"


# ---- keys


def test_what_no_upload_made_is_not_named(files: BucketFileStore, server: S3Server, settings: Settings) -> None:
    own = store(files, b"own").key
    for name in ("notes.txt", "uploads/notes.txt", f"uploads/{'a' * 32}/inner", f"other/uploads/{'b' * 32}"):
        obstore.put(files._query_client, name, b"not ours")
    beside = BucketFileStore(
        settings.model_copy(update={"files_url": settings.files_url + "-2"}), settings.data_dir / "beside", QUICK
    )
    store(beside, b"of another prefix")
    assert all_keys(files) == [own]


def test_files_lie_below_the_prefix_of_the_bucket(files: BucketFileStore, server: S3Server, settings: Settings) -> None:
    key = store(files, b"here").key
    bucket = settings.files_url.removeprefix("s3://").partition("/")[0]
    assert isinstance(files._query_client, S3Store)
    whole = BucketFileStore(
        settings.model_copy(update={"files_url": f"s3://{bucket}"}), settings.data_dir / "whole", QUICK
    )
    assert obstore.get(whole._query_client, f"some/prefix/{key}").bytes().to_bytes() == b"here"
    assert all_keys(whole) == []


# ---- faults

OUTAGES = ["refused", "failing", "cut", "stalled"]


def outage(proxy: FaultyS3Proxy, how: str) -> None:
    {
        "refused": proxy.refuse,
        "failing": lambda: proxy.answers.extend([500, 503] * 50),
        "cut": lambda: setattr(proxy, "cuts", 100),
        "stalled": proxy.flowing.clear,
    }[how]()


def patience(how: str) -> BucketTimeouts:
    return IMPATIENT if how == "stalled" else QUICK


def works(action: Callable[[], object]) -> bool:
    """Whether it does now; a busy machine may need longer than the impatient wait."""
    try:
        action()
    except FileStoreUnavailable:
        return False
    return True


@pytest.mark.parametrize(
    ("how", "size"), [*((how, 10) for how in OUTAGES), ("failing", LARGE), ("cut", LARGE), ("refused", LARGE)]
)
def test_an_upload_during_an_outage_fails_whole_and_the_next_one_works(
    settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path, how: str, size: int
) -> None:
    files = BucketFileStore(settings, tmp_path / "work", patience(how))
    upload = files.begin()
    upload.write(bytes(size))
    outage(proxy, how)
    with pytest.raises(FileStoreUnavailable) as away:
        upload.finish()
    assert away.value.status == 503
    assert int(away.value.headers["Retry-After"]) > 0
    assert spooled(tmp_path) == []
    proxy.heal()
    eventually(lambda: works(lambda: list(files.keys(older=0))), "the store answers again")
    assert all_keys(files) == []
    eventually(lambda: works(lambda: store(files, b"well again")), "uploads work again")
    assert {read(files, key) for key in all_keys(files)} == {b"well again"}


def test_an_upload_that_arrived_and_could_not_be_seen_is_taken_back(
    files: BucketFileStore, proxy: FaultyS3Proxy
) -> None:
    proxy.broken = "HEAD"
    with pytest.raises(FileStoreUnavailable):
        store(files, b"there, perhaps")
    assert proxy.request_count("PUT") == 1
    assert all_keys(files) == []


def test_a_file_that_the_store_kept_in_part_is_taken_back(files: BucketFileStore, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.write_bytes(b"half of")
    with pytest.raises(FileStoreUnavailable, match="holds 7 of 14 bytes"):
        files.put("uploads/" + "1" * 32, part, 14)
    assert all_keys(files) == []


@pytest.mark.parametrize("size", [10, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("server", ["moto", "rclone"], indirect=True)
def test_a_passing_fault_is_not_noticed(files: BucketFileStore, proxy: FaultyS3Proxy, size: int) -> None:
    proxy.answers = [503]
    stored = store(files, bytes(size))
    proxy.answers = [500]
    assert read(files, stored.key) == bytes(size)
    proxy.answers = [503]
    assert all_keys(files) == [stored.key]
    proxy.answers = [500]
    files.delete(stored.key)
    assert all_keys(files) == []
    assert proxy.answers == []


@pytest.mark.parametrize("how", OUTAGES)
def test_a_download_during_an_outage_fails_whole_and_the_next_one_works(
    settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path, how: str
) -> None:
    files = BucketFileStore(settings, tmp_path / "work", patience(how))
    key = store(BucketFileStore(settings, tmp_path / "other", QUICK), bytes(LARGE)).key
    outage(proxy, how)
    with pytest.raises(FileStoreUnavailable), files.local_path(key):
        pass
    assert cached(tmp_path) == set()
    proxy.heal()
    eventually(lambda: works(lambda: read(files, key)), "downloads work again")
    assert read(files, key) == bytes(LARGE)


@pytest.mark.parametrize("server", ["moto", "rclone"], indirect=True)
def test_a_download_that_is_cut_once_is_taken_up_again(files: BucketFileStore, proxy: FaultyS3Proxy) -> None:
    stored = store(files, bytes(range(256)) * 20_000)
    proxy.cuts = 1
    assert read(files, stored.key) == bytes(range(256)) * 20_000
    assert proxy.cuts == 0


@pytest.mark.parametrize("how", ["refused", "failing", "stalled"])
def test_the_other_questions_say_so_too_and_work_again(
    settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path, how: str
) -> None:
    files = BucketFileStore(settings, tmp_path / "work", patience(how))
    key = store(BucketFileStore(settings, tmp_path / "other", QUICK), b"kept").key
    outage(proxy, how)
    for ask in (files.check, lambda: list(files.keys(older=0)), lambda: files.delete(key)):
        with pytest.raises(FileStoreUnavailable):
            ask()
    proxy.heal()
    eventually(lambda: works(files.check), "the store answers again")
    eventually(lambda: works(lambda: read(files, key)), "downloads work again")


def test_many_checks_are_one_question(settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path) -> None:
    files = BucketFileStore(settings, tmp_path / "work", BucketTimeouts(check_cache_seconds=600))
    for _ in range(20):
        files.check()
    assert len(proxy.seen) == 1


def test_after_an_upload_that_failed_an_earlier_answer_is_believed_no_longer(
    settings: Settings, proxy: FaultyS3Proxy, tmp_path: Path
) -> None:
    files = BucketFileStore(settings, tmp_path / "work", BucketTimeouts(max_retries=1, check_cache_seconds=600))
    files.check()
    proxy.refuse()
    files.check()
    with pytest.raises(FileStoreUnavailable):
        store(files, b"lost")
    with pytest.raises(FileStoreUnavailable):
        files.check()


@pytest.mark.parametrize("there", ["bucket", "keys"])
def test_a_wrong_place_is_told_from_a_missing_file(rclone: S3Server, tmp_path: Path, there: str) -> None:
    """A bucket that somebody removed must not look like files that somebody deleted."""
    wrong = {"bucket": {"bucket": "nobodys"}, "keys": {"s3_secret_key": "x" * 40}}[there]
    files = BucketFileStore(rclone.settings(tmp_path, **wrong), tmp_path / "work", QUICK)
    for ask in (files.check, lambda: read(files, "uploads/" + "0" * 32), lambda: store(files, b"lost")):
        with pytest.raises(
            FileStoreUnavailable, match={"bucket": "does not exist", "keys": "refuses this service"}[there]
        ):
            ask()
    assert spooled(tmp_path) == []


# ---- where the keys come from


def test_what_the_settings_do_not_say_comes_from_the_usual_variables(
    rclone: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"s3://{rclone.new_bucket()}"
    given = {"AWS_ENDPOINT_URL": rclone.url, "AWS_ACCESS_KEY_ID": rclone.access_key, "AWS_REGION": "eu-north-1"}
    for name, value in (given | {"AWS_SECRET_ACCESS_KEY": rclone.secret_key}).items():
        monkeypatch.setenv(name, value)
    files = BucketFileStore(Settings(data_dir=tmp_path, files_url=place, min_free=0), tmp_path / "work", QUICK)
    assert read(files, store(files, b"by variables").key) == b"by variables"


def test_what_the_settings_say_wins(rclone: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ENDPOINT_URL", "ENDPOINT_URL_S3", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "REGION"):
        monkeypatch.setenv(f"AWS_{name}", "http://127.0.0.1:9" if "URL" in name else "wrong")
    secret = tmp_path / "secret"
    secret.write_text(rclone.secret_key + "\n")
    settings = rclone.settings(tmp_path, s3_secret_key=None, s3_secret_key_file=secret)
    files = BucketFileStore(settings, tmp_path / "work", QUICK)
    assert read(files, store(files, b"by settings").key) == b"by settings"


def test_half_a_pair_of_keys_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    settings = Settings(data_dir=tmp_path, files_url="s3://bucket", s3_access_key="without a secret")
    with pytest.raises(FileStoreUnavailable, match="Only one key"):
        BucketFileStore(settings, tmp_path / "work")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("files_url", "s3://no bucket/prefix"),
        ("s3_region", "no region"),
        ("s3_access_key", "half of it"),
        ("s3_secret_key", "half\nof it"),
    ],
)
def test_a_place_that_is_none_is_refused_at_once(tmp_path: Path, name: str, given: str) -> None:
    sound = {"files_url": "s3://bucket", "s3_access_key": "x" * 20, "s3_secret_key": "y" * 40}
    settings = Settings.model_validate({"data_dir": tmp_path, **sound, name: given})
    with pytest.raises(FileStoreUnavailable, match="is not a valid") as refused:
        BucketFileStore(settings, tmp_path / "work")
    assert "half" not in refused.value.detail, "keys are not shown"
