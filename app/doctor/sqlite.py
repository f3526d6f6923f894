"""Checks of an SQLite database: journal mode, integrity and foreign keys."""

from sqlalchemy import text

from app.doctor.check_declaration import NEEDS_DATABASE, CheckResult, check, ok, problem
from app.doctor.installation import Installation

RESTORE_REMEDY = "Stop the service, copy the file, and restore the last backup: assay restore."
MAX_LISTED_FAULTS = 3


@check("sqlite.journal", needs=NEEDS_DATABASE, backend="sqlite", remedy="Start the service once: it sets WAL.")
def check_journal_mode(installation: Installation) -> CheckResult:
    """The journal mode is WAL, so that readers and the writer do not block each other."""
    with installation.session() as session:
        mode = session.execute(text("PRAGMA journal_mode")).scalar_one()
    return ok("WAL.") if mode == "wal" else problem(f"The mode is {mode}.")


@check("sqlite.integrity", needs=NEEDS_DATABASE, backend="sqlite", state_on_timeout="skipped", remedy=RESTORE_REMEDY)
def check_integrity(installation: Installation) -> CheckResult:
    """quick_check finds no corruption; with --deep integrity_check, which also compares indexes with their tables."""
    name = "integrity_check" if installation.deep else "quick_check"
    with installation.session() as session:
        faults = list(session.execute(text(f"PRAGMA {name}({MAX_LISTED_FAULTS})")).scalars())
    return ok(f"{name} found nothing.") if faults == ["ok"] else problem(f"{name}: {'; '.join(map(str, faults))}")


@check("sqlite.references", needs=NEEDS_DATABASE, backend="sqlite", state_on_timeout="skipped", remedy=RESTORE_REMEDY)
def check_foreign_keys(installation: Installation) -> CheckResult:
    """No row violates a foreign key."""
    with installation.session() as session:
        faults = session.execute(text("PRAGMA foreign_key_check")).all()
    tables = sorted({str(row[0]) for row in faults})
    return problem(f"{len(faults)} rows refer to missing ones, in {', '.join(tables)}.") if faults else ok("All valid.")
