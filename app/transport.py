"""HTTP transport of the Python client: connection, retries, streamed uploads, and errors from problem+json replies."""

import io
import json
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
MAX_RENAMES = 4  # redirects that a request follows; one for the challenge and one for the phase are usual
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

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0, retries: int = MAX_RETRIES) -> None:
        """`url` is the address of the service, without /api/v1.

        `timeout` limits each step of a call, in seconds, and `retries` how often one is repeated that is safe to repeat.
        """
        self.url = url.rstrip("/").removesuffix("/api/v1")
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            detail = f"{url!r} is not a valid service address."
            raise ClientError({"code": "bad_url", "detail": detail, "remedy": "Use one like http://127.0.0.1:8000."})
        self._timeout = timeout
        self._retries = retries
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

    def _items(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[Json]:
        cursor: str | None = None
        while True:
            page = self._json("GET", path, params={**(params or {}), "limit": 200, "cursor": cursor})
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

    def _events(self, path: str) -> Iterator[tuple[str, Json]]:
        """The server-sent events of a path, as name and JSON; raises ApiError if it refuses."""
        try:
            with self._http.stream("GET", path, headers={"Accept": "text/event-stream"}) as response:
                if not response.is_success:
                    response.read()
                    raise _api_error(response)
                name = ""
                for line in response.iter_lines():
                    field, _, value = line.partition(": ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        yield name, json.loads(value)
        except httpx.RequestError as error:
            raise self._unreachable_error(error) from error

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
        self, method: str, path: str, *, params: Mapping[str, Any] | None = None, **request: Any
    ) -> httpx.Response:
        """Send a request with what `_send` takes, to the new address if the challenge or phase was renamed."""
        for _ in range(MAX_RENAMES + 1):
            response = self._send(method, path, params=params, **request)
            if response.status_code != httpx.codes.PERMANENT_REDIRECT:
                return response
            path, params = self._new_path(response), None
        raise ClientError({"code": "unexpected_answer", "detail": f"{self.url} redirects in a circle."})

    def _download(
        self,
        path: str,
        out: IO[bytes],
        *,
        params: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Write the body of a reply to `out` as it arrives; raises UnreachableError if it ends early."""
        query = {name: value for name, value in (params or {}).items() if value is not None} or None
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        for _ in range(MAX_RENAMES + 1):
            try:
                with self._http.stream("GET", path, params=query, headers=headers) as response:
                    if response.is_success:
                        _write_body(response, out, progress)
                        return
                    response.read()
            except httpx.RequestError as error:
                raise self._unreachable_error(error) from error
            if response.status_code != httpx.codes.PERMANENT_REDIRECT:
                raise _api_error(response)
            path, query = self._new_path(response), None
        raise ClientError({"code": "unexpected_answer", "detail": f"{self.url} redirects in a circle."})

    def _new_path(self, response: httpx.Response) -> str:
        """Where the service says that a request belongs; raises ClientError for another service.

        The token, and perhaps a file, are for this service alone.
        """
        asked = response.request.url
        target = asked.join(response.headers.get("Location", ""))
        if (target.scheme, target.host, target.port) != (asked.scheme, asked.host, asked.port):
            service = str(target.copy_with(raw_path=b"/")).rstrip("/")
            detail = f"{self.url} redirects to another service, {service}."
            raise ClientError({"code": "redirected", "detail": detail, "remedy": f"If you trust it: --url {service}."})
        return target.raw_path.decode("ascii").removeprefix(self._http.base_url.path.rstrip("/"))

    def _send(
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
        attempts = 1 + (self._retries if (retry if retry is not None else method == "GET") else 0)
        query = {name: value for name, value in (params or {}).items() if value is not None} or None
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
            if response.is_success or response.status_code == httpx.codes.PERMANENT_REDIRECT:
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


def _write_body(response: httpx.Response, out: IO[bytes], progress: Progress | None) -> None:
    received, total = 0, int(response.headers.get("Content-Length", "0"))
    for chunk in response.iter_bytes(_CHUNK_BYTES):
        out.write(chunk)
        received += len(chunk)
        if progress is not None:
            progress(received, total)


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
