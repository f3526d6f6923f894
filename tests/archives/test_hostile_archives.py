"""Archives that somebody made to harm: each is refused with the reason, and nothing is ever written by its names."""

import io
import stat
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.archives.open_archive import ArchiveLimits, InvalidArchive, open_archive
from app.archives.verification import verify_archive
from tests.archives.building import Members, good_members, manifest_of, pack, save

GOOD = pack(good_members())


def refusal(path: Path, limits: ArchiveLimits | None = None) -> str:
    """Why the archive is refused, or what is found in it."""
    try:
        with open_archive(path, limits or ArchiveLimits()) as archive:
            return "; ".join(verify_archive(archive).faults)
    except InvalidArchive as error:
        return error.detail


def with_member(name: str, content: bytes = b"x") -> bytes:
    return pack(good_members() | {name: content})


def with_entry(change: Callable[[zipfile.ZipInfo], None]) -> bytes:
    """An archive with one more member whose entry was changed."""
    members, target = good_members(), io.BytesIO()
    entry = zipfile.ZipInfo("gold/2.csv")
    change(entry)
    with zipfile.ZipFile(target, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
        out.writestr(entry, b"/etc/passwd")
        out.writestr("manifest.json", manifest_of(members | {"gold/2.csv": b"/etc/passwd"}))
    return target.getvalue()


def symlink(entry: zipfile.ZipInfo) -> None:
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16


def bzip2(entry: zipfile.ZipInfo) -> None:
    entry.compress_type = zipfile.ZIP_BZIP2


def twice(name: str) -> bytes:
    members, target = good_members(), io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w") as out:
        warnings.simplefilter("ignore")
        for each in [*members, name]:
            out.writestr(each, members.get(each, b"x"))
        out.writestr("manifest.json", manifest_of(members))
    return target.getvalue()


def manifest(**changes: object) -> bytes:
    return pack(good_members(), manifest_of(good_members(), **changes))


def changed(name: str, content: bytes) -> bytes:
    """An archive of which one member was changed after the manifest was made."""
    return pack(good_members() | {name: content}, manifest_of(good_members()))


def without(name: str) -> bytes:
    members = {each: content for each, content in good_members().items() if each != name}
    return pack(members)


def encrypted() -> bytes:
    content = bytearray(GOOD)
    at = content.index(b"PK\x01\x02")
    content[at + 8] |= 1
    return bytes(content)


def not_last() -> bytes:
    members: Members = {"manifest.json": b"{}"} | good_members()
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as out:
        for name, content in members.items():
            out.writestr(name, content)
    return target.getvalue()


HOSTILE: dict[str, tuple[bytes, str]] = {
    "a path upwards": (with_member("../outside.csv"), "unusual name"),
    "a path upwards within": (with_member("gold/../../outside.csv"), "unusual name"),
    "an absolute path": (with_member("/etc/passwd"), "unusual name"),
    "a drive": (with_member("C:/windows.csv"), "unusual name"),
    "a backslash": (with_member("gold\\2.csv"), "unusual name"),
    "a folder": (with_member("gold/deep/2.csv"), "unusual name"),
    "a hidden file": (with_member(".bashrc"), "unusual name"),
    "a control character": (with_member("gold/\x1b[2J.csv"), "unusual name"),
    "another script": (with_member("gold/\u202e2.csv"), "unusual name"),
    "a long name": (with_member("a" * 300), "unusual name"),
    "an empty folder": (with_member("gold/"), "unusual name"),
    "a symbolic link": (with_entry(symlink), "not a plain file"),
    "another compression": (with_entry(bzip2), "compressed in another way"),
    "a password": (encrypted(), "encrypted"),
    "a name twice": (twice("phase.json"), "two members"),
    "a name twice by case": (twice("Phase.JSON"), "two members"),
    "an end that is cut": (GOOD[:-10], "damaged"),
    "a manifest in front": (not_last(), "last member"),
    "a manifest that is no JSON": (pack(good_members(), b"{"), "not valid JSON"),
    "a manifest with a number that JSON lacks": (pack(good_members(), b'{"format": NaN}'), "not valid JSON"),
    "a nested manifest": (pack(good_members(), b"[" * 100_000), "not valid JSON"),
    "another format": (manifest(format="tar"), "format 'assay-export'"),
    "a newer version": (manifest(version=3), "has version 3 of the format; this program reads version 2"),
    "an older version": (manifest(version=1), "has version 1 of the format"),
    "no members": (manifest(members=None), "must list each member"),
    "a member without a hash": (manifest(members=[{"name": "phase.json", "size": 1}]), "must list each member"),
    "a changed phase": (changed("phase.json", b'{"slug": "mine"}\n'), "'phase.json' is not what the manifest says"),
    "a longer phase": (changed("phase.json", b'{"slug": "main", "a": 1}'), "does not have the size"),
    "a member left out": (without("scores.jsonl"), "lacks the member 'scores.jsonl'"),
    "a member that is not listed": (pack(good_members() | {"x.csv": b""}, manifest_of(good_members())), "not list"),
    "not a ZIP file": (b"id,label\nt1,a\n" * 100, "complete ZIP file"),
    "nothing": (b"", "complete ZIP file"),
    "cut short": (GOOD[:-400], "complete ZIP file"),
    "cut at the beginning": (GOOD[500:], "beginning is missing"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_with_the_reason(tmp_path: Path, what: str) -> None:
    content, reason = HOSTILE[what]
    assert reason in refusal(save(tmp_path, content))


def test_the_archive_that_they_were_made_from_is_right(tmp_path: Path) -> None:
    assert refusal(save(tmp_path, GOOD)) == ""


def test_a_member_that_unpacks_to_more_than_it_says_is_cut_off(tmp_path: Path) -> None:
    members = good_members() | {"gold/2.csv": bytes(1 << 22)}
    content = bytearray(pack(members, manifest_of(members | {"gold/2.csv": bytes(100)})))
    directory = content.rindex(b"PK\x01\x02", 0, content.rindex(b"gold/2.csv"))
    content[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    assert "gold/2.csv cannot be read" in refusal(save(tmp_path, bytes(content)))


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (ArchiveLimits(members=5), "members"),
        (ArchiveLimits(member_bytes=100_000), "unpacks to more than 100000"),
        (ArchiveLimits(total_bytes=100_000), "unpacks to more than 100000"),
        (ArchiveLimits(ratio=100), "more than its data can hold"),
    ],
)
def test_a_bomb_is_refused_before_anything_is_unpacked(tmp_path: Path, limits: ArchiveLimits, reason: str) -> None:
    bomb = save(tmp_path, with_member("gold/2.csv", bytes(1 << 20)))
    assert reason in refusal(bomb, limits)


def test_two_members_that_share_their_data_are_refused(tmp_path: Path) -> None:
    content = bytearray(pack(good_members() | {"gold/2.csv": b"x" * 50, "gold/3.csv": b"x" * 50}))
    first, second = (content.rindex(b"PK\x01\x02", 0, content.rindex(b"gold/%d.csv" % number)) for number in (2, 3))
    content[second + 42 : second + 46] = content[first + 42 : first + 46]
    assert "overlaps" in refusal(save(tmp_path, bytes(content)))


@given(st.integers(0, len(GOOD) - 1), st.integers(1, 255))
def test_no_changed_byte_leads_to_anything_but_a_refusal_or_the_same_content(
    tmp_path_factory: pytest.TempPathFactory, at: int, change: int
) -> None:
    content = bytearray(GOOD)
    content[at] ^= change
    path = save(tmp_path_factory.mktemp("changed"), bytes(content))
    with suppress(InvalidArchive), open_archive(path) as archive:
        if not verify_archive(archive).faults:
            assert {name: b"".join(archive.pieces(name)) for name in archive.members} == good_members()
