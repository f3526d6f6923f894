"""What strains a layout: a board of many teams with long and foreign names, and a matrix of a thousand classes."""

from tests.live_service import Caller, open_challenge

TEAMS = 20  # all pairs are compared: those of three times as many take nine times as long
INSTANCES = 2_040  # a small sample would need thousands of exact tests
CLASSES = 1000
STRANGE_NAMES = (
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikantenvereinigung",
    "مختبر الصوت",
    "音響研究所",
    "ΑΒΓ " + "δ" * 90,
    "<b>Bold & Sons</b>",
    "Laboratoire d’analyse et d’architecture des systèmes complexes du Sud-Ouest",
)
DESCRIPTION = """\
# A heading in a description

A very long word: Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz and an address,
https://example.org/a/path/that/is/longer/than/any/telephone/is/wide/and/has/no/place/where/it/could/break

| one | two | three | four | five | six | seven | eight |
| --- | --- | --- | --- | --- | --- | --- | --- |
| 1.0000001 | 2.0000002 | 3.0000003 | 4.0000004 | 5.0000005 | 6.0000006 | 7.0000007 | 8.0000008 |

```python
print("a line of code that is wider than a narrow window, and that nobody wants to see broken in the middle")
```

> A quotation. <script>alert("not run")</script> [A link](javascript:alert(1))
"""


def fill(organizer: Caller, names: dict[str, str]) -> None:
    """Two challenges of one organizer."""
    _many_teams(organizer)
    names |= {"crowded": "crowded", "thousand_submission": _thousand_classes(organizer)}


def _many_teams(organizer: Caller) -> None:
    gold = [{"id": f"q{number}", "label": "ja" if number % 2 else "nein"} for number in range(INSTANCES)]
    metrics = ["f1_macro", "accuracy", "balanced_accuracy", "mcc", "cohen_kappa"]
    recipe = {"primary": "f1_macro", "metrics": metrics}
    open_challenge(organizer, "crowded", gold, title=STRANGE_NAMES[-1], description=DESCRIPTION, recipe=recipe)
    teams = [*STRANGE_NAMES, *(f"Team {number}" for number in range(len(STRANGE_NAMES), TEAMS))]
    other = {"ja": "nein", "nein": "ja"}
    for place, team in enumerate(teams):
        wrong = place // 2 * INSTANCES // TEAMS
        sent = {row["id"]: row["label"] if at >= wrong else other[row["label"]] for at, row in enumerate(gold)}
        organizer.submit("crowded", sent, team=team, method=team * 2, wait=0).raise_for_status()


def _thousand_classes(organizer: Caller) -> str:
    """A matrix with a strong diagonal and confusions near it; gives the id of the submission."""
    labels = [f"class {number:04}" for number in range(CLASSES)]
    gold = [{"id": f"i{at}", "label": labels[at % CLASSES]} for at in range(3 * CLASSES)]
    phases = [{"name": "main", "reports": ["scores", "per_class", "confusion"]}]
    open_challenge(organizer, "thousand", gold, title="A thousand classes", phases=phases)
    sent = {row["id"]: labels[(at + at % 7 * (at % 3 == 0)) % CLASSES] for at, row in enumerate(gold)}
    answer = organizer.submit("thousand", sent, team="Near", method="Neighbouring classes")
    return str(answer.raise_for_status().json()["id"])
