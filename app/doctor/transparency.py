"""Checks of the transparency log: its key, its place, its tiles, who sequences it, and its witnesses."""

from datetime import timedelta

from app.actions.transparency.log_key import (
    LogKeyUnusable,
    is_managed,
    log_key_path,
    read_log_key,
    sequences_here,
)
from app.actions.transparency.origins import NEW_KEY_REMEDY, origin_name, place_of
from app.actions.transparency.sequence_records import LogDamaged, checked_state, verify_stored
from app.actions.transparency.signed_mark import follows_mark, mark_path
from app.actions.transparency.witnesses import parse_witnesses
from app.doctor.check_declaration import NEEDS_SCHEMA, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.doctor.key_files import mode_for_others
from app.settings import Settings
from app.store import clock
from app.store.queries import log_records, log_trees
from app.store.tables import LogOrigin
from app.tlog.checkpoint import read_checkpoint
from app.tlog.note import NoteRefused

MAX_WAIT = timedelta(minutes=1)  # of a record without a position
NO_LOG = "There is no log yet: it begins with the first start."


@check(
    "log.key",
    needs=NEEDS_SCHEMA,
    remedy="Make it readable for the service's account alone: chmod 600.",
)
def check_log_key(installation: Installation) -> CheckResult:
    """The key of the transparency log is that of the log that grows, and only the service's account can read it."""
    settings = installation.settings
    if not sequences_here(settings):
        return ok("This machine has none: workers with ASSAY_LOG_KEY_FILE sequence the log.")
    path = log_key_path(settings)
    with installation.session() as session:
        origin = log_trees.active_origin(session)
        here = place_of(session, settings)
        try:
            is_put_back = origin is not None and not follows_mark(session, settings, origin)
        except LogKeyUnusable as error:
            return problem(error.detail, error.advice)
    if origin is None:
        return ok(NO_LOG)
    if is_put_back:
        return _interrupted(
            settings, f"The database lacks what {mark_path(settings)} says was signed: it was put back."
        )
    return _fault_of_key(settings, origin, here) or ok(f"{path}.")


def _interrupted(settings: Settings, found: str) -> CheckResult:
    """A log that this process does not continue; where operators make the keys, nothing is signed until they decide."""
    if is_managed(settings):
        return warning(f"{found} A new log begins.", NEW_KEY_REMEDY)
    return problem(f"{found} Nothing is signed until you decide.", NEW_KEY_REMEDY)


def _fault_of_key(settings: Settings, origin: LogOrigin, here: str | None) -> CheckResult | None:
    """Why this key does not continue the log, or who else can read it."""
    path = log_key_path(settings)
    if is_managed(settings) and not path.exists():
        begins = "A new log begins at the next start; to go on with this one, put the key back first."
        return warning(f"The key of {origin.name}, {path}, is missing.", begins)
    try:
        is_own = read_log_key(path).id == origin.key_id
    except LogKeyUnusable as error:
        return problem(error.detail, error.advice)
    if not is_own:
        return problem(f"{path} is not the key of {origin.name}.", NEW_KEY_REMEDY)
    if None not in {origin.place, here} and here != origin.place:
        return _interrupted(settings, f"This is a copy or a moved installation of {origin.name}.")
    mode = mode_for_others(path)
    return None if mode is None else problem(f"{path} has the mode {mode}.")


@check(
    "log.sequencer",
    needs=NEEDS_SCHEMA,
    remedy="Start 'assay serve' on SQLite; on PostgreSQL an 'assay worker' with ASSAY_LOG_KEY_FILE. Its log lines "
    "'log_not_sequenced' say what hinders it.",
)
def check_sequencer(installation: Installation) -> CheckResult:
    """No record waits for its position in the transparency log for more than a minute."""
    with installation.session() as session:
        oldest, count = log_records.oldest_waiting(session), log_records.count_waiting(session)
        now = clock.now(session)
    if oldest is None:
        return ok("None waits.")
    waited = now - oldest.created_at
    observation = f"{count} records wait, the oldest for {max(0.0, waited.total_seconds()):.0f} s."
    return warning(f"{observation} No live process sequences the log.") if waited > MAX_WAIT else ok(observation)


@check(
    "log.tiles",
    needs=NEEDS_SCHEMA,
    state_on_timeout="skipped",
    remedy="Stop the service, keep a copy, and restore the last backup: assay restore. A log that was changed cannot be "
    "continued: 'assay log renew' begins another one, which names this one.",
)
def check_log_tiles(installation: Installation) -> CheckResult:
    """The tiles of the transparency log give its last checkpoint; with --deep, all entries and tiles do, of all logs."""
    with installation.session() as session:
        origins = log_trees.origins(session)
        if not origins:
            return ok(NO_LOG)
        try:
            sizes = [verify_stored(session, origin) for origin in origins] if installation.deep else []
            sizes = sizes or [checked_state(session, origins[0]).signed.size]
        except (LogDamaged, NoteRefused) as error:
            return problem(error.detail)
    how = "all entries and tiles agree" if installation.deep else "its last tiles agree"
    return ok(f"{sum(sizes)} entries; {how}.")


@check(
    "log.origin",
    needs=NEEDS_SCHEMA,
    remedy="If the service has moved for good: stop it, and begin a new log with 'assay log renew'.",
)
def check_origin(installation: Installation) -> CheckResult:
    """The transparency log is named after the public address of the service."""
    settings = installation.settings
    with installation.session() as session:
        origin = log_trees.active_origin(session)
    if origin is None:
        return ok(NO_LOG)
    name = origin_name(settings)
    if settings.public_url and origin.name != name and not origin.name.startswith(f"{name}/"):
        return warning(f"It is {origin.name}, and its address {name}.")
    return ok(f"{origin.name}.")


@check(
    "log.witnesses",
    needs=NEEDS_SCHEMA,
    remedy="Check the addresses and keys in ASSAY_LOG_WITNESSES, and that each witness knows the key of the log.",
)
def check_witnesses(installation: Installation) -> CheckResult:
    """The last checkpoint of the transparency log carries a cosignature of each configured witness."""
    try:
        witnesses = parse_witnesses(installation.settings.log_witnesses)
    except NoteRefused as error:
        return problem(error.detail)
    if not witnesses:
        return ok("None is configured: whether all see the same log shows only by comparing checkpoints.")
    with installation.session() as session:
        origin = log_trees.active_origin(session)
        row = None if origin is None else log_trees.latest_checkpoint(session, origin.id)
    if row is None:
        return ok(NO_LOG)
    note = read_checkpoint(row.note)[0]
    missing = [each.key.name for each in witnesses if not any(line.is_by(each.key) for line in note.signatures)]
    return warning(f"Not cosigned by {', '.join(missing)}.") if missing else ok(f"{len(witnesses)} cosigned it.")
