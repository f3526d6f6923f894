"""A refused form is shown again with all that was entered, and the summary of its faults leads to its fields."""

import re

import pytest

from tests.api.in_process_app import ServedApp
from tests.web.desk import DESK, TRUTH, organizer, person
from tests.web.reader import Reader

LONG = "x" * 2001


def dead_links(page: str) -> set[str]:
    """The fields to which the summary of the faults leads, and which the page does not have."""
    fields = set(re.findall(r'href="#(field-[^"]+)"', page))
    assert fields, "the page has no summary of faults that leads to a field"
    return fields - set(re.findall(r'\sid="([^"]+)"', page))


@pytest.mark.parametrize(
    ("page", "action", "entered"),
    [
        ("settings", "settings", {"description": "A text of an hour."}),
        ("phases", "phases", {"name": "A text of an hour."}),
        ("phases/main", "phases/main", {"name": "A text of an hour."}),
        ("recipe", "recipe", {"do": "save", "selection_max": "7"}),
    ],
)
def test_a_reason_that_is_refused_costs_no_other_field(
    app: ServedApp, reader: Reader, page: str, action: str, entered: dict[str, str]
) -> None:
    organizer(app, reader)
    refused = reader.send(f"{DESK}/{page}", f"{DESK}/{action}", reason=LONG, **entered)
    assert refused.status_code == 422
    assert "has too many characters; at most 2000 are allowed" in refused.text
    assert dead_links(refused.text) == set()
    assert [text for name, text in entered.items() if name != "do" and text not in refused.text] == []


def test_a_recipe_without_metrics_leads_to_the_metrics(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader)
    token = reader.get(f"{DESK}/recipe").text.split('name="csrf" value="')[1].split('"')[0]
    refused = reader.client.post(f"{DESK}/recipe", data={"csrf": token, "do": "save"}, headers={"Origin": reader.url})
    assert (refused.status_code, dead_links(refused.text)) == (422, set())


def test_a_refused_act_on_a_submission_leads_to_its_reason(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader)
    member = person(app, "Mia")
    member.join("digits", "Mia's team")
    path = f"/submissions/{member.submit('digits', TRUTH).json()['id']}"
    refused = reader.send(path, f"{path}/disqualify", reason=LONG)
    assert (refused.status_code, dead_links(refused.text)) == (422, set())
    assert refused.text.count(LONG) == 1  # the forms of other acts stay empty


def test_a_refused_question_is_named_by_its_row(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader)
    path = f"{DESK}/settings"
    refused = reader.send(path, path, label_1="", label_2="y" * 300)
    assert (refused.status_code, dead_links(refused.text)) == (422, set())
    assert 'href="#field-label_2-settings">Question 2: has too many characters' in refused.text


def test_a_value_of_a_list_is_named_as_the_list(app: ServedApp, reader: Reader) -> None:
    organizer(app, reader)
    refused = reader.send(f"{DESK}/settings", f"{DESK}/settings/labels", classes="cat\n" + "y" * 2000)
    assert (refused.status_code, dead_links(refused.text)) == (422, set())
    assert ">Classes: has 2000 characters; at most 1000 are allowed<" in refused.text
