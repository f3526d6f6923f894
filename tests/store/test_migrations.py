"""Migrations build the very tables that the code declares, up and down, with rows in them."""

import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, create_engine, func, inspect, select

from app.settings import Settings
from app.shipped import shipped
from app.store import migrate
from app.store.session import Database
from app.store.tables import Base
from tests.store.rows import fill

OPTIONS = {"compare_type": True, "compare_server_default": True, "render_as_batch": True}


def counts(db: Database) -> dict[str, int]:
    with db.read() as session:
        return {
            table.name: session.scalars(select(func.count()).select_from(table)).one()
            for table in Base.metadata.sorted_tables
        }


def downgrade(given: Settings, revision: str) -> None:
    """Go back as far as said, on a connection like that of an upgrade."""
    engine = migrate._engine(given.database)
    made = migrate.config()
    with engine.connect() as connection, connection.begin():
        made.attributes["connection"] = connection
        command.downgrade(made, revision)
    engine.dispose()


def test_an_upgraded_database_is_what_the_tables_declare(given: Settings) -> None:
    assert migrate.upgrade(given) == (None, migrate.head())
    engine = create_engine(given.database)
    with engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection, opts=OPTIONS), Base.metadata)
        checks = {
            (table.name, constraint["name"])
            for table in Base.metadata.sorted_tables
            for constraint in inspect(connection).get_check_constraints(table.name)
        }
    engine.dispose()
    assert found == []
    declared = {
        (table.name, str(constraint.name))
        for table in Base.metadata.sorted_tables
        for constraint in table.constraints
        if isinstance(constraint, CheckConstraint)
    }
    assert checks == declared
    assert declared


def test_every_table_holds_a_row_and_comes_back_after_down_and_up(given: Settings, db: Database) -> None:
    with db.write() as session:
        fill(session)
    assert set(counts(db).values()) == {1}
    db.close()
    downgrade(given, "base")
    engine = create_engine(given.database)
    assert inspect(engine).get_table_names() == ["alembic_version"]
    engine.dispose()
    assert migrate.upgrade(given) == (None, migrate.head())
    assert set(counts(db).values()) == {0}
    with db.write() as session:
        fill(session)


def test_every_revision_goes_down_and_up_again_with_rows_in_every_table(given: Settings, db: Database) -> None:
    with db.write() as session:
        fill(session)
    before = counts(db)
    db.close()
    revisions = [each.revision for each in ScriptDirectory.from_config(migrate.config()).walk_revisions()]
    assert revisions[0] == migrate.head()
    for revision in revisions[:-1]:
        downgrade(given, f"{revision}-1")
        assert migrate.upgrade(given)[1] == migrate.head()
    assert counts(db) == before | {"workers": 0}  # those of now are not in the earlier schema


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
    given: Settings, db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.write() as session:
        fill(session)
    before = counts(db)
    db.close()
    scripts = shutil.copytree(shipped("migrations"), tmp_path / "scripts")
    head = migrate.head() or ""
    (scripts / "versions" / "next.py").write_text(NEXT.replace("HEAD", head))
    monkeypatch.setattr(migrate, "shipped", lambda _name: scripts)
    assert migrate.upgrade(given) == (head, "next")
    path = Path(given.database.removeprefix("sqlite:///"))
    copy = path.with_name(f"{path.name}.before-{head}")
    assert copy.stat().st_mode & 0o077 == 0  # whatever the umask: it holds what the database holds
    with closing(sqlite3.connect(copy)) as kept:
        assert kept.execute("SELECT email FROM users").fetchall() == [("ada@example.org",)]
    assert counts(Database(given)) == before
    assert given.data_dir.stat().st_mode & 0o077 == 0  # like the database, it is for the service's account only


def test_a_failed_migration_changes_nothing(given: Settings, db: Database) -> None:
    with db.write() as session:
        fill(session)
    before = counts(db)
    db.close()
    raw = sqlite3.connect(given.database.removeprefix("sqlite:///"))
    raw.execute("DELETE FROM alembic_version")
    raw.commit()
    raw.close()
    with pytest.raises(Exception, match="already exists"):
        migrate.upgrade(given)
    assert counts(db) == before


def test_a_database_behind_is_refused_until_it_is_migrated(given: Settings) -> None:
    db = Database(given)
    with pytest.raises(migrate.SchemaBehind) as refused:
        migrate.require_head(db.engine())
    assert "assay migrate" in refused.value.advice
    migrate.upgrade(given)
    migrate.require_head(db.engine())
    assert migrate.upgrade(given) == (migrate.head(), migrate.head())
    db.close()


def test_a_database_from_the_future_is_left_alone(tmp_path: Path) -> None:
    given = Settings(data_dir=tmp_path)
    migrate.upgrade(given)
    with closing(sqlite3.connect(tmp_path / "assay.sqlite3")) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
    with pytest.raises(migrate.SchemaAhead):
        migrate.upgrade(given)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assay.sqlite3"]


def test_the_database_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    migrate.upgrade(Settings(data_dir=tmp_path))
    assert stat.S_IMODE((tmp_path / "assay.sqlite3").stat().st_mode) == 0o600


def test_files_that_were_gzipped_are_so_after_the_change_of_columns(given: Settings, db: Database) -> None:
    with db.write() as session:
        fill(session)
    db.close()
    downgrade(given, "0001")
    path = given.database.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT gzipped FROM submissions").fetchall() == [(0,)]
        raw.execute("UPDATE submissions SET gzipped = 1")
        raw.commit()
    migrate.upgrade(given)
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT encoding, layout FROM submissions").fetchall() == [("gzip", "")]
        assert raw.execute("SELECT encoding, layout FROM gold_versions").fetchall() == [("", "")]


def test_tables_beside_gold_are_one_after_the_change_and_two_before(given: Settings, db: Database) -> None:
    with db.write() as session:
        fill(session)
    db.close()
    path = given.database.removeprefix("sqlite:///")
    both = {"train_frequencies": {"a": 1}, "class_weights": {"a": 0.1}}
    downgrade(given, "0002")
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT train_frequencies, class_weights FROM gold_versions").fetchall() == [(None, None)]
        texts = [json.dumps(value) for value in both.values()]
        raw.execute("UPDATE gold_versions SET train_frequencies = ?, class_weights = ?", texts)
        raw.commit()
    migrate.upgrade(given)
    with closing(sqlite3.connect(path)) as raw:
        [(kept,)] = raw.execute("SELECT accessories FROM gold_versions").fetchall()
        assert json.loads(kept) == both
    downgrade(given, "0002")
    with closing(sqlite3.connect(path)) as raw:
        [back] = raw.execute("SELECT train_frequencies, class_weights FROM gold_versions").fetchall()
        assert [json.loads(text) for text in back] == list(both.values())
    migrate.upgrade(given)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE gold_versions SET accessories = ?", [json.dumps(both | {"folds": {"t1": "1"}})])
        raw.commit()
    with pytest.raises(RuntimeError, match="earlier version cannot keep"):
        downgrade(given, "0002")
