"""Reads NumPy .npz files: arrays by name, whose headers are checked before they are loaded; pickles are refused."""

import re
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from app.formats.column_data import (
    RawColumns,
    RawScores,
    ReaderContext,
    check_common_length,
    check_row_count,
    check_value_count,
    split_joined_labels,
)
from app.formats.problems import REDUCE_SIZE_REMEDY, Location, Problems, build_problem, pointer_token, quote, shorten
from app.formats.readers.gold_fields import LIST_FIELDS, gold_field_refusal
from app.formats.reading_rules import Limits
from app.formats.value_locations import ColumnListsLayout, FieldNames
from app.formats.weights import to_shortest_decimals

Array = NDArray[Any]
_SUPPORTED_COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_REMEDY = "Write the file with numpy.savez or numpy.savez_compressed."
_MAX_MEMBERS = 1000
_MAX_CODE_POINT = 0x10FFFF
_HEADER_ERRORS = (
    *(ValueError, TypeError, SyntaxError, KeyError, OverflowError, tokenize.TokenError),
    *(RecursionError, MemoryError),  # raised by Python's parser for expressions that are nested too deeply
)
_MEMORY_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
_LOCAL_HEADER_BYTES, _NAME_LENGTH_OFFSET = 30, 26
"""Bytes of the fixed local header of a member, and the offset of the lengths of what follows: name and extra field."""
_MAX_HEADER_BYTES = 1 << 17
"""Bytes of an array that are searched for its header; NumPy refuses headers of more than 10,000."""
_CENTRAL_DIRECTORY_MAGIC = b"PK\x01\x02"
"""The magic number of each entry of the directory at the end of an archive."""
_END_OF_DIRECTORY_MAGIC = b"PK\x05\x06"
"""The magic number of the last record of an archive, which holds the size of that directory."""
_ZIP64_SIZE_MARKER = 0xFFFFFFFF
"""The value of a size that a ZIP64 record holds instead; that record and its locator take _ZIP64_RECORDS_BYTES before
the end."""
_ZIP64_RECORDS_BYTES = 76
_KNOWN_ARRAYS = ("ids", "classes", "scores", "labels", "split", "Usage", "weight")


class _NpzError(Exception):
    """The file, or one of its arrays, is refused."""

    def __init__(self, code: str, message: str, name: str | None = None, got: str | None = None) -> None:
        super().__init__(message)
        self.code, self.name, self.got = code, name, got


def read_score_arrays(data: bytes, limits: Limits) -> tuple[Array, Array, list[str] | None] | None:
    """The ids, scores and class names of an .npz file with nothing else, for the vectorized reader.

    None for any other file, and where the strict reader may have to report a problem of the archive or of an array. Ids
    are texts of any kind, scores (n or n × k) binary32 or binary64.
    """
    context = ReaderContext("multilabel", gold=False, limits=limits, problems=Problems())
    try:
        arrays = _read_arrays(data, context)
        if not {"ids", "scores"} <= arrays.keys() <= {"ids", "scores", "classes"}:
            return None
        ids, scores = arrays["ids"], arrays["scores"]
        names = list(map(str, _text_values("classes", arrays))) if "classes" in arrays else None
    except _NpzError:
        return None
    kinds = ids.dtype.kind in "US" and scores.dtype.kind == "f" and scores.dtype.itemsize in {4, 8}
    return (ids, scores, names) if kinds and ids.ndim == 1 and len(ids) == len(scores) else None


def read_npz(data: bytes, context: ReaderContext) -> RawColumns | None:
    """Read an .npz file; None, and problems, where it is invalid or lacks a required array."""
    try:
        arrays = _read_arrays(data, context)
        return _build_columns(arrays, context)
    except _NpzError as error:
        location = Location(None if error.name is None else pointer_token(error.name))
        problem = build_problem(error.code, str(error), location, got=error.got)
        (context.problems.stop if error.code == "too_large" else context.problems.add)(problem)
    return None


# ---- the archive --------------------------------------------------------------------------------


def _read_arrays(data: bytes, context: ReaderContext) -> dict[str, Array]:
    """All arrays by name; arrays that are not used are not loaded and are empty here."""
    if not data:
        raise _NpzError("syntax", f"The file is empty. {_REMEDY}")
    end = _archive_end(data)
    if end is not None and (not data.startswith(b"PK") or len(data) != end):
        raise _NpzError("syntax", f"The file contains data before or after the archive. {_REMEDY}")
    entries = _count_directory_entries(data)
    # Checked before zipfile builds a list of them. The count is an upper bound, hence the factor.
    if entries > 2 * _MAX_MEMBERS:
        raise _NpzError("too_large", f"The archive contains {entries} files; at most {_MAX_MEMBERS} are allowed.")
    try:
        archive = zipfile.ZipFile(BytesIO(data))
        return _load_members(archive, data, context)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OSError, struct.error) as error:
        raise _NpzError("syntax", f"This is not a valid .npz file ({_error_text(error)}). {_REMEDY}") from None
    except (UnicodeDecodeError, ValueError, OverflowError) as error:
        raise _NpzError("syntax", f"The archive cannot be read ({_error_text(error)}). {_REMEDY}") from None


