"""What participants write beside a file is one line, which nothing in it can turn or break."""

import csv
import io
from typing import Any

from tests.journeys.support import (
    CORRECT_PREDICTIONS,
    People,
    create_challenge,
    create_without_gold,
    require_finished,
    require_refused,
)

SIGNS = {
    "\n": "U+000A",
    "\r": "U+000D",
    "\t": "U+0009",
    "\x7f": "U+007F",
    "\x85": "U+0085",
    "\x1b": "U+001B",
    "\u2028": "U+2028",
    "\u2029": "U+2029",
    "\u202e": "U+202E",
    "\u2066": "U+2066",
    "\u200f": "U+200F",
    "\u061c": "U+061C",
}


TURNED = [("method", sign) for sign in SIGNS] + [
    (field, sign) for field in ("description", "link") for sign in "\n\u202e"
]


def test_controls_and_turns_of_direction_are_refused_where_they_stand(people: People) -> None:
    slug = create_without_gold(people.admin, "texts")
    blue = people["Blue"].join(slug, "Blue")
    for field, sign in TURNED:
        before = "https://example.org/" if field == "link" else "my"
        said: dict[str, Any] = {field: f"{before}{sign}method"}
        body = require_refused(blue.submit(slug, CORRECT_PREDICTIONS, **said), 400, "bad_request")
        (fault,) = body["errors"]
        assert fault["pointer"] == field
        if (field, sign) != ("link", "\n"):  # a blank is no part of an address anyway
            assert f"{SIGNS[sign]} " in fault["detail"]
            assert f"at character {len(before) + 1}" in fault["detail"]
    for name in ("a\nb", "a\tb", "a\u202eb", "a\x85b", "a\u2028b", "a\u061cb"):  # those of teams are one line too
        answer = people["Green"].post(f"/challenges/{slug}/registrations", json={"team": name})
        require_refused(answer, 422, "invalid_request")


def test_other_texts_are_kept_as_they_are_and_a_board_as_a_table_runs_nothing(people: People) -> None:
    slug = create_challenge(people.admin, "texts-kept")
    method = " \uff1dSUM(A1) \u2014 na\u00efve \U0001f680"
    sent = require_finished(
        people["Blue"]
        .join(slug, "\uff0bBlue")
        .submit(slug, CORRECT_PREDICTIONS, method=method, description="d\u00e9j\u00e0")
    )
    assert (sent["method"], sent["description"]) == (method, "d\u00e9j\u00e0")
    (line,) = csv.DictReader(io.StringIO(people.visitor.board(slug, format="csv").text))
    assert (line["team"], line["method"]) == ("'\uff0bBlue", f"'{method}")
