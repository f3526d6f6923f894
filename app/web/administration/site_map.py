"""The pages of the administrator's desk, for the site map."""

from app.web.administration import audit, challenges, imports, invitations, overview, users, workers

ADMINISTRATION_MODULES = (audit, challenges, imports, invitations, overview, users, workers)
