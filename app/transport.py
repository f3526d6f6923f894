"""HTTP transport of the Python client: connection, retries, streamed uploads, and errors from problem+json replies."""

import io
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

import httpx

Json = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with the bytes sent so far and the total number of bytes."""

MAX_RETRIES = 3
MAX_RETRY_AFTER_SECONDS = 30.0  # after a longer Retry-After the request is not retried
_CHUNK_BYTES = 1 << 18


class ClientError(Exception):
    """A failed call; `document` is the problem+json object that explains it."""

    def __init__(self, document: Json) -> None:
        """`document` has at least `code` and `detail`."""
        super().__init__(str(document.get("detail") or document.get("title") or document.get("code")))
        self.document = document
        self.code = str(document.get("code", ""))
        self.detail = str(self)
        self.remedy: str | None = document.get("remedy")


class UnreachableError(ClientError):
    """The service did not answer."""


class ApiError(ClientError):
    """The service returned an error."""

    def __init__(self, status: int, document: Json, headers: Mapping[str, str]) -> None:
        """`status`, `document` and `headers` are the status code, body and headers of the response."""
        super().__init__({"status": status, **document})
        self.status = status
        self.headers = headers
        self.url, self.path, self.with_token = "", "", False
        self.errors: list[Json] = document.get("errors") or []
        self.problems: list[Json] = document.get("problems") or []


class StreamedBody:
    """A request body that can be sent again on a retry: a file streamed from disk, or bytes."""

    def __init__(self, content: Path | bytes, progress: Progress | None) -> None:
        self.content = content
        self.progress = progress
        self.size = content.stat().st_size if isinstance(content, Path) else len(content)

    def __iter__(self) -> Iterator[bytes]:
        stream: IO[bytes] = self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)
        sent = 0
        with stream:
            # Send no more than Content-Length announced, even if the file grows meanwhile.
            while sent < self.size and (chunk := stream.read(min(_CHUNK_BYTES, self.size - sent))):
                yield chunk
                sent += len(chunk)
                if self.progress is not None:
                    self.progress(sent, self.size)


class Transport:
    """Sends requests to one service with one token; retries those that are safe to repeat."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        """`url` is the address of the service, without /api/v1; `timeout` limits each step of a call, in seconds."""
        self.url = url.rstrip("/").removesuffix("/api/v1")
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            detail = f"{url!r} is not a valid service address."
            raise ClientError({"code": "bad_url", "detail": detail, "remedy": "Use one like http://127.0.0.1:8000."})
        self._timeout = timeout
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
            timeout=timeout,
            # A proxy from the environment cannot reach this machine's loopback address.
            trust_env=parsed.host not in {"127.0.0.1", "::1", "localhost"},
        )

    def __enter__(self) -> Self:
        """The client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ready(self) -> bool:
        """Whether the service reports that it is ready."""
        try:
            return self._http.get("/readyz", timeout=min(5.0, self._timeout)).status_code == httpx.codes.OK
        except httpx.RequestError:
            return False

    def _items(self, path: str) -> Iterator[Json]:
        cursor: str | None = None
        while True:
            page = self._json("GET", path, params={"limit": 200, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("next")
            if not cursor:
                return

    def _json(self, method: str, path: str, **kwargs: Any) -> Json:
        document = _json_object(self._call(method, path, **kwargs))
        if document is None:
            detail = f"{self.url} answered, but not as an Assay service does."
            raise ClientError({"code": "unexpected_answer", "detail": detail, "remedy": "Check the address."})
        return document

    def _upload(
        self,
        path: str,
        body: StreamedBody,
        params: Mapping[str, str | None],
        headers: Mapping[str, str] | None = None,
        *,
        retry: bool = False,
        patience: float = 0.0,
    ) -> Json:
        # No Content-Type: the service detects the format from the file name.
        headers = {"Content-Length": str(body.size), **(headers or {})}
        return self._json("POST", path, params=params, headers=headers, body=body, retry=retry, patience=patience)

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: StreamedBody | None = None,
        retry: bool | None = None,
        patience: float = 0.0,
    ) -> httpx.Response:
        """Send a request, again after a connection error, a 503 or request_in_flight if `retry` (default: GET only).

        `patience` is the time in seconds that the service may take to answer, beyond the usual timeout.
        """
        # A request that broke off may have taken effect, so without `retry` only reads are repeated.
        attempts = 1 + (MAX_RETRIES if (retry if retry is not None else method == "GET") else 0)
        query = {name: value for name, value in (params or {}).items() if value is not None}
        timeout = httpx.Timeout(self._timeout, read=self._timeout + patience)
        for attempt in range(1, attempts + 1):
            content = None if body is None else iter(body)  # from its start again at each attempt
            try:
                response = self._http.request(
                    method, path, params=query, headers=headers, json=json, timeout=timeout, content=content
                )
            except httpx.RequestError as error:
                if attempt == attempts:
                    raise self._unreachable_error(error) from error
                time.sleep(0.1 * 2**attempt)
                continue
            if response.is_success:
                return response
            failure = _api_error(response)
            pause = _retry_delay(failure)
            if attempt == attempts or pause is None:
                raise failure
            time.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _unreachable_error(self, error: httpx.RequestError) -> UnreachableError:
        problem = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        remedy = "Check the address (--url, ASSAY_URL), and that the service is running (assay serve)."
        return UnreachableError({"code": "unreachable", "detail": f"{self.url} {problem}: {error}", "remedy": remedy})


def _json_object(response: httpx.Response) -> Json | None:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _api_error(response: httpx.Response) -> ApiError:
    document = _json_object(response)
    if document is None:
        detail = f"The service answered {response.status_code} {response.reason_phrase} without an explanation."
        document = {"code": "unexpected_answer", "detail": detail}
    error = ApiError(response.status_code, document, response.headers)
    error.url, _, path = str(response.request.url).partition("/api/v1")
    error.path = path.partition("?")[0]
    error.with_token = "Authorization" in response.request.headers
    return error


def _retry_delay(error: ApiError) -> float | None:
    """Seconds to wait before the request is retried; None if it should not be."""
    if error.status != httpx.codes.SERVICE_UNAVAILABLE and error.code != "request_in_flight":
        return None
    try:
        pause = float(error.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date, which the service does not send but a proxy might
        pause = 5.0
    return pause if 0 <= pause <= MAX_RETRY_AFTER_SECONDS else None
