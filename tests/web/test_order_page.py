"""Intervals and the ranks that rows may have on the pages, and the page 'Is the order real?', on the real service."""

from collections.abc import Callable

import pytest

from app.web.board_cells import metric_cells
from app.web.order_view import order_view
from tests.api.conftest import GOLD
from tests.api.in_process_app import ServedApp
from tests.settle import settle
from tests.web.desk import organizer
from tests.web.reader import Reader, heading
from tests.web.test_leaderboard_page import new_challenge, submit, table_rows

ANALYSES = True

BOARD = "/challenges/{}/leaderboard"
ORDER = BOARD + "/order"
REPORTS = ["scores", "intervals", "significance", "rankings"]


def _status(app: ServedApp, path: str) -> str:
    return str(app.admin().get(path).json()["status"])


@pytest.fixture(scope="module")
def compared(app: ServedApp) -> tuple[str, str]:
    """A challenge whose rows have been compared, and its best submission."""
    admin = app.admin()
    slug = new_challenge(
        admin, "order", phases=[{"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": REPORTS}]
    )
    best = submit(admin, slug, "Blue", len(GOLD))
    submit(admin, slug, "Green", 1)
    path = f"/challenges/{slug}/phases/main/leaderboard"
    settle(app, shown=True)
    assert [_status(app, f"{path}/{part}") for part in ("significance", "rankings")] == ["current"] * 2
    assert all(row["scores"]["accuracy"]["low"] is not None for row in admin.get(path).json()["rows"])
    return slug, best


def test_the_board_shows_the_ranks_a_row_may_have_before_its_rank(compared: tuple[str, str], reader: Reader) -> None:
    answer = reader.get(BOARD.format(compared[0]))
    rows = table_rows(answer)
    assert [row[0] for row in rows] == ["May have ranks 1–2 rank 1", "May have ranks 1–2 rank 2"]
    assert all("95 % interval" in row[2] for row in rows)
    assert f'href="{ORDER.format(compared[0])}' in answer.text
    assert "No two of the 2 ranked rows are shown to differ at 5 %" in answer.text
    assert "chose the row" not in answer.text


def test_the_board_says_that_the_split_chose_among_several_entries(app: ServedApp, reader: Reader) -> None:
    admin = app.admin()
    slug = new_challenge(admin, "chosen")
    for team, hits in (("Blue", 3), ("Blue", 2), ("Green", 1)):
        submit(admin, slug, team, hits)
    settle(app, shown=True)
    assert "chose the row of each team among up to 2 entries" in reader.get(BOARD.format(slug)).text


def test_the_page_says_what_the_data_say_about_the_order(compared: tuple[str, str], reader: Reader) -> None:
    answer = reader.get(ORDER.format(compared[0]))
    text = answer.text
    assert heading(answer)
    assert "No two of the 2 ranked rows are shown to differ at 5 %." in text
    for words in ("May have ranks", "Who would stand first", "Which rows differ", "How far the rankings agree"):
        assert words in text
    assert "like these" in text
    assert text.count("<svg") >= 4
    assert " equal at 5" not in text


