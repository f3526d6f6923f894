"""Files that mean harm, and ordinary ones gone wrong: made anew from a seed, small as sent, of every format."""

import gzip
import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from backports import zstd

from app.formats import FORMATS
from tests.faults.inspection import CORRECT_PREDICTIONS

MIB = 1 << 20
IDS, LABELS = list(CORRECT_PREDICTIONS), list(CORRECT_PREDICTIONS.values())
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.compress, "zstd": zstd.compress}


def arrow(table: pa.Table, compression: str | None = None) -> bytes:
    """A table as an Arrow file."""
    body = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_file(body, table.schema, options=options) as writer:
        writer.write_table(table)
    return body.getvalue()


def parquet(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    body = io.BytesIO()
    pq.write_table(table, body)
    return body.getvalue()


def npz(**arrays: object) -> bytes:
    """Arrays as NumPy writes them."""
    body = io.BytesIO()
    named_arrays: dict[str, Any] = {name: np.asarray(values) for name, values in arrays.items()}
    np.savez_compressed(body, **named_arrays)
    return body.getvalue()


def npz_of(header: str, data: bytes = b"") -> bytes:
    """An archive whose `ids` have this header, whatever it says."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as archive:
        head = header.encode()
        archive.writestr("ids.npy", b"\x93NUMPY\x02\x00" + struct.pack("<I", len(head)) + head + data)
    return body.getvalue()


def zip_of_nothing(count: int) -> bytes:
    """An archive that lists so many files and holds none."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 0, 20, *[0] * 8, 1, *[0] * 6) + b"a"
    size = count * len(entry)
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, 0)
    where = struct.pack("<4sLQL", b"PK\x06\x07", 0, size, 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return entry * count + end64 + where + end


def valid_files() -> dict[str, bytes]:
    """The right answer in every format, to be damaged."""
    table = pa.table({"id": IDS, "label": LABELS})
    return {
        "json": json.dumps(CORRECT_PREDICTIONS).encode(),
        "jsonl": "".join(
            json.dumps({"id": key, "label": label}) + "\n" for key, label in CORRECT_PREDICTIONS.items()
        ).encode(),
        "csv": ("id,label\n" + "".join(f"{key},{label}\n" for key, label in CORRECT_PREDICTIONS.items())).encode(),
        "tsv": ("id\tlabel\n" + "".join(f"{key}\t{label}\n" for key, label in CORRECT_PREDICTIONS.items())).encode(),
        "npz": npz(ids=IDS, labels=LABELS),
        "parquet": parquet(table),
        "arrow": arrow(table),
    }


def _repeated(text: str, count: int, index: str = "int8") -> pa.Array:
    """So many rows of one text, in few bytes."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, dtype=index)), pa.array([text]))


@cache
def bombs() -> dict[str, tuple[str, str, bytes]]:
    """Small files that swell, or that cost more than they look: format, encoding and bytes of each."""
    many = pa.table({"id": _repeated("x" * 1000, 2_000_000), "label": _repeated("cat", 2_000_000)})
    wide = _repeated("x" * MIB, 60_000)
    billion = pa.table({"id": pa.array(np.zeros(80 * MIB, dtype="int8"))})
    scores = json.dumps([{"id": "t1", "scores": {f"caat{n}": 0.1 for n in range(20_000)}}])
    return {
        "gzip": ("json", "gzip", gzip.compress(b" " * (200 * MIB), 1)),
        "zstd": ("csv", "zstd", zstd.compress(b"id,label\n" + b"a" * (200 * MIB))),
        "many members": ("json", "gzip", gzip.compress(b"") * 110_000),
        "deep": ("json", "zstd", zstd.compress(b"[" * MIB)),
        "blank lines": ("csv", "zstd", zstd.compress(b"id,label\n" + b"\n" * MIB)),
        "bad lines": ("jsonl", "zstd", zstd.compress(b"{\n" * 200_000)),
        "bad bytes": ("json", "zstd", zstd.compress(b'["' + b"a" * (30 * MIB) + b"\xff," * 1000)),
        "keys": ("json", "zstd", zstd.compress(b"{" + b'"t1":"cat",' * 65_000 + b'"t1":"cat"}')),
        "scores": ("json", "zstd", zstd.compress(scores.encode())),
        "marks": ("json", "zstd", zstd.compress(('{"a' + "\u0301\u0327" * MIB + '":"x"}').encode())),
        "digits": ("json", "zstd", zstd.compress(b'{"t1": ' + b"9" * MIB + b"}")),
        "columns": ("csv", "zstd", zstd.compress(",".join(["id", *map(str, range(100_200))]).encode() + b"\n")),
        "zeros": ("npz", "", npz(ids=np.zeros(40 * MIB, dtype="<U1"), labels=["a"])),
        "files": ("npz", "zstd", zstd.compress(zip_of_nothing(200_000))),
        "sizes": ("npz", "", npz_of("{'descr': '<U1', 'fortran_order': False, 'shape': (True,)}", b"x\0\0\0")),
        "header": ("npz", "", npz_of("{'descr': " + "-" * 9000 + "1}")),
        "long header": ("npz", "", npz_of("{" + " " * 65_000 + "}")),
        "dictionary": ("parquet", "", parquet(many)),
        "wide dictionary": ("parquet", "", parquet(pa.table({"id": wide, "label": wide}))),
        "arrow dictionary": ("arrow", "", arrow(many, "zstd")),
        "arrow rows": ("arrow", "zstd", zstd.compress(arrow(billion.append_column("label", billion["id"])))),
        "arrow packed": ("arrow", "", arrow(billion, "zstd")),
    }


def lying_arrow() -> Iterator[bytes]:
    """Arrow files with one length or offset made huge."""
    sound_file = arrow(pa.table({"id": IDS, "label": LABELS}))
    for at in range(8, len(sound_file) - 16, 4 * max(1, len(sound_file) // 160)):
        yield sound_file[:at] + struct.pack("<i", 0x7FFFFFF0) + sound_file[at + 4 :]


def damaged(sound_file: bytes, chance: random.Random) -> bytes:
    """A file with something cut off, changed, doubled or put in."""
    at, to = sorted(chance.randrange(len(sound_file) + 1) for _ in range(2))
    return chance.choice(
        [
            sound_file[:at],
            sound_file[at:],
            sound_file[:at] + sound_file[to:],
            sound_file[:to] + sound_file[at:],
            sound_file[:at] + chance.randbytes(to - at) + sound_file[to:],
            sound_file[:at] + bytes([chance.randrange(256)]) + sound_file[at + 1 :],
            sound_file + chance.randbytes(20),
        ]
    )


def hostile_files(count: int, seed: int) -> Iterator[tuple[str, str, bytes]]:
    """So many files that mean harm: format, encoding as said, and bytes."""
    chance = random.Random(seed)
    yield from bombs().values()
    lies = list(lying_arrow())
    yield from (("arrow", "", body) for body in lies)
    good = valid_files()
    for _ in range(count - len(bombs()) - len(lies)):
        form, encoding = chance.choice(list(FORMATS)), chance.choice(list(COMPRESSORS))
        packed = COMPRESSORS[encoding](good[form])
        yield chance.choice(
            [
                (form, encoding, damaged(packed, chance)),
                (form, encoding, COMPRESSORS[encoding](damaged(good[form], chance))),
                (form, encoding, good[chance.choice(list(FORMATS))]),
                (form, encoding, COMPRESSORS[encoding](good[chance.choice(list(FORMATS))])),
                (form, encoding, chance.randbytes(chance.randrange(2000))),
                (form, encoding, COMPRESSORS[encoding](chance.randbytes(chance.randrange(2000)))),
                (form, "gzip", zlib.compress(good[form])),
            ]
        )
