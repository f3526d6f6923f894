"""The export of a challenge: one archive with all files of predictions, for organizers."""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app import errors
from app.actions.submissions.export_submissions import ExportPlan, exported_submissions, plan_export
from app.api.dependencies import AccountDep, AppState, AppStateDep
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.streamed_reply import StreamedReply
from app.api.http.zip_stream import ZipStream
from app.api.openapi.examples import named_examples

router = api_router("submissions")

MEDIA_TYPE = "application/zip"
LIST_NAME, MANIFEST_NAME = "submissions.jsonl", "manifest.json"


@router.get(
    "/challenges/{slug}/export",
    summary="Export the submissions of a challenge",
    response_class=Response,
    responses=success_response(
        f"A ZIP archive: `{MANIFEST_NAME}`, `{LIST_NAME}`, and `predictions/<phase>/<id>.<format>`.",
        {MEDIA_TYPE: named_examples(archive="PK…")},
    )
    | error_responses(errors.Forbidden, errors.NotFound),
)
def get_export(
    slug: str,
    caller: AccountDep,
    state: AppStateDep,
    phase: Annotated[str | None, Query(description="The slug of a phase. Default: all phases.")] = None,
) -> Response:
    """Returns all files of predictions in one archive, for organizers of any role.

    `submissions.jsonl` has a line for each submission: team, method, time, status, marks, SHA-256, and the name of the
    file in the archive, null if the service no longer has it. `manifest.json` describes challenge and phases; its
    `version` rises when the layout changes, not when files or fields are added. Tests by organizers are left out.
    """
    with state.db.write() as session:
        plan = plan_export(session, caller, slug, phase)
    reply = StreamedReply(_archive(state, plan), MEDIA_TYPE, "identity")
    name = f"{plan.challenge}{'' if phase is None else f'-{phase}'}.zip"
    reply.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return reply


def _archive(state: AppState, plan: ExportPlan) -> Iterator[bytes]:
    """The pieces of the archive. The list comes after the files, because it says which of them are there."""
    archive, missing = ZipStream(), set[str]()
    now = datetime.fromisoformat(plan.manifest["exported_at"])
    for each in exported_submissions(state.db, plan):
        if each.file_key is None:
            missing.add(each.line["id"])
            continue
        try:
            with state.files.local_path(each.file_key) as path:
                sent_at = datetime.fromisoformat(each.line["submitted_at"])
                yield from archive.add_path(each.name, path, sent_at, compress=not each.compressed)
        except FileNotFoundError:
            missing.add(each.line["id"])
    yield from archive.add(LIST_NAME, _lines(state, plan, missing), now, compress=True)
    manifest = json.dumps(plan.manifest, ensure_ascii=False, indent=2).encode() + b"\n"
    yield from archive.add(MANIFEST_NAME, [manifest], now, compress=True)
    yield archive.end()


def _lines(state: AppState, plan: ExportPlan, missing: set[str]) -> Iterator[bytes]:
    for each in exported_submissions(state.db, plan):
        line = each.line | {"file": None if each.line["id"] in missing else each.name}
        yield json.dumps(line, ensure_ascii=False).encode() + b"\n"
