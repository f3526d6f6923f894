"""The process that is fuzzed: one target until libFuzzer ends it (started by run.py, one for each target).

The first byte of an input chooses how the rest is read; `cases` lists the ways.
"""

import io
import random
import sys
import time
from collections.abc import Callable, Mapping

import atheris

with atheris.instrument_imports(include=["app", "csv", "json", "zipfile"], enable_loader_override=False):
    import zipfile

    import app.pipeline  # noqa: F401 (and with it csv and json)

from app.formats.content.decompression import read_bytes
from app.formats.problems import Problems
from tests.formats.reading import compress
from tests.fuzz.targets import LIMITS, assert_cheap, cases, check_input

Mutator = Callable[[bytes, int], bytes]


def _default_mutation(data: bytes, size: int) -> bytes:
    """What libFuzzer does by itself."""
    return bytes(atheris.Mutate(data, size))


def _mutate_in_place(data: bytes, size: int) -> bytes:
    """A few bytes changed where they stand: offsets and lengths within the file keep their meaning."""
    changed = bytearray(data[:size])
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        at = random.randrange(len(changed))
        changed[at] = random.choice(
            (0, 1, 0x7F, 0x80, 0xFF, changed[at] ^ 1 << random.randrange(8), random.randrange(256))
        )
    return bytes(changed)


def _mutate_archive_member(data: bytes, size: int) -> bytes:
    """One file within an archive changed, with sums that are right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except Exception:  # noqa: BLE001 (whatever is wrong with it, it is no archive)
        return _default_mutation(data, size)
    if not members:
        return _default_mutation(data, size)
    chosen = random.choice(list(members))
    members[chosen] = random.choice((_mutate_in_place, _default_mutation))(members[chosen] or b"\0", size)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, body in members.items():
            archive.writestr(name, body)
    return file.getvalue() if len(file.getvalue()) <= size else _default_mutation(data, size)


def _mutate_compressed(encoding: str) -> Mutator:
    """What is compressed changed, and compressed again."""

    def mutate(data: bytes, size: int) -> bytes:
        plain = _expanded(data, encoding)
        return (
            _default_mutation(data, size)
            if plain is None
            else compress(_default_mutation(plain, size), encoding)[:size]
        )

    return mutate


def _expanded(data: bytes, encoding: str) -> bytes | None:
    found = read_bytes(io.BytesIO(data), encoding, limits=LIMITS, problems=Problems())
    return found if found and len(found) <= 4096 else None


_MUTATORS: Mapping[str, Mutator] = {
    "npz": _mutate_archive_member,
    "parquet": _mutate_in_place,
    "arrow": _mutate_in_place,
    "gzip": _mutate_compressed("gzip"),
    "zstd": _mutate_compressed("zstd"),
}


def _mutator(target: str) -> Callable[[bytes, int, int], bytes] | None:
    """Mutations that know the format, and as often those that do not; the first byte changes now and then."""
    own = _MUTATORS.get(target)
    if own is None:
        return None

    def mutate(data: bytes, size: int, seed: int) -> bytes:
        random.seed(seed)
        if len(data) < 2 or random.random() < 0.1:
            return _default_mutation(data, size)
        chosen = own if random.random() < 0.7 else _default_mutation
        return data[:1] + chosen(data[1:], size - 1)

    return mutate


def main() -> None:
    """`python -m tests.fuzz.target_process TARGET` with the options of libFuzzer."""
    target = sys.argv.pop(1)
    ways = cases(target)

    def try_one(data: bytes) -> None:
        if data:
            case = ways[data[0] % len(ways)]
            began = time.process_time()
            check_input(data[1:], case.kind, case.task, case.gold)
            assert_cheap(time.process_time() - began, len(data))

    mutator = _mutator(target)
    atheris.Setup(sys.argv, try_one, **({"custom_mutator": mutator} if mutator else {}))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
