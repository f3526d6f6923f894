"""Write the seeds of the fuzzer: `python -m tests.fuzz.seeds` (inputs that once failed stay as they are)."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from backports import zstd

from app.formats.registry import FORMATS
from tests.formats.reading import compress
from tests.fuzz.hostile import hostile_files
from tests.fuzz.hostile_file import TargetGold
from tests.fuzz.targets import IDS

CORPUS = Path(__file__).with_name("corpus")
Columns = Mapping[str, list[Any]]

_LISTS = [[0.7, 0.2, 0.1], [0, 1, 0], [0.25, 0.25, 0.5]]
TABLES: dict[str, Columns] = {
    "labels": {"id": list(IDS), "label": ["cat", "dog", "cat"]},
    "integers": {"id": [1, 2, 3], "label": [0, 1, 0]},
    "sets": {"id": list(IDS), "labels": [["cat", "dog"], [], ["eel"]]},
    "long": {"id": ["t1", "t2", "t1", "t3"], "label": ["cat", "", "dog", "eel"]},
    "score": {"id": list(IDS), "score": [0.7, 0.2, 0.5]},
    "wide": {"id": list(IDS), "cat": [0.7, 0.0, 0.25], "dog": [0.2, 1.0, 0.25], "eel": [0.1, 0.0, 0.5]},
    "wide-binary": {"id": list(IDS), "label": ["cat", "dog", "dog"], "cat": [0.7, 0.0, 0.25], "dog": [0.3, 1.0, 0.75]},
    "scores": {"id": list(IDS), "scores": _LISTS},
    "both": {"id": list(IDS), "label": ["cat", "dog", "cat"], "scores": _LISTS},
    "no-probabilities": {"id": list(IDS), "scores": [[0.7, 0.2, 0.3], [-1.0, 2.0, 0.0], [1e300, 0.0, 0.0]]},
    "splits": {"id": list(IDS), "label": ["cat", "dog", "cat"], "split": ["public", "private", "public"]},
    "usage": {"Id": list(IDS), "Expected": ["cat", "dog", "cat"], "Usage": ["Public", "Private", "Ignored"]},
    "weights": {"id": list(IDS), "label": ["cat", "dog", "eel"], "weight": [1.5, 0.25, 1e-3]},
    "weighted-sets": {
        "id": list(IDS),
        "labels": [["cat"], ["dog", "cat"], []],
        "weight": [0, 1, 2],
        "extra": [1, 2, 3],
    },
    "faults": {
        "id": ["t1", "t1", "t9", ""],
        "label": ["Cat", "dog", "cat ", ""],
        "note": ["\u00e9", "e\u0301", "", "\0"],
    },
    "nulls": {"id": ["t1", None, "t3"], "label": [None, "dog", "cat"]},
    "null-scores": {"id": list(IDS), "scores": [[0.7, None, 0.1], None, [0.5]]},
    "many": {"id": [f"x{number}" for number in range(150)], "label": ["ant"] * 150},
    "none": {"id": [], "label": []},
}
"""One seed each in every format that can hold it."""
_ROWS: Columns = {"id": [0] * 20_000, "label": [0] * 20_000}
"""More records than are allowed, in few bytes."""

_JSON_FAULTS = {
    "mark": b"\xef\xbb\xbf[]",
    "wide": '[{"id": "t1"}]'.encode("utf-16"),
    "bytes": b'[{"id": "t\xff1", "label": "caf\xe9"}, {"id": "t2", "label": "dog"}]',
    "surrogate": rb'[{"id": "t1", "label": "\ud83d"}, {"id": "t2", "label": "\ud83d\ude00"}]',
    "numbers": b'[{"id": 1e999, "label": -0}, {"id": "t2", "score": NaN}, {"id": "t3", "score": 01}]',
    "digits": b'[{"id": "t1", "label": ' + b"7" * 1500 + b"}]",
    "deep": b"[" * 80 + b"]" * 80,
    "keys": b'{"t1": "cat", "t1": "dog", "t2": 5, "": null}',
    "cut": b'{"predictions": [{"id": "t1", "label": "ca',
    "tail": b'{"ids": ["t1"], "labels": ["cat"]} {}',
    "unequal": b'{"ids": ["t1", "t2"], "classes": ["cat", "cat", 3], "scores": [[1], [0, 0], 2], "labels": []}',
    "nul": b'{"t1": "a\\u0000b", "t2": "\\u00e9", "t3": "e\\u0301"}',
    "empty": b"",
}
_TABLE_FAULTS = {
    "mark": b"\xef\xbb\xbfid,label\nt1,cat\n",
    "bytes": b"id,label\nt\xff1,caf\xe9\n\xc3\xa9,\xf0\x9f\x98\n",
    "quotes": b'id,label\r\n"t1","c""at"\r\n"t2","dog\nx"\r\nt3,"cat"x\r\n',
    "unclosed": b'id,label\nt1,"cat\nt2,dog\n',
    "widths": b"id,label\nt1\nt2,dog,cat\n\n\nt3,cat\n",
    "twice": b"id,id,label,labels,Label\nt1,t1,cat,cat,cat\n",
    "numbers": b"id,cat,dog,eel\nt1,1e999,nan,\nt2,0x1,1_0,.5\nt3,-0,1e-400,+1\n",
    "headless": b"t1,cat\nt2,dog\n",
    "semicolons": b"id;label\nt1;cat\n",
    "returns": b"id,label\rt1,cat\rt2,dog\r",
    "nul": b"id,label\nt1,c\0at\n",
    "pipes": b"id,label\nt1,cat|dog|cat\nt2,|\nt3,||eel\n",
    "empty": b"\n",
}


def _records(columns: Columns) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _json(columns: Columns) -> bytes:
    return json.dumps({"predictions": _records(columns)}).encode()


def _json_columns(columns: Columns) -> bytes:
    return json.dumps(
        {{"id": "ids", "label": "labels"}.get(name, name): column for name, column in columns.items()}
    ).encode()


def _json_lines(columns: Columns) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in _records(columns)).encode()


def _separated(columns: Columns, sign: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=sign, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in zip(*columns.values(), strict=True))
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    return "|".join(map(str, value)) if isinstance(value, list) else value


def _npz(columns: Columns, save: Callable[..., None] = np.savez) -> bytes:
    called = {"id": "ids", "label": "labels"}
    joined = {called.get(name, name): column for name, column in columns.items()}
    if "labels" in joined:
        joined["labels"] = [_cell(value) for value in joined["labels"]]
    file = io.BytesIO()
    save(file, **{name: np.array(column) for name, column in joined.items()})
    return file.getvalue()


def _parquet(columns: Columns, **how: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(dict(columns)), file, store_schema=False, **how)
    return file.getvalue()


def _arrow(columns: Columns, compression: str = "uncompressed") -> bytes:
    file = io.BytesIO()
    pyarrow.feather.write_feather(pa.table(dict(columns)), file, compression=compression)
    return file.getvalue()


def _texts(key: str) -> Iterator[tuple[str, bytes]]:
    """The examples that the documentation shows of a format of text."""
    for shape in FORMATS[key].shapes:
        for form in ("example", "multilabel", "scores", "score"):
            if text := getattr(shape, form):
                yield f"{shape.name.replace(' ', '-')}-{form}", text.encode()


def _binary(write: Callable[[Columns], bytes]) -> Iterator[tuple[str, bytes]]:
    """Every table that the format can hold, and the first of them cut and torn."""
    for name, columns in TABLES.items():
        try:
            yield name, write(columns)
        except (ValueError, pa.ArrowException):  # rows of several lengths make no array
            continue
    whole = write(TABLES["labels"])
    yield "cut", whole[: len(whole) // 2]
    yield "torn", whole[:40] + bytes(len(whole) - 80) + whole[-40:]


def seeds() -> Iterator[tuple[str, str, bytes]]:
    """Every seed: target, name, bytes."""
    writers: dict[str, Callable[[Columns], bytes]] = {
        "json": _json,
        "jsonl": _json_lines,
        "csv": lambda columns: _separated(columns, ","),
        "tsv": lambda columns: _separated(columns, "\t"),
    }
    for target, write in writers.items():
        yield from ((target, name, write(columns)) for name, columns in TABLES.items())
        yield from ((target, name, data) for name, data in _texts(target))
    for name in ("labels", "scores", "unequal"):
        yield "json", f"columns-{name}", _json_columns(TABLES.get(name, TABLES["faults"]))
    yield from (("json", f"bad-{name}", data) for name, data in _JSON_FAULTS.items())
    yield from (
        ("jsonl", f"bad-{name}", data.replace(b", {", b"\n{").strip(b"[]")) for name, data in _JSON_FAULTS.items()
    )
    yield from (("csv", f"bad-{name}", data) for name, data in _TABLE_FAULTS.items())
    yield from (("tsv", f"bad-{name}", data.replace(b",", b"\t")) for name, data in _TABLE_FAULTS.items())
    yield from (("npz", name, data) for name, data in _binary(_npz))
    yield "npz", "compressed", _npz(TABLES["wide"], np.savez_compressed)
    yield "npz", "rows", _npz(_ROWS, np.savez_compressed)
    yield "npz", "classes", _npz({"id": list(IDS), "classes": ["eel", "cat", "dog"], "scores": _LISTS})
    yield "npz", "bytes", _npz({"id": np.array(IDS, "S").tolist(), "labels": [b"cat", b"d\xff", b""]})
    yield "npz", "objects", _npz({"id": [{}, None, 3], "label": ["cat"] * 3})
    yield from (("parquet", name, data) for name, data in _binary(_parquet))
    yield (
        "parquet",
        "plain",
        _parquet(TABLES["labels"], use_dictionary=False, compression="none", write_statistics=False),
    )
    yield "parquet", "rows", _parquet(_ROWS)
    yield "parquet", "zstd", _parquet(TABLES["wide"], compression="zstd", data_page_version="2.0")
    yield "parquet", "checksums", _parquet(TABLES["sets"], write_page_checksum=True)
    yield from (("arrow", name, data) for name, data in _binary(_arrow))
    yield "arrow", "zstd", _arrow(TABLES["labels"], "zstd")
    yield "arrow", "rows", _arrow(_ROWS, "zstd")
    yield "arrow", "lz4", _arrow(TABLES["sets"], "lz4")
    dictionary = {"id": list(IDS), "label": pa.array(["cat", "dog", "cat"]).dictionary_encode()}
    yield "arrow", "dictionary", _arrow(dictionary)
    yield from _wrapped("gzip", _json_lines)
    yield from _wrapped("zstd", writers["csv"])
    yield from _hostile()


_SLOW = {"names twice", "a long list"}
"""Files that take most of a second in each of a hundred readings are left to the benchmark."""


def _hostile() -> Iterator[tuple[str, str, bytes]]:
    """Files that cost more than they look: whole where they are small, and of texts the beginning as well."""
    phase = TargetGold.of(len(IDS))
    for file in hostile_files():
        if file.name in _SLOW:
            continue
        data, name = file.body(phase), f"hostile-{file.name.replace(' ', '-').replace(',', '')}"
        form, encoding = file.kind.format, file.kind.encoding
        if (form, encoding) in {("csv", "zstd"), ("jsonl", "gzip")}:
            yield encoding, name, data
        if encoding == "zstd":
            data = zstd.ZstdDecompressor().decompress(data, -1 if FORMATS[form].is_binary else 4000)
        if encoding != "gzip":
            yield form, name, data


def _wrapped(encoding: str, write: Callable[[Columns], bytes]) -> Iterable[tuple[str, str, bytes]]:
    """Compressed files: whole, in members, cut, torn, with something behind, and with much in little."""
    found = {name: compress(write(columns), encoding) for name, columns in TABLES.items() if name != "many"}
    whole = found["labels"]
    found["members"] = whole + compress(b"", encoding) + found["splits"]
    found["cut"] = whole[:-5]
    found["torn"] = whole[:-12] + bytes(4) + whole[-8:]
    found["tail"] = whole + b"tail"
    found["bare"] = write(TABLES["labels"])
    found["bomb"] = (
        compress(bytes(3 << 20), encoding)[:3900] if encoding == "zstd" else compress(bytes(3 << 20), encoding)
    )
    found["skippable"] = b"\x50\x2a\x4d\x18\x02\0\0\0ab" + whole
    return [(encoding, name, data) for name, data in found.items()]


def write_seeds(folder: Path) -> int:
    """Write all seeds of less than 4 KB; the number written."""
    count = 0
    for target, name, data in seeds():
        if len(data) < 4096:
            (folder / target).mkdir(parents=True, exist_ok=True)
            (folder / target / name).write_bytes(data)
            count += 1
    return count


if __name__ == "__main__":
    write_seeds(CORPUS)
