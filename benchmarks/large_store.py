"""Fills a store with finished submissions: copies, made by the database, of one that was really scored."""

from sqlalchemy import Engine, create_engine, text

from app.store.tables import Base
from tests.live_service import MAX_WAIT_SECONDS

TEAMS = 100
FOLLOWERS = ("score_tasks", "scores", "quota_entries")  # tables whose rows belong to a submission
NUMBERS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})",
    "postgresql": "WITH n(i) AS (SELECT generate_series({first}, {last}))",
}
ID = {"sqlite": "printf('{mark}%031x', {value})", "postgresql": "'{mark}' || lpad(to_hex({value}), 31, '0')"}


def fill(url: str, slug: str, count: int, *, first: int, teams: int = TEAMS) -> None:
    """Copy a finished submission of the challenge `count` times with all its rows, spread over `teams` teams."""
    # SQLite lets writers poll, so beside a service that writes, one of another process may wait for long.
    options = {"timeout": MAX_WAIT_SECONDS} if url.startswith("sqlite") else {}
    engine = create_engine(url, connect_args=options)
    find = "SELECT s.id, s.team_id FROM submissions s JOIN phases p ON p.id = s.phase_id JOIN challenges c ON c.id = p.challenge_id"
    with engine.connect() as connection:
        submission, team = connection.execute(
            text(f"{find} WHERE c.slug = :slug AND s.status = 'finished' ORDER BY s.id LIMIT 1"), {"slug": slug}
        ).one()
    last = first + count - 1
    block = first // 10  # of teams: each fill has its own
    numbered, in_team = ("0", "n.i"), ("e", f"{block} + n.i % {teams}")
    _copy(
        engine,
        "teams",
        team,
        new={"id": ("e", "n.i"), "name": ("", "n.i"), "name_key": ("", "n.i"), "look_key": ("", "n.i")},
        first=block,
        last=block + teams - 1,
    )
    _copy(engine, "submissions", submission, new={"id": numbered, "team_id": in_team}, first=first, last=last)
    for table in FOLLOWERS:
        with engine.connect() as connection:
            found = text(f"SELECT id FROM {table} WHERE submission_id = :id")  # noqa: S608 - our own names
            rows = connection.execute(found, {"id": submission}).scalars().all()
        for mark, row in enumerate(rows):
            new = {"id": (str(mark), "n.i"), "submission_id": numbered}
            _copy(
                engine,
                table,
                row,
                new=new | ({"team_id": in_team} if table == "quota_entries" else {}),
                first=first,
                last=last,
            )
    _derive(engine, submission, first=first, last=last)
    if engine.dialect.name == "postgresql":  # as autovacuum does sooner or later; SQLite does nothing like it
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
    engine.dispose()


def _derive(engine: Engine, submission: str, *, first: int, last: int) -> None:
    """The ranked values of the copies, and the numbers of entries of their teams."""
    statements = ("""
        INSERT INTO ranked_values (score_id, metric, undefined, ranking_key, provenance, team_id, submission_id)
        SELECT c.id, v.metric, v.undefined, v.ranking_key, v.provenance, CASE WHEN v.team_id IS NOT NULL THEN s.team_id END,
               CASE WHEN v.team_id IS NOT NULL THEN s.id END
        FROM submissions s JOIN scores c ON c.submission_id = s.id
        JOIN scores o ON o.submission_id = :row AND o.split = c.split AND o.scorer_version = c.scorer_version
        JOIN ranked_values v ON v.score_id = o.id WHERE s.id BETWEEN :first AND :last
    """, """
        INSERT INTO entry_counts (provenance, team_id, entries)
        SELECT provenance, team_id, count(*) FROM ranked_values
        WHERE team_id IS NOT NULL AND submission_id BETWEEN :first AND :last GROUP BY provenance, team_id
    """)  # fmt: skip
    parameters = {"row": submission, "first": f"0{first:031x}", "last": f"0{last:031x}"}
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(
                text(statement), {name: parameters[name] for name in parameters if f":{name}" in statement}
            )


def _copy(engine: Engine, table: str, row: str, *, new: dict[str, tuple[str, str]], first: int, last: int) -> None:
    """Copy one row for each number from first to last, with new texts derived from the number in some columns."""
    dialect = engine.dialect.name
    columns = [column.name for column in Base.metadata.tables[table].columns]
    values = [
        ID[dialect].format(mark=new[name][0], value=new[name][1]) if name in new else f"t.{name}" for name in columns
    ]
    numbers = NUMBERS[dialect].format(first=first, last=last)
    # PostgreSQL takes WITH before INSERT; so does SQLite.
    statement = f"{numbers} INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM n, {table} t WHERE t.id = :row"  # noqa: S608
    with engine.begin() as connection:
        connection.execute(text(statement), {"row": row})
