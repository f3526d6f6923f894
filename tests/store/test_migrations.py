"""Migrations build the very tables that the code declares, up and down, with rows in them."""

import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, Boolean, CheckConstraint, Connection, column, func, inspect, select, table, text

from app.package_data import package_data_folder
from app.settings import Settings
from app.store import migrate
from app.store.session import Database
from app.store.tables import Base, QuotaEntry, Submission, Team, User
from app.store.types import utcnow
from tests.live_service import MAX_WAIT_SECONDS
from tests.store.database_marks import only_postgresql
from tests.store.sample_rows import add_row, fill_tables, submission, task

ROOT = Path(__file__).resolve().parents[2]


def differs(
    _context: Any, _inspected: Any, declared: Any, found: str | None, _default: Any, wanted: str | None
) -> bool | None:
    """Whether two defaults of a JSON column differ, which PostgreSQL cannot compare itself; None leaves it to Alembic."""
    if not isinstance(declared.type, JSON):
        return None
    return (found or "").removesuffix("::json") != (wanted or "")


OPTIONS = {"compare_type": True, "compare_server_default": differs, "include_name": migrate.include_name}


def counts(db: Database) -> dict[str, int]:
    with db.read() as session:
        return {
            table.name: session.scalars(select(func.count()).select_from(table)).one()
            for table in Base.metadata.sorted_tables
        }


def kept_counts(before: dict[str, int], older_tables: list[str]) -> dict[str, int]:
    """The counts after rows went through an older schema with these tables; rows of three tables are derived again."""
    kept = {*older_tables, "ranked_values", "team_memberships", "board_switches"}
    return {name: count if name in kept else 0 for name, count in before.items()}


@contextmanager
def plain(settings: Settings) -> Iterator[Connection]:
    """A transaction on whatever schema is there."""
    engine = migrate._engine(settings.database)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def downgrade(settings: Settings, revision: str) -> None:
    """Go back as far as said, on a connection like that of an upgrade."""
    configuration = migrate.alembic_config()
    with plain(settings) as connection:
        configuration.attributes["connection"] = connection
        command.downgrade(configuration, revision)


@pytest.mark.both_databases
def test_an_upgraded_database_is_what_the_tables_declare(settings: Settings) -> None:
    assert migrate.upgrade(settings) == (None, migrate.head_revision())
    with plain(settings) as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), Base.metadata)
        checks = {
            (table.name, constraint["name"])
            for table in Base.metadata.sorted_tables
            for constraint in inspect(connection).get_check_constraints(table.name)
        }
    assert found == []
    declared = {
        (table.name, str(constraint.name))
        for table in Base.metadata.sorted_tables
        for constraint in table.constraints
        if isinstance(constraint, CheckConstraint)
    }
    assert checks == declared
    assert declared


@pytest.mark.parametrize("kind", [Submission, QuotaEntry])
def test_what_refers_to_a_team_is_found_by_an_index(kind: type[Submission | QuotaEntry]) -> None:
    """Or the deletion of each team would read all that was ever submitted to the site."""
    assert "team_id" in {next(iter(index.columns)).name for index in kind.__table__.indexes}


@pytest.mark.both_databases
def test_every_table_holds_a_row_and_comes_back_after_down_and_up(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    assert set(counts(db).values()) == {1}
    db.close()
    downgrade(settings, "base")
    with plain(settings) as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]
    assert migrate.upgrade(settings) == (None, migrate.head_revision())
    assert set(counts(db).values()) == {0}
    with db.write() as session:
        fill_tables(session)


