"""Store the submissions of an imported phase with tasks, scores, foreign receipts and own receipts, in batches."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import insert

from app.actions.imports.staged_phase import StagedScore, StagedSubmission
from app.actions.receipts.issue_receipts import NewScores, ReceiptIssuer
from app.archives.open_archive import Archive, InvalidArchive
from app.store import clock
from app.store.queries import analysis_tasks, ranked_values
from app.store.session import WriteSession
from app.store.tables import ForeignReceipt, Phase, PhaseImport, Score, ScoreTask, Submission
from app.store.types import id_at, new_id

if TYPE_CHECKING:
    from app.actions.imports.store_phase import LocalIds

BATCH = 200
_SAME = (
    *("status", "method", "description", "link", "baseline", "on_behalf", "test", "unofficial", "sha256", "size"),
    *("format", "encoding", "layout", "submitted_at", "started_at", "finished_at", "attempt", "problems"),
    *("problem_totals", "notes", "failure", "selected_at", "withdrawn_at", "withdrawn_reason", "disqualified_at"),
    "disqualified_reason",
)
_TASK_STATUS = {"finished": "done", "rejected": "done", "failed": "failed", "cancelled": "cancelled"}


class SubmissionRows:
    """Collects rows and stores them in batches, in the order of acceptance."""

    def __init__(
        self,
        session: WriteSession,
        row: PhaseImport,
        ids: "LocalIds",
        archive: Archive,
        receipts: ReceiptIssuer | None,
        *,
        user_id: str,
        phase: Phase,
    ) -> None:
        self._session, self._row, self._ids, self._archive, self._receipts = session, row, ids, archive, receipts
        self._user_id, self._phase = user_id, phase
        self._now = clock.now(session)
        self._last: datetime | None = None
        self._rows: dict[type[Any], list[dict[str, Any]]] = {}
        self._scored: list[tuple[dict[str, Any], StagedScore, datetime]] = []

    def add(self, each: StagedSubmission) -> None:
        """Add a submission after those before."""
        row = each.row
        moment = row.submitted_at
        if self._last is not None and moment <= self._last:
            moment = self._last + timedelta(microseconds=1)  # the order of ids is that of acceptance
        self._last = moment
        local_id = id_at(moment)
        self._ids.add("submission", row.id, local_id)
        self._put(
            Submission,
            id=local_id,
            phase_id=self._phase.id,
            team_id=self._ids[row.team],
            sent_team_id=self._ids.get(row.sent_team),
            user_id=self._user_id,
            file_key=each.file_key or f"uploads/{'0' * 32}",
            file_removed_at=(row.file_removed_at or self._now) if row.file is None else None,
            **{name: getattr(row, name) for name in _SAME},
        )
        self._add_tasks(each, local_id, moment)
        for receipt in each.receipts:
            self._put(
                ForeignReceipt,
                id=new_id(),
                import_id=self._row.id,
                origin_id=receipt.id,
                submission_id=local_id,
                split=receipt.split,
                envelope=self._text(receipt.file),
                proof=None if receipt.proof is None else self._text(receipt.proof),
                **self._ids.version_columns(receipt),
            )
        if len(self._rows[Submission]) >= BATCH:
            self.finish()

    def _add_tasks(self, each: StagedSubmission, local_id: str, moment: datetime) -> None:
        """A settled task for each of its scores, and for the versions it was received under; those come first."""
        row = each.row
        received = [] if each.scores or row.received_under is None else [row.received_under]
        for number, versions in enumerate([*received, *(of.versions for of in each.scores)]):
            key = {"submission_id": local_id, **self._ids.version_columns(versions)}
            task_id = id_at(moment + timedelta(microseconds=number))
            status = _TASK_STATUS[row.status]
            times = {"created_at": row.submitted_at, "started_at": row.started_at, "finished_at": row.finished_at}
            failure = row.failure if status == "failed" else None
            self._put(ScoreTask, id=task_id, ticket=task_id, status=status, failure=failure, **key, **times)
        for number, of in enumerate(each.scores):
            key = {"submission_id": local_id, **self._ids.version_columns(of.versions)}
            created_at = datetime.fromisoformat(of.created_at)
            for split, metrics in of.scores.items():
                empty = of.empty.get(split, 0)
                self._put(
                    Score,
                    id=new_id(),
                    split=split,
                    metrics=metrics,
                    empty_predictions=empty,
                    created_at=created_at,
                    **key,
                )
            scored_at = row.finished_at if number == 0 and row.finished_at is not None else created_at
            self._scored.append((key, of, scored_at))

    def finish(self) -> None:
        """Store what was collected, with what follows from it: ranked values, tasks of intervals, and receipts."""
        session, connection = self._session, self._session.connection()
        session.flush()  # teams and ids first
        for table in (Submission, ScoreTask, Score, ForeignReceipt):
            rows = self._rows.get(table)
            if rows:
                connection.execute(insert(table.__table__), rows)
        ranked_values.rewrite(session, [row["id"] for row in self._rows.get(Submission, ())])
        for key, _, _ in self._scored:
            analysis_tasks.add_intervals(session, key)
        if self._receipts is not None:
            scored = [NewScores(key, of.scores, of.content_sha256, at) for key, of, at in self._scored]
            self._receipts.issue(session, scored, self._now)
        session.flush()
        self._rows, self._scored = {}, []

    def _put(self, table: type[Any], **columns: Any) -> None:
        self._rows.setdefault(table, []).append(columns)

    def _text(self, name: str) -> str:
        try:
            return b"".join(self._archive.pieces(name)).decode()
        except UnicodeDecodeError as error:
            raise InvalidArchive(f"The member '{name}' is no text.") from error
