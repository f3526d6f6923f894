"""Freeze the final board of a phase, so that it can be cited whatever is corrected later, and read frozen boards."""

import json
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from app.actions.access import Caller, is_organizer, load_organized_phase, load_visible_phase
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import equivalent_recipe_ids, parse_stored_recipe
from app.actions.history.frozen_content import frozen_content
from app.actions.submissions.read_leaderboard import BoardAudience, build_board
from app.actions.submissions.score_visibility import require_visible_board
from app.actions.transparency.add_record import add_record
from app.errors import AlreadyFrozen, NotFound, NotFreezable
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_syntax import pluralize
from app.store import clock
from app.store.queries import challenges, frozen_boards, submissions
from app.store.queries.board_versions import BoardVersion, active_version
from app.store.session import ReadSession, WriteSession
from app.store.tables import FrozenBoard, Phase
from app.store.types import format_timestamp
from app.text.canonical_json import canonical_json, content_hash

Obstacle = dict[str, str]
HASH_LENGTH = 64


@dataclass(frozen=True, slots=True)
class FrozenView:
    """A frozen board with its phase and the number of the one that supersedes it; its content where it was read."""

    row: FrozenBoard
    phase: Phase
    superseded_by: int | None
    content: dict[str, Any] | None = None
    log: dict[str, Any] | None = None


def freeze_board(
    session: WriteSession, caller: Caller, slug: str, phase_slug: str, *, title: str | None, reason: str
) -> FrozenView:
    """Freeze the board that participants see; for organizers, after the close and the release.

    Raises NotFreezable with all obstacles, and AlreadyFrozen if nothing has changed since the last time. The caller
    holds the lock on the challenge.
    """
    phase = load_organized_phase(session, caller, slug, phase_slug)
    obstacles = freeze_obstacles(session, phase)
    if obstacles:
        detail, remedy = (" ".join(each[name] for each in obstacles) for name in ("detail", "remedy"))
        raise NotFreezable(detail, remedy=remedy, obstacles=obstacles)
    content = _content(session, phase)
    sha256 = content_hash(content)
    before = frozen_boards.newest(session, phase.id)
    if before is not None and before.sha256 == sha256:
        remedy = f"Cite frozen board {before.number}; freeze again once the board has changed."
        raise AlreadyFrozen(f"Frozen board {before.number} has the same content.", remedy=remedy, number=before.number)
    row = FrozenBoard(
        phase_id=phase.id,
        number=1 if before is None else before.number + 1,
        title=title or f"Final board of {phase.challenge.title}, {phase.name}"[:200],
        reason=reason,
        sha256=sha256,
        content=canonical_json(content).decode(),
        checkpoint=frozen_boards.newest_checkpoint(session),
        frozen_by=caller.user_id,
        created_at=clock.now(session),
    )
    session.add(row)
    session.flush()
    changes = {"frozen_board": (before and before.number, row.number), "sha256": (before and before.sha256, sha256)}
    record(session, caller, "phase.freeze_board", challenge=phase.challenge, of=phase, changes=changes, reason=reason)
    told = {"phase": phase.id, "number": row.number, "sha256": sha256}
    add_record(session, "frozen_board", told, challenge_id=phase.challenge_id, object_id=row.id)
    session.flush()
    return _view(session, phase, row, row.number)


