"""The pages of the organizer's desk, for the site map."""

from app.web.organize import gold, new_challenge, overview, phases, recipe, settings

ORGANIZE_MODULES = (gold, new_challenge, overview, phases, recipe, settings)
