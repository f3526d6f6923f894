"""The acts as a table: every route that changes something, who uses it, and what the audit trail says then.

The rows are one story, told from top to bottom. A route that is recorded nowhere has a row with no action that says so.
Requests to routes with a parameter `reason` get one without a word in the row.
"""

from tests.journeys.audited_act import Act
from tests.journeys.audited_objects import (
    ADMINISTRATOR,
    ARCHIVE,
    CHALLENGE,
    DRAFT,
    EXTRA,
    MERGE,
    NEW_CHALLENGE,
    OTHER_RECIPE,
    PARTITION,
    PHASE,
    RECIPE,
    REGISTRATIONS,
    SETS_CHALLENGE,
    SETS_PHASE,
    SPLITS,
    SUBMISSION,
    TEAM,
    WHY,
)
from tests.journeys.audited_submissions import ENDS, SUBMISSIONS
from tests.live_service import PASSWORD

ACCOUNTS = (
    Act(
        *("admin", "POST", "/users", ("user.create",)),
        body={"email": "new@example.org", "name": "New", "password": PASSWORD, "approved": True},
        role=ADMINISTRATOR,
        changes={"approved": (None, True), "admin": (None, False)},
        keep={"new": "id"},
    ),
    # one's own account: nothing that others have to know, except that it is gone
    Act(
        *("nobody", "POST", "/users"),
        body={"email": "own@example.org", "name": "Own", "password": PASSWORD},
    ),
    Act(
        *("nobody", "POST", "/tokens"),
        body={"email": "new@example.org", "password": PASSWORD},
        keep={"token_id": "id"},
    ),
    Act("dan", "PATCH", "/me", body={"name": "Daniel"}),
    Act("dan", "POST", "/me/password", body={"current": PASSWORD, "new": f"{PASSWORD}, new"}),
    Act("eve", "DELETE", "/me", ("user.delete",), body={"password": PASSWORD}, role="user"),
    # administrators
    Act(
        *("admin", "POST", "/imports", ("import.request",)),
        body=ARCHIVE,
        role=ADMINISTRATOR,
        changes={"slug": (None, "digits")},
    ),
    Act("admin", "DELETE", "/tokens/{token_id}", ("token.revoke",), role=ADMINISTRATOR),
    Act(
        *("admin", "PATCH", "/users/{new}", ("user.approve",)),
        body={"approved": False},
        role=ADMINISTRATOR,
        changes={"approved": (True, False)},
    ),
    Act("admin", "PATCH", "/users/{new}", body={"approved": False}),  # changes nothing
    Act(
        *("admin", "PATCH", "/users/{new}", ("user.disable",)),
        body={"disabled": True} | WHY,
        role=ADMINISTRATOR,
        reason=WHY["reason"],
        changes={"disabled": (False, True)},
    ),
    Act("admin", "PATCH", "/users/{new}", ("user.enable",), body={"disabled": False}, role=ADMINISTRATOR),
    Act(
        *("admin", "POST", "/users/{new}/reset", ("user.reset",)),
        body=WHY,
        role=ADMINISTRATOR,
        reason=WHY["reason"],
        keep={"link": "link"},
    ),
    Act(
        *("new", "POST", "/password-resets", ("user.spend_reset",)),
        body={"secret": "{secret}", "password": f"{PASSWORD}, other"},
        role="user",
    ),
    Act(
        *("admin", "DELETE", "/users/{new}", ("user.delete",)),
        query=WHY,
        role=ADMINISTRATOR,
        reason=WHY["reason"],
    ),
    Act(
        *("admin", "POST", "/invitations", ("invitation.create",)),
        body={"note": "for Zoe Zander"},
        role=ADMINISTRATOR,
        keep={"invitation": "id", "site_code": "code"},
    ),
    Act("admin", "DELETE", "/invitations/{invitation}", ("invitation.revoke",), role=ADMINISTRATOR),
)
CHALLENGES = (
    Act(
        *("admin", "POST", "/challenges", ("challenge.create", "phase.create")),
        body=NEW_CHALLENGE,
        changes={"title": (None, "First"), "status": (None, "draft")},
    ),
    Act(
        *("admin", "POST", CHALLENGE + "/organizers", ("organizer.set_role",)),
        body={"email": "{olga}", "role": "owner"},
        changes={"role": (None, "owner")},
    ),
    Act("olga", "POST", CHALLENGE + "/recipe/check", body=RECIPE),
    Act(
        *("olga", "POST", CHALLENGE + "/organizers", ("organizer.set_role",)),
        body={"email": "{viewer}", "role": "viewer"} | WHY,
        reason=WHY["reason"],
        changes={"role": (None, "viewer")},
    ),
    Act(
        *("olga", "PATCH", CHALLENGE, ("challenge.set_terms", "challenge.edit")),
        body={"title": "Second", "draft": False, "terms": "Be fair."},
        changes={"terms_version": (0, 1)},
    ),
    Act(
        "olga", "PATCH", CHALLENGE, ("challenge.edit",), body={"title": "Third"}, changes={"title": ("Second", "Third")}
    ),
    Act("olga", "PATCH", CHALLENGE, body={"title": "Third"}),  # changes nothing
    Act("olga", "PATCH", CHALLENGE, ("challenge.set_terms",), body={"terms": None}, changes={"terms_version": (1, 0)}),
    Act("olga", "PUT", CHALLENGE + "/recipe", ("recipe.change",), body=OTHER_RECIPE),
    Act("olga", "PUT", CHALLENGE + "/recipe", ("recipe.change",), body=RECIPE, query={"phase": "main"}),
    Act("olga", "DELETE", CHALLENGE + "/recipe", ("recipe.change",), query={"phase": "main"}),
    Act(
        *("olga", "POST", CHALLENGE + "/recipe/1/activate", ("recipe.activate",)),
        body=WHY,
        reason=WHY["reason"],
        changes={"recipe_version": (2, 1)},
    ),
    Act("olga", "POST", CHALLENGE + "/recipe/2/activate", ("recipe.activate",), body={}),
    Act(
        "olga",
        "POST",
        CHALLENGE + "/phases",
        ("phase.create",),
        body={"name": "Extra"},
        changes={"name": (None, "Extra")},
    ),
    Act(
        *("olga", "PATCH", CHALLENGE, ("challenge.edit",)),
        body={"phase_order": ["extra", "main"]},
        changes={"phase_order": (["main", "extra"], ["extra", "main"])},
    ),
    Act("olga", "PATCH", EXTRA, ("phase.edit",), body={"anonymous": True}, changes={"anonymous": (False, True)}),
    Act("olga", "POST", EXTRA + "/pause", ("phase.pause",), body=WHY, reason=WHY["reason"]),
    Act("olga", "POST", EXTRA + "/resume", ("phase.resume",)),
    Act("olga", "PATCH", EXTRA, ("phase.rename",), body={"name": "Other"}, changes={"slug": ("extra", "other")}),
    Act("olga", "DELETE", CHALLENGE + "/phases/other", ("phase.delete",)),
)
LIFE = (
    Act(
        *("olga", "POST", CHALLENGE + "/announcements", ("announcement.post",)),
        body={"title": "Delay", "body": "By one day."},
        changes={"title": (None, "Delay"), "body": (None, "By one day.")},
        keep={"announcement": "id"},
    ),
    Act(
        *("olga", "PATCH", CHALLENGE + "/announcements/{announcement}", ("announcement.edit",)),
        body={"title": "Longer delay"},
        changes={"title": ("Delay", "Longer delay")},
    ),
    Act(
        *("olga", "DELETE", CHALLENGE + "/announcements/{announcement}", ("announcement.delete",)),
        changes={"title": ("Longer delay", None)},
    ),
    Act(
        *("olga", "POST", CHALLENGE + "/files", ("file.upload",)),
        body=[1, 2],
        query={"name": "train.json", "licence": "CC0-1.0"},
        changes={"licence": (None, "CC0-1.0"), "audience": (None, "public")},
    ),
    Act(
        *("olga", "PATCH", CHALLENGE + "/files/train.json", ("file.edit",)),
        body={"licence": "CC-BY-4.0"},
        changes={"licence": ("CC0-1.0", "CC-BY-4.0")},
    ),
    Act("olga", "DELETE", CHALLENGE + "/files/train.json", ("file.delete",)),
    Act(
        *("olga", "POST", CHALLENGE + "/archive", ("challenge.archive",)),
        body=WHY,
        reason=WHY["reason"],
    ),
    Act("olga", "POST", CHALLENGE + "/unarchive", ("challenge.unarchive",), body=WHY, reason=WHY["reason"]),
    Act(
        *("admin", "POST", CHALLENGE + "/copy", ("challenge.copy",)),
        body={"slug": "{gone}-copy", "gold": False},
        changes={"gold": (None, False)},
    ),
)
GOLD = (
    Act("olga", "POST", PHASE + "/gold", ("gold.upload",), body=SPLITS, changes={"gold": (None, 1)}),
    Act("olga", "PUT", DRAFT + "/classes", ("gold.metadata",), body=["a", "b"], changes={"kind": (None, "classes")}),
    Act("olga", "PUT", DRAFT + "/train-frequencies", ("gold.metadata",), body={"a": 1, "b": 2}),
    Act("olga", "PUT", DRAFT + "/class-weights", ("gold.metadata",), body={"a": 1, "b": 2}),
    Act("olga", "PUT", DRAFT + "/cost-matrix", ("gold.metadata",), body={"a": {"b": 1}, "b": {"a": 1}}),
    Act("olga", "PUT", DRAFT + "/hierarchy", ("gold.metadata",), body={"parents": {"a": ["r"], "b": ["r"]}}),
    Act("olga", "PUT", DRAFT + "/folds", ("gold.metadata",), body=PARTITION),
    Act("olga", "PUT", DRAFT + "/groups", ("gold.metadata",), body=PARTITION),
    Act("admin", "POST", "/challenges", ("challenge.create", "phase.create"), body=SETS_CHALLENGE),
    Act("admin", "POST", SETS_PHASE + "/gold", ("gold.upload",), body=[{"id": "t1", "labels": ["a"]}]),
    Act("admin", "PUT", SETS_PHASE + "/gold/1/classes", ("gold.metadata",), body=["a", "b"]),
    Act("admin", "PUT", SETS_PHASE + "/gold/1/unknown-cells", ("gold.metadata",), body={"t1": ["b"]}),
    Act(
        *("olga", "POST", DRAFT + "/activate", ("gold.activate",)),
        body=WHY,
        reason=WHY["reason"],
        changes={"active_gold": (None, 1)},
    ),
    Act("viewer", "GET", DRAFT + "/data", ("gold.download",), role="viewer", changes={"gold": (None, 1)}),
    Act("viewer", "GET", DRAFT + "/opening", ("gold.open",), role="viewer", changes={"gold": (None, 1)}),
    Act("olga", "POST", PHASE + "/gold", ("gold.upload",), body=SPLITS),
    Act(
        "olga", "PATCH", PHASE + "/switches/1", ("switch.edit",), {"lists_instances": True} | WHY, reason=WHY["reason"]
    ),
    Act("olga", "POST", PHASE + "/gold/2/preview"),
    Act(
        "olga", "PUT", CHALLENGE + "/recipe", ("recipe.draft",), RECIPE, {"draft": "true"}, keep={"drafted": "version"}
    ),
    Act("olga", "POST", CHALLENGE + "/recipe/{drafted}/preview"),
    Act("olga", "DELETE", PHASE + "/gold/2", ("gold.delete",), changes={"gold": (2, None)}),
)
TEAMS = (
    Act(
        *("olga", "POST", CHALLENGE + "/invitations", ("invitation.create",)),
        body={},
        keep={"invitation": "id", "challenge_code": "code"},
    ),
    Act("olga", "DELETE", CHALLENGE + "/invitations/{invitation}", ("invitation.revoke",)),
    Act(
        *("ada", "POST", REGISTRATIONS, ("registration.create", "team.found")),
        body={"team": "Blue"},
        role="member",
        changes={"status": (None, "approved")},
        keep={"blue": "team.id", "registration": "id"},
    ),
    Act(
        *("cleo", "POST", REGISTRATIONS, ("registration.create", "team.found")),
        body={"team": "Green"},
        role="member",
        keep={"green": "team.id", "barred": "id"},
    ),
    Act(
        "ada",
        "PATCH",
        TEAM,
        ("team.rename",),
        body={"name": "Azure"},
        role="captain",
        changes={"name": ("Blue", "Azure")},
    ),
    Act("ada", "POST", TEAM + "/invitations", ("team.invite",), body={}, role="captain", keep={"invitation": "id"}),
    Act("ada", "DELETE", TEAM + "/invitations/{invitation}", ("team.revoke_invitation",), role="captain"),
    Act("ada", "POST", TEAM + "/invitations", ("team.invite",), body={}, role="captain", keep={"team_code": "code"}),
    Act(
        *("bob", "POST", REGISTRATIONS, ("registration.create", "team.join")),
        body={"invitation": "{team_code}"},
        role="member",
        keep={"bobs": "id"},
    ),
    Act(
        *("ada", "PATCH", TEAM, ("team.captain",)),
        body={"captain": "{bob_id}"},
        role="captain",
        changes={"captain": ("{ada_id}", "{bob_id}")},
    ),
    Act("bob", "PATCH", TEAM, ("team.captain",), body={"captain": "{ada_id}"}, role="captain"),
    Act("ada", "POST", MERGE, ("team.propose_merge",), body={"with": "Green"}, role="captain"),
    Act("ada", "DELETE", MERGE, ("team.withdraw_merge",), query={"with": "Green"}, role="captain"),
    Act(
        *("ada", "DELETE", TEAM + "/members/{bob_id}", ("team.remove",)),
        role="captain",
        changes={"member": ("{bob_id}", None)},
    ),
    Act("olga", "POST", TEAM + "/disqualify", ("team.disqualify",), body=WHY, reason=WHY["reason"]),
    Act("olga", "POST", TEAM + "/reinstate", ("team.reinstate",), body={}),
    Act(
        *("olga", "PATCH", REGISTRATIONS + "/{barred}", ("registration.bar",)),
        body={"status": "barred"} | WHY,
        reason=WHY["reason"],
        changes={"status": ("approved", "barred")},
    ),
    Act(
        *("olga", "POST", PHASE + "/quota/grants", ("quota.grant",)),
        body={"team": "Azure", "total": 2} | WHY,
        reason=WHY["reason"],
        changes={"total": (5, 7)},
    ),
)

WITHOUT_REASON = {
    ("DELETE", "/me"),
    ("POST", "/password-resets"),
    ("POST", REGISTRATIONS),
    ("DELETE", REGISTRATIONS + "/{registration}"),
    ("POST", "/users"),
    ("POST", PHASE + "/submissions"),
    ("POST", CHALLENGE + "/submissions"),
    ("GET", DRAFT + "/data"),
    ("GET", PHASE + "/items"),
    ("GET", DRAFT + "/opening"),
    ("GET", SUBMISSION + "/predictions"),
    ("GET", CHALLENGE + "/export"),
}
"""Recorded acts without a reason: on one's own account and registration, new accounts and entries, and downloads."""

ACTS = (*ACCOUNTS, *CHALLENGES, *LIFE, *GOLD, *TEAMS, *SUBMISSIONS, *ENDS)
