"""The file of a multipart form (RFC 7578), streamed as if it were the whole body, as curl -F file=@FILE sends it."""

import re
from collections.abc import AsyncIterator, Collection

from multipart import MultipartError, MultipartSegment, PushMultipartParser, parse_options_header

from app.errors import BadRequest, UnsupportedMedia

FORM_MEDIA_TYPE = "multipart/form-data"
MAX_FRAME_BYTES = 1 << 16
"""Bytes of a form besides its file: boundaries, headers, text fields, and what may stand before and behind them."""
_FILE_FIELD = "file"
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
"""RFC 2046, section 5.1.1."""
_CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PLAIN_TRANSFER_ENCODINGS = frozenset({"", "7bit", "8bit", "binary"})
_REMEDY = "Send a form with one file, as curl -F file=@FILE does, or the file itself as the body."


def is_form(media_type: str | None) -> bool:
    """Whether this Content-Type is that of a form."""
    return (media_type or "").partition(";")[0].strip().lower() == FORM_MEDIA_TYPE


class FormFile:
    """The only file of a form; its name and type are known once it is open, its bytes are then read once.

    Everything but a well-formed form with exactly one file, and nothing else, raises BadRequest. A page may name text
    fields that stand before its file, each once; `fields` has those that were sent.
    """

    filename: str
    media_type: str
    encoding: str

    def __init__(
        self, content_type: str, encoding: str, body: AsyncIterator[bytes], leading_fields: Collection[str] = ()
    ) -> None:
        """Read the form from the chunks of a request's body, given the headers of the request."""
        if encoding.strip().lower() not in {"", "identity"}:
            raise UnsupportedMedia("A form cannot be compressed as a whole.", remedy="Compress the file in it instead.")
        boundary = parse_options_header(content_type)[1].get("boundary", "")
        if not _BOUNDARY.fullmatch(boundary):
            raise BadRequest("The Content-Type of the form has no valid boundary.", remedy=_REMEDY)
        self._parser = PushMultipartParser(boundary)
        self._body = body
        self._received = self._size = 0
        self._first: list[bytes] = []
        self._is_open = False
        self._leading_fields = leading_fields
        self._texts: dict[str, bytes] = {}
        self._text_name: str | None = None

    @property
    def fields(self) -> dict[str, str]:
        """The text fields that stood before the file, by name."""
        try:
            return {name: text.decode() for name, text in self._texts.items()}
        except UnicodeDecodeError:
            raise BadRequest("A text field of the form is not UTF-8.", remedy=_REMEDY) from None

    async def open(self) -> None:
        """Read up to the headers of the file."""
        async for chunk in self._body:
            self._first += self._file_bytes(chunk)
            if self._is_open:
                return
        self._close()

    async def content(self) -> AsyncIterator[bytes]:
        """The bytes of the file, which must be open; then the form is read to its end."""
        for part in self._first:
            yield part
        self._first = []
        async for chunk in self._body:
            for part in self._file_bytes(chunk):
                yield part
        self._close()

    def _file_bytes(self, chunk: bytes) -> list[bytes]:
        """The bytes of the file in the next chunk of the form."""
        parts: list[bytes] = []
        try:
            for event in self._parser.parse(chunk) if chunk else ():
                if isinstance(event, MultipartSegment):
                    self._begin(event)
                elif event is not None and self._text_name is not None:
                    self._texts[self._text_name] += event
                elif event is not None:
                    parts.append(event)
        except MultipartError as error:
            raise _malformed(error) from None
        self._received += len(chunk)
        self._size += sum(map(len, parts))
        if self._received - self._size > MAX_FRAME_BYTES:
            raise BadRequest(f"The form has more than {MAX_FRAME_BYTES} bytes besides its file.", remedy=_REMEDY)
        return parts

    def _begin(self, part: MultipartSegment) -> None:
        """Take the headers of a part, which must be those of the only file."""
        self._text_name = None
        if part.filename is None and part.name in self._leading_fields and not self._is_open:
            self._begin_text(part.name)
            return
        if part.filename is None and part.name != _FILE_FIELD:
            name = (part.name or "")[:50]
            remedy = "Give parameters in the query of the URL, such as ?method=NAME; the form has the file alone."
            raise BadRequest(f"The form has a field '{name}' that is not a file.", remedy=remedy)
        if self._is_open:
            raise BadRequest("The form has more than one file.", remedy="Send each file in a request of its own.")
        if any(_CONTROL_CHARACTER.search(value) for _, value in part.headerlist):
            raise BadRequest("A header of the file in the form holds a control character.", remedy=_REMEDY)
        names = [name for name, _ in part.headerlist]
        if len(set(names)) < len(names):
            raise BadRequest("A header of the file in the form is given twice.", remedy=_REMEDY)
        if part.header("Content-Transfer-Encoding", "").strip().lower() not in _PLAIN_TRANSFER_ENCODINGS:
            raise BadRequest(
                "The file in the form has a Content-Transfer-Encoding.", remedy="Send its bytes as they are."
            )
        self.filename = part.filename or ""
        self.media_type = part.header("Content-Type", "")
        self.encoding = part.header("Content-Encoding", "")
        self._is_open = True

    def _begin_text(self, name: str) -> None:
        if name in self._texts:
            raise BadRequest(f"The field '{name}' of the form is given twice.", remedy=_REMEDY)
        self._text_name, self._texts[name] = name, b""

    def _close(self) -> None:
        """Check that the form ended with its last boundary and had a file."""
        try:
            self._parser.close()
        except MultipartError as error:
            raise _malformed(error) from None
        if not self._is_open or not (self._size or self.filename):
            raise BadRequest("The form has no file.", remedy=_REMEDY)


def _malformed(error: MultipartError) -> BadRequest:
    return BadRequest(f"The form is malformed: {str(error).rstrip('.')}.", remedy=_REMEDY)
