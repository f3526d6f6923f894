"""What the API must answer a person with 200 before a page may be shown to this person.

The first part is the path of a page, as declared; then routes of the API, written as in tests/journeys/access_table.txt.
An empty list is a page that shows nothing of the API, such as a form for everybody.
"""

_ORGANIZER = "C/organizers"  # which every organizer reads, and nobody else
_CHALLENGE = "/challenges/{slug}"
_ORGANIZE = f"{_CHALLENGE}/organize"

PAGE_NEEDS: dict[str, tuple[str, ...]] = {
    "/": ("/challenges",),
    "/log-in": (),
    "/sign-up": (),
    "/invitation": (),
    "/password-reset": (),
    "/account/settings": ("/me",),
    "/account/tokens": ("/me", "/tokens"),
    "/account/data": ("/me/data",),
    "/account/delete": ("/me",),
    "/account": ("/me", "/me/registrations"),
    "/catalogue": ("/metrics",),
    "/catalogue/{key}": ("/metrics/{key}",),
    "/new-challenge": ("/me",),
    _CHALLENGE: ("C", "C/recipe", "C/announcements", "C/files"),
    f"{_CHALLENGE}/leaderboard": ("P/leaderboard",),
    f"{_CHALLENGE}/leaderboard/embed": ("P/leaderboard",),
    f"{_CHALLENGE}/leaderboard/changes": ("P/leaderboard",),
    f"{_CHALLENGE}/leaderboard/data": ("P/leaderboard",),
    f"{_CHALLENGE}/register": ("C",),
    f"{_CHALLENGE}/team": ("C/registrations",),
    f"{_CHALLENGE}/submit": ("C", "/me"),
    f"{_CHALLENGE}/submissions": ("P/submissions",),
    "/submissions/{submission_id}": ("S",),
    "/submissions/{submission_id}/changes": ("S", "S/events"),
    "/submissions/{submission_id}/confusion": ("S", "S/report"),
    "/submissions/{submission_id}/file": ("S/predictions",),
    "/submissions/{submission_id}/report": ("S/report",),
    _ORGANIZE: (_ORGANIZER, "C/audit"),
    f"{_ORGANIZE}/settings": (_ORGANIZER,),
    f"{_ORGANIZE}/recipe": (_ORGANIZER,),
    f"{_ORGANIZE}/phases": (_ORGANIZER,),
    f"{_ORGANIZE}/phases/{{phase}}": (_ORGANIZER, "P"),
    f"{_ORGANIZE}/phases/{{phase}}/gold": (_ORGANIZER, "P/gold"),
    f"{_ORGANIZE}/phases/{{phase}}/gold/{{version}}/counts": (_ORGANIZER, "P/gold/{version}/data"),
    f"{_ORGANIZE}/phases/{{phase}}/gold/{{version}}/data": (_ORGANIZER, "P/gold/{version}/data"),
    f"{_ORGANIZE}/registrations": (_ORGANIZER, "C/registrations"),
    f"{_ORGANIZE}/teams": (_ORGANIZER, "C/teams"),
    f"{_ORGANIZE}/submissions": (_ORGANIZER, "P/submissions"),
    f"{_ORGANIZE}/quota": (_ORGANIZER,),
    f"{_ORGANIZE}/release": (_ORGANIZER, "P/release"),
    f"{_ORGANIZE}/announcements": (_ORGANIZER,),
    f"{_ORGANIZE}/files": (_ORGANIZER,),
    f"{_ORGANIZE}/organizers": (_ORGANIZER,),
    f"{_ORGANIZE}/invitations": (_ORGANIZER, "C/invitations"),
    f"{_ORGANIZE}/audit": (_ORGANIZER, "C/audit"),
    f"{_ORGANIZE}/failures": (_ORGANIZER, "P/submissions"),
    f"{_ORGANIZE}/copy": (_ORGANIZER, "C/export"),
    "/administration": ("/users", "/audit"),
    "/administration/users": ("/users",),
    "/administration/challenges": ("/users", "/challenges"),
    "/administration/workers": ("/users",),
}
