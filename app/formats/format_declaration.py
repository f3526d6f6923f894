"""What a file format and an encoding declare about themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from app.formats.column_data import RawColumns, ReaderContext
from app.formats.templates.template_writers import TemplateContent

TextReader = Callable[[str, ReaderContext], RawColumns | None]
BytesReader = Callable[[bytes, ReaderContext], RawColumns | None]
TemplateWriter = Callable[[TemplateContent], bytes]


@dataclass(frozen=True, slots=True)
class FormatShape:
    """One way to lay out predictions within a format, with examples.

    `example` gives one label to each instance, `multilabel` a set of labels, `scores` a score for each class, and `score`
    (binary tasks) the score of the positive label alone; an example is empty where the shape has no such form. Examples
    of binary formats are Python code that writes the file `predictions` with the ending of the format.
    """

    name: str
    meaning: str
    example: str = ""
    multilabel: str = ""
    scores: str = ""
    score: str = ""
    layout: str = ""


@dataclass(frozen=True, slots=True)
class FileTemplate:
    """How a template, a file to fill in, is written; `has_cell_per_score`: it has a cell for each single score."""

    write: TemplateWriter
    has_cell_per_score: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how it is detected, how it is laid out, how it is read, and its templates.

    Each format has one reader: `read_text` gets the decoded text, `read_bytes` the bytes of a binary format. A reader
    returns None where nothing can be read, and reports a problem that says why.
    """

    key: str
    name: str
    media_types: tuple[str, ...]
    endings: tuple[str, ...]
    meaning: str
    shapes: tuple[FormatShape, ...]
    read_text: TextReader | None = None
    read_bytes: BytesReader | None = None
    templates: Mapping[str, FileTemplate] = field(default_factory=dict)
    """Templates by the name under which they are requested."""
    separator: str = ""
    """What separates the fields of a delimited table."""
    value_delimiters: bytes = b""
    """Of a text: one of these bytes precedes each value, except the first value and values after a name."""
    has_record_per_line: bool = False
    """Whether each line of a text is a record of its own."""
    magic: bytes = b""
    """How each file of a binary format begins."""
    library: str | None = None
    """The optional library that must be installed to read the format."""
    table: bool = False
    """Whether it has named columns, and so may be a long table."""

    @property
    def is_binary(self) -> bool:
        """Whether a file is bytes rather than text."""
        return self.read_bytes is not None

    @property
    def media_type(self) -> str:
        """The media type under which files are sent."""
        return self.media_types[0]

    @property
    def ending(self) -> str:
        """The usual ending of a file name."""
        return self.endings[0]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A compression of a file: its names in Content-Encoding, the ending that it adds, and its first bytes."""

    key: str
    names: tuple[str, ...]
    ending: str
    magic: bytes
    source: str
