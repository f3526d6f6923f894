"""Detects the format, encoding and layout of a file from its media type, Content-Encoding and name."""

from dataclasses import dataclass
from importlib.util import find_spec

from app.errors import BadRequest, UnsupportedMedia
from app.formats.format_declaration import Encoding, Format
from app.formats.registry import ENCODINGS, FORMATS

__all__ = [
    "ENCODINGS",
    "FORMATS",
    "LAYOUTS",
    "FileKind",
    "Format",
    "accepted_formats_advice",
    "detect_file_kind",
    "media_type_in_form",
]

LAYOUTS: dict[str, str] = {"long": "one row per pair of instance and label, in tables of multi-label data"}
"""Layouts that an upload may declare, other than the default one of its format."""

GENERIC_MEDIA_TYPES = frozenset({"", "application/x-www-form-urlencoded", "application/octet-stream"})
_ARCHIVE_EXTENSIONS = (".zip", ".tar", ".tgz", ".7z", ".rar")
_UNSUPPORTED_EXTENSIONS = (*_ARCHIVE_EXTENSIONS, ".bz2", ".xz", ".pkl", ".pickle", ".xml")
_WORKBOOK_EXTENSIONS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_WORKBOOK_MESSAGE = "Spreadsheet workbooks are not supported; save the sheet as CSV (UTF-8) and send that file."


@dataclass(frozen=True, slots=True)
class FileKind:
    """How to read a file: its format (a key of FORMATS), its encoding (of ENCODINGS) and its layout (of LAYOUTS).

    An empty encoding means uncompressed, an empty layout the default one.
    """

    format: str
    encoding: str = ""
    layout: str = ""

    @property
    def ending(self) -> str:
        """The usual ending of the name of such a file."""
        return FORMATS[self.format].ending + (ENCODINGS[self.encoding].ending if self.encoding else "")

    def to_dict(self) -> dict[str, str]:
        """The fields by name, as sent to a scoring process."""
        return {"format": self.format, "encoding": self.encoding, "layout": self.layout}


def is_supported(form: Format) -> bool:
    """Whether this installation can read the format; some formats need an optional library."""
    return form.library is None or find_spec(form.library) is not None


def _unsupported_error(message: str, hint: str = "") -> UnsupportedMedia:
    return UnsupportedMedia(message, remedy=accepted_formats_advice() + hint)


def accepted_formats_advice() -> str:
    """Advice that names every media type and encoding that can be read."""
    types = [form.media_type for form in FORMATS.values() if is_supported(form)]
    encodings = " or ".join(ENCODINGS)
    endings = " or ".join(encoding.ending for encoding in ENCODINGS.values())
    compression = f"with Content-Encoding: {encodings} (or a file name that ends in {endings})"
    return f"Send {', '.join(types)}; uncompressed or {compression}."


def detect_file_kind(
    filename: str | None, media_type: str | None, encoding: str | None, layout: str | None = None
) -> FileKind:
    """Detect format and encoding from media type, file name and Content-Encoding.

    A specific media type decides. If it is absent, form-urlencoded or octet-stream, the ending of the file name
    decides; otherwise the format is JSON. Raises UnsupportedMedia, which names what is accepted, and BadRequest for a
    layout that the format does not have.
    """
    name = (filename or "").strip().lower()
    from_name = next((candidate for candidate in ENCODINGS.values() if name.endswith(candidate.ending)), None)
    encoding_key = _detect_encoding(encoding, from_name)
    media, _, parameters = (media_type or "").partition(";")
    media = media.strip().lower()
    _check_charset(parameters)
    if media in GENERIC_MEDIA_TYPES:
        form = _format_by_extension(name.removesuffix(from_name.ending) if from_name else name)
    else:
        form = _format_by_media_type(media)
    if not is_supported(form):
        message = f"This installation cannot read {form.name}: the library '{form.library}' is not installed."
        raise _unsupported_error(message, " The operator of the service can install 'assay[arrow]'.")
    return FileKind(form.key, encoding_key, _parse_layout(layout, form))


