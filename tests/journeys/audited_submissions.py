"""The audited acts on submissions, and those that end a challenge: the last rows of the story."""

from tests.journeys.audited_act import Act
from tests.journeys.audited_objects import (
    CHALLENGE,
    EMPTY_CHALLENGE,
    PHASE,
    REGISTRATIONS,
    SUBMISSION,
    WHY,
)
from tests.journeys.support import CORRECT_PREDICTIONS

SUBMISSIONS = (
    # what teams send stands in the list of submissions
    Act("ada", "POST", PHASE + "/submissions", body=CORRECT_PREDICTIONS, keep={"sent": "id"}),
    Act(
        *("olga", "POST", PHASE + "/submissions", ("team.found", "submission.create")),
        body=CORRECT_PREDICTIONS,
        query={"team": "Bench"},
        keep={"waiting": "id"},
    ),
    Act(
        *("olga", "POST", CHALLENGE + "/submissions", ("submission.create",)),
        body=CORRECT_PREDICTIONS,
        query={"test": "true"},
        changes={"test": (None, True)},
        keep={"tried": "id"},
    ),
    Act("olga", "DELETE", "/submissions/{tried}", ("submission.delete",)),
    Act("olga", "GET", SUBMISSION + "/predictions", ("submission.download",)),
    Act("ada", "GET", SUBMISSION + "/predictions"),  # one's own file
    Act(
        *("viewer", "GET", CHALLENGE + "/export", ("submission.export",)),
        query={"phase": "main"},
        role="viewer",
        changes={"phases": (None, ["main"])},
    ),
    Act(
        "ada",
        "POST",
        SUBMISSION + "/select",
        ("submission.select",),
        role="captain",
        changes={"selected": (False, True)},
    ),
    Act("ada", "POST", SUBMISSION + "/unselect", ("submission.unselect",), role="captain"),
    Act("olga", "POST", SUBMISSION + "/select", ("submission.select",), body=WHY, reason=WHY["reason"]),
    # whoever reads items, or asks what if, learns labels of the gold
    Act("viewer", "GET", PHASE + "/items", ("gold.read_items",), role="viewer", changes={"gold": (None, 1)}),
    Act(
        *("olga", "POST", PHASE + "/items/relabelling", ("gold.try_relabelling",)),
        body={"changes": [{"id": "t1", "label": "b"}]} | WHY,
        reason=WHY["reason"],
    ),
    Act(
        *("olga", "POST", PHASE + "/items/corrected-gold", ("gold.download",)),
        body={"changes": [{"id": "t1", "label": "b"}]} | WHY,
        reason=WHY["reason"],
    ),
    Act(
        "ada",
        "POST",
        SUBMISSION + "/withdraw",
        ("submission.withdraw",),
        body=WHY,
        role="captain",
        reason=WHY["reason"],
    ),
    Act("olga", "POST", SUBMISSION + "/reinstate", ("submission.reinstate",), body={}),
    Act("olga", "POST", SUBMISSION + "/disqualify", ("submission.disqualify",), body=WHY, reason=WHY["reason"]),
    Act("olga", "POST", SUBMISSION + "/rerun", ("submission.rerun",)),
    Act(
        *("olga", "POST", "/submissions/{waiting}/cancel", ("submission.cancel",)),
        changes={"status": ("queued", "cancelled")},
        before="let it wait",
    ),
    Act("olga", "POST", PHASE + "/rerun", ("phase.rerun",)),
    Act("olga", "DELETE", PHASE + "/rerun", ("phase.cancel_rerun",), before="let the rerun last"),
    Act(
        *("olga", "POST", PHASE + "/switches/1/confirm", ("switch.confirm",)),
        before="let the switch last",
        body=WHY,
        reason=WHY["reason"],
    ),
    Act("olga", "POST", PHASE + "/switches/1/cancel", ("switch.cancel",), body=WHY, reason=WHY["reason"]),
    Act("olga", "PATCH", PHASE, ("phase.edit",), body={"closes_at": "{now}", "reports": ["scores"]}),
    Act("olga", "POST", PHASE + "/release", ("phase.release",), body=WHY, reason=WHY["reason"]),
    Act(
        *("olga", "POST", PHASE + "/frozen-boards", ("phase.freeze_board",)),
        body=WHY | {"title": "Final"},
        reason=WHY["reason"],
    ),
)
ENDS = (
    Act(
        "ada",
        "DELETE",
        REGISTRATIONS + "/{registration}",
        ("team.leave", "team.captain", "registration.end"),
        role="captain",
    ),
    Act(
        *("olga", "PATCH", REGISTRATIONS + "/{registration}", ("registration.may_join",)),
        body={"may_join": True},
        changes={"bound_team": ("{blue}", None)},
    ),
    Act(
        *("olga", "DELETE", CHALLENGE + "/organizers", ("organizer.remove",)),
        query={"email": "{olga}"} | WHY,
        reason=WHY["reason"],
        changes={"role": ("owner", None)},
    ),
    Act("admin", "POST", "/challenges", ("challenge.create", "phase.create"), body=EMPTY_CHALLENGE),
    Act("admin", "DELETE", "/challenges/{gone}", ("challenge.delete",), changes={"title": ("Gone", None)}),
)
