"""Invitations: codes that admit their holders to the site, a challenge or a team."""
