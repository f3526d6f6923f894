"""How a version of the gold differs from the one that it follows, instance by instance. For organizers only."""

import csv
import io
import json
from collections.abc import Iterable
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import Field
from starlette.responses import Response

from app import errors
from app.actions.access import Caller
from app.actions.challenges.gold_correction import read_changes
from app.api.dependencies import AccountDep, AppState, AppStateDep, Cursor, Limit, paginate
from app.api.field_types import Shape, reply_example
from app.api.gold import VersionNumber
from app.api.gold_shapes import GoldDifference
from app.api.http.json_body import api_router
from app.api.http.problem_documents import error_responses, success_response
from app.api.openapi import gold_examples
from app.api.openapi.examples import named_examples
from app.text.spreadsheet_cells import escape_formula

router = api_router("gold", prefix="/challenges/{slug}/phases/{phase}/gold")
PARTS = ("label", "labels", "weight", "split")
CSV_TYPE = "text/csv; charset=utf-8"


class GoldInstance(Shape):
    """What a version of the gold says of an instance; of two versions, only what differs."""

    label: str | None = None
    labels: list[str] | None = Field(None, description="Of label sets and of sets of acceptable answers.")
    weight: float | None = None
    split: str | None = None


class GoldChange(Shape):
    """An instance that changed. `before` or `after` is null where it is not scored."""

    id: str
    before: GoldInstance | None
    after: GoldInstance | None


class GoldChanges(GoldDifference):
    """The difference in numbers, and a page of the instances that changed."""

    model_config = reply_example(gold_examples.CHANGES)

    version: int
    listed: int = Field(description="How many instances are listed on all pages; of very many, the first ones by id.")
    items: list[GoldChange]
    next: str | None = Field(description="Pass it as `cursor` to get the next page. Null on the last page.")


@router.get(
    "/{version}/difference",
    summary="Compare a gold version with the one that it follows",
    response_model=GoldChanges,
    response_model_exclude_unset=True,
    responses=success_response("The difference.", {"text/csv": named_examples(changes=gold_examples.CHANGES_CSV)})
    | error_responses(errors.Forbidden, errors.NotFound),
)
def get_difference(
    slug: str,
    phase: str,
    version: VersionNumber,
    caller: AccountDep,
    state: AppStateDep,
    *,
    format_name: Annotated[
        Literal["json", "csv"], Query(alias="format", description="`csv` has all listed instances, without pages.")
    ] = "json",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Any:
    """Returns what changed since the version that was active when this one was uploaded, after the first submission.

    Requires an organizer, because it shows labels.
    """
    if format_name == "csv":
        return difference_file(slug, phase, version, caller, state)
    with state.db.read() as session:
        row, difference, changes = read_changes(session, caller, slug, phase, version)
        number = row.version
    items, following = paginate(changes, lambda change: change["id"], limit=limit, cursor=cursor)
    found = {"version": number, "listed": len(changes), "items": items, "next": following}
    return GoldChanges.model_validate(difference | found)


def difference_file(slug: str, phase: str, version: int, caller: Caller, state: AppState) -> Response:
    """All listed instances as CSV; the caller must be an organizer."""
    with state.db.read() as session:
        _, _, changes = read_changes(session, caller, slug, phase, version)
    name = f"gold-{version}-difference.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(_csv_text(changes), media_type=CSV_TYPE, headers=headers)


def _csv_text(changes: Iterable[dict[str, Any]]) -> str:
    """One line per instance; a label set is a JSON list, an empty field is not scored or did not change."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", *(f"{part}_{side}" for part in PARTS for side in ("before", "after"))])
    for change in changes:
        sides = [change["before"] or {}, change["after"] or {}]
        fields = [_csv_field(side.get(part)) for part in PARTS for side in sides]
        writer.writerow([escape_formula(change["id"]), *fields])
    return out.getvalue()


def _csv_field(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return escape_formula(value) if isinstance(value, str) else "" if value is None else value
