"""Examples of previews and errata for the API description."""

from app.api.openapi.examples import JSON, TIMESTAMP
from app.api.openapi.switch_examples import SWITCH

ROWS: JSON = {
    "primary": {"before": "f1_macro", "after": "f1_macro"},
    "counts": {
        "ranked_before": 2,
        "ranked_after": 2,
        "moved": 2,
        "largest_move": 1,
        "entered": 0,
        "left": 0,
        "other_submission": 0,
    },
    "leaders": {
        "before": [{"id": "01937b0c1f2e7a3b8c4d5e6f70819203", "name": "Blue"}],
        "after": [{"id": "01937b0c1f2e7a3b8c4d5e6f70819204", "name": "Green"}],
        "changed": True,
    },
    "rows": [
        {
            "team": {"id": "01937b0c1f2e7a3b8c4d5e6f70819204", "name": "Green"},
            "baseline": False,
            "mark": None,
            "change": "up",
            "move": 1,
            "before": {
                "submission": "01937b0c1f2e7a3b8c4d5e6f7081920a",
                "rank": 2,
                "tied": 1,
                "scores": {"f1_macro": {"value": 0.71}},
            },
            "after": {
                "submission": "01937b0c1f2e7a3b8c4d5e6f7081920a",
                "rank": 1,
                "tied": 1,
                "scores": {"f1_macro": {"value": 0.74}},
            },
        }
    ],
}
GOLD_CHANGES: JSON = {
    "counts": {"relabelled": 2, "reweighted": 0, "voided": 1, "restored": 0, "moved": 0},
    "before": {"all": [500, 500]},
    "after": {"all": [501, 498]},
    "metadata": [],
}
PREVIEW: JSON = {
    "challenge": "pets",
    "phase": "main",
    "status": "done",
    "from": SWITCH["from"],
    "to": SWITCH["to"],
    "requested_at": TIMESTAMP,
    "finished_at": TIMESTAMP,
    "progress": {"total": 1000, "scored": 1000, "failed": 0},
    "eta": None,
    "outdated": False,
    "remedy": None,
    "failure": None,
    "gold_changes": GOLD_CHANGES,
    "result": {"splits": {"all": ROWS}, "ladder": None, "unscored": [], "empty_predictions": []},
}
RECIPE_PREVIEW: JSON = {"status": "done", "phases": [PREVIEW | {"gold_changes": None}]}
ERRATUM: JSON = {
    "phase": "main",
    "number": 2,
    "switched_at": TIMESTAMP,
    "reason": SWITCH["reason"],
    "from": SWITCH["from"],
    "to": SWITCH["to"],
    "gold_changes": GOLD_CHANGES | {"before": None, "after": None},
    "lists_instances": False,
    "instances": None,
    "recipe_changes": None,
    "ladder": False,
    "boards": {"all": ROWS},
    "withheld": None,
    "unscored": [],
}
