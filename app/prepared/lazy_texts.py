"""Texts that are decoded only when the first one is requested."""

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

_COUNT = struct.Struct("<Q")


class LazyTexts(Sequence[str]):
    """`count` texts, which `decode` returns when the first one is requested; then they are cached."""

    def __init__(self, count: int, decode: Callable[[], Sequence[str]]) -> None:
        self._count = count
        self._decode = decode
        self._texts: Sequence[str] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._load()[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __contains__(self, text: object) -> bool:
        return text in self._load()

    def _load(self) -> Sequence[str]:
        if self._texts is None:
            self._texts = self._decode()
        return self._texts


def encode_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts as one array of bytes: their number, then a JSON list, which can hold any text."""
    return np.frombuffer(_COUNT.pack(len(texts)) + json.dumps(list(texts)).encode(), dtype=np.uint8)


def decode_texts(data: NDArray[np.uint8]) -> LazyTexts:
    """The texts that `encode_texts` encoded."""
    (count,) = _COUNT.unpack(data[: _COUNT.size].tobytes())
    return LazyTexts(count, lambda: json.loads(data[_COUNT.size :].tobytes()))
