"""Opens an archive that somebody sent: nothing in it is trusted before it was checked, and nothing is unpacked by name."""

import hashlib
import json
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from app.archives.layout import FORMAT, FORMAT_VERSION, MANIFEST, TABLES
from app.errors import InvalidContent

CHUNK_BYTES = 1 << 18
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ENCRYPTED = 0x1
_END_BYTES = 22 + 65535  # of the end record of a ZIP file and its comment
_LOCAL_HEADER_BYTES = 30


class InvalidArchive(InvalidContent):
    """The archive cannot be used."""

    code = "invalid_archive"
    remedy = "Export the phase again, and send the file as it was saved."


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """The largest archive that is read: its members, and their bytes one by one and together."""

    members: int = 300_000
    member_bytes: int = 4 << 30
    total_bytes: int = 64 << 30
    line_bytes: int = 256 << 20
    """Of one line of a table, which is held in memory."""
    ratio: int = 1100
    """How many bytes one compressed byte may become; DEFLATE cannot exceed 1,032."""


DEFAULT_LIMITS = ArchiveLimits()


@dataclass(frozen=True, slots=True)
class Member:
    """A member as the manifest declares it."""

    name: str
    size: int
    sha256: str


class Archive:
    """An archive whose directory and manifest are in order; the content of a member is checked while it is read."""

    def __init__(self, opened: zipfile.ZipFile, limits: ArchiveLimits, manifest: Mapping[str, Any]) -> None:
        self._opened = opened
        self._limits = limits
        self.manifest = manifest
        self.members = {each["name"]: Member(**each) for each in manifest["members"]}

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a member; raises InvalidArchive at its end if size or SHA-256 are not those of the manifest."""
        member = self._member(name)
        digest, size = hashlib.sha256(), 0
        with _unreadable_as_invalid(name), self._opened.open(name) as stream:
            for piece in iter(lambda: stream.read(CHUNK_BYTES), b""):
                size += len(piece)
                if size > member.size:
                    break
                digest.update(piece)
                yield piece
        if size != member.size or digest.hexdigest() != member.sha256:
            raise InvalidArchive(f"The member '{name}' is not what the manifest says: its SHA-256 differs.")

    def _member(self, name: str) -> Member:
        member = self.members.get(name)
        if member is None:
            raise InvalidArchive(f"The archive has no member '{name}'.")
        return member

    def check_member(self, name: str) -> None:
        """Raise InvalidArchive unless the content of a member is the one of the manifest."""
        for _ in self.pieces(name):
            pass

    def write_to(self, name: str, target: Path) -> None:
        """Write the content of a member to a file that the caller chose."""
        with target.open("wb") as out:
            for piece in self.pieces(name):
                out.write(piece)

    def read_object(self, name: str) -> dict[str, Any]:
        """The object of a JSON member."""
        if self._member(name).size > self._limits.line_bytes:
            raise InvalidArchive(f"The member '{name}' is too large.")
        return _parse_object(b"".join(self.pieces(name)), name)

    def rows(self, name: str) -> Iterator[dict[str, Any]]:
        """The objects of a member with one JSON object on each line."""
        rest = bytearray()
        for piece in self.pieces(name):
            *lines, last = piece.split(b"\n")
            for line in lines:
                rest += line
                yield _parse_object(bytes(rest), name)
                rest.clear()
            rest += last
            if len(rest) > self._limits.line_bytes:
                raise InvalidArchive(f"A line of '{name}' is too long.")
        if rest:
            yield _parse_object(bytes(rest), name)


@contextmanager
def open_archive(path: Path, limits: ArchiveLimits = DEFAULT_LIMITS) -> Iterator[Archive]:
    """The archive in a file, while the block runs; raises InvalidArchive."""
    with path.open("rb") as stream:
        _check_end(stream, limits)
        with _unreadable_as_invalid("the directory of the archive"):
            opened = zipfile.ZipFile(stream)
        with opened:
            _check_directory(opened.infolist(), limits)
            yield Archive(opened, limits, _read_manifest(opened, limits))


def _check_end(stream: IO[bytes], limits: ArchiveLimits) -> None:
    """Refuse a directory that is too large before it is read into memory."""
    stream.seek(0, 2)
    length = stream.tell()
    stream.seek(max(0, length - _END_BYTES))
    tail = stream.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        raise InvalidArchive("This is not a complete ZIP file: its directory is missing.")
    size = int.from_bytes(tail[end + 12 : end + 16], "little")
    if size == 0xFFFFFFFF:  # the directory of ZIP64 says it
        wide = tail.rfind(b"PK\x06\x06", 0, end)
        size = int.from_bytes(tail[wide + 40 : wide + 48], "little") if wide >= 0 else length
    if size > limits.members * 400:
        raise InvalidArchive("The archive has too many members.")
    stream.seek(0)


def _check_directory(entries: Sequence[zipfile.ZipInfo], limits: ArchiveLimits) -> None:
    if len(entries) > limits.members:
        raise InvalidArchive(f"The archive has {len(entries)} members; at most {limits.members} are read.")
    seen = set[str]()
    total, end_of_previous = 0, 0
    for entry in sorted(entries, key=lambda each: each.header_offset):
        _check_entry(entry, limits)
        folded = entry.filename.lower()
        if folded in seen:
            raise InvalidArchive(f"The archive has two members '{entry.filename}' (upper and lower case are the same).")
        seen.add(folded)
        total += entry.file_size
        if total > limits.total_bytes:
            raise InvalidArchive(f"The archive unpacks to more than {limits.total_bytes} bytes.")
        if entry.header_offset < 0:
            raise InvalidArchive("The archive is damaged: its beginning is missing.")
        if entry.header_offset < end_of_previous:
            raise InvalidArchive(f"The member '{entry.filename}' overlaps another one.")
        end_of_previous = entry.header_offset + _LOCAL_HEADER_BYTES + entry.compress_size


def _check_entry(entry: zipfile.ZipInfo, limits: ArchiveLimits) -> None:
    name = entry.filename
    # `orig_filename` is the name before a NUL character and before the separators of this system.
    if entry.orig_filename != name or len(name) > 200 or not _NAME.fullmatch(name):
        raise InvalidArchive(f"The archive has a member with the unusual name {entry.orig_filename[:100]!r}.")
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in {0, stat.S_IFREG}:
        raise InvalidArchive(f"The member '{name}' is not a plain file.")
    if entry.flag_bits & _ENCRYPTED or entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise InvalidArchive(f"The member '{name}' is encrypted or compressed in another way than DEFLATE.")
    if entry.file_size > limits.member_bytes:
        raise InvalidArchive(f"The member '{name}' unpacks to more than {limits.member_bytes} bytes.")
    if entry.file_size > limits.ratio * max(entry.compress_size, 1):
        raise InvalidArchive(f"The member '{name}' claims to unpack to more than its data can hold.")


def _read_manifest(opened: zipfile.ZipFile, limits: ArchiveLimits) -> dict[str, Any]:
    entries = opened.infolist()
    if not entries or entries[-1].filename != MANIFEST:
        raise InvalidArchive(f"The last member of the archive must be '{MANIFEST}'.")
    if entries[-1].file_size > limits.members * 400:
        raise InvalidArchive("The manifest is too large.")
    with _unreadable_as_invalid(MANIFEST):
        manifest = _parse_object(opened.read(entries[-1]), MANIFEST)
    if manifest.get("format") != FORMAT:
        raise InvalidArchive(f"The manifest does not say that this is an archive of the format '{FORMAT}'.")
    if manifest.get("version") != FORMAT_VERSION:
        version = str(manifest.get("version"))[:20]
        detail = f"The archive has version {version} of the format; this program reads version {FORMAT_VERSION}."
        raise InvalidArchive(detail, remedy="Use the program version that the manifest names, or a newer one.")
    _check_members(manifest.get("members"), {each.filename: each.file_size for each in entries[:-1]})
    return manifest


def _check_members(declared: Any, sizes: Mapping[str, int]) -> None:
    """Raise InvalidArchive unless the manifest lists exactly the members that are there."""
    listed: dict[str, int] = {}
    for each in declared if isinstance(declared, list) else [None]:
        if not isinstance(each, dict) or set(each) != {"name", "size", "sha256"} or not _is_member(each):
            raise InvalidArchive("The manifest must list each member with 'name', 'size' and 'sha256'.")
        if each["name"] in listed:
            raise InvalidArchive(f"The manifest lists '{each['name']}' twice.")
        listed[each["name"]] = each["size"]
    for name in [*TABLES, *listed, *sizes]:
        if name not in sizes:
            raise InvalidArchive(f"The archive lacks the member '{name}'.")
        if name not in listed:
            raise InvalidArchive(f"The manifest does not list the member '{name}'.")
        if listed[name] != sizes[name]:
            raise InvalidArchive(f"The member '{name}' does not have the size that the manifest says.")


def _is_member(each: Mapping[str, Any]) -> bool:
    name, size, sha256 = each["name"], each["size"], each["sha256"]
    texts = isinstance(name, str) and isinstance(sha256, str) and _SHA256.fullmatch(sha256) is not None
    return texts and isinstance(size, int) and not isinstance(size, bool)


def _parse_object(text: bytes, name: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidArchive(f"The member '{name}' is not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidArchive(f"The member '{name}' must hold JSON objects.")
    return value


def _refuse_constant(constant: str) -> None:
    raise ValueError(constant)


@contextmanager
def _unreadable_as_invalid(what: str) -> Iterator[None]:
    """Raise InvalidArchive for what the ZIP library raises on damaged files."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        raise InvalidArchive(f"The archive is damaged: {what} cannot be read.") from error
