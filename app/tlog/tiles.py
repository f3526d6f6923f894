"""The tiles of a log (C2SP tlog-tiles): paths, widths, entry bundles, and reading a tree from its tiles."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from app.tlog.merkle import HASH_BYTES, Node, ProofRefused, leaf_hash, perfect_hash

HEIGHT = 8  # levels of the tree in one tile
WIDTH = 1 << HEIGHT
MAX_LEVEL = 63
_PATH = re.compile(r"(?P<number>(?:x[0-9]{3}/)*[0-9]{3})(?:\.p/(?P<width>[1-9][0-9]{0,2}))?")
_MAX_GROUPS = 7  # enough for 2^63 entries


@dataclass(frozen=True, slots=True, order=True)
class Tile:
    """A tile of a tree, by its level, its number within the level, and the count of its hashes."""

    level: int
    number: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """Its path below the log, without a slash in front."""
        return f"tile/{self.level}/{number_path(self.number, self.width)}"


ReadTiles = Callable[[Sequence[Tile]], list[bytes]]
"""The bytes of tiles, in the order asked for."""


def number_path(number: int, width: int = WIDTH) -> str:
    """A number in groups of three digits, all but the last marked x, and the width of a partial tile."""
    groups = [f"{number % 1000:03}"]
    while number >= 1000:
        number //= 1000
        groups.insert(0, f"x{number % 1000:03}")
    return "/".join(groups) + ("" if width == WIDTH else f".p/{width}")


def parse_number_path(path: str) -> tuple[int, int] | None:
    """Number and width of a tile; None if the path is written in any other way than `number_path` writes it."""
    found = _PATH.fullmatch(path)
    if found is None or path.count("/") > _MAX_GROUPS:
        return None
    number, width = int(re.sub("[x/]", "", found["number"])), int(found["width"] or WIDTH)
    return (number, width) if number_path(number, width) == path else None


def bundle_path(number: int, width: int = WIDTH) -> str:
    """The path of a bundle of entries below the log."""
    return f"tile/entries/{number_path(number, width)}"


def parse_level(text: str) -> int | None:
    """The level of a tile; None if it is none."""
    is_level = re.fullmatch(r"0|[1-9][0-9]?", text) is not None and int(text) <= MAX_LEVEL
    return int(text) if is_level else None


def tile_width(level: int, number: int, size: int) -> int:
    """How many hashes this tile has in a tree of this size: 256 if it is full, 0 if there is none."""
    return max(0, min(WIDTH, (size >> (HEIGHT * level)) - number * WIDTH))


def changed_tiles(old: int, size: int) -> Iterator[Tile]:
    """The tiles that are new or wider in a tree of this size than in the old one; level by level from 0."""
    level = 0
    while size >> (HEIGHT * level):
        first, last = (old >> (HEIGHT * level)) // WIDTH, ((size >> (HEIGHT * level)) - 1) // WIDTH
        for number in range(first, last + 1):
            width = tile_width(level, number, size)
            if width > tile_width(level, number, old):
                yield Tile(level, number, width)
        level += 1


def all_tiles(size: int) -> Iterator[Tile]:
    """All tiles of a tree, one after the other: a size that somebody claims may be any number."""
    return changed_tiles(0, size)


def count_tiles(size: int) -> int:
    """How many tiles a tree has."""
    levels = range(size.bit_length() // HEIGHT + 1)
    return sum(-(-(size >> (HEIGHT * level)) // WIDTH) for level in levels)


def split_hashes(content: bytes) -> list[bytes]:
    """The hashes of a tile."""
    return [content[place : place + HASH_BYTES] for place in range(0, len(content), HASH_BYTES)]


def encode_bundle(entries: Iterable[bytes]) -> bytes:
    """A bundle of entries, each behind its length in two bytes."""
    return b"".join(len(entry).to_bytes(2) + entry for entry in entries)


def decode_bundle(content: bytes) -> list[bytes]:
    """The entries of a bundle; raises ProofRefused for one that is cut short."""
    entries, place = [], 0
    while place < len(content):
        end = place + 2 + int.from_bytes(content[place : place + 2])
        if place + 2 > len(content) or end > len(content):
            raise ProofRefused("A bundle of entries is cut short.")
        entries.append(content[place + 2 : end])
        place = end
    return entries


class TileNodes:
    """Reads nodes of the tree of a size from its tiles; each tile is read once."""

    def __init__(self, size: int, read: ReadTiles) -> None:
        """`read` gives the bytes of tiles of the tree of this size."""
        self._size = size
        self._read = read
        self._known: dict[tuple[int, int], list[bytes]] = {}

    def __call__(self, nodes: Sequence[Node]) -> list[bytes]:
        """The hashes of these nodes; raises ProofRefused for a tile of the wrong length."""
        places = [_tile_of(*node) for node in nodes]
        missing = sorted({place[:2] for place in places} - self._known.keys())
        tiles = [Tile(level, number, tile_width(level, number, self._size)) for level, number in missing]
        for tile, content in zip(tiles, self._read(tiles), strict=True):
            if len(content) != tile.width * HASH_BYTES:
                raise ProofRefused(f"{tile.path} has {len(content)} bytes instead of {tile.width * HASH_BYTES}.")
            self._known[tile.level, tile.number] = split_hashes(content)
        return [perfect_hash(self._known[level, number][first:end]) for level, number, first, end in places]


def _tile_of(level: int, index: int) -> tuple[int, int, int, int]:
    """Level and number of the tile that contains a node, and the hashes of the tile below the node."""
    above = level % HEIGHT
    number, first = divmod(index << above, WIDTH)
    return level // HEIGHT, number, first, first + (1 << above)


def grow_tiles(old: int, entries: Sequence[bytes], last: Callable[[int, int], bytes]) -> dict[Tile, bytes]:
    """The tiles that change when entries are appended to a tree of size `old`, with their content.

    `last` gives the content of a partial tile of the old tree, by level and number.
    """
    grown: dict[Tile, bytes] = {}
    hashes, before = [leaf_hash(entry) for entry in entries], old
    level = 0
    while hashes:
        first, begun = divmod(before, WIDTH)
        content = (last(level, first)[: begun * HASH_BYTES] if begun else b"") + b"".join(hashes)
        if len(content) != (begun + len(hashes)) * HASH_BYTES:
            raise ProofRefused(f"{Tile(level, first, begun).path} is shorter than the tree needs.")
        parts = [content[place : place + WIDTH * HASH_BYTES] for place in range(0, len(content), WIDTH * HASH_BYTES)]
        for number, part in enumerate(parts, start=first):
            grown[Tile(level, number, len(part) // HASH_BYTES)] = part
        hashes = [perfect_hash(split_hashes(part)) for part in parts if len(part) == WIDTH * HASH_BYTES]
        before, level = first, level + 1
    return grown
