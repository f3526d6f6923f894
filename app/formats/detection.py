"""The file formats: each declared once with media types, endings, meaning and examples, and how one is told."""

from dataclasses import dataclass
from importlib.util import find_spec

from app.errors import BadRequest, UnsupportedMedia
from app.formats.registry import ENCODINGS, FORMATS, Encoding, Format, Shape

__all__ = ["ENCODINGS", "FORMATS", "LAYOUTS", "Encoding", "FileKind", "Format", "Shape", "accepted", "file_kind"]

LAYOUTS: dict[str, str] = {"long": "one row per pair of instance and label, in tables of multi-label data"}
"""Layouts that an upload may say it has, beside the plain one of its format."""

_BY_FILENAME = frozenset({"", "application/x-www-form-urlencoded", "application/octet-stream"})
_UNREAD = (".npy", ".zip", ".bz2", ".xz", ".tar", ".tgz", ".7z", ".rar", ".pkl", ".pickle", ".xml")
_WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


@dataclass(frozen=True, slots=True)
class FileKind:
    """How to read a file: its format (a key of FORMATS), its encoding (of ENCODINGS) and its layout (of LAYOUTS).

    An encoding or layout that is empty is the plain one.
    """

    format: str
    encoding: str = ""
    layout: str = ""

    @property
    def ending(self) -> str:
        """How the name of such a file ends."""
        return FORMATS[self.format].endings[0] + (ENCODINGS[self.encoding].ending if self.encoding else "")

    def to_dict(self) -> dict[str, str]:
        """The fields by name, as a request to a scoring child carries them."""
        return {"format": self.format, "encoding": self.encoding, "layout": self.layout}


def is_read(known: Format) -> bool:
    """Whether this installation reads the format: some need an optional library."""
    return known.library is None or find_spec(known.library) is not None


def accepted() -> str:
    """Name every media type and encoding that is read, as advice for who sent another."""
    types = [known.media_types[0] for known in FORMATS.values() if is_read(known)]
    encodings = " or ".join(ENCODINGS)
    endings = " or ".join(encoding.ending for encoding in ENCODINGS.values())
    return (
        f"Send {', '.join(types)}; plain or with Content-Encoding: {encodings} (or a file name that ends in {endings})."
    )


def file_kind(
    filename: str | None, media_type: str | None, encoding: str | None, layout: str | None = None
) -> FileKind:
    """Tell format and encoding from media type, file name and Content-Encoding, in this order.

    A media type decides; where it is absent, form-urlencoded or octet-stream, the file name's ending does; else it
    is JSON. Raises UnsupportedMedia, which names what is accepted, and BadRequest for a layout that does not fit.
    """
    name = (filename or "").strip().lower()
    ended = next((known for known in ENCODINGS.values() if name.endswith(known.ending)), None)
    packed = _encoding(encoding, ended)
    media, _, parameters = (media_type or "").partition(";")
    media = media.strip().lower()
    _check_charset(parameters)
    found = _by_ending(name.removesuffix(ended.ending) if ended else name) if media in _BY_FILENAME else _by_type(media)
    if not is_read(found):
        raise UnsupportedMedia(
            f"{found.name} is not read here: the library '{found.library}' is not installed.",
            remedy=f"{accepted()} Who runs the service may install 'assay[arrow]'.",
        )
    return FileKind(found.key, packed, _layout(layout, found))


def _encoding(given: str | None, ended: Encoding | None) -> str:
    """The key of the encoding: what Content-Encoding says, which must not contradict the file's name."""
    name = (given or "").strip().lower()
    if name in {"", "identity"}:
        return ended.key if ended else ""
    said = next((known for known in ENCODINGS.values() if name in known.names), None)
    if said is None:
        several = " Encode the file once." if "," in name else ""
        raise UnsupportedMedia(f"The content encoding '{name}' is not read here.{several}", remedy=accepted())
    if ended is not None and ended is not said:
        raise UnsupportedMedia(
            f"Content-Encoding says {said.key}, but the file name ends in {ended.ending}.",
            remedy="Leave Content-Encoding away, or send the file under its own name.",
        )
    return said.key


def _check_charset(parameters: str) -> None:
    for parameter in parameters.split(";"):
        key, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        if key.strip().lower() == "charset" and charset not in {"utf-8", "utf8", "us-ascii"}:
            raise UnsupportedMedia(
                f"The charset '{charset}' is not read here; save the file as UTF-8.", remedy=accepted()
            )


def _by_type(media: str) -> Format:
    for known in FORMATS.values():
        if media in known.media_types:
            return known
    raise UnsupportedMedia(f"The media type '{media}' is not read here.", remedy=accepted())


def _by_ending(name: str) -> Format:
    for known in FORMATS.values():
        if name.endswith(known.endings):
            return known
    if name.endswith(_WORKBOOKS):
        raise UnsupportedMedia(
            "Spreadsheet workbooks are not read here; save the sheet as CSV (UTF-8), and send that file.",
            remedy=accepted(),
        )
    if name.endswith(_UNREAD):
        raise UnsupportedMedia(f"Files that end in '{name[name.rindex('.') :]}' are not read here.", remedy=accepted())
    return FORMATS["json"]


def _layout(given: str | None, found: Format) -> str:
    name = (given or "").strip().lower()
    if not name:
        return ""
    if name not in LAYOUTS:
        raise BadRequest(f"There is no layout '{name}'; there is {', '.join(LAYOUTS)}.")
    if not found.table:
        tables = ", ".join(known.name for known in FORMATS.values() if known.table)
        raise BadRequest(f"layout={name} is for tables ({tables}), not for {found.name}.")
    return name
