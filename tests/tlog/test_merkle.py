"""Trees and proofs against published vectors, the RFC's recursive definitions, and changed proofs."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tlog.merkle import (
    Node,
    ProofRefused,
    consistency_proof,
    inclusion_proof,
    leaf_hash,
    root_hash,
    verify_consistency,
    verify_inclusion,
)
from app.tlog.tiles import (
    WIDTH,
    Tile,
    TileNodes,
    all_tiles,
    changed_tiles,
    count_tiles,
    decode_bundle,
    encode_bundle,
    grow_tiles,
    number_path,
    parse_level,
    parse_number_path,
    tile_width,
)
from tests.tlog.published_vectors import CONSISTENCY, ENTRIES, INCLUSION, ROOTS
from tests.tlog.recursive_tree import mth, path, proof


class Nodes:
    """Nodes of a list of entries, by definition."""

    def __init__(self, entries: Sequence[bytes]) -> None:
        """The entries of the tree."""
        self.entries = entries

    def __call__(self, nodes: Sequence[Node]) -> list[bytes]:
        """The hash of each node."""
        return [mth(self.entries[index << level : (index + 1) << level]) for level, index in nodes]


class Stored:
    """The tiles of a tree that grew step by step."""

    def __init__(self, steps: Sequence[Sequence[bytes]]) -> None:
        """Append the entries of each step."""
        self.tiles: dict[tuple[int, int], bytes] = {}
        self.reads: list[Tile] = []
        size = 0
        for step in steps:
            grown = grow_tiles(size, step, lambda level, number: self.tiles[level, number])
            assert sorted(grown) == sorted(changed_tiles(size, size + len(step)))
            self.tiles |= {(tile.level, tile.number): content for tile, content in grown.items()}
            size += len(step)
        self.nodes = TileNodes(size, self.read)

    def read(self, tiles: Sequence[Tile]) -> list[bytes]:
        """The content of tiles; a partial one is the beginning of a wider one."""
        self.reads += tiles
        return [self.tiles[tile.level, tile.number][: tile.width * 32] for tile in tiles]


def entries_of(count: int) -> list[bytes]:
    """So many different entries."""
    return [number.to_bytes(4) for number in range(count)]


@pytest.mark.parametrize("size", range(9))
def test_roots_are_the_published_ones(size: int) -> None:
    """The roots of Certificate Transparency's eight entries."""
    assert root_hash(size, Nodes(ENTRIES)).hex() == ROOTS[size] == mth(ENTRIES[:size]).hex()


def test_proofs_are_the_published_ones() -> None:
    """Inclusion and consistency proofs of the same entries."""
    for (index, size), hashes in INCLUSION.items():
        assert [each.hex() for each in inclusion_proof(index, size, Nodes(ENTRIES))] == hashes
    for (old, size), hashes in CONSISTENCY.items():
        assert [each.hex() for each in consistency_proof(old, size, Nodes(ENTRIES))] == hashes


@pytest.mark.parametrize("size", range(1, 34))
def test_proofs_follow_the_definitions(size: int) -> None:
    """All proofs of small trees are those of the RFC's recursion, and verify."""
    entries, nodes, root = entries_of(size), Nodes(entries_of(size)), mth(entries_of(size))
    for index in range(size):
        hashes = inclusion_proof(index, size, nodes)
        assert hashes == path(index, entries)
        verify_inclusion(index, size, leaf_hash(entries[index]), hashes, root)
        hashes = consistency_proof(index, size, nodes)
        assert index == 0 or hashes == proof(index, entries)
        verify_consistency(index, mth(entries[:index]), size, root, hashes)


@given(st.data())
def test_changed_proofs_are_refused(data: st.DataObject) -> None:
    """No proof verifies for another position, size, leaf or root, nor with a hash changed, added or left out."""
    size = data.draw(st.integers(2, 40))
    entries = entries_of(size)
    index = data.draw(st.integers(0, size - 1))
    hashes, root, leaf = path(index, entries), mth(entries), leaf_hash(entries[index])
    place = data.draw(st.integers(0, len(hashes) - 1))
    changed = [*hashes[:place], bytes(32), *hashes[place + 1 :]]
    other = data.draw(st.integers(-1, size).filter(lambda each: each != index))
    wrong: list[tuple[int, int, bytes, list[bytes], bytes]] = [
        (index, size, leaf, changed, root),
        (index, size, leaf, [*hashes, bytes(32)], root),
        (index, size, leaf, hashes[:-1], root),
        (index, size, leaf_hash(b"x"), hashes, root),
        (index, size, leaf, hashes, bytes(32)),
        (other, size, leaf, hashes, root),
    ]
    for arguments in wrong:
        with pytest.raises(ProofRefused):
            verify_inclusion(*arguments)


