"""The example of what scores give away, in the API description."""

from typing import Any

INFERENCE: dict[str, Any] = {
    "phase": "main",
    "split": "all",
    "instances": 4,
    "classes": 2,
    "labels": 4,
    "labels_at_most": 4,
    "labels_without_ladder": None,
    "submissions": None,
    "digits": 6,
    "metrics": [
        {"key": "f1_macro", "granularity": "class_tables", "bits": 3.78, "ranked_bits": 3.78},
        {"key": "accuracy", "granularity": "right", "bits": 2.59, "ranked_bits": 2.59},
    ],
    "reports": {"intervals": 4.0, "significance": 4.0},
    "bits_per_submission": 4.0,
    "bits_after_close": 0.0,
    "bits_at_most": 4.0,
    "teams_counted": 100,
    "teams_limited": False,
    "statement": "One submission reveals at most 4 bits about the gold to a team (f1_macro 3.8, accuracy 2.6, at full precision, because the board ranks by it whatever digits it shows; the report intervals 4; the report significance 4). The number of submissions is unlimited, so a team can learn all 4 labels, each of 1 bit. Each further team can learn as much again, and every account may found one. This is an upper bound on the information, averaged over equally likely labellings; it does not describe an attack.",
    "lowered_by": [
        "a total quota, or a daily quota and a close after which nothing is taken (late: refuse)",
        "no intervals or significance report for participants",
        "a board that is shown only after the close, or never, because a board ranks at full precision",
        "a Ladder, which tells a team only of improvements by more than a step",
        "fewer metrics",
        "registration by approval or invitation",
        "a private split, which reveals nothing before the final release",
    ],
}