def _archive_end(data: bytes) -> int | None:
    """The declared end of the archive: after its last record and that record's comment; None without such a record."""
    at = data.rfind(_END_OF_DIRECTORY_MAGIC)
    return at + 22 + int.from_bytes(data[at + 20 : at + 22], "little") if at >= 0 else None


def _count_directory_entries(data: bytes) -> int:
    """An upper bound on the entries of the directory; the magic number is searched for in the directory alone."""
    at = data.rfind(_END_OF_DIRECTORY_MAGIC)
    if at < 0:
        return 0
    size = int.from_bytes(data[at + 12 : at + 16], "little")
    start = 0 if size == _ZIP64_SIZE_MARKER else max(0, at - size - _ZIP64_RECORDS_BYTES)
    return data.count(_CENTRAL_DIRECTORY_MAGIC, start, at)


def _error_text(error: Exception) -> str:
    """A library's message without memory addresses, which differ each time and must not be disclosed."""
    return _MEMORY_ADDRESS.sub("", str(error).split("\n", 1)[0]).rstrip(".")[:100] or type(error).__name__


def _load_members(archive: zipfile.ZipFile, data: bytes, context: ReaderContext) -> dict[str, Array]:
    members = archive.infolist()
    if len(members) > _MAX_MEMBERS:
        raise _NpzError("too_large", f"The archive contains {len(members)} files; at most {_MAX_MEMBERS} are allowed.")
    names = [member.filename.removesuffix(".npy") for member in members]
    for name in names:
        if names.count(name) > 1:
            raise _NpzError("duplicate_key", f"The archive contains {quote(name)} twice. Keep one.", name)
    limit = context.limits.expanded_bytes
    if sum(member.file_size for member in members) > limit:
        raise _NpzError("too_large", f"The arrays have more than {limit} bytes. {REDUCE_SIZE_REMEDY}")
    return {
        name: _load_array(archive, data, member, name) if name in _KNOWN_ARRAYS else np.zeros(0)
        for name, member in zip(names, members, strict=True)
    }


def _load_array(archive: zipfile.ZipFile, data: bytes, member: zipfile.ZipInfo, name: str) -> Array:
    """One array, loaded only if its header has a plain type and the size equals the number of bytes."""
    if member.flag_bits & 0x1:
        raise _NpzError("syntax", f"The archive is encrypted. {_REMEDY}", name)
    if member.compress_type not in _SUPPORTED_COMPRESSIONS:
        raise _NpzError("syntax", f"The archive uses a compression that NumPy cannot read. {_REMEDY}", name)
    with archive.open(member) as stream:
        raw = _uncompressed_member(data, member)
        if raw is None:
            raw = memoryview(stream.read(member.file_size + 1))
    body = BytesIO(raw[:_MAX_HEADER_BYTES])
    try:
        version = npy.read_magic(body)
        if version not in {(1, 0), (2, 0), (3, 0)}:
            raise ValueError(f"version {version}")
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about headers of old files, which can be read
            shape, fortran, dtype = read_header(body)
    except _HEADER_ERRORS as error:
        raise _NpzError(
            "syntax", f"{quote(name)} is not a valid NumPy array ({_error_text(error)}). {_REMEDY}", name
        ) from None
    if dtype.hasobject:
        message = f"{quote(name)} contains Python objects, which are never loaded. Write strings or numbers: "
        raise _NpzError("wrong_shape", f"{message}numpy.array(values, dtype=str).", name, "dtype object")
    return _build_array(name, raw[body.tell() :], shape, fortran, dtype)


def _uncompressed_member(data: bytes, member: zipfile.ZipInfo) -> memoryview | None:
    """The bytes of a member as a view of the archive; None unless they are uncompressed, complete and intact."""
    start = member.header_offset
    name, extra = struct.unpack_from("<HH", data, start + _NAME_LENGTH_OFFSET)
    start += _LOCAL_HEADER_BYTES + name + extra
    content = memoryview(data)[start : start + member.file_size]
    is_plain = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size == len(content)
    return content if is_plain and zlib.crc32(content) == member.CRC else None


def _build_array(name: str, body: memoryview, shape: tuple[int, ...], fortran: bool, dtype: np.dtype[Any]) -> Array:
    if any(type(size) is not int for size in shape):  # NumPy's reader accepts True as a number
        raise _NpzError(
            "syntax", f"{quote(name)} is not a valid NumPy array (its shape is not numeric). {_REMEDY}", name
        )
    count = 1
    for size in shape:
        count *= size
    if dtype.itemsize == 0 and count:  # empty texts take no bytes: there could be any number
        dtype, body = np.dtype("<U1"), memoryview(bytes(4 * min(count, len(body) + 1)))
    if any(size < 0 for size in shape) or count * dtype.itemsize != len(body):
        message = f"{quote(name)} declares the shape {shorten(str(shape))}, but has {len(body)} bytes. {_REMEDY}"
        raise _NpzError("syntax", message, name)
    if dtype.fields is not None or dtype.subdtype is not None or len(shape) not in {1, 2}:
        message = f"{quote(name)} must be a plain array of one or two dimensions. Give scores the shape (ids, classes)."
        raise _NpzError("wrong_shape", message, name, f"{dtype} of the shape {shape}"[:80])
    flat = np.frombuffer(body, dtype=dtype, count=count)
    return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


