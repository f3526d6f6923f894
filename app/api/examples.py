"""One example of each reply, as the documentation shows it: a challenge about pets, its gold, one submission."""

from typing import Any

JSON = dict[str, Any]

AT = "2027-01-31T12:00:00Z"
SUBMISSION_ID = "01a1fbb9e19f7363aa2acd3d856536cf"
TEAM: JSON = {"id": "01a1fbb9e18a7212ae9d3c379d612133", "name": "Blue"}

USER: JSON = {
    "id": "01a1fbb9e0e472e8bb4827798eb0eace",
    "email": "ada@example.org",
    "name": "Ada",
    "admin": False,
    "approved": False,
    "created_at": AT,
}
TOKEN: JSON = {
    "id": "01a1fbb9e166769a847b420d51b59782",
    "scopes": ["read", "submit"],
    "created_at": AT,
    "expires_at": "2027-05-01T12:00:00Z",
}
RECIPE: JSON = {
    "version": 1,
    "status": "active",
    "primary": "f1_macro",
    "metrics": ["f1_macro", "accuracy"],
    "tie_breakers": [],
    "options": {},
    "selection": "best",
    "decision": None,
    "disclosure": {"digits": 6},
}
PHASE: JSON = {
    "slug": "main",
    "name": "main",
    "opens_at": AT,
    "closes_at": None,
    "open": True,
    "quota": {"per_day": 10, "total": None, "concurrent": None, "invalid_per_day": None},
    "leaderboard": "public",
    "reports": ["scores"],
    "anonymous": False,
    "classes": ["cat", "dog"],
}
CHALLENGE_ROW: JSON = {
    "slug": "pets",
    "title": "Cats and dogs",
    "task": "multiclass",
    "status": "published",
    "visibility": "public",
    "registration": "open",
    "created_at": AT,
}
CHALLENGE: JSON = CHALLENGE_ROW | {
    "description": "Which animal is it?",
    "positive_label": None,
    "classes": ["cat", "dog"],
    "timezone": "UTC",
    "recipe": RECIPE,
    "phases": [PHASE],
    "warnings": [],
}
GOLD: JSON = {
    "version": 1,
    "status": "active",
    "instances": 4,
    "classes": ["cat", "dog"],
    "has_splits": False,
    "sha256": "46aca1852af4a8d03c03b8affcd55cf63803d5bec9e444b7a70eb0079103008a",
    "size": 105,
    "format": "json",
    "train_frequencies": None,
    "class_weights": None,
    "notes": [],
    "created_at": AT,
    "activated_at": AT,
    "remarks": [],
}
REGISTRATION: JSON = {
    "id": "01a1fbb9e18b76928650f5e551830ffc",
    "status": "approved",
    "reason": None,
    "team": TEAM | {"created_at": AT},
    "user": {"name": "Ada", "email": "ada@example.org"},
    "created_at": AT,
}
SCORES: JSON = {"f1_macro": {"value": 0.733333}, "accuracy": {"value": 0.75}}
SUBMISSION: JSON = {
    "id": SUBMISSION_ID,
    "status": "finished",
    "challenge": "pets",
    "phase": "main",
    "team": TEAM,
    "method": "guess",
    "description": "",
    "link": None,
    "baseline": False,
    "selected": False,
    "sha256": "7510a09df5e9661f4c3921e1ed0c7dff031edd7d32232124e4d6517431256511",
    "size": 45,
    "split": "all",
    "gold_version": 1,
    "recipe_version": 1,
    "scores": SCORES,
    "splits": None,
    "problems": [],
    "total": {},
    "notes": [],
    "failure": None,
    "attempt": 1,
    "queue_position": None,
    "timings": {
        "submitted_at": AT,
        "started_at": "2027-01-31T12:00:00.020000Z",
        "finished_at": "2027-01-31T12:00:00.050000Z",
        "seconds_queued": 0.02,
        "seconds_scoring": 0.03,
    },
}
DRY_RUN: JSON = {
    "valid": False,
    "total": {"unknown_label": 1},
    "problems": [
        {
            "code": "unknown_label",
            "message": '"cow" is not in the vocabulary (labels are compared exactly). Use one of its labels.',
            "pointer": "/predictions/0/label",
            "instance_id": "t1",
            "expected": '"cat", "dog"',
            "got": '"cow"',
        }
    ],
    "notes": [],
}
QUOTA: JSON = {
    "limits": {"per_day": 10, "total": None, "concurrent": None, "invalid_per_day": None},
    "used": {"per_day": 1, "total": 1, "concurrent": 0, "invalid_per_day": 0},
    "remaining": {"per_day": 9, "total": None, "concurrent": None, "invalid_per_day": None},
    "reset_at": "2027-02-01T00:00:00Z",
    "ledger": [
        {
            "submission_id": SUBMISSION_ID,
            "kind": "charge",
            "day": "2027-01-31",
            "reason": "finished",
            "created_at": AT,
        }
    ],
}
BOARD: JSON = {
    "challenge": "pets",
    "phase": "main",
    "split": "all",
    "primary": "f1_macro",
    "direction": "higher",
    "gold_version": 1,
    "recipe_version": 1,
    "scorer_version": 1,
    "as_of": AT,
    "metrics": [
        {
            "key": "f1_macro",
            "name": "macro F1",
            "equation": {
                "latex": r"\frac{1}{m}\sum_{j=1}^{m} \frac{2\,\mathrm{TP}_{j}}{2\,\mathrm{TP}_{j}+\mathrm{FP}_{j}+\mathrm{FN}_{j}}",
                "mathml": "<math>…</math>",
            },
            "direction": "higher",
            "options": {"zero_division": "worst", "label_set": "declared"},
        }
    ],
    "rows": [
        {
            "rank": 1,
            "rank_low": 1,
            "rank_high": 1,
            "tie_group": 1,
            "team": TEAM,
            "submission": SUBMISSION_ID,
            "method": "guess",
            "submitted_at": AT,
            "entries": 1,
            "baseline": False,
            "scores": SCORES,
        }
    ],
}
