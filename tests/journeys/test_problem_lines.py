"""The problems of a file with the lines at their places: for whom, and what an organizer's reading leaves behind."""

from app.client import Client
from tests.journeys.support import GOLD, People, create_challenge, require_refused


def test_the_lines_are_for_those_who_may_have_the_file(people: People) -> None:
    slug = create_challenge(people.admin, "problem-lines", GOLD)
    blue = people["Blue"].join(slug, "Blue")
    table = "id,label\nt1,zebra\nt2,a\n"
    headers = {"Content-Type": "text/csv", "Prefer": "wait=60"}
    answer = blue.post(f"/challenges/{slug}/phases/main/submissions", content=table, headers=headers)
    assert answer.json()["status"] == "rejected"
    path = f"/submissions/{answer.json()['id']}"
    found = blue.get(f"{path}/problems").json()
    assert found["total"] == answer.json()["total"]
    assert found["problems"][0] == answer.json()["problems"][0] | {"excerpt": "t1,zebra"}
    assert [problem["excerpt"] for problem in found["problems"][1:]] == [None] * (len(found["problems"]) - 1)
    require_refused(people["Red"].get(f"{path}/problems"), 404, "not_found")
    require_refused(people.visitor.get(f"{path}/problems"), 401, "unauthorized")

    def downloads() -> int:
        trail = people.admin.get(f"/challenges/{slug}/audit").json()["items"]
        return sum(entry["action"] == "submission.download" for entry in trail)

    with Client(people.live.url, blue.headers["Authorization"].removeprefix("Bearer ")) as client:
        assert client.problems(answer.json()["id"])["problems"] == found["problems"]
    assert downloads() == 0
    assert people.admin.get(f"{path}/problems").json()["problems"] == found["problems"]
    assert downloads() == 1


def test_what_an_organizer_sent_for_a_team_is_not_shown_to_it(people: People) -> None:
    slug = create_challenge(people.admin, "problem-lines-behalf", GOLD)
    blue = people["Blue"].join(slug, "Blue")
    key = people.admin.submit(slug, {"t1": "zebra"}, team="Blue").json()["id"]
    assert blue.get(f"/submissions/{key}/problems").json()["problems"] == []
    by_organizer = people.admin.get(f"/submissions/{key}/problems").json()["problems"]
    assert '"t1":"zebra"' in {problem["excerpt"] for problem in by_organizer}
