"""The compact protocol of Thrift, as far as the metadata of Parquet need it: structs as dictionaries by field.

What is read is written again as it was: the type of each field is kept beside its value. Source: Apache Thrift,
doc/specs/thrift-compact-protocol.md.
"""

from typing import Any

_TRUE, _FALSE, _BYTE, _I32, _I64, _BINARY, _LIST, _STRUCT = 1, 2, 3, 5, 6, 8, 9, 12


class ThriftStruct(dict[int, Any]):
    """The values of the fields of a struct, and the types of those that were read."""

    def __init__(self) -> None:
        super().__init__()
        self.types: dict[int, int] = {}


class ThriftList(list[Any]):
    """The values of a list, and their type."""

    kind = 0


def read(data: bytes) -> ThriftStruct:
    """The struct that these bytes begin with."""
    return _struct(data, 0)[0]


def encode(struct: dict[int, Any]) -> bytes:
    """The bytes of a struct; integers whose type is not known are written as i32."""
    types: dict[int, int] = getattr(struct, "types", {})
    out, last = bytearray(), 0
    for field, value in sorted(struct.items()):
        kind = types.get(field, _STRUCT if isinstance(value, dict) else _I32)
        if kind in {_TRUE, _FALSE}:
            kind = _TRUE if value else _FALSE
        out += bytes([(field - last) << 4 | kind]) + _bytes(value, kind)
        last = field
    return bytes(out) + b"\0"


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _bytes(value: Any, kind: int) -> bytes:
    if kind in {_TRUE, _FALSE}:
        return b""
    if kind == _BYTE:
        return bytes([value])
    if kind == _BINARY:
        return _varint(len(value)) + bytes(value)
    if kind == _LIST:
        size, inner = len(value), value.kind
        head = bytes([size << 4 | inner]) if size < 15 else bytes([0xF0 | inner]) + _varint(size)
        return head + b"".join(_bytes(each, inner) for each in value)
    if kind == _STRUCT:
        return encode(value)
    return _varint((value << 1) ^ (value >> 63))


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        found |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return found, at


def _struct(data: bytes, at: int) -> tuple[ThriftStruct, int]:
    found, last = ThriftStruct(), 0
    while data[at]:
        kind, step = data[at] & 15, data[at] >> 4
        assert step, "fields of Parquet are near each other"
        last, at = last + step, at + 1
        found[last], at = _value(data, at, kind)
        found.types[last] = kind
    return found, at + 1


def _value(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in {_TRUE, _FALSE}:
        return kind == _TRUE, at
    if kind == _BYTE:
        return data[at], at + 1
    if kind == _STRUCT:
        return _struct(data, at)
    if kind == _BINARY:
        size, at = _number(data, at)
        return data[at : at + size], at + size
    if kind == _LIST:
        items, head, at = ThriftList(), data[at], at + 1
        items.kind, size = head & 15, head >> 4
        if size == 15:
            size, at = _number(data, at)
        for _ in range(size):
            item, at = _value(data, at, items.kind)
            items.append(item)
        return items, at
    number, at = _number(data, at)
    return (number >> 1) ^ -(number & 1), at