@pytest.mark.both_databases
def test_every_revision_goes_down_and_up_again_with_rows_in_every_table(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    before = counts(db)
    db.close()
    revisions = [each.revision for each in ScriptDirectory.from_config(migrate.alembic_config()).walk_revisions()]
    assert revisions[0] == migrate.head_revision()
    for revision in revisions[:-1]:
        downgrade(settings, f"{revision}-1")
        with plain(settings) as connection:
            older_tables = inspect(connection).get_table_names()
        assert migrate.upgrade(settings)[1] == migrate.head_revision()
    assert counts(db) == kept_counts(before, older_tables)


NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "next"
down_revision = "HEAD"


def upgrade() -> None:
    with op.batch_alter_table("users") as batch:
        batch.add_column(sa.Column("nickname", sa.Text(), nullable=True))
"""


def test_the_old_database_is_kept_beside_the_new_one_and_no_row_is_lost(
    settings: Settings, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as session:
        fill_tables(session)
    before = counts(db)
    db.close()
    scripts = shutil.copytree(package_data_folder("migrations"), tmp_path / "scripts")
    head = migrate.head_revision() or ""
    (scripts / "versions" / "next.py").write_text(NEXT.replace("HEAD", head))
    monkeypatch.setattr(migrate, "package_data_folder", lambda _name: scripts)
    assert migrate.upgrade(settings) == (head, "next")
    path = Path(settings.database.removeprefix("sqlite:///"))
    copy = path.with_name(f"{path.name}.before-{head}")
    assert copy.stat().st_mode & 0o077 == 0  # whatever the umask: it holds what the database holds
    with closing(sqlite3.connect(copy)) as old_database:
        assert old_database.execute("SELECT email FROM users").fetchall() == [("ada@example.org",)]
    assert counts(Database(settings)) == before
    assert settings.data_dir.stat().st_mode & 0o077 == 0  # like the database, it is for the service's account only


@pytest.mark.both_databases
def test_a_failed_migration_changes_nothing(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    before = counts(db)
    db.close()
    with plain(settings) as connection:
        connection.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(Exception, match="already exists"):
        migrate.upgrade(settings)
    assert counts(db) == before


def test_a_database_behind_is_refused_until_it_is_migrated(settings: Settings) -> None:
    db = Database(settings)
    with pytest.raises(migrate.SchemaBehind) as refused:
        migrate.require_head(db.engine())
    assert "assay migrate" in refused.value.advice
    migrate.upgrade(settings)
    migrate.require_head(db.engine())
    assert migrate.upgrade(settings) == (migrate.head_revision(), migrate.head_revision())
    db.close()


def test_a_database_from_the_future_is_left_alone(settings: Settings) -> None:
    migrate.upgrade(settings)
    with plain(settings) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(migrate.SchemaAhead):
        migrate.upgrade(settings)
    with plain(settings) as connection:
        assert migrate.current_revision(connection) == "9999"
    assert not list(settings.data_dir.glob("*.before-*"))


def test_the_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    migrate.upgrade(Settings(data_dir=tmp_path))
    assert stat.S_IMODE((tmp_path / "assay.sqlite3").stat().st_mode) == 0o600


@pytest.mark.both_databases
def test_files_that_were_gzipped_are_so_after_the_change_of_columns(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    db.close()
    downgrade(settings, "0001")
    with plain(settings) as connection:
        files = table("submissions", column("gzipped", Boolean))
        assert connection.execute(select(files)).all() == [(False,)]
        connection.execute(files.update().values(gzipped=True))
    migrate.upgrade(settings)
    with plain(settings) as connection:
        assert connection.execute(text("SELECT encoding, layout FROM submissions")).all() == [("gzip", "")]
        assert connection.execute(text("SELECT encoding, layout FROM gold_versions")).all() == [("", "")]


@pytest.mark.both_databases
def test_old_gold_is_known_to_have_weights_by_its_notes(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    db.close()
    downgrade(settings, "0005")
    notes = ["the instances have weights: all counts are sums of them, scaled to whole numbers"]
    gold = table("gold_versions", column("notes", JSON))
    for gold_notes, weighted in (([], False), (notes, True)):
        with plain(settings) as connection:
            connection.execute(gold.update().values(notes=gold_notes))
        migrate.upgrade(settings)
        with plain(settings) as connection:
            found = connection.execute(select(table("gold_versions", column("weighted", Boolean)))).scalars().all()
        assert found == [weighted]
        downgrade(settings, "0005")


@pytest.mark.both_databases
def test_tables_beside_gold_are_one_after_the_change_and_two_before(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    db.close()
    both = {"train_frequencies": {"a": 1}, "class_weights": {"a": 0.1}}
    earlier = table("gold_versions", *(column(name, JSON(none_as_null=True)) for name in both))
    later = table("gold_versions", column("accessories", JSON))
    downgrade(settings, "0002")
    with plain(settings) as connection:
        assert connection.execute(select(earlier)).all() == [(None, None)]
        connection.execute(earlier.update().values(**both))
    migrate.upgrade(settings)
    with plain(settings) as connection:
        assert connection.execute(select(later)).all() == [(both,)]
    downgrade(settings, "0002")
    with plain(settings) as connection:
        assert connection.execute(select(earlier)).all() == [tuple(both.values())]
    migrate.upgrade(settings)
    with plain(settings) as connection:
        connection.execute(later.update().values(accessories=both | {"folds": {"t1": "1"}}))
    with pytest.raises(RuntimeError, match="earlier version cannot keep"):
        downgrade(settings, "0002")


@pytest.mark.both_databases
def test_entries_of_organizers_are_told_from_those_of_teams_after_the_change(settings: Settings, db: Database) -> None:
    """Blue has a member and three entries: its own, one that an organizer sent for it, and a baseline of its name."""
    with db.write() as session:
        ids = fill_tables(session)
        rows = {"user": ids.user, "phase": ids.phase, "team": ids.team, "own": ids.submission}
        organizer = add_row(session, User(email="olga@example.org", name="Olga"))
        rows["behalf"] = add_row(session, submission(ids.phase, ids.team, organizer))
        rows["baseline"] = add_row(session, submission(ids.phase, ids.team, organizer, baseline=True))
        alone = add_row(session, Team(challenge_id=ids.challenge, name="Majority", name_key="majority"))
        rows["alone"] = add_row(session, submission(ids.phase, alone, organizer, baseline=True))
        add_row(session, Team(challenge_id=ids.challenge, name="BIue", name_key="biue"))
        first = add_row(session, task(rows["behalf"], ids.gold, ids.recipe, attempt=3))
        add_row(session, task(rows["baseline"], ids.gold, ids.recipe, attempt=5, compared_at=utcnow()))
        assert first
    db.close()
    downgrade(settings, "0005")
    migrate.upgrade(settings)
    with plain(settings) as connection:
        names = connection.execute(text("SELECT name, baseline, look_key FROM teams ORDER BY name, baseline")).all()
        assert [tuple(row) for row in names] == [
            ("BIue", False, None),  # it looks like Blue, and came later
            ("Blue", False, "blue"),
            ("Blue", True, None),
            ("Majority", True, None),
        ]
        query = "SELECT s.id, t.name, t.baseline, s.on_behalf, s.attempt FROM submissions s JOIN teams t ON t.id = s.team_id"
        entries = {row[0]: tuple(row[1:]) for row in connection.execute(text(query))}
    assert {name: entries[rows[name]] for name in ("own", "behalf", "baseline", "alone")} == {
        "own": ("Blue", False, False, 0),
        "behalf": ("Blue", False, True, 3),
        "baseline": ("Blue", True, True, 1),
        "alone": ("Majority", True, True, 0),
    }
    downgrade(settings, "0005")
    with plain(settings) as connection:
        assert connection.scalar(text("SELECT count(*) FROM teams")) == 3  # the two called Blue are one again


# ---- several at once, and one that dies ---------------------------------------------------------


UPGRADE = """
import sys
from pathlib import Path
from app.settings import Settings
from app.store import migrate
print(migrate.upgrade(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))[1])
"""
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = :key AND NOT granted"


def program(source: str, settings: Settings) -> subprocess.Popen[str]:
    """A program with the data folder and the database as its arguments."""
    words = [sys.executable, "-c", source, str(settings.data_dir), settings.database]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@only_postgresql
def test_upgrades_at_the_same_time_take_turns_and_all_end_well(settings: Settings) -> None:
    with plain(settings) as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": migrate.MIGRATION_LOCK_KEY})
        replicas = [program(UPGRADE, settings) for _ in range(2)]
        deadline = time.monotonic() + MAX_WAIT_SECONDS
        while connection.scalar(text(WAITING), {"key": migrate.MIGRATION_LOCK_KEY}) != len(replicas):
            assert time.monotonic() < deadline, "an upgrade did not wait for its turn"
            time.sleep(0.02)
    outputs = [replica.communicate(timeout=MAX_WAIT_SECONDS) for replica in replicas]
    assert [(out.strip(), err) for out, err in outputs] == [(migrate.head_revision(), "")] * 2
    with plain(settings) as connection:
        assert set(Base.metadata.tables) < set(inspect(connection).get_table_names())


KILLED = """
import os, signal, sys
from pathlib import Path
from alembic import op
from app.settings import Settings
from app.store import migrate