def media_type_in_form(filename: str | None, media_type: str | None) -> str | None:
    """The media type of a file in a form; None if that is no format of ours but the name tells the format.

    Browsers ask the operating system for the media type: with a spreadsheet program, it calls a CSV file
    application/vnd.ms-excel, and a compressed file application/gzip.
    """
    media, name = (media_type or "").partition(";")[0].strip().lower(), (filename or "").strip().lower()
    if media.startswith("multipart/") or any(media in form.media_types for form in FORMATS.values()):
        return media_type
    for encoding in ENCODINGS.values():
        name = name.removesuffix(encoding.ending)
    told = (*(ending for form in FORMATS.values() for ending in form.endings), ".npy")
    return None if name.endswith((*told, *_WORKBOOK_EXTENSIONS, *_UNSUPPORTED_EXTENSIONS)) else media_type


def _detect_encoding(header: str | None, from_name: Encoding | None) -> str:
    """The key of the encoding, from Content-Encoding or the file name, which must not contradict each other."""
    name = (header or "").strip().lower()
    if name in {"", "identity"}:
        return from_name.key if from_name else ""
    from_header = next((candidate for candidate in ENCODINGS.values() if name in candidate.names), None)
    if from_header is None:
        hint = " Compress the file only once." if "," in name else ""
        raise _unsupported_error(f"The content encoding '{name}' is not supported.{hint}")
    if from_name is not None and from_name is not from_header:
        raise UnsupportedMedia(
            f"Content-Encoding says {from_header.key}, but the file name ends in {from_name.ending}.",
            remedy="Remove Content-Encoding, or correct the file name.",
        )
    return from_header.key


def _check_charset(parameters: str) -> None:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if key.strip().lower() == "charset" and charset not in {"utf-8", "utf8", "us-ascii"}:
            raise _unsupported_error(f"The charset '{charset}' is not supported; save the file as UTF-8.")


def _format_by_media_type(media: str) -> Format:
    for form in FORMATS.values():
        if media in form.media_types:
            return form
    if "spreadsheet" in media or "ms-excel" in media:
        raise _unsupported_error(_WORKBOOK_MESSAGE)
    if media == "text/plain":  # what curl -F and browsers call files whose names end in .txt
        message = (
            "The media type 'text/plain' does not say how to read a file. Rename the file, such as to .csv or .json."
        )
        raise _unsupported_error(message)
    raise _unsupported_error(f"The media type '{media}' is not supported.")


def _format_by_extension(name: str) -> Format:
    for form in FORMATS.values():
        if name.endswith(form.endings):
            return form
    if name.endswith(_WORKBOOK_EXTENSIONS):
        raise _unsupported_error(_WORKBOOK_MESSAGE)
    if name.endswith(".npy"):
        message = "A single NumPy array (.npy) is not supported; save ids and scores by name with numpy.savez, as .npz."
        raise _unsupported_error(message)
    if name.endswith(_ARCHIVE_EXTENSIONS):
        message = "Archives are not supported; take the file out, and send it alone or compressed with gzip."
        raise _unsupported_error(message)
    if name.endswith(_UNSUPPORTED_EXTENSIONS):
        raise _unsupported_error(f"Files that end in '{name[name.rindex('.') :]}' are not supported.")
    return FORMATS["json"]


def _parse_layout(requested: str | None, form: Format) -> str:
    name = (requested or "").strip().lower()
    if not name:
        return ""
    if name not in LAYOUTS:
        raise BadRequest(f"There is no layout '{name}'. Known layouts: {', '.join(LAYOUTS)}.")
    if not form.table:
        tables = ", ".join(candidate.name for candidate in FORMATS.values() if candidate.table)
        raise BadRequest(f"layout={name} is for tables ({tables}), not for {form.name}.")
    return name
