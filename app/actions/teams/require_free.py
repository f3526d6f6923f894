"""Usage follows people: who left a team that had used quota joins no other without an organizer's permission."""

from app.errors import BoundToTeam
from app.store.tables import Registration


def require_free_to_join(registration: Registration, team_id: str | None) -> None:
    """Raise BoundToTeam unless the user may join the team, or found one (None).

    A user may always return to the team that they are bound to, by its invitation.
    """
    if registration.bound_team_id is not None and registration.bound_team_id != team_id:
        raise BoundToTeam
