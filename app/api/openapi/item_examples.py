"""Examples of item analyses for the API description."""

from app.api.openapi.examples import JSON, SUBMISSION_ID, named_examples

_TEAM = {"id": "019a3c5e7b1f7d04a2c98e6f50b1d327", "name": "Blue"}
_OTHER = {"id": "019a3c5e7b1f7d04a2c98e6f50b1d328", "name": "Green"}
_SYSTEMS: list[JSON] = [
    {"submission": SUBMISSION_ID, "team": _TEAM, "baseline": False, "rank": 1},
    {"submission": "019a3c5e7b1f7d04a2c98e6f50b1d399", "team": _OTHER, "baseline": False, "rank": 2},
]
_HEAD: JSON = {
    "challenge": "pets",
    "phase": "main",
    "split": "all",
    "submissions": "board",
    "gold_version": 1,
    "recipe_version": 1,
    "scorer_version": 1,
    "systems": _SYSTEMS,
    "left_out": 0,
}
ITEMS: JSON = _HEAD | {
    "instances": 4,
    "counts": {"all": 4, "suspect": 1, "none_right": 1, "all_right": 2, "negative": 0},
    "selected": 1,
    "labels": None,
    "meanings": {"right_share": "The share of systems that are right: the difficulty index of classical test theory."},
    "items": [
        {
            "id": "t2",
            "gold": ["cat"],
            "right": 0,
            "systems": 2,
            "right_share": 0.0,
            "suspicion": 1.0,
            "discrimination": None,
            "total_correlation": None,
            "agreement": 1.0,
            "error_agreement": 1.0,
            "answers": [{"labels": ["dog"], "votes": 2, "right": False}],
            "more_answers": 0,
            "label_right_share": None,
        }
    ],
    "next": None,
}
AGREEMENT: JSON = _HEAD | {
    "instances": 4,
    "fleiss_kappa": 0.5,
    "wrong": [1, 2],
    "pairs": [
        {
            "a": 0,
            "b": 1,
            "agreement": 0.75,
            "kappa": 0.5,
            "error_overlap": 0.5,
            "both_wrong": 1,
            "same_wrong": 1,
        }
    ],
}
NEAR_DUPLICATES: JSON = _HEAD | {
    "instances": 1000,
    "compared": 1,
    "reported": 1,
    "thresholds": {"overlap": 0.8, "deviations": 5.0, "errors": 10},
    "meaning": "A reported pair is a reason to ask, not a proof.",
    "pairs": [
        {
            "a": 0,
            "b": 1,
            "reported": True,
            "identical": False,
            "agreement": 0.998,
            "either_wrong": 51,
            "both_wrong": 49,
            "same_wrong": 49,
            "overlap": 0.9607843137254902,
            "expected": 4.2,
            "deviations": 22.8,
        }
    ],
    "left_out_pairs": 0,
}
_RANKS = {"before": 2, "after": 1}
RELABELLING: JSON = _HEAD | {
    "changes": {"relabelled": 1, "voided": 0, "unchanged": 0},
    "instances": {"before": 4, "after": 4},
    "ranked_by": ["accuracy"],
    "metrics": ["accuracy"],
    "moved": 2,
    "rows": [
        {"system": 1, "rank": _RANKS, "move": 1, "values": {"accuracy": {"before": 0.5, "after": 0.75}}},
        {
            "system": 0,
            "rank": {"before": 1, "after": 2},
            "move": -1,
            "values": {"accuracy": {"before": 0.75, "after": 0.5}},
        },
    ],
    "meaning": "The entry of each team that counts now stays the one that counts.",
}
CHANGES: list[JSON] = [{"id": "t2", "label": "dog"}, {"id": "t3", "label": None}]
CHANGE_BODIES = [{"changes": CHANGES, "split": None, "submissions": "board"}]
CORRECTED_GOLD = {
    "application/x-ndjson": named_examples(
        gold='{"id": "t1", "label": "cat"}\n{"id": "t2", "label": "dog"}\n',
        changes='{"id": "t2", "old": ["cat"], "new": ["dog"]}\n',
    ),
    "text/csv": named_examples(changes="id,old,new,void\r\nt2,cat,dog,false\r\n"),
}
ITEMS_CSV = {"application/json": named_examples(items=ITEMS)} | {
    "text/csv": named_examples(items="id,gold,right,systems,right_share\r\nt2,cat,0,2,0.0\r\n")
}