# ---- the columns --------------------------------------------------------------------------------


def _build_columns(arrays: Mapping[str, Array], context: ReaderContext) -> RawColumns:
    names = ", ".join(quote(name) for name in list(arrays)[:10]) or "nothing"
    if "ids" not in arrays:
        raise _NpzError("wrong_shape", f"The array 'ids' is missing; the file contains {names}. Add it.", got=names)
    has_labels = "labels" in arrays
    score = None if context.gold else context.score_field({"scores"} & arrays.keys(), has_labels=has_labels)
    if not has_labels and score is None:
        remedy = "Write the arrays 'ids' and 'labels'"
        remedy += "." if context.gold else ", or 'ids', 'classes' and 'scores'."
        fault = "The file has no labels." if context.gold else "The file has neither labels nor scores."
        raise _NpzError("wrong_shape", f"{fault} {remedy}", got=names)
    split = context.split_field(arrays)
    column_names = ["labels"] * has_labels + ["scores"] * bool(score)
    column_names += [name for name in (split, "weight") if context.gold and name in arrays]
    for name in ("ids", *column_names):
        check_row_count(len(arrays[name]), context)
        check_value_count(arrays[name].size, context.limits)
    ids = _text_values("ids", arrays)
    labels: list[Any] | None = _text_values("labels", arrays) if has_labels else None
    if labels is not None and context.sets and not context.is_long_table:
        labels = split_joined_labels(list(map(str, labels)), context.limits)
    lengths = {name: len(arrays[name]) for name in column_names}
    rows = check_common_length(lengths, len(ids), context.problems)
    scores = _score_values(arrays) if score else None
    return RawColumns(
        ids[:rows],
        None if labels is None else labels[:rows],
        range(rows),
        ColumnListsLayout(FieldNames("ids", "labels", split), has_joined_labels=True),
        context,
        splits=_text_values(split, arrays)[:rows] if split in column_names else None,
        weights=_weight_values(arrays["weight"])[:rows] if "weight" in column_names else None,
        scores=None if scores is None else replace(scores, values=scores.values[:rows]),
        ignored=_ignored_arrays(arrays, {"ids", *column_names, *["classes"] * bool(score)}, context),
        unreadable_rows=len(ids) - rows,
    )


def _text_values(name: str, arrays: Mapping[str, Array]) -> list[Any]:
    """The texts or integers of a one-dimensional array; raises _NpzError for any other array."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype.kind not in "USiu":
        message = f"{quote(name)} must be a one-dimensional array of strings or integers. "
        got = f"{array.dtype} of the shape {array.shape}"
        raise _NpzError("wrong_shape", f"{message}Use numpy.array(values, dtype=str).", name, got[:80])
    if array.dtype.kind == "U" and array.size and int(_code_points(array).max()) > _MAX_CODE_POINT:
        raise _NpzError("encoding", f"{quote(name)} contains invalid characters. Write the strings again.", name)
    if array.dtype.kind == "S":
        try:
            return [text.decode() for text in array.tolist()]
        except UnicodeDecodeError:
            message = f"{quote(name)} is not valid UTF-8. Use numpy.array(values, dtype=str)."
            raise _NpzError("encoding", message, name) from None
    return list(array.tolist())


def _code_points(array: Array) -> Array:
    native = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=False)
    return native.view(np.uint32)


def _weight_values(array: Array) -> list[Any]:
    """The weights of an array; the rows of a two-dimensional one are no weights, which is reported for each."""
    return to_shortest_decimals(array.tolist(), array.dtype.type) if array.ndim == 1 else list(array.tolist())


def _score_values(arrays: Mapping[str, Array]) -> RawScores:
    array = arrays["scores"]
    if array.dtype.kind != "f" or array.dtype.itemsize not in {4, 8}:
        message = "'scores' must be float32 or float64. Use numpy.asarray(scores, dtype=numpy.float64)."
        raise _NpzError("wrong_shape", message, "scores", f"dtype {array.dtype}"[:60])
    names = _text_values("classes", arrays) if "classes" in arrays else None
    width = array.shape[1] if array.ndim == 2 else 1
    if names is not None and len(names) != width:
        message = f"'classes' names {len(names)} classes, but 'scores' has {width} columns."
        raise _NpzError("wrong_class_count", f"{message} Give one column for each class.", "scores")
    return RawScores(array.astype(np.float64, copy=False), names)


def _ignored_arrays(arrays: Mapping[str, Array], used: set[str], context: ReaderContext) -> list[str]:
    """The names of unused arrays; those that gold must not ignore are problems."""
    names = [name for name in arrays if name not in used]
    for name in names:
        if refusal := gold_field_refusal(name, context, LIST_FIELDS):
            context.problems.add_new("wrong_shape", refusal, Location(pointer_token(name)))
    return names
