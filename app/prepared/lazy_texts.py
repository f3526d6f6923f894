"""Texts that become strings only when one is asked for."""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

_COUNT = struct.Struct("<Q")


class LazyTexts(Sequence[str]):
    """A number of texts, made by `make` when the first one is asked for, and then kept."""

    def __init__(self, count: int, make: Callable[[], Sequence[str]]) -> None:
        self._count = count
        self._make = make
        self._made: Sequence[str] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        return self._load()[at]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __contains__(self, text: object) -> bool:
        return text in self._load()

    def _load(self) -> Sequence[str]:
        if self._made is None:
            self._made = self._make()
        return self._made


def encode_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts as one array of bytes: how many they are, then a JSON list, which holds any text."""
    return np.frombuffer(_COUNT.pack(len(texts)) + json.dumps(list(texts)).encode(), dtype=np.uint8)


def decode_texts(data: NDArray[np.uint8]) -> LazyTexts:
    """The texts of such an array again."""
    (count,) = _COUNT.unpack(data[: _COUNT.size].tobytes())
    return LazyTexts(count, lambda: json.loads(data[_COUNT.size :].tobytes()))
