"""A worker takes the boards of several phases in the order of their turns, and accounts for each."""

from pathlib import Path
from unittest import mock

from sqlalchemy import select

from app.store.tables import Phase
from app.worker.analysis_turns import AnalysisTurns
from tests.api.in_process_app import app_settings, serve_app
from tests.live_service import open_challenge
from tests.settle import settle

GOLD = [{"id": f"t{number}", "label": "cat" if number % 2 else "dog"} for number in range(12)]
RIGHT = {row["id"]: row["label"] for row in GOLD}


def test_the_worker_computes_the_board_whose_turn_it_is(tmp_path: Path) -> None:
    first: list[str] = []
    computed: list[tuple[str, str, float]] = []
    order_boards, record_board = AnalysisTurns.order_boards, AnalysisTurns.record_board

    def order(self: AnalysisTurns, phases: list[str]) -> list[str]:
        ordered = order_boards(self, phases)
        first[:] = ordered[:1]
        return ordered

    def record(self: AnalysisTurns, phase: str, seconds: float) -> None:
        computed.append((first[0], phase, seconds))
        record_board(self, phase, seconds)

    with (
        mock.patch.object(AnalysisTurns, "order_boards", order),
        mock.patch.object(AnalysisTurns, "record_board", record),
        serve_app(app_settings(tmp_path / "data"), analyses=True) as app,
    ):
        admin = app.admin()
        for slug in ("pets", "birds"):
            open_challenge(admin, slug, GOLD)
            for team, changed in (("Blue", "t0"), ("Green", "t1")):
                admin.submit(slug, RIGHT | {changed: "cat"}, team=team).raise_for_status()
        settle(app)
        with app.app.state.service.db.read() as session:
            phases = set(session.scalars(select(Phase.id)))
    assert len(phases) == 2
    assert {phase for _, phase, _ in computed} == phases
    assert all(turn == phase and seconds > 0 for turn, phase, seconds in computed)
