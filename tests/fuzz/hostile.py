"""Files that cost more to read than their size suggests, of every format: at most 4 MB as sent, for gold of any size."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from backports import zstd

from app.formats.content.format_detection import FileKind
from app.scoring.declaration.task import TaskKind
from tests.fuzz.hostile_arrow import (
    arrow_bytes,
    arrow_files,
    dictionary,
    pair,
    parquet_bytes,
    parquet_files,
    score_table,
)
from tests.fuzz.hostile_file import MAX_FILE_BYTES, HostileFile, TargetGold, constant_body, zstd_frame
from tests.fuzz.hostile_metadata import shared_files
from tests.fuzz.hostile_sets import set_files


def _text(form: str, name: str, make: Callable[[TargetGold], bytes], *, plain: bool = False, **how: Any) -> HostileFile:
    """A file of text, compressed unless it is to be as large as it looks."""
    if plain:
        return HostileFile(
            name, FileKind(form, layout=how.pop("layout", "")), lambda phase: make(phase)[:MAX_FILE_BYTES], **how
        )
    return HostileFile(
        name, FileKind(form, "zstd", how.pop("layout", "")), lambda phase: zstd_frame(make(phase)), **how
    )


def _records(phase: TargetGold, extra: str = "", count: int | None = None) -> str:
    """Sound records of a phase, with further fields."""
    ids = phase.ids if count is None else phase.ids[:count]
    return ",".join(f'{{"id":"{name}","label":"c0"{extra}}}' for name in ids)


def _beside(unit: str, head: str = "[", tail: str = "1]") -> Callable[[TargetGold], bytes]:
    """Valid records, the last of which has an ignored field that fills the allowed size."""

    def make(phase: TargetGold) -> bytes:
        before = _records(phase).removesuffix("}")
        return phase.filled(unit, f'[{before},"x":{head}', f"{tail}}}]")

    return make


_MARKS = "\u0301\u0327" * 490


def _lines(line: str) -> Callable[[TargetGold], bytes]:
    """One line over and over."""
    return lambda phase: phase.filled(line + "\n")


def _each(pattern: str) -> Callable[[TargetGold], bytes]:
    """One faulty line for each instance, its id put into a pattern."""
    return lambda phase: "".join(pattern.replace("#", name) + "\n" for name in phase.ids).encode()


def json_lines() -> Iterator[HostileFile]:
    """JSON Lines."""
    yield _text("jsonl", "ten million empty objects", constant_body(b"{}\n" * 9_800_000))
    yield _text("jsonl", "ten million numbers", constant_body(b"9\n" * 10_000_000))
    yield _text("jsonl", "empty objects", _lines("{}"))
    yield _text("jsonl", "empty objects, plain", _lines("{}"), plain=True)
    yield _text("jsonl", "blank lines", _lines(""))
    yield _text("jsonl", "broken lines", _lines("{"))
    yield _text("jsonl", "one id over and over", _lines('{"id":"t0000001","label":"c0"}'))
    yield _text("jsonl", "deep lines", _lines("[" * 65))
    yield _text("jsonl", "no labels", _each('{"id":"#"}'))
    yield _text("jsonl", "unknown ids", _each('{"id":"x#","label":"c0"}'))
    yield _text("jsonl", "unknown labels", _each('{"id":"#","label":"C 0"}'))
    yield _text("jsonl", "labels that are no texts", _each('{"id":"#","label":[NaN]}'))
    yield _text("jsonl", "key twice", _each('{"id":"#","label":"c0","label":"c0"}'))


def json_files() -> Iterator[HostileFile]:
    """JSON."""
    yield _text("json", "empty lists", lambda phase: phase.filled("[],", "[", "[]]"))
    yield _text("json", "empty lists, plain", lambda phase: phase.filled("[],", "[", "[]]"), plain=True)
    yield _text("json", "one id over and over", lambda p: p.filled('{"id":"t0000001","label":"c0"},', "[", "{}]"))
    yield _text("json", "ignored lists", _beside("[],"))
    yield _text("json", "ignored numbers", _beside("0.5,"))
    yield _text("json", "ignored faults", _beside("NaN,"))
    yield _text("json", "ignored faults in objects", _beside('{"a":NaN},'))
    yield _text("json", "ignored objects", _beside('{"a":0},', "[", "NaN]"))
    yield _text("json", "ignored text", _beside("x", '"', '"'))
    yield _text("json", "ignored escapes", _beside(r"\u00e9", '"', '"'))
    yield _text("json", "ignored nests", _beside("[" * 50 + "]" * 50 + ","))
    yield _text("json", "white space", _beside(" ", "", "1"))
    yield _text("json", "long number", _beside("1", "0.", ""))
    yield _text("json", "long integers", _beside("9" * 310 + ","))
    yield _text("json", "longer integers", _beside("9" * 999 + ","))
    yield _text("json", "deep", lambda phase: phase.filled("["))
    yield _text("json", "brackets then deep", lambda phase: phase.filled("[],", "[", "[" * 100))
    yield _text("json", "a string that nothing closes", lambda p: p.filled(r"\"", "[" + "[]," * 99 + '"', "[" * 9999))
    yield _text("json", "one key over and over", lambda phase: phase.filled('"t0000001":"c0",', "{", '"a":"b"}'))
    yield _text("json", "unknown classes", _unknown_classes, scores=True)
    yield _text("json", "marks", _marks)
    yield _text("json", "marks in classes", _marked_classes, scores=True)
    yield _text("json", "labels of one set", _labels, task="multilabel")
    yield _text("json", "half surrogates", lambda phase: phase.filled(r"\ud83d", '["', '"]'))
    yield _text("json", "bytes that are no text", _bad_bytes(b"\xff"))
    yield _text("json", "bytes that are no text, plain", _bad_bytes(b"\xff"), plain=True)
    yield _text("json", "bytes that are no text, apart", _bad_bytes(b"\xffa\n"))
    yield _text("json", "columns", _columns)


def _columns(phase: TargetGold) -> bytes:
    half = phase.filled("1,")
    half = half[: len(half) // 4 * 2] + b"1]"
    return b'{"ids":[' + half + b',"labels":[' + half + b"}"


def _bad_bytes(data: bytes) -> Callable[[TargetGold], bytes]:
    def make(phase: TargetGold) -> bytes:
        head = b"[" + _records(phase).encode() + b',{"x":"'
        return head + data * ((phase.max_text_bytes - len(head) - 3) // len(data)) + b'"}]'

    return make


def _unknown_classes(phase: TargetGold) -> bytes:
    scores = ",".join(f'"k{number}":1' for number in range(min(phase.max_text_bytes // 12, 1_000_000)))
    return f'[{{"id":"{phase.ids[0]}","scores":{{{scores}}}}}]'.encode()


def _marks(phase: TargetGold) -> bytes:
    count = min(len(phase.ids) + 900, phase.max_text_bytes // 2100)
    return ("[" + ",".join(f'{{"id":"{number}{_MARKS}","label":"c0"}}' for number in range(count)) + "]").encode()


def _marked_classes(phase: TargetGold) -> bytes:
    scores = ",".join(f'"{number}{_MARKS}":1' for number in range(phase.max_text_bytes // 2100))
    return f'[{{"id":"{phase.ids[0]}","scores":{{{scores}}}}}]'.encode()


def _labels(phase: TargetGold) -> bytes:
    return phase.filled("0,", f'[{{"id":"{phase.ids[0]}","labels":[', "1]}]")


def tables() -> Iterator[HostileFile]:
    """CSV."""
    head = "id,label\n"

    def rows(line: str, names: str = head) -> Callable[[TargetGold], bytes]:
        return lambda phase: phase.filled(line + "\n", names)

    yield _text("csv", "ten million blank lines", constant_body(head.encode() + b"\n" * 10_000_000))
    yield _text("csv", "blank lines", rows(""))
    yield _text("csv", "narrow rows", rows("a"))
    yield _text("csv", "one row over and over", rows("t0000001,c0"))
    yield _text("csv", "wide rows", rows("," * 100_000))
    yield _text("csv", "badly quoted rows", rows('"a"b'))
    yield _text("csv", "unclosed quotes", rows('"a,b'))
    yield _text("csv", "wide header", _wide_header)
    yield _text("csv", "names twice", constant_body(b"id,label" + b",a" * 100_000 + b"\n"))
    yield _text("csv", "empty cells", _empty_cells)
    yield _text("csv", "lines in a field", lambda p: p.filled("\n", head + '"', '",c0\n'))
    yield _text("csv", "no numbers", lambda p: b"id,c0,c1,c2\n" + _each("#,x,y,")(p), scores=True)
    yield _text("csv", "labels joined", lambda p: p.filled("|", f"{head}{p.ids[0]},"), task="multilabel")
    yield _text("csv", "unknown ids", lambda p: head.encode() + _each("x#,c0")(p))
    yield _text("csv", "unknown labels", lambda p: head.encode() + _each("#,C0")(p))
    yield _text("csv", "pairs", rows("t0000001,c0"), task="multilabel", layout="long")
    yield _text("csv", "pairs without a label", rows("t0000001,"), task="multilabel", layout="long")
    yield _text("csv", "pairs with both", rows("t0000001,c0\nt0000001,"), task="multilabel", layout="long")
    yield _text("tsv", "blank lines", rows("", "id\tlabel\n"))
    yield from pairs()


def pairs() -> Iterator[HostileFile]:
    """Tables with as many rows as there are pairs of instances and classes."""
    how: dict[str, Any] = {"task": "multilabel", "layout": "long"}

    def rows(line: str) -> Callable[[TargetGold], bytes]:
        return lambda phase: b"id,label\n" + (line + "\n").encode() * phase.pairs

    for name, line in {"no id": ",y", "nothing": ",", "unknown": "x,y", "in disorder": "e\u0301,e\u0301"}.items():
        yield _text("csv", f"pairs, {name}", rows(line), **how)
    yield _text("csv", "pairs, unknown labels", lambda p: _all_pairs(p, ["zz"] * len(p.classes)), **how)
    yield _text("csv", "pairs, all but one label", lambda p: _all_pairs(p, [*p.classes[1:], "zz"]), **how)
    yield _text("csv", "pairs, all the same", lambda p: _all_pairs(p, ["c0"] * len(p.classes)), **how)
    kind = FileKind("parquet", layout="long")
    marks = dictionary(["e\u0301" * 499], 1)
    for name, column in {"nulls": pa.nulls(1, pa.string()), "marks": marks}.items():
        yield HostileFile(f"pairs, {name}", kind, _repeated_pair(column), "multilabel")
    yield HostileFile("pairs, marked labels", kind, _marked_labels, "multilabel")


def _all_pairs(phase: TargetGold, labels: Sequence[str]) -> bytes:
    return "".join(["id,label\n", *(f"{name},{label}\n" for label in labels for name in phase.ids)]).encode()


def _repeated_pair(value: pa.Array) -> Callable[[TargetGold], bytes]:
    def make(phase: TargetGold) -> bytes:
        column = pa.chunked_array([value.take(pa.array(np.zeros(phase.pairs, "i4")))])
        return parquet_bytes(pair(column, column))

    return make


def _marked_labels(phase: TargetGold) -> bytes:
    ids = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(len(phase.ids) * len(phase.classes), dtype="i4") % len(phase.ids)), pa.array(phase.ids)
    )
    return parquet_bytes(pair(ids, dictionary(["e\u0301" * 499], len(ids))))


def _wide_header(phase: TargetGold) -> bytes:
    names = ",".join(f"k{number}" for number in range(100_000))
    return f"id,label,{names}\n{phase.ids[0]},c0\n".encode()


def _empty_cells(phase: TargetGold) -> bytes:
    head = "id,label" + "".join(f",k{number}" for number in range(1000))
    return (head + "\n" + ("a,b" + "," * 1000 + "\n") * max(100_000, len(phase.ids))).encode()


def encodings() -> Iterator[HostileFile]:
    """Members and frames, and bytes that swell."""
    line = b'{"id":"t0000001","label":"c0"}\n'
    yield HostileFile(
        "empty members", FileKind("jsonl", "gzip"), constant_body((gzip.compress(b"") * 200_000)[:MAX_FILE_BYTES])
    )
    small, letter = gzip.compress(line), zstd.compress(b" ")
    yield HostileFile(
        "a line in each member", FileKind("jsonl", "gzip"), constant_body(small * (MAX_FILE_BYTES // len(small)))
    )
    yield HostileFile(
        "a bomb", FileKind("jsonl", "gzip"), constant_body(gzip.compress(b" " * 900_000_000, 9)[:MAX_FILE_BYTES])
    )
    yield HostileFile(
        "a letter in each frame", FileKind("jsonl", "zstd"), constant_body(letter * (MAX_FILE_BYTES // len(letter)))
    )
    skipped = struct.pack("<II", 0x184D2A50, 0)
    yield HostileFile(
        "skipped frames", FileKind("jsonl", "zstd"), constant_body(skipped * (MAX_FILE_BYTES // len(skipped)))
    )
    yield HostileFile(
        "a bomb", FileKind("csv", "zstd"), constant_body(zstd_frame(b"id,label\n" + b"a" * 1_000_000_000))
    )


def _npz(**arrays: Any) -> bytes:
    body = io.BytesIO()
    given: dict[str, Any] = {name: np.asarray(values) for name, values in arrays.items()}
    np.savez_compressed(body, **given)
    return body.getvalue()


def _members(phase: TargetGold) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for number in range(1000):
            archive.writestr(f"array{number}.npy", b"")
    return body.getvalue()


def arrays() -> Iterator[HostileFile]:
    """NumPy files."""
    npz = FileKind("npz")
    many = np.zeros(20_000_000, dtype="<U1")
    yield HostileFile("ids", npz, constant_body(_npz(ids=many, labels=np.zeros(3, "<U1"))))
    yield HostileFile("labels", npz, lambda phase: _npz(ids=list(phase.ids), labels=many))
    yield HostileFile(
        "numbers as ids", npz, constant_body(_npz(ids=np.zeros(50_000_000, "i1"), labels=np.zeros(50_000_000, "i1")))
    )
    yield HostileFile("wide texts", npz, constant_body(_npz(ids=np.zeros(3, "<U30000000"), labels=np.zeros(3, "<U1"))))
    joined = np.array([b"|" * 50_000_000])
    yield HostileFile("labels joined", npz, lambda p: _npz(ids=p.ids[:1], labels=joined), "multilabel")
    wide = np.zeros((3, 20_000_000), "f4")
    yield HostileFile("wide scores", npz, constant_body(_npz(ids=["a", "b", "c"], scores=wide)), scores=True)
    tall = np.full((20_000_000, 3), np.nan, "f4")
    yield HostileFile("tall scores", npz, lambda phase: _npz(ids=list(phase.ids), scores=tall), scores=True)
    yield HostileFile("members", npz, _members)


def hostile_files() -> Iterator[HostileFile]:
    """All of them."""
    for family in (
        json_lines,
        json_files,
        tables,
        encodings,
        arrays,
        parquet_files,
        arrow_files,
        shared_files,
        set_files,
    ):
        yield from family()


def valid_file(
    phase: TargetGold, form: str, *, scores: bool = False, task: TaskKind = "multiclass", layout: str = ""
) -> bytes:
    """A valid file of a phase, laid out as most are."""
    n, m = len(phase.ids), len(phase.classes)
    labels: list[Any] = ["c0"] * n if task != "multilabel" or layout else [["c0"]] * n
    due = "labels" if task == "multilabel" else "label"
    if form in {"json", "jsonl"}:
        value = json.dumps(dict.fromkeys(phase.classes, 0.5)) if scores else json.dumps(labels[0])
        lines = [f'{{"id": "{name}", "{"scores" if scores else due}": {value}}}' for name in phase.ids]
        return ("\n".join(lines) if form == "jsonl" else "[" + ", ".join(lines) + "]").encode()
    if layout == "long":
        cells = [(name, label) for label in phase.classes for name in phase.ids]
        if form == "csv":
            return _all_pairs(phase, phase.classes)
        long = pair(pa.array([name for name, _ in cells]), pa.array([label for _, label in cells]))
        return parquet_bytes(long)
    sign = "\t" if form == "tsv" else ","
    if form in {"csv", "tsv"}:
        head = ["id", *phase.classes] if scores else ["id", "label"]
        row = sign.join(["0.5"] * m) if scores else "c0"
        return "".join([sign.join(head) + "\n", *(f"{name}{sign}{row}\n" for name in phase.ids)]).encode()
    if form == "npz":
        given: Mapping[str, Any] = {"scores": np.full((n, m), 0.5)} if scores else {"labels": ["c0"] * n}
        return _npz(ids=list(phase.ids), **given)
    table = score_table(phase) if scores else pair(pa.array(phase.ids), pa.array(labels), due)
    return parquet_bytes(table) if form == "parquet" else arrow_bytes(table.to_batches(), "zstd")
