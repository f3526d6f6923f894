"""Checks of an SQLite database."""

from sqlalchemy import text

from app.doctor.check_declaration import REACHABLE, SETTINGS, Said, check, ok, problem
from app.doctor.installation import Patient

NEEDS = (SETTINGS, REACHABLE)
RESTORE = "Stop the service, keep a copy of the file, and restore the last backup: assay restore."
SHOWN = 3


@check("sqlite.journal", needs=NEEDS, place="sqlite", remedy="Start the service once: it sets WAL.")
def journal(patient: Patient) -> Said:
    """The database keeps its log in WAL mode, so that readers and the writer do not wait for each other."""
    with patient.session() as session:
        mode = session.execute(text("PRAGMA journal_mode")).scalar_one()
    return ok("WAL.") if mode == "wal" else problem(f"The mode is {mode}.")


@check("sqlite.integrity", needs=NEEDS, place="sqlite", late="skipped", remedy=RESTORE)
def integrity(patient: Patient) -> Said:
    """The file is whole: quick_check, and with --deep integrity_check, which also compares the indexes."""
    name = "integrity_check" if patient.deep else "quick_check"
    with patient.session() as session:
        found = list(session.execute(text(f"PRAGMA {name}({SHOWN})")).scalars())
    return ok(f"{name} finds nothing.") if found == ["ok"] else problem(f"{name}: {'; '.join(map(str, found))}")


@check("sqlite.references", needs=NEEDS, place="sqlite", late="skipped", remedy=RESTORE)
def references(patient: Patient) -> Said:
    """Every row that another row points to is there."""
    with patient.session() as session:
        found = session.execute(text("PRAGMA foreign_key_check")).all()
    tables = sorted({str(row[0]) for row in found})
    return problem(f"{len(found)} rows lack what they point to, in {', '.join(tables)}.") if found else ok("All are.")
