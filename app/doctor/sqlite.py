"""Checks of an SQLite database."""

from sqlalchemy import text

from app.doctor.check_declaration import REACHABLE_CHECK, SETTINGS_CHECK, CheckResult, check, ok, problem
from app.doctor.installation import Installation

REQUIRED_CHECKS = (SETTINGS_CHECK, REACHABLE_CHECK)
RESTORE_REMEDY = "Stop the service, keep a copy of the file, and restore the last backup: assay restore."
MAX_LISTED_FAULTS = 3


@check("sqlite.journal", needs=REQUIRED_CHECKS, backend="sqlite", remedy="Start the service once: it sets WAL.")
def check_journal_mode(installation: Installation) -> CheckResult:
    """The database keeps its log in WAL mode, so that readers and the writer do not wait for each other."""
    with installation.session() as session:
        mode = session.execute(text("PRAGMA journal_mode")).scalar_one()
    return ok("WAL.") if mode == "wal" else problem(f"The mode is {mode}.")


@check("sqlite.integrity", needs=REQUIRED_CHECKS, backend="sqlite", state_on_timeout="skipped", remedy=RESTORE_REMEDY)
def check_integrity(installation: Installation) -> CheckResult:
    """The file is whole: quick_check, and with --deep integrity_check, which also compares the indexes."""
    name = "integrity_check" if installation.deep else "quick_check"
    with installation.session() as session:
        found = list(session.execute(text(f"PRAGMA {name}({MAX_LISTED_FAULTS})")).scalars())
    return ok(f"{name} finds nothing.") if found == ["ok"] else problem(f"{name}: {'; '.join(map(str, found))}")


@check("sqlite.references", needs=REQUIRED_CHECKS, backend="sqlite", state_on_timeout="skipped", remedy=RESTORE_REMEDY)
def check_foreign_keys(installation: Installation) -> CheckResult:
    """Every row that another row points to is there."""
    with installation.session() as session:
        found = session.execute(text("PRAGMA foreign_key_check")).all()
    tables = sorted({str(row[0]) for row in found})
    return problem(f"{len(found)} rows lack what they point to, in {', '.join(tables)}.") if found else ok("All are.")
