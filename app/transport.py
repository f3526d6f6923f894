"""One request of the Python client: connection, retries, uploads streamed from disk, failures with their explanation."""

import io
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

import httpx

Json = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with the bytes sent so far and the bytes in all."""

MAX_RETRIES = 3
MAX_RETRY_AFTER_SECONDS = 30.0  # seconds; a longer Retry-After is not waited for
_CHUNK_BYTES = 1 << 18


class ClientError(Exception):
    """A call that did not succeed; `document` is its explanation as problem+json."""

    def __init__(self, document: Json) -> None:
        """`document`: at least `code` and `detail`."""
        super().__init__(str(document.get("detail") or document.get("title") or document.get("code")))
        self.document = document
        self.code = str(document.get("code", ""))
        self.detail = str(self)
        self.remedy: str | None = document.get("remedy")


class UnreachableError(ClientError):
    """The service did not answer."""


class ApiError(ClientError):
    """The service answered with an error."""

    def __init__(self, status: int, document: Json, headers: Mapping[str, str]) -> None:
        """`status`: of the answer; `document`: its body; `headers`: as received."""
        super().__init__({"status": status, **document})
        self.status = status
        self.headers = headers
        self.url, self.path, self.with_token = "", "", False
        self.errors: list[Json] = document.get("errors") or []
        self.problems: list[Json] = document.get("problems") or []


class StreamedBody:
    """A request body that can be sent again: a file streamed from disk, or bytes."""

    def __init__(self, content: Path | bytes, progress: Progress | None) -> None:
        self.content = content
        self.progress = progress
        self.size = content.stat().st_size if isinstance(content, Path) else len(content)

    def __iter__(self) -> Iterator[bytes]:
        stream: IO[bytes] = self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)
        sent = 0
        with stream:
            # Never more than the size announced in Content-Length, even if the file grows meanwhile.
            while sent < self.size and (chunk := stream.read(min(_CHUNK_BYTES, self.size - sent))):
                yield chunk
                sent += len(chunk)
                if self.progress is not None:
                    self.progress(sent, self.size)


class Transport:
    """One service, one token: requests to it, repeated where that does no harm."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        """`url`: address of the service, without /api/v1; `timeout`: seconds for each step of a call."""
        self.url = url.rstrip("/").removesuffix("/api/v1")
        try:
            parsed = httpx.URL(self.url)
        except httpx.InvalidURL:
            parsed = httpx.URL()
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            detail = f"{url!r} is not the address of a service."
            raise ClientError({"code": "bad_url", "detail": detail, "remedy": "Give one like http://127.0.0.1:8000."})
        self._timeout = timeout
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})},
            timeout=timeout,
            # A proxy never reaches this machine's own loopback.
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
        """True when the service says that it can take requests."""
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

    def _json(self, method: str, path: str, **given: Any) -> Json:
        found = _json_object(self._call(method, path, **given))
        if found is None:
            detail = f"{self.url} answered, but not with the JSON of this service."
            raise ClientError({"code": "unexpected_answer", "detail": detail, "remedy": "Check the address."})
        return found

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
        # no Content-Type: the file's name tells the format, whichever formats the service reads
        sent = {"Content-Length": str(body.size), **(headers or {})}
        return self._json("POST", path, params=params, headers=sent, body=body, retry=retry, patience=patience)

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
        """Send one request; what may be repeated without harm is, when the service is away or asks for it."""
        tries = 1 + (MAX_RETRIES if (retry if retry is not None else method == "GET") else 0)
        given = {key: value for key, value in (params or {}).items() if value is not None}
        timeout = httpx.Timeout(self._timeout, read=self._timeout + patience)
        for attempt in range(1, tries + 1):
            try:
                answer = self._http.request(
                    method,
                    path,
                    params=given,
                    headers=headers,
                    json=json,
                    timeout=timeout,
                    content=None if body is None else iter(body),
                )
            except httpx.RequestError as error:
                if attempt == tries:
                    raise self._unreachable_error(error) from error
                time.sleep(0.1 * 2**attempt)
                continue
            if answer.is_success:
                return answer
            failure = _api_error(answer)
            pause = _retry_delay(failure)
            if attempt == tries or pause is None:
                raise failure
            time.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _unreachable_error(self, error: httpx.RequestError) -> UnreachableError:
        what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        remedy = "Check the address (--url, ASSAY_URL) and that the service is running (assay serve)."
        return UnreachableError({"code": "unreachable", "detail": f"{self.url} {what}: {error}", "remedy": remedy})


def _json_object(answer: httpx.Response) -> Json | None:
    try:
        found = answer.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _api_error(answer: httpx.Response) -> ApiError:
    document = _json_object(answer)
    if document is None:
        detail = f"The service answered {answer.status_code} {answer.reason_phrase} without an explanation."
        document = {"code": "unexpected_answer", "detail": detail}
    failure = ApiError(answer.status_code, document, answer.headers)
    base, _, below = str(answer.request.url).partition("/api/v1")
    failure.url, failure.path = base, below.partition("?")[0]
    failure.with_token = "Authorization" in answer.request.headers
    return failure


def _retry_delay(failure: ApiError) -> float | None:
    """Seconds after which the same request may succeed; None when repeating it is no use."""
    if failure.status != httpx.codes.SERVICE_UNAVAILABLE and failure.code != "request_in_flight":
        return None
    try:
        pause = float(failure.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date: nothing here sends one, so a middle course
        pause = 5.0
    return pause if 0 <= pause <= MAX_RETRY_AFTER_SECONDS else None
