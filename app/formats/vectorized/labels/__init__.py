"""The vectorized reader of labels: from bytes to label codes, without a Python string for any id or label.

It accepts a file only if its layout is the same throughout and each id and label is, byte for byte, a known one. This is
why it needs no checks of its own for encoding, NFC or escapes: bytes equal to a known text are that text. Tests compare
it with the strict reader (tests/formats/test_vectorized_labels.py).
"""

from app.formats.vectorized.labels.dictionary_encoder import sorted_classes
from app.formats.vectorized.labels.gold_reader import GoldArrays, read_gold
from app.formats.vectorized.labels.id_reader import read_ids
from app.formats.vectorized.labels.widening_join import WideningJoin

__all__ = ["GoldArrays", "WideningJoin", "read_gold", "read_ids", "sorted_classes"]