drop = op.drop_column

def die(*given, **options):
    drop(*given, **options)
    os.kill(os.getpid(), signal.SIGKILL)

op.drop_column = die  # the second revision has by then made its new columns and filled them
migrate.upgrade(Settings(data_dir=Path(sys.argv[1]), database_url=sys.argv[2]))
"""


@pytest.mark.both_databases
def test_an_upgrade_that_is_killed_midway_leaves_the_old_schema_and_its_rows(settings: Settings, db: Database) -> None:
    with db.write() as session:
        fill_tables(session)
    before = counts(db)
    db.close()
    downgrade(settings, "0001")
    killed = program(KILLED, settings)
    _, err = killed.communicate(timeout=MAX_WAIT_SECONDS)
    assert killed.returncode == -signal.SIGKILL, err
    with plain(settings) as connection:
        first_tables = inspect(connection).get_table_names()
        assert migrate.current_revision(connection) == "0001"
        names = {each["name"] for each in inspect(connection).get_columns("gold_versions")}
        assert "gzipped" in names
        assert not names & {"encoding", "layout"}
    assert migrate.upgrade(settings) == ("0001", migrate.head_revision())
    assert counts(db) == kept_counts(before, first_tables)


def test_looking_at_the_revisions_spares_sqlite_the_engine_of_several_machines() -> None:
    program = (
        "import sys; from app.store import migrate; migrate.head_revision(); assert 'procrastinate' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)
