"""Texts as one array of bytes, decoded only when the first one is requested."""

import json
import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.scoring.lazy_texts import LazyTexts

_COUNT = struct.Struct("<Q")


def encode_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts as one array of bytes: their number, then a JSON list, which can hold any text."""
    return np.frombuffer(_COUNT.pack(len(texts)) + json.dumps(list(texts)).encode(), dtype=np.uint8)


def decode_texts(data: NDArray[np.uint8]) -> LazyTexts:
    """The texts that `encode_texts` encoded."""
    (count,) = _COUNT.unpack(data[: _COUNT.size].tobytes())
    return LazyTexts(count, lambda: json.loads(data[_COUNT.size :].tobytes()))
