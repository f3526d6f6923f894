"""The export of a phase: one archive with everything from which its board can be checked, for organizers."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from app import errors
from app.actions.archives.archive_member import ArchiveMember
from app.actions.archives.export_phase import PhaseExport, archive_members, begin_export, instances_writer
from app.api.dependencies import AccountDep, AppState, AppStateDep
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.http.streamed_reply import StreamedReply
from app.api.http.zip_stream import ZipStream
from app.api.openapi.examples import named_examples
from app.archives.layout import MANIFEST, SUBMISSIONS

router = api_router("submissions")

MEDIA_TYPE = "application/zip"


@router.get(
    "/challenges/{slug}/export",
    summary="Export a phase",
    response_class=Response,
    responses=success_response(
        f"A ZIP archive; `{SUBMISSIONS}` lists its submissions, `{MANIFEST}` its members.",
        {MEDIA_TYPE: named_examples(archive="PK…")},
    )
    | error_responses(errors.BadRequest, errors.Forbidden, errors.NotFound),
)
def get_export(
    slug: str,
    caller: AccountDep,
    state: AppStateDep,
    phase: Annotated[
        str | None, Query(description="The slug of the phase; required if the challenge has several.")
    ] = None,
) -> Response:
    """Returns one phase as an archive, for organizers of any role: it holds the gold, so it is recorded.

    Gold versions with their nonces, recipes, teams, submissions with all marks, prediction files as they were sent,
    scores and intervals of every version, switches of the board, receipts, and for each scored submission the predicted
    and actual classes of every instance. `docs/archives.md` describes each member; the `version` of `manifest.json`
    rises when a reader must know of a change. `assay score --archive` computes the scores again.
    """
    origin = state.settings.public_url
    export = begin_export(state.db, state.files, caller, slug, phase, origin=origin)
    reply = StreamedReply(_archive(state, export), MEDIA_TYPE, "identity")
    reply.headers["Content-Disposition"] = f'attachment; filename="{export.filename}"'
    return reply


def _archive(state: AppState, export: PhaseExport) -> Iterator[bytes]:
    """The pieces of the archive; the manifest comes last, because it has the hashes of all other members."""
    archive = ZipStream()
    with tempfile.TemporaryDirectory(prefix="assay-export-") as folder:
        instances = instances_writer(export, state.readers.processes, Path(folder))
        for member in archive_members(export, instances):
            yield from _add(archive, member)
    left_out = [] if instances is None else sorted(instances.left_out)
    manifest = export.head | {"without_instances": left_out, "members": archive.members}
    content = json.dumps(manifest, ensure_ascii=False, indent=1).encode() + b"\n"
    yield from archive.add(MANIFEST, [content], export.begun_at, compress=True)
    yield archive.end()


def _add(archive: ZipStream, member: ArchiveMember) -> Iterator[bytes]:
    if member.file is None:
        yield from archive.add(member.name, member.content, member.modified, compress=member.compress)
        return
    try:
        with member.file() as path:
            yield from archive.add_path(member.name, path, member.modified, compress=member.compress)
    except FileNotFoundError:
        member.on_missing()
