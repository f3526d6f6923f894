"""Encoded replies as they are cached and sent: a body, plain and compressed, with its headers."""

import gzip
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from starlette.responses import Response

from app.api.http.negotiation import prefers_gzip
from app.api.http.problem_documents import problem_response
from app.api.http.streamed_reply import StreamedReply
from app.errors import AssayError

HeaderPair = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class EncodedBody:
    """A body as it is sent, with its headers."""

    body: bytes
    etag: str
    media_type: str
    encoding: str | None
    headers: list[HeaderPair]  # the same as those of `response`, for replies that bypass the framework
    not_modified_headers: list[HeaderPair]  # those of a 304, which has no body

    @classmethod
    def build(cls, body: bytes, media: str, encoding: str | None) -> "EncodedBody":
        """Encode headers for this body. The ETag differs per encoding, as strong ETags must."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        common = [(b"vary", b"Accept-Encoding, Authorization"), (b"etag", tag.encode())]
        content = [(b"content-encoding", encoding.encode())] if encoding else []
        content += [(b"content-length", str(len(body)).encode()), (b"content-type", media.encode())]
        return cls(body, tag, media, encoding, common + content, common)

    def response(self) -> Response:
        """The reply as a response of the framework."""
        headers = {"Vary": "Accept-Encoding", "ETag": self.etag}
        if self.encoding is not None:
            headers["Content-Encoding"] = self.encoding
        return Response(self.body, media_type=self.media_type, headers=headers)


@dataclass(frozen=True, slots=True)
class CachedReply:
    """A board, or the error in its place, with the marks of its rows; `expires_at` is monotonic time.

    `stream` makes the pieces of a board that is too large to be cached.
    """

    plain: EncodedBody
    gzipped: EncodedBody
    refusal: AssayError | None
    marks: frozenset[str]
    expires_at: float
    stream: Callable[[], Iterable[bytes]] | None = None

    @classmethod
    def build(
        cls, body: bytes, media: str, *, marks: frozenset[str], expires_at: float, refusal: AssayError | None = None
    ) -> "CachedReply":
        """Build a reply from a body, compressed as well if that makes it smaller."""
        plain = gzipped = EncodedBody.build(body, media, None)
        packed = gzip.compress(body, mtime=0)
        if len(packed) < len(body):
            gzipped = EncodedBody.build(packed, media, "gzip")
        return cls(plain, gzipped, refusal, marks, expires_at)

    @property
    def size(self) -> int:
        """The approximate bytes of memory."""
        return 2000 + len(self.plain.body) + len(self.gzipped.body)

    def encoded(self, accept_encoding: str) -> EncodedBody:
        """The body in the encoding that an Accept-Encoding header prefers."""
        return self.gzipped if prefers_gzip(accept_encoding) else self.plain

    def response(self, accept_encoding: str) -> Response:
        """The reply as a response of the framework."""
        if self.refusal is not None:
            return problem_response(self.refusal)
        if self.stream is not None:
            return StreamedReply(self.stream(), self.plain.media_type, accept_encoding)
        return self.encoded(accept_encoding).response()
