"""The pages of the organizer's desk, for the site map."""

from app.web.organize import overview

ORGANIZE_MODULES = (overview,)