@given(st.data())
def test_changed_consistency_is_refused(data: st.DataObject) -> None:
    """No two trees are consistent unless one begins with the other."""
    size = data.draw(st.integers(2, 40))
    old = data.draw(st.integers(1, size - 1))
    entries = entries_of(size)
    hashes, roots = proof(old, entries), (mth(entries[:old]), mth(entries))
    place = data.draw(st.integers(0, len(hashes) - 1))
    changed = [*hashes[:place], bytes(32), *hashes[place + 1 :]]
    for wrong in (changed, [*hashes, bytes(32)], hashes[:-1], []):
        with pytest.raises(ProofRefused):
            verify_consistency(old, roots[0], size, roots[1], wrong)
    for old_root, root in ((bytes(32), roots[1]), (roots[0], bytes(32))):
        with pytest.raises(ProofRefused):
            verify_consistency(old, old_root, size, root, hashes)
    with pytest.raises(ProofRefused):
        verify_consistency(size, roots[0], size, roots[1], [])
    with pytest.raises(ProofRefused):
        verify_consistency(size + 1, roots[0], size, roots[1], hashes)


@given(st.lists(st.sampled_from([1, 2, 100, 255, 256, 257, 300]), min_size=1, max_size=4), st.data())
def test_trees_grow_by_tiles(steps: list[int], data: st.DataObject) -> None:
    """However a tree grew, its tiles give the root and the proofs of the definitions."""
    size = sum(steps)
    entries = entries_of(size)
    begins = [sum(steps[:number]) for number in range(len(steps))]
    stored = Stored([entries[begin : begin + step] for begin, step in zip(begins, steps, strict=True)])
    assert root_hash(size, stored.nodes) == mth(entries)
    index = data.draw(st.integers(0, size - 1))
    assert inclusion_proof(index, size, stored.nodes) == path(index, entries)
    if index:
        assert consistency_proof(index, size, stored.nodes) == proof(index, entries)
    assert {(tile.level, tile.number): tile.width for tile in all_tiles(size)} == {
        place: len(content) // 32 for place, content in stored.tiles.items()
    }


def test_a_proof_at_a_million_leaves_reads_few_tiles() -> None:
    """What is read for a proof grows with the number of levels, not with the tree."""
    size, reads = 1_000_000, list[Tile]()

    def read(tiles: Sequence[Tile]) -> list[bytes]:
        reads.extend(tiles)
        return [bytes(32 * tile.width) for tile in tiles]

    hashes = inclusion_proof(123_456, size, TileNodes(size, read))
    assert len(hashes) == 20
    assert len(reads) <= 6
    reads.clear()
    assert len(consistency_proof(123_456, size, TileNodes(size, read))) <= 20
    assert len(reads) <= 6


def test_a_tile_cut_short_is_refused() -> None:
    """A tile of the wrong length never gives a hash."""
    with pytest.raises(ProofRefused, match=r"tile/0/000\.p/5"):
        root_hash(5, TileNodes(5, lambda _: [bytes(32)]))
    with pytest.raises(ProofRefused):
        grow_tiles(5, [b"x"], lambda *_: bytes(32))


def test_the_specifications_examples_of_tiles() -> None:
    """The widths and paths that the text of tlog-tiles gives."""
    widths = {(tile.level, tile.width == WIDTH, tile.width) for tile in all_tiles(70_000)}
    assert widths == {(0, True, 256), (0, False, 112), (1, True, 256), (1, False, 17), (2, False, 1)}
    assert sum(tile.level == 0 and tile.width == WIDTH for tile in all_tiles(70_000)) == 273
    for size in (0, 1, 255, 256, 257, 65_535, 65_536, 70_000):
        assert count_tiles(size) == len(list(all_tiles(size)))
    assert next(all_tiles(10**18)).path == "tile/0/000"  # a size that somebody claims costs nothing
    assert [tile.path for tile in all_tiles(256)] == ["tile/0/000", "tile/1/000.p/1"]
    assert number_path(1_234_067) == "x001/x234/067"
    assert tile_width(0, 274, 70_000) == 0


@given(st.integers(0, 2**62), st.integers(1, WIDTH))
def test_paths_round_trip(number: int, width: int) -> None:
    """Every tile has one path."""
    assert parse_number_path(number_path(number, width)) == (number, width)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "1",
        "0001",
        "x001",
        "001/002",
        "x000/001",
        "001.p/0",
        "001.p/256",
        "001.p/01",
        "001.p/",
        "x1/001",
        "001/",
        "٠٠١",
    ],
)
def test_other_paths_are_refused(path: str) -> None:
    """No tile has a second address."""
    assert parse_number_path(path) is None


def test_levels() -> None:
    """Levels are written without leading zeros, from 0 to 63."""
    assert [parse_level(each) for each in ("0", "63")] == [0, 63]
    assert [parse_level(each) for each in ("00", "64", "-1", "", "٣")] == [None] * 5


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_bundles_round_trip(entries: list[bytes]) -> None:
    """A bundle gives back its entries; cut short it is refused."""
    bundle = encode_bundle(entries)
    assert decode_bundle(bundle) == entries
    if bundle:
        with pytest.raises(ProofRefused):
            decode_bundle(bundle + b"\x00")