def list_frozen_boards(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> list[FrozenView]:
    """The frozen boards of a phase, newest first; raises NotFound, LeaderboardHidden."""
    phase = _load_phase(session, caller, slug, phase_slug)
    rows = frozen_boards.of_phase(session, phase.id)
    return [FrozenView(row, phase, _superseded_by(row, rows[0].number)) for row in rows]


def read_frozen_board(session: ReadSession, caller: Caller, slug: str, phase_slug: str, key: str) -> FrozenView:
    """A frozen board by its number or its hash; raises NotFound, LeaderboardHidden."""
    phase = _load_phase(session, caller, slug, phase_slug)
    number = int(key) if key.isdecimal() and len(key) < 10 else None
    is_hash = len(key) == HASH_LENGTH
    row = frozen_boards.find(session, phase.id, number=number, sha256=key) if number is not None or is_hash else None
    last = frozen_boards.newest(session, phase.id)
    if row is None or last is None:
        raise NotFound(f"The phase has no frozen board '{key[:HASH_LENGTH]}'.")
    return _view(session, phase, row, last.number)


def metric_names(session: ReadSession, view: FrozenView) -> dict[str, str]:
    """The names of the metrics of a frozen board, by key, as its recipe gives them; they are not part of the content."""
    version = (view.content or {}).get("recipe_version")
    recipes = challenges.recipes_of(session, view.phase.challenge_id)
    known = next((recipe for recipe in recipes if recipe.version == version), None)
    if known is None:
        return {}
    calls = parse_stored_recipe(view.phase, known).metrics
    return {call.text: str(describe_call(call)["name"]) for call in calls}


def freeze_obstacles(session: ReadSession, phase: Phase) -> list[Obstacle]:
    """What has to happen before the board can be frozen, and how an organizer gets there."""
    of, place = active_version(session, phase), f"{phase.challenge.slug} --phase {phase.slug}"
    if of is None:
        remedy = f"Upload and activate gold labels (assay gold upload {place} -f FILE --activate)."
        return [_obstacle("no_gold", "The phase has no active gold.", remedy)]
    if phase.closes_at is None:
        remedy = f"Give it a close (assay phase edit {place} --closes TIME), then freeze the board after it."
        return [_obstacle("not_closed", "The phase has no close, so its board is not final.", remedy)]
    if clock.now(session) < phase.closes_at:
        remedy = f"Freeze the board after that, or set an earlier close (assay phase edit {place} --closes TIME)."
        return [_obstacle("not_closed", f"The phase closes only at {format_timestamp(phase.closes_at)}.", remedy)]
    found = []
    waiting = submissions.count_unsettled(session, phase.id, phase.closes_at)
    if waiting:
        count = pluralize(waiting, "submission from before the close is", "submissions from before the close are")
        remedy = "Wait for these scores, or cancel these submissions."
        found.append(_obstacle("unsettled", f"{count} not scored yet.", remedy))
    if of.gold.has_splits and phase.released_at is None:
        remedy = f"Release the private scores first (assay phase release {place})."
        found.append(_obstacle("not_released", "The private scores have not been released.", remedy))
    return found or _missing_analyses(session, phase, of)


def _missing_analyses(session: ReadSession, phase: Phase, of: BoardVersion) -> list[Obstacle]:
    """What the board shows and does not have yet: intervals, and the comparison of its rows."""
    found = []
    recipes = equivalent_recipe_ids(session, of.recipe)
    pending = frozen_boards.count_pending_intervals(session, of.gold.id, recipes, of.scorer_version)
    if "intervals" in phase.reports and pending:
        count = pluralize(pending, "submission")
        remedy = "Wait until the board shows the intervals; if it takes long, check that a worker runs."
        found.append(_obstacle("no_intervals", f"The intervals of {count} are still being computed.", remedy))
    board, _, _ = build_board(session, _audience(phase), split=None, metric=None, page=None)
    if board["significance"]["status"] == "pending":
        remedy = "Wait until the board shows which rows differ; if it takes long, check that a worker runs."
        found.append(_obstacle("not_compared", "The rows are still being compared.", remedy))
    return found


def _obstacle(code: str, detail: str, remedy: str) -> Obstacle:
    return {"code": code, "detail": detail, "remedy": remedy}


def _content(session: ReadSession, phase: Phase) -> dict[str, Any]:
    board, rows, _ = build_board(session, _audience(phase), split=None, metric=None, page=None)
    whole = board | {"rows": list(rows.load(lambda: nullcontext(session)))}
    return frozen_content(whole, challenge=phase.challenge.title, phase=phase.name)


def _audience(phase: Phase) -> BoardAudience:
    """What participants see, also of a board that is hidden from them."""
    return BoardAudience(phase, organizer=False, for_record=True)


def _load_phase(session: ReadSession, caller: Caller, slug: str, phase_slug: str) -> Phase:
    phase = load_visible_phase(session, caller, slug, phase_slug)
    organizer = is_organizer(session, caller, phase.challenge)
    require_visible_board(phase, clock.now(session), organizer=organizer)
    return phase


def _superseded_by(row: FrozenBoard, newest: int) -> int | None:
    return None if row.number == newest else newest


def _view(session: ReadSession, phase: Phase, row: FrozenBoard, newest: int) -> FrozenView:
    found, log = frozen_boards.log_record(session, row.id), None
    if found is not None:
        entry, origin = found
        log = {"origin": origin, "position": entry.position, "entry": entry.entry}
        log |= {"salt": entry.salt, "record": entry.record}
    return FrozenView(row, phase, _superseded_by(row, newest), json.loads(row.content), log)