@pytest.mark.parametrize("status", ["current", "pending"])
def test_former_rows_allow_no_conclusion(status: str) -> None:
    """The API gives no conclusion from a former comparison; the pairs of neighbours are then former ones too."""
    names = ("row", "team", "value", "rank", "rank_low", "rank_high", "tie_group", "entries", "submission")
    rows = [
        dict(zip(names, (at, {"name": name}, 1.0 - at, at + 1, at + 1, at + 1, at + 1, 1, name), strict=True))
        for at, name in enumerate("ABC")
    ]
    pairs = [
        {"a": a, "b": b, "different": True, "difference": 0.5, "low": 0.4, "high": 0.6, "p_value": 0.01}
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    is_current = status == "current"
    payload = {"status": status, "conclusion": "A is best." if is_current else None, "rows": rows, "pairs": pairs}
    board = {"primary": "accuracy", "metrics": [{"key": "accuracy", "name": "accuracy"}], "rows": []}
    view = order_view(payload, board)
    assert view is not None
    whole = "All 2 pairs of neighbours are shown to differ at 5 %, so the whole order is shown."
    assert view.sentences == (["A is best.", whole] if is_current else [])


def test_the_order_by_another_metric_has_its_address(compared: tuple[str, str], reader: Reader) -> None:
    answer = reader.get(ORDER.format(compared[0]), params={"metric": "f1_macro"})
    assert "<code>f1_macro</code>" in answer.text


def test_submission_and_score_pages_show_the_interval(
    app: ServedApp, compared: tuple[str, str], new_reader: Callable[[], Reader]
) -> None:
    owner = new_reader()
    organizer(app, owner, slug=compared[0])
    for path in ("", "/scores/accuracy"):
        text = owner.get(f"/submissions/{compared[1]}{path}").text
        assert "95 % interval" in text
    assert "Method: exact binomial" in text


def test_a_ladder_hides_intervals_and_rank_sets(app: ServedApp, new_reader: Callable[[], Reader]) -> None:
    phase = {"name": "main", "opens_at": "2020-01-01T00:00:00Z", "reports": REPORTS}
    recipe = {"primary": "accuracy", "metrics": ["accuracy"], "ladder": {"step": 0.3}}
    slug = new_challenge(app.admin(), "laddered", phases=[phase], recipe=recipe)
    submit(app.admin(), slug, "Blue", 3)
    submit(app.admin(), slug, "Green", 1)
    board = new_reader().get(BOARD.format(slug)).text
    assert "interval" not in board.partition("<table")[2].partition("</table>")[0]
    assert "May have ranks" not in board
    assert "Is the order real?" not in board
    page = new_reader().get(ORDER.format(slug)).text
    assert "Ladder limits the feedback" in page
    assert "<svg" not in page.partition("<main")[2]


def test_a_row_that_is_far_off_or_does_not_compete_leaves_the_scale_of_the_bars_alone() -> None:
    near = [{"value": at, "low": at - 0.01, "high": at + 0.01} for at in (0.95, 0.96, 0.97, 0.98)]
    far = [{"value": 0.2, "low": 0.1, "high": 0.3}]
    alone = metric_cells(near, is_drawn=True, competes=[True] * 4)
    for competes in (True, False):
        shown = metric_cells(near + far, is_drawn=True, competes=[True] * 4 + [competes])
        assert [cell.bar for cell in shown[:4]] == [cell.bar for cell in alone]
        assert "<polygon" in str(shown[4].bar)
        assert shown[4].interval == "0.100\N{EN DASH}0.300"


def test_values_stand_above_what_explains_them(compared: tuple[str, str], reader: Reader) -> None:
    main = reader.get(BOARD.format(compared[0])).text.partition("<main")[2]
    above, _, below = main.partition('<table class="board"')
    for words in ("Below a value stands its 95 % interval", "versions: gold", "as of"):
        assert words not in above
        assert words in below


def test_an_interval_that_is_not_between_0_and_1_has_text_and_no_bar(
    app: ServedApp, new_reader: Callable[[], Reader]
) -> None:
    recipe = {"primary": "mcc", "metrics": ["mcc"]}
    admin = app.admin()
    slug = new_challenge(admin, "signed", recipe=recipe)
    swapped = {row["id"]: "dog" if row["label"] == "cat" else "cat" for row in GOLD}
    path = f"/submissions/{admin.submit(slug, swapped, team='Blue').json()['id']}"
    owner = new_reader()
    organizer(app, owner, slug=slug)
    settle(app)
    cell = owner.get(path).text.partition("95 % interval")[2].partition("</td>")[0]
    assert " to " in cell
    assert "None" not in cell
    assert "<svg" not in cell
