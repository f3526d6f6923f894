"""Read the settings of an archived phase, and check that everything they refer to is there."""

from collections.abc import Iterable
from pathlib import Path
from zoneinfo import available_timezones

from app.actions.imports.archived_fields import (
    ChallengeRow,
    GoldRow,
    ManifestHead,
    PhaseRow,
    RecipeRow,
    SwitchRow,
    TeamRow,
    VersionsRow,
    parse_row,
)
from app.actions.imports.staged_phase import StagedPhase
from app.archives import layout
from app.archives.open_archive import Archive, InvalidArchive
from app.scoring import SCORER_VERSION

MAX_ROWS = {layout.RECIPES: 10_000, layout.GOLD: 1000, layout.SWITCHES: 10_000, layout.TEAMS: 100_000}
"""Of the tables that are held in memory."""


class OtherScorerVersion(InvalidArchive):
    """The scores of the archive were computed by another scorer version, so they cannot be checked here."""

    code = "other_scorer_version"
    remedy = "Switch the phase to the scorer version of this installation at its source, then export it again."


class NothingToImport(InvalidArchive):
    """The archive has no active gold, so there is no board to import."""

    code = "nothing_to_import"
    remedy = "Activate gold at the source, then export the phase again."


def read_head(archive: Archive) -> ManifestHead:
    """What the manifest says of the archive; raises InvalidArchive, and OtherScorerVersion for a newer program."""
    head = parse_row(ManifestHead, archive.manifest, layout.MANIFEST)
    if head.scorer_version > SCORER_VERSION:
        raise OtherScorerVersion(
            f"The archive is by scorer version {head.scorer_version}; this installation has version {SCORER_VERSION}.",
            remedy="Import it into an installation of the same or a newer version.",
        )
    return head


def read_settings(archive: Archive, spool: Path) -> StagedPhase:
    """The phase without gold and submissions; raises InvalidArchive, OtherScorerVersion and NothingToImport."""
    head = read_head(archive)
    challenge = parse_row(ChallengeRow, archive.read_object(layout.CHALLENGE), layout.CHALLENGE)
    phase = parse_row(PhaseRow, archive.read_object(layout.PHASE), layout.PHASE)
    if (challenge.id, phase.id) != (head.origin.challenge_id, head.origin.phase_id):
        raise InvalidArchive("The manifest names another phase than the archive holds.")
    if challenge.timezone not in available_timezones():
        raise InvalidArchive(f"The time zone '{challenge.timezone}' of the archive is unknown here.")
    _require_scorer(phase)
    recipes = [parse_row(RecipeRow, row, layout.RECIPES) for row in _few(archive, layout.RECIPES)]
    teams = [parse_row(TeamRow, row, layout.TEAMS) for row in _few(archive, layout.TEAMS)]
    switches = [parse_row(SwitchRow, row, layout.SWITCHES) for row in _few(archive, layout.SWITCHES)]
    _require_distinct("recipe version", (row.version for row in recipes))
    _require_distinct("team", (row.id for row in teams))
    _require_distinct("switch", (row.number for row in switches))
    _require_active_recipe(phase, recipes)
    known = {row.id for row in teams}
    for team in teams:
        if team.merged_into is not None and team.merged_into not in known:
            raise InvalidArchive(f"Team '{team.name[:100]}' was merged into a team that the archive lacks.")
    return StagedPhase(head, challenge, phase, recipes, teams, switches, spool)


def read_gold_rows(archive: Archive, staged: StagedPhase) -> list[GoldRow]:
    """The gold versions, oldest first; raises InvalidArchive, also where a switch names versions that are not there."""
    rows = [parse_row(GoldRow, row, layout.GOLD) for row in _few(archive, layout.GOLD)]
    _require_distinct("gold version", (row.version for row in rows))
    active = [row.version for row in rows if row.status == "active"]
    named = None if staged.phase.active is None else staged.phase.active.gold_version
    if active != [named]:
        raise InvalidArchive(f"The phase names gold version {named} as active, but the gold has {active or 'none'}.")
    golds, recipes = {row.version for row in rows}, {row.version for row in staged.recipes}
    for switch in staged.switches:
        for end in (switch.from_, switch.to):
            require_known(end, golds, recipes, f"Switch {switch.number}")
    return rows


def require_known(versions: VersionsRow | None, golds: Iterable[int], recipes: Iterable[int], what: str) -> None:
    """Raise InvalidArchive for versions that the archive does not hold."""
    if versions is None:
        return
    if versions.gold_version not in golds or versions.recipe_version not in recipes:
        raise InvalidArchive(
            f"{what} names gold version {versions.gold_version} and recipe version {versions.recipe_version}, which the "
            "archive does not hold."
        )


def _require_scorer(phase: PhaseRow) -> None:
    if phase.active is None:
        raise NothingToImport
    found = {phase.active.scorer_version, phase.scorer_version}
    if found != {SCORER_VERSION}:
        raise OtherScorerVersion(
            f"The board of the archive is by scorer version {min(found)}; this installation has version {SCORER_VERSION}."
        )


def _require_active_recipe(phase: PhaseRow, recipes: list[RecipeRow]) -> None:
    """The active recipe is the phase's own, or else the one of the challenge, of which there must be exactly one."""
    own = [row.version for row in recipes if row.own and row.status == "active"]
    shared = [row.version for row in recipes if not row.own and row.status == "active"]
    active = None if phase.active is None else phase.active.recipe_version
    if len(shared) != 1 or len(own) > 1 or (own or shared) != [active]:
        raise InvalidArchive(f"The phase names recipe version {active} as active, but the recipes do not fit.")


def _few(archive: Archive, name: str) -> Iterable[dict[str, object]]:
    for number, row in enumerate(archive.rows(name), 1):
        if number > MAX_ROWS[name]:
            raise InvalidArchive(f"'{name}' has more than {MAX_ROWS[name]} rows.")
        yield row


def _require_distinct(what: str, keys: Iterable[object]) -> None:
    seen: set[object] = set()
    for key in keys:
        if key in seen:
            raise InvalidArchive(f"The archive has the {what} {str(key)[:64]} twice.")
        seen.add(key)
