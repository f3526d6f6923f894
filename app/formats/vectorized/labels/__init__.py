"""The fast tier of reading: labels straight from bytes to codes, for files about which nothing at all is doubtful.

It makes no string of any id or label, and tells nobody what is wrong: it accepts a file whose layout is the same all
through and whose every id and label is, byte for byte, a known one, and leaves any other to the strict reader. So it
can be quick without being trusted: what it accepts the strict reader reads to the same labels (tests/formats/fast).
"""

from app.formats.vectorized.labels.id_join import LookupTables
from app.formats.vectorized.labels.label_reader import read_labels

__all__ = ["LookupTables", "read_labels"]
