"""The Python client of the REST API, shared by the command line and by users' scripts."""

import io
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import quote

import httpx

Json = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with the bytes sent so far and the bytes in all."""

FINAL = frozenset({"finished", "rejected", "failed", "cancelled"})
"""The statuses of a submission that never change again."""

RETRIES = 3
LONGEST_PAUSE = 30.0  # seconds; a longer Retry-After is not waited for
LONGEST_WAIT_HEADER = 60  # the service's bound for Prefer: wait
_CHUNK = 1 << 18
_MEDIA_TYPES = {
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
}


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


def media_type(filename: str) -> str | None:
    """The media type that a file name's ending stands for, compression aside; None for an unknown one."""
    name = filename.lower()
    return _MEDIA_TYPES.get(Path(name.removesuffix(".gz").removesuffix(".zst")).suffix)


class _Body:
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
            while sent < self.size and (chunk := stream.read(min(_CHUNK, self.size - sent))):
                yield chunk
                sent += len(chunk)
                if self.progress is not None:
                    self.progress(sent, self.size)


class Client:
    """One service, one token. Use it as a context manager; every method is one call of the API."""

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

    # ---- accounts

    def sign_up(self, email: str, name: str, password: str, *, approved: bool | None = None) -> Json:
        """Create an account; only an administrator may say `approved`."""
        body: Json = {"email": email, "name": name, "password": password}
        return self._json("POST", _path("users"), json=body if approved is None else body | {"approved": approved})

    def create_token(self, email: str, password: str, scopes: Sequence[str] | None = None) -> Json:
        """Trade e-mail address and password for a token: `{"id", "token", …}`."""
        body: Json = {"email": email, "password": password}
        return self._json("POST", _path("tokens"), json=body if scopes is None else body | {"scopes": list(scopes)})

    def me(self) -> Json:
        """The account that the token belongs to."""
        return self._json("GET", _path("me"))

    # ---- challenges

    def create_challenge(self, body: Json) -> Json:
        """Create a challenge from its description."""
        return self._json("POST", _path("challenges"), json=body)

    def list_challenges(self) -> Iterator[Json]:
        """All challenges that this token may see, page by page."""
        return self._items(_path("challenges"))

    def challenge(self, slug: str) -> Json:
        """One challenge."""
        return self._json("GET", _path("challenges", slug))

    def phase(self, slug: str, phase: str | None = None) -> str:
        """The given phase, else the challenge's only one, else the only one that is open now."""
        if phase is not None:
            return phase
        phases: list[Json] = self.challenge(slug).get("phases") or []
        chosen = phases if len(phases) == 1 else [one for one in phases if one.get("open")]
        if len(chosen) != 1:
            names = ", ".join(_slug(one) for one in phases)
            detail = f"Challenge {slug} has several phases: {names}."
            raise ClientError({"code": "which_phase", "detail": detail, "remedy": "Say which one you mean."})
        return _slug(chosen[0])

    def upload_gold(
        self, slug: str, phase: str, path: Path, *, activate: bool = True, progress: Progress | None = None
    ) -> Json:
        """Upload true labels as a new version; with `activate` they are in use at once."""
        params = {"activate": "true" if activate else "false", "filename": path.name}
        return self._upload(_in_phase(slug, phase, "gold"), _Body(path, progress), params)

    def put_gold_table(self, slug: str, phase: str, version: int, table: str, content: Any) -> Json:
        """Give a draft of the gold its `classes`, `train-frequencies` or `class-weights`."""
        return self._json("PUT", _in_phase(slug, phase, "gold", str(version), table), json=content)

    def activate_gold(self, slug: str, phase: str, version: int) -> Json:
        """Put a draft of the gold into use."""
        return self._json("POST", _in_phase(slug, phase, "gold", str(version), "activate"))

    def register(self, slug: str, *, team: str | None = None, invitation: str | None = None) -> Json:
        """Found a team, or join one by its invitation."""
        body = {"team": team} if invitation is None else {"invitation": invitation}
        return self._json("POST", _path("challenges", slug, "registrations"), json=body)

    def template(self, slug: str, phase: str, file_format: str = "json") -> bytes:
        """The ids to predict, in gold order, as a file to fill in."""
        path = _in_phase(slug, phase, "template")
        return self._call("GET", path, params={"format": file_format}).content

    # ---- submissions

    def submit(
        self,
        slug: str,
        predictions: Path | bytes,
        *,
        filename: str | None = None,
        method: str | None = None,
        description: str | None = None,
        phase: str | None = None,
        wait: float = 0.0,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Hand in predictions and wait up to `wait` seconds for a final status; the submission as it is then.

        A broken connection or a 503 is retried under the same Idempotency-Key, so nothing is handed in twice.
        """
        until = time.monotonic() + wait
        name = filename or getattr(predictions, "name", None)
        params = {"filename": name, "method": method, "description": description}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        at_once = min(LONGEST_WAIT_HEADER, int(wait))
        if at_once > 0:
            headers["Prefer"] = f"wait={at_once}"
        body = _Body(predictions, progress)
        made = self._upload(_handing_in(slug, phase), body, params, headers, retry=True, patience=at_once)
        return self._until_final(made, until)

    def dry_run(
        self,
        slug: str,
        predictions: Path | bytes,
        *,
        phase: str | None = None,
        filename: str | None = None,
        progress: Progress | None = None,
    ) -> Json:
        """Check predictions without handing them in: `{"valid", "total", "problems"}`."""
        params = {"dry_run": "true", "filename": filename or getattr(predictions, "name", None)}
        return self._upload(_handing_in(slug, phase), _Body(predictions, progress), params, retry=True)

    def submission(self, submission: str) -> Json:
        """One submission: status, scores, problems."""
        return self._json("GET", _path("submissions", submission))

    def submissions(self, slug: str, phase: str) -> Iterator[Json]:
        """The team's submissions in a phase (organizers: all), page by page."""
        return self._items(_in_phase(slug, phase, "submissions"))

    def select(self, submission: str, *, chosen: bool = True) -> Json:
        """Choose a finished submission for the final standing, or take the choice back."""
        return self._json("POST", _path("submissions", submission, "select" if chosen else "unselect"))

    # ---- results

    def leaderboard(self, slug: str, phase: str, **filters: str | None) -> Json:
        """The board of a phase, best first; filters: `metric`, `split`."""
        return self._json("GET", _in_phase(slug, phase, "leaderboard"), params=filters)

    def leaderboard_csv(self, slug: str, phase: str, **filters: str | None) -> str:
        """The board of a phase as CSV text; filters as for `leaderboard`."""
        params = filters | {"format": "csv"}
        return self._call(
            "GET", _in_phase(slug, phase, "leaderboard"), params=params, headers={"Accept": "text/csv"}
        ).text

    def metrics(self, key: str | None = None) -> Json:
        """The catalogue of metrics, or one entry of it."""
        return self._json("GET", _path("metrics") if key is None else _path("metrics", key))

    def ready(self) -> bool:
        """True when the service says that it can take requests."""
        try:
            return self._http.get("/readyz", timeout=min(5.0, self._timeout)).status_code == httpx.codes.OK
        except httpx.RequestError:
            return False

    # ---- below: one request

    def _until_final(self, made: Json, until: float) -> Json:
        pause = 0.25
        while made.get("status") not in FINAL and (left := until - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 10.0)
            made = self.submission(str(made["id"]))
        return made

    def _items(self, path: str) -> Iterator[Json]:
        cursor: str | None = None
        while True:
            page = self._json("GET", path, params={"limit": 200, "cursor": cursor})
            yield from page["items"]
            cursor = page.get("next")
            if not cursor:
                return

    def _json(self, method: str, path: str, **given: Any) -> Json:
        found = _object(self._call(method, path, **given))
        if found is None:
            detail = f"{self.url} answered, but not with the JSON of this service."
            raise ClientError({"code": "unexpected_answer", "detail": detail, "remedy": "Check the address."})
        return found

    def _upload(
        self,
        path: str,
        body: _Body,
        params: Mapping[str, str | None],
        headers: Mapping[str, str] | None = None,
        *,
        retry: bool = False,
        patience: float = 0.0,
    ) -> Json:
        kind = media_type(params.get("filename") or "")
        sent = {"Content-Length": str(body.size), **({"Content-Type": kind} if kind else {}), **(headers or {})}
        return self._json("POST", path, params=params, headers=sent, body=body, retry=retry, patience=patience)

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
        body: _Body | None = None,
        retry: bool | None = None,
        patience: float = 0.0,
    ) -> httpx.Response:
        """Send one request; what may be repeated without harm is, when the service is away or asks for it."""
        tries = 1 + (RETRIES if (retry if retry is not None else method == "GET") else 0)
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
                    raise self._unreachable(error) from error
                time.sleep(0.1 * 2**attempt)
                continue
            if answer.is_success:
                return answer
            failure = _failure(answer)
            pause = _retry_after(failure)
            if attempt == tries or pause is None:
                raise failure
            time.sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _unreachable(self, error: httpx.RequestError) -> UnreachableError:
        what = "did not answer in time" if isinstance(error, httpx.TimeoutException) else "cannot be reached"
        remedy = "Check the address (--url, ASSAY_URL) and that the service is running (assay serve)."
        return UnreachableError({"code": "unreachable", "detail": f"{self.url} {what}: {error}", "remedy": remedy})


