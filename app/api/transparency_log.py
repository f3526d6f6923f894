"""The transparency log: checkpoint, tiles and entries as C2SP tlog-tiles has them, and proofs of single records."""

from typing import Annotated, Literal

from fastapi import Path
from pydantic import Field
from starlette.responses import Response

from app import errors
from app.actions.transparency.challenge_records import (
    ChallengeRecord,
    list_challenge_records,
    prove_challenge_record,
)
from app.actions.transparency.prove_audit_entry import prove_challenge_entry, prove_site_entry
from app.actions.transparency.read_log import (
    LogDescription,
    LogPending,
    LogRecordErased,
    describe_logs,
    read_bundle,
    read_log_checkpoint,
    read_tile,
)
from app.api.dependencies import AccountDep, AppStateDep, CallerDep, Cursor, Limit, paginate
from app.api.field_types import Moment, Page, Shape, reply_example
from app.api.http.json_body import api_router
from app.api.http.problem_documents import TOKEN_OPTIONAL, error_responses, success_response
from app.api.openapi import log_examples
from app.api.openapi.examples import JSON, named_examples
from app.tlog.tiles import Tile, parse_level, parse_number_path

router = api_router("log")
root_router = api_router("log", base="")

TEXT = "text/plain; charset=utf-8"
IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}
ENTRIES = "entries"


def _examples(media_type: str, text: str) -> dict[str, JSON]:
    return {media_type: named_examples(reply=text)}


PROOF_RESPONSES = success_response(
    "The proof (C2SP tlog-proof).", _examples("text/plain", log_examples.PROOF)
) | error_responses(errors.Forbidden, errors.NotFound, LogPending, LogRecordErased)

Label = Annotated[str, Path(pattern="^[a-z0-9-]{1,40}$", description="The last part of the origin of a later log.")]


class FirstLeaf(Shape):
    """The record of the first leaf, which names the log before this one."""

    salt: str = Field(description="32 bytes in hexadecimal; the entry is SHA-256 over salt and record.")
    record: str = Field(description="Canonical JSON (RFC 8785).")


class LogShape(Shape):
    """A log: what is needed to verify its checkpoints."""

    origin: str = Field(description="The first line of its checkpoints.")
    vkey: str = Field(description="The verifier key of its checkpoints (C2SP signed-note).")
    started_at: Moment
    ended_at: Moment | None = Field(description="Null for the log that grows.")
    size: int = Field(description="Entries under its last checkpoint.")
    signed_at: Moment | None = Field(description="When that was signed; null before the first one.")
    checkpoint: str | None = Field(description="The last checkpoint, a signed note.")
    previous: str | None = Field(description="The last checkpoint of the log before it that it knows.")
    first_leaf: FirstLeaf | None


class LogsShape(Shape):
    """The logs of this installation."""

    model_config = reply_example(log_examples.LOGS)

    logs: list[LogShape] = Field(description="The one that grows first, then those that ended, the newest first.")


@router.get(
    "/log", summary="Read what verifies the transparency log", responses=error_responses(), openapi_extra=TOKEN_OPTIONAL
)
def get_log(state: AppStateDep) -> LogsShape:
    """Returns origin, key and last checkpoint of the transparency log, and of those before it."""
    with state.db.read() as session:
        return LogsShape(logs=[_log_shape(each) for each in describe_logs(session)])


def _log_shape(log: LogDescription) -> LogShape:
    has_first = log.first_salt is not None and log.first_record is not None
    first = FirstLeaf(salt=log.first_salt or "", record=log.first_record or "") if has_first else None
    shown = {name: getattr(log, name) for name in LogShape.model_fields if name != "first_leaf"}
    return LogShape(first_leaf=first, **shown)


