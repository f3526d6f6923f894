"""Store a checked phase in one transaction, as a challenge of its own: nobody ever sees a part of it."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from app.actions.access import Caller
from app.actions.audit.record import record
from app.actions.challenges.change_recipe import recipe_fingerprint
from app.actions.challenges.create_challenge import require_free_slug
from app.actions.imports.archived_fields import RecipeRow, SwitchRow, VersionsRow
from app.actions.imports.staged_phase import StagedGold, StagedPhase
from app.actions.imports.store_submissions import SubmissionRows
from app.actions.receipts.issue_receipts import ReceiptIssuer
from app.actions.transparency.add_record import add_record
from app.archives.open_archive import Archive, InvalidArchive
from app.errors import AssayError
from app.scoring.declaration.recipe import parse_recipe
from app.store import board_invalidation, clock
from app.store.queries import label_rules
from app.store.queries.label_rules import LabelRules
from app.store.queries.teams import TEST_TEAM_KEY
from app.store.session import WriteSession
from app.store.tables import (
    BoardSwitch,
    Challenge,
    FrozenBoard,
    GoldVersion,
    ImportedId,
    Organizer,
    Phase,
    PhaseImport,
    Recipe,
    Team,
)
from app.store.types import id_at, new_id
from app.text.confusable_names import look_key, name_key

_SAME_OF_CHALLENGE = (
    *("title", "description", "task", "positive_label", "classes", "timezone", "status", "visibility", "registration"),
    *("team_size_limit", "archived_at", "created_at"),
)
_SAME_OF_PHASE = (
    *(
        "slug",
        "name",
        "opens_at",
        "closes_at",
        "late",
        "paused_at",
        "pause_reason",
        "task",
        "positive_label",
        "classes",
    ),
    *("leaderboard", "reports", "anonymous", "released_at", "scorer_version", "created_at"),
)
_SAME_OF_GOLD = (
    *("version", "sha256", "size", "format", "encoding", "layout", "task", "positive_label", "classes"),
    *("classes_declared", "notes", "draw_seed", "void_ids", "difference", "nonce", "created_at", "activated_at"),
)
_SUMMED_OF_GOLD = (
    *("instances", "has_splits", "public_instances", "weighted", "void_instances", "longest_id", "ids_hash"),
    "commitment",
)
_SAME_OF_SWITCH = (
    *("number", "status", "reason", "requested_at", "confirmed_at", "switched_at", "cancelled_at", "lists_instances"),
)


class RisingIds:
    """Ids in the order in which they are asked for, each with the time of its row."""

    def __init__(self) -> None:
        self._last: datetime | None = None

    def at(self, moment: datetime) -> str:
        """An id that is larger than all before."""
        if self._last is not None and moment <= self._last:
            moment = self._last + timedelta(microseconds=1)
        self._last = moment
        return id_at(moment)


def store_phase(
    session: WriteSession,
    caller: Caller,
    row: PhaseImport,
    staged: StagedPhase,
    archive: Archive,
    *,
    receipts: ReceiptIssuer | None,
) -> Phase:
    """Store everything that was staged; the import is done with it. Raises SlugTaken and InvalidArchive."""
    require_free_slug(session, row.slug)
    stored = _StoredPhase(session, row, staged, caller)
    phase = stored.store()
    rows = SubmissionRows(session, row, stored.ids, archive, receipts, user_id=str(row.requested_by), phase=phase)
    for each in staged.submissions():
        rows.add(each)
    rows.finish()
    stored.store_history()
    row.status, row.stage, row.lease_until = "done", "", None
    row.finished_at, row.challenge_id, row.phase_id = clock.now(session), phase.challenge_id, phase.id
    row.total = row.done = staged.submission_count
    changes: dict[str, tuple[Any, Any]] = {"source": (None, row.origin), "archive_sha256": (None, row.sha256)}
    changes["submissions"] = (None, staged.submission_count)
    record(session, caller, "phase.import", challenge=phase.challenge, of=phase, changes=changes)
    board_invalidation.invalidate(session, board_invalidation.phase_tag(phase.id))
    return phase


class _StoredPhase:
    """Stores challenge, phase, recipes, gold, teams and history, and knows the new ids."""

    def __init__(self, session: WriteSession, row: PhaseImport, staged: StagedPhase, caller: Caller) -> None:
        self._session, self._row, self._staged, self._caller = session, row, staged, caller
        self.ids = LocalIds(session, row.id)

    def store(self) -> Phase:
        """Store what submissions refer to."""
        challenge = self._challenge()
        phase = self._phase = self._add_phase(challenge)
        for recipe in self._staged.recipes:
            self._add_recipe(challenge, phase, recipe)
        for gold in self._staged.golds:
            self._add_gold(phase, gold)
        self._add_teams(challenge)
        self._session.flush()
        return phase

    def _challenge(self) -> Challenge:
        row = self._staged.challenge
        same = {name: getattr(row, name) for name in _SAME_OF_CHALLENGE}
        challenge = Challenge(id=new_id(), slug=self._row.slug, created_by=self._row.requested_by, **same)
        self._session.add(challenge)
        self._session.flush()
        owner = {"challenge_id": challenge.id, "user_id": str(self._row.requested_by)}
        self._session.add(Organizer(**owner, role="owner"))
        self.ids.add("challenge", row.id, challenge.id)
        return challenge

    def _add_phase(self, challenge: Challenge) -> Phase:
        row = self._staged.phase
        same = {name: getattr(row, name) for name in _SAME_OF_PHASE}
        quota = row.quota.model_dump(exclude_none=True)
        phase = Phase(id=new_id(), challenge_id=challenge.id, position=0, quota=quota, challenge=challenge, **same)
        self._session.add(phase)
        self._session.flush()
        self.ids.add("phase", row.id, phase.id)
        return phase

    def _add_recipe(self, challenge: Challenge, phase: Phase, row: RecipeRow) -> None:
        rules = label_rules.of_phase(phase) if row.own else label_rules.of_challenge(challenge)
        recipe = Recipe(
            id=new_id(),
            challenge_id=challenge.id,
            phase_id=phase.id if row.own else None,
            fingerprint=_fingerprint(row, rules),
            **{name: getattr(row, name) for name in ("version", "status", "body", "created_at")},
        )
        self._session.add(recipe)
        self.ids.add("recipe", row.id, recipe.id)
        self.ids.recipes[row.version] = recipe.id

    def _add_gold(self, phase: Phase, gold: StagedGold) -> None:
        row, summary = gold.row, gold.summary
        version = GoldVersion(
            id=new_id(),
            phase_id=phase.id,
            status="draft" if row.status in {"activating", "failed"} else row.status,
            file_key=gold.file_key,
            accessories=row.metadata,
            created_by=self._row.requested_by,
            **{name: getattr(row, name) for name in _SAME_OF_GOLD},
            **{name: getattr(summary, name) for name in _SUMMED_OF_GOLD},
        )
        self._session.add(version)
        self.ids.add("gold", row.id, version.id)
        self.ids.golds[row.version] = version.id
        if row.status in {"active", "retired"}:
            opening = {"phase": phase.id, "version": row.version, "commitment": summary.commitment}
            add_record(self._session, "gold", opening, challenge_id=phase.challenge_id, object_id=version.id)

    def _add_teams(self, challenge: Challenge) -> None:
        """Teams without members; who was in them stays at the source."""
        rising, taken, looks = RisingIds(), set[tuple[bool, str]](), set[str]()
        stored: dict[str, Team] = {}
        for row in self._staged.teams:
            key = TEST_TEAM_KEY if row.test else name_key(row.name)
            look = None if row.baseline or row.test else look_key(row.name)
            if (row.baseline, key) in taken or len(key) > 200 or len(look or "") > 400:
                raise InvalidArchive(f"The archive has two teams '{row.name[:100]}', or the name is too long.")
            taken.add((row.baseline, key))
            look = None if look in looks else look
            looks |= {look} if look else set()
            team = Team(
                id=rising.at(row.created_at),
                challenge_id=challenge.id,
                name_key=key,
                look_key=look,
                **{name: getattr(row, name) for name in ("name", "baseline", "disqualified_at", "disqualified_reason")},
                created_at=row.created_at,
            )
            self._session.add(team)
            self.ids.add("team", row.id, team.id)
            stored[row.id] = team
        self._session.flush()
        for row in self._staged.teams:
            if row.merged_into is not None:
                stored[row.id].merged_into_id = stored[row.merged_into].id

    def store_history(self) -> None:
        """Store what names submissions: switches with their errata, and frozen boards."""
        session, phase = self._session, self._phase
        for row in self._staged.switches:
            if row.status != "pending":  # one that was not done is requested again by whoever wants it
                self._add_switch(row)
        for frozen in self._staged.frozen:
            of = frozen.row
            board = FrozenBoard(
                id=new_id(),
                phase_id=phase.id,
                content=frozen.content,
                created_at=of.frozen_at,
                **{name: getattr(of, name) for name in ("number", "title", "reason", "sha256", "checkpoint")},
            )
            session.add(board)
            told = {"phase": phase.id, "number": of.number, "sha256": of.sha256}
            add_record(session, "frozen_board", told, challenge_id=phase.challenge_id, object_id=board.id)
        session.flush()

    def _add_switch(self, row: SwitchRow) -> None:
        switch = BoardSwitch(
            id=new_id(),
            phase_id=self._phase.id,
            **{name: getattr(row, name) for name in _SAME_OF_SWITCH},
            **self._ends("from", row.from_),
            **self._ends("to", row.to),
            errata=None if row.errata is None else self.ids.renamed(row.errata),
        )
        self._session.add(switch)
        self.ids.add("switch", row.id, switch.id)

    def _ends(self, end: str, versions: VersionsRow | None) -> dict[str, Any]:
        key = self.ids.version_columns(versions)
        return {f"{end}_{name}": key[name] for name in ("gold_id", "recipe_id", "scorer_version")}


class LocalIds:
    """The new ids of this installation by those of the source, stored beside the rows."""

    def __init__(self, session: WriteSession, import_id: str) -> None:
        self._session, self._import_id = session, import_id
        self._by_origin: dict[str, str] = {}
        self.golds: dict[int, str] = {}
        self.recipes: dict[int, str] = {}

    def add(self, kind: str, origin_id: str, local_id: str) -> None:
        """Note and store an id."""
        self._by_origin[origin_id] = local_id
        row = {"import_id": self._import_id, "kind": kind, "origin_id": origin_id, "local_id": local_id}
        self._session.add(ImportedId(**row))

    def __getitem__(self, origin_id: str) -> str:
        return self._by_origin[origin_id]

    def get(self, origin_id: str | None) -> str | None:
        """The new id; None for nothing, and for an id that is not of this phase."""
        return None if origin_id is None else self._by_origin.get(origin_id)

    def version_columns(self, versions: VersionsRow | None) -> dict[str, Any]:
        """Gold, recipe and scorer version as columns."""
        if versions is None:
            return {"gold_id": None, "recipe_id": None, "scorer_version": None}
        gold, recipe = self.golds[versions.gold_version], self.recipes[versions.recipe_version]
        return {"gold_id": gold, "recipe_id": recipe, "scorer_version": versions.scorer_version}

    def renamed(self, value: Any) -> Any:
        """A JSON value with the new ids in place of the old ones, wherever they stand."""
        if isinstance(value, str):
            return self._by_origin.get(value, value)
        if isinstance(value, Mapping):
            return {self._by_origin.get(key, key): self.renamed(each) for key, each in value.items()}
        return [self.renamed(each) for each in value] if isinstance(value, list) else value


def _fingerprint(row: RecipeRow, rules: LabelRules) -> str:
    try:
        settings: dict[str, Any] = {"positive_label": rules.positive_label, "classes": rules.classes}
        return recipe_fingerprint(parse_recipe(row.body, rules.task, **settings, stored=True))
    except (AssayError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidArchive(f"Recipe version {row.version} of the archive cannot be read.") from error
