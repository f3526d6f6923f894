"""The pages of the organizer's desk, for the site map."""

from app.web.organize import (
    announcements,
    audit,
    copies,
    failures,
    files,
    invitations,
    organizers,
    overview,
    quota,
    registrations,
    release,
    submissions,
    teams,
)

ORGANIZE_MODULES = (
    announcements,
    audit,
    copies,
    failures,
    files,
    invitations,
    organizers,
    overview,
    quota,
    registrations,
    release,
    submissions,
    teams,
)
