"""The challenge of two phases of the guides: development has closed, the test phase is open, and much has happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.journeys.support import require_finished
from tests.live_service import Caller

SLUG, DEVELOPMENT, TEST = "sounds", "development", "test"
LABELS = ("vowel", "consonant", "noise")
DESCRIPTION = """\
Which kind of sound does the recording hold? Each recording has **one second** at 16 kHz.

## What is asked

1. Read the recordings of the phase.
2. Send one label for each: `vowel`, `consonant` or `noise`.

| phase | recordings |
| --- | ---: |
| Development | 60 |
| Test | 90 |

See the [paper](https://example.org/sounds) for how they were made.
"""
TERMS = "Do not label the recordings of the test phase by hand.\n\nDescribe your method."
BROKEN = "id,label\nt1,vowel\nt2,vovel\nt2,noise\nt99999,noise\n"


def gold(phase: str, size: int) -> list[dict[str, str]]:
    """Gold of a phase; that of the test phase is split."""
    rows = [{"id": f"{phase[0]}{n}", "label": LABELS[(n * n + n // 3) % 3]} for n in range(1, size + 1)]
    return (
        [row | {"split": ("public", "private", "private")[at % 3]} for at, row in enumerate(rows)]
        if (phase == TEST)
        else rows
    )


def predictions(phase: str, size: int, wrong_every: int) -> dict[str, str]:
    """Labels of which one in so many is wrong."""
    return {
        row["id"]: LABELS[(LABELS.index(row["label"]) + (at % wrong_every == 0)) % 3]
        for at, row in enumerate(gold(phase, size))
    }


def fill(people: dict[str, Caller], names: dict[str, str]) -> None:
    """Run the challenge up to the middle of its test phase."""
    organizer = people["organizer"]
    _describe(organizer)
    _register(people, names)
    _develop(people, names)
    _test(people, names)
    names |= {"sounds": SLUG, "development": DEVELOPMENT, "test": TEST, "key": "f1_macro"}
    for name, key in {"registrations": "id", "announcements": "id", "files": "name"}.items():
        names[name] = organizer.get(f"/challenges/{SLUG}/{name}").json()["items"][0][key]
    names["user"] = people["captain"].get("/me").json()["id"]


def _ago(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _describe(organizer: Caller) -> None:
    recipe = {"primary": "accuracy", "metrics": ["accuracy", "f1_macro", "mcc"]}
    body: dict[str, Any] = {
        "slug": SLUG,
        "title": "Vowels and consonants",
        "description": DESCRIPTION,
        "contact": "organizer@example.org",
        "task": "multiclass",
        "timezone": "Europe/Vienna",
        "recipe": recipe,
        "registration": "approval",
        "team_size_limit": 3,
        "merge_deadline": _ago(15),
        "terms": TERMS,
        "registration_fields": [{"name": "affiliation", "label": "Affiliation", "required": True}],
        "phases": [
            {
                "name": "Development",
                "opens_at": _ago(-20),
                "quota": {"per_day": 5, "invalid_per_day": 10},
                "late": "unofficial",
                "reports": ["scores", "per_class", "confusion"],
            },
            {
                "name": "Test",
                "opens_at": _ago(-1),
                "closes_at": _ago(20),
                "quota": {"total": 6},
                "recipe": recipe | {"selection": "selected", "selection_max": 1},
            },
            {"name": "Final", "opens_at": _ago(25), "closes_at": _ago(40)},
        ],
        "draft": True,
    }
    organizer.post("/challenges", json=body).raise_for_status()
    for phase, size in ((DEVELOPMENT, 60), (TEST, 90)):
        path = f"/challenges/{SLUG}/phases/{phase}/gold"
        organizer.post(path, params={"activate": "true"}, json=gold(phase, size)).raise_for_status()
    majority = dict.fromkeys((row["id"] for row in gold(DEVELOPMENT, 60)), "vowel")
    sent = organizer.submit(SLUG, majority, phase=DEVELOPMENT, team="Majority", baseline="true", method="Most frequent")
    require_finished(sent)
    offered = {"name": "train.csv", "licence": "CC-BY-4.0", "description": "Training data"}
    organizer.post(f"/challenges/{SLUG}/files", params=offered, content=b"id,label\nx1,vowel\n").raise_for_status()
    offered = {"name": "recordings.csv", "licence": "CC-BY-4.0", "audience": "teams", "description": "For teams"}
    organizer.post(f"/challenges/{SLUG}/files", params=offered, content=b"id\nt1\n").raise_for_status()
    organizer.patch(f"/challenges/{SLUG}", json={"draft": False}).raise_for_status()
    news = {
        "title": "The challenge is open",
        "body": "Development closes *soon*. See the [rules](https://example.org).",
    }
    organizer.post(f"/challenges/{SLUG}/announcements", json=news).raise_for_status()
    organizer.post(f"/challenges/{SLUG}/announcements", json={"title": "Training data was added"}).raise_for_status()


def _register(people: dict[str, Caller], names: dict[str, str]) -> None:
    organizer, path = people["organizer"], f"/challenges/{SLUG}/registrations"
    answers = {"terms": 1, "fields": {"affiliation": "University of Somewhere"}}
    decisions = {"captain": "approved", "rival": "approved", "late": "approved", "barred": "barred", "pending": None}
    teams = {"captain": "Blue", "rival": "Green", "late": "Orange", "barred": "Mirror", "pending": "Purple"}
    for role, status in decisions.items():
        made = people[role].post(path, json={"team": teams[role], **answers}).raise_for_status().json()
        names[f"registration_{role}"] = made["id"]
        if status is not None:
            decision = {"status": status}
            if status == "barred":
                decision["reason"] = "Takes part with two accounts."
            organizer.patch(f"{path}/{made['id']}", json=decision).raise_for_status()
        if role == "captain":
            names["team_blue"] = made["team"]["id"]
    invited = people["captain"].post(f"/challenges/{SLUG}/teams/{names['team_blue']}/invitations", json={})
    body = {"invitation": invited.raise_for_status().json()["code"], **answers}
    made = people["member"].post(path, json=body).raise_for_status().json()
    if made["status"] == "pending":
        organizer.patch(f"{path}/{made['id']}", json={"status": "approved"}).raise_for_status()
    people["captain"].post(f"/challenges/{SLUG}/teams/{names['team_blue']}/invitations", json={}).raise_for_status()


def _develop(people: dict[str, Caller], names: dict[str, str]) -> None:
    """Development: ties, a disqualified, a withdrawn, a rejected and a late file."""
    for role, wrong in {"captain": 4, "rival": 4, "late": 9}.items():
        for every in (wrong, wrong + 1):
            method = {"captain": "Formants", "rival": "Wavelets", "late": "Nearest neighbours"}[role]
            sent = people[role].submit(
                SLUG, predictions(DEVELOPMENT, 60, every), phase=DEVELOPMENT, method=method, description="Two layers."
            )
            names[f"{role}_development"] = require_finished(sent)["id"]
    organizer = people["organizer"]
    reason = {"reason": "Labelled by hand."}
    organizer.post(f"/submissions/{names['late_development']}/disqualify", json=reason).raise_for_status()
    sent = people["captain"].post(
        f"/challenges/{SLUG}/phases/{DEVELOPMENT}/submissions",
        content=BROKEN.replace("\nt", "\nd"),
        params={"method": "A first try"},
        headers={"Content-Type": "text/csv", "Prefer": "wait=60"},
    )
    names["rejected"] = sent.json()["id"]
    grant = {"team": "Blue", "per_day": 1, "reason": "An outage of ours took one submission."}
    organizer.post(f"/challenges/{SLUG}/phases/{DEVELOPMENT}/quota/grants", json=grant).raise_for_status()
    change = {"closes_at": _ago(-0.00002)}
    organizer.patch(f"/challenges/{SLUG}/phases/{DEVELOPMENT}", json=change).raise_for_status()
    sent = people["rival"].submit(SLUG, predictions(DEVELOPMENT, 60, 20), phase=DEVELOPMENT, method="Late ensemble")
    names["unofficial"] = require_finished(sent)["id"]


def _test(people: dict[str, Caller], names: dict[str, str]) -> None:
    """The test phase: one entry is selected, one withdrawn, one a test entry of the organizers."""
    for role, wrong in {"captain": 5, "rival": 7, "late": 3}.items():
        sent = people[role].submit(SLUG, predictions(TEST, 90, wrong), phase=TEST, method="Ensemble")
        names[f"{role}_test"] = require_finished(sent)["id"]
    people["captain"].post(f"/submissions/{names['captain_test']}/select", json={}).raise_for_status()
    people["rival"].post(f"/submissions/{names['rival_test']}/select", json={}).raise_for_status()
    people["late"].post(f"/submissions/{names['late_test']}/withdraw", json={}).raise_for_status()
    sent = people["organizer"].submit(SLUG, predictions(TEST, 90, 2), phase=TEST, test="true", method="A check")
    names["test_entry"] = require_finished(sent)["id"]
    _correct(people["organizer"])


def _correct(organizer: Caller) -> None:
    """A draft in which an instance has another label and one is left out: a correction of the gold."""
    first, *others, _ = gold(TEST, 90)
    other = next(row["label"] for row in others if row["label"] != first["label"])
    path = f"/challenges/{SLUG}/phases/{TEST}/gold"
    organizer.post(path, json=[{**first, "label": other}, *others]).raise_for_status()
