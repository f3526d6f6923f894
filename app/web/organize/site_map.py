"""The pages of the organizer's desk, for the site map."""

from app.web.organize import new_challenge, overview, phases, settings

ORGANIZE_MODULES = (new_challenge, overview, phases, settings)