@router.get(
    "/challenges/{slug}/audit/{entry_id}/proof",
    summary="Prove that an act is in the log",
    response_class=Response,
    responses=PROOF_RESPONSES,
)
def get_challenge_audit_proof(slug: str, entry_id: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Returns the proof that the transparency log contains an entry of the audit trail. Requires an organizer.

    `extra` holds the salt (32 bytes) and the record; SHA-256 over both is the entry of the log.
    """
    with state.db.read() as session:
        return Response(prove_challenge_entry(session, caller, slug, entry_id), media_type=TEXT)


@router.get(
    "/audit/{entry_id}/proof",
    summary="Prove that an act on the site is in the log",
    response_class=Response,
    responses=PROOF_RESPONSES,
)
def get_audit_proof(entry_id: str, caller: AccountDep, state: AppStateDep) -> Response:
    """Returns the proof that the transparency log contains an entry of the audit trail. Requires an administrator."""
    with state.db.read() as session:
        return Response(prove_site_entry(session, caller, entry_id), media_type=TEXT)


class LogRecordShape(Shape):
    """A record of the log about a challenge: SHA-256 over its salt and text is its entry."""

    model_config = reply_example(log_examples.RECORD)

    id: str
    kind: Literal["gold", "switch", "release", "frozen_board"]
    phase: str | None = Field(description="The slug of the phase that the record names by its id.")
    recorded_at: Moment
    position: int | None = Field(description="In the log; null while it waits for one.")
    salt: str | None = Field(description="32 bytes in hexadecimal.")
    record: str | None = Field(description="Canonical JSON (RFC 8785).")
    entry: str = Field(description="In hexadecimal, as the log serves it.")


@router.get(
    "/challenges/{slug}/log",
    summary="List the records of a challenge in the log",
    responses=error_responses(errors.NotFound),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenge_log(
    slug: str, caller: CallerDep, state: AppStateDep, limit: Limit = 50, cursor: Cursor = None
) -> Page[LogRecordShape]:
    """Returns what the transparency log fixes about the results of a challenge, newest first.

    Commitments to gold labels, switches of boards, final releases and frozen boards. They hold ids, numbers and hashes.
    """
    with state.db.read() as session:
        found = list_challenge_records(session, caller, slug)
        rows, following = paginate(found, lambda each: each.row.id, limit=limit, cursor=cursor)
        return Page(items=[_record_shape(each) for each in rows], next=following)


def _record_shape(each: ChallengeRecord) -> LogRecordShape:
    row = each.row
    named = {name: getattr(row, name) for name in ("id", "kind", "position", "salt", "record", "entry")}
    return LogRecordShape(recorded_at=row.created_at, phase=each.phase, **named)


@router.get(
    "/challenges/{slug}/log/{record_id}/proof",
    summary="Prove that a record of a challenge is in the log",
    response_class=Response,
    responses=success_response("The proof (C2SP tlog-proof).", _examples("text/plain", log_examples.PROOF))
    | error_responses(errors.NotFound, LogPending, LogRecordErased),
    openapi_extra=TOKEN_OPTIONAL,
)
def get_challenge_log_proof(slug: str, record_id: str, caller: CallerDep, state: AppStateDep) -> Response:
    """Returns the proof that the transparency log contains a record of a challenge.

    `extra` holds the salt (32 bytes) and the record; SHA-256 over both is the entry of the log.
    """
    with state.db.read() as session:
        return Response(prove_challenge_record(session, caller, slug, record_id), media_type=TEXT)


@root_router.get("/log/checkpoint", include_in_schema=False)
def get_log_checkpoint(state: AppStateDep) -> Response:
    """The signed size and root of the log (C2SP tlog-checkpoint)."""
    with state.db.read() as session:
        return Response(read_log_checkpoint(session, None), media_type=TEXT)


@root_router.get("/log/tile/{level}/{number:path}", include_in_schema=False)
def get_log_tile(level: str, number: str, state: AppStateDep) -> Response:
    """Hashes of the tree, or with `entries` as the level its entries (C2SP tlog-tiles)."""
    return _tile(state, None, level, number)


@root_router.get("/log/{label}/checkpoint", include_in_schema=False)
def get_later_log_checkpoint(label: Label, state: AppStateDep) -> Response:
    """The last checkpoint of a log that followed the first one."""
    with state.db.read() as session:
        return Response(read_log_checkpoint(session, label), media_type=TEXT)


@root_router.get("/log/{label}/tile/{level}/{number:path}", include_in_schema=False)
def get_later_log_tile(label: Label, level: str, number: str, state: AppStateDep) -> Response:
    """A tile of a log that followed the first one."""
    return _tile(state, label, level, number)


def _tile(state: AppStateDep, label: str | None, level: str, number: str) -> Response:
    place, height = parse_number_path(number), 0 if level == ENTRIES else parse_level(level)
    if place is None or height is None:
        raise errors.NotFound("The log has no such tile.")
    with state.db.read() as session:
        if level == ENTRIES:
            content = read_bundle(session, label, *place)
        else:
            content = read_tile(session, label, Tile(height, *place))
    return Response(content, media_type="application/octet-stream", headers=IMMUTABLE)
