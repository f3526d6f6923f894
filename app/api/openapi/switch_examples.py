"""Examples of board switches and recipe versions for the API description."""

from app.api.openapi.examples import JSON, RECIPE, TIMESTAMP
from app.scoring import SCORER_VERSION

SWITCH: JSON = {
    "number": 2,
    "phase": "main",
    "status": "done",
    "from": {"gold": 1, "recipe": 1, "scorer_version": SCORER_VERSION},
    "to": {"gold": 2, "recipe": 1, "scorer_version": SCORER_VERSION},
    "reason": "Two labels were wrong, as the authors confirmed.",
    "requested_by": "Olga",
    "requested_at": TIMESTAMP,
    "confirmed_at": None,
    "switched_at": TIMESTAMP,
    "cancelled_at": None,
    "lists_instances": False,
    "progress": None,
    "eta": None,
    "blocked_by": [],
}
PENDING_SWITCH: JSON = SWITCH | {
    "status": "pending",
    "switched_at": None,
    "progress": {"total": 1000, "scored": 640, "failed": 0},
    "eta": 12.5,
}
RECIPE_VERSION: JSON = RECIPE | {"version": 2, "status": "activating", "switches": [{"phase": "main", "number": 3}]}