def _path(*parts: str) -> str:
    return "/api/v1/" + "/".join(quote(part, safe="") for part in parts)


def _in_phase(slug: str, phase: str, *parts: str) -> str:
    return _path("challenges", slug, "phases", phase, *parts)


def _handing_in(slug: str, phase: str | None) -> str:
    """Without a phase the service takes the one that is open now."""
    return _path("challenges", slug, "submissions") if phase is None else _in_phase(slug, phase, "submissions")


def _slug(phase: Json) -> str:
    return str(phase.get("slug") or phase.get("name"))


def _object(answer: httpx.Response) -> Json | None:
    try:
        found = answer.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _failure(answer: httpx.Response) -> ApiError:
    document = _object(answer)
    if document is None:
        detail = f"The service answered {answer.status_code} {answer.reason_phrase} without an explanation."
        document = {"code": "unexpected_answer", "detail": detail}
    failure = ApiError(answer.status_code, document, answer.headers)
    base, _, below = str(answer.request.url).partition("/api/v1")
    failure.url, failure.path = base, below.partition("?")[0]
    failure.with_token = "Authorization" in answer.request.headers
    return failure


def _retry_after(failure: ApiError) -> float | None:
    """Seconds after which the same request may succeed; None when repeating it is no use."""
    if failure.status != httpx.codes.SERVICE_UNAVAILABLE and failure.code != "request_in_flight":
        return None
    try:
        pause = float(failure.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date: nothing here sends one, so a middle course
        pause = 5.0
    return pause if 0 <= pause <= LONGEST_PAUSE else None
