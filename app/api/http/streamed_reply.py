"""Replies that are sent in pieces while they are made, so that no large body is ever in memory as a whole."""

import zlib
from collections.abc import Iterable, Iterator

from starlette.concurrency import iterate_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.api.http.negotiation import prefers_gzip

HEAD_KEY = "assay_head"
"""In the scope of a request for HEAD, which the routes answer as GET: whether the reply has no body."""


class StreamedReply(StreamingResponse):
    """Pieces of bytes, each made in a thread once the client has received those before. It has no length and no ETag."""

    def __init__(self, pieces: Iterable[bytes], media_type: str, accept_encoding: str) -> None:
        headers = {"Vary": "Accept-Encoding"}
        if prefers_gzip(accept_encoding):
            pieces, headers["Content-Encoding"] = _gzipped(pieces), "gzip"
        super().__init__(pieces, media_type=media_type, headers=headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces; to HEAD only the headers, without making any."""
        if scope.get(HEAD_KEY):
            self.body_iterator = iterate_in_threadpool(())
        await super().__call__(scope, receive, send)


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)  # a gzip container
    for piece in pieces:
        if packed := packer.compress(piece):
            yield packed
    yield packer.flush()
