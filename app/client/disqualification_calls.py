"""Calls that cancel, withdraw, disqualify and reinstate submissions, and disqualify and reinstate teams."""

from app.client.paths import api_path
from app.transport import Json, Transport


class DisqualificationCalls(Transport):
    """Calls that cancel, withdraw, disqualify and reinstate submissions, and disqualify and reinstate teams."""

    def cancel(self, submission: str, reason: str | None = None) -> Json:
        """Cancel a queued submission of your team; organizers may cancel any that is not settled."""
        return self._json("POST", api_path("submissions", submission, "cancel"), json=_explanation(reason))

    def withdraw(self, submission: str, reason: str | None = None) -> Json:
        """Withdraw a submission of your team; organizers may withdraw any."""
        return self._json("POST", api_path("submissions", submission, "withdraw"), json=_explanation(reason))

    def disqualify(self, submission: str, reason: str) -> Json:
        """Disqualify a submission, as an organizer."""
        return self._json("POST", api_path("submissions", submission, "disqualify"), json=_explanation(reason))

    def reinstate(self, submission: str, reason: str | None = None) -> Json:
        """Undo the withdrawal and the disqualification of a submission, as an organizer."""
        return self._json("POST", api_path("submissions", submission, "reinstate"), json=_explanation(reason))

    def disqualify_team(self, slug: str, team: str, reason: str) -> Json:
        """Disqualify the team with this id, as an organizer."""
        return self._json("POST", api_path("challenges", slug, "teams", team, "disqualify"), json=_explanation(reason))

    def reinstate_team(self, slug: str, team: str, reason: str | None = None) -> Json:
        """Undo the disqualification of the team with this id, as an organizer."""
        return self._json("POST", api_path("challenges", slug, "teams", team, "reinstate"), json=_explanation(reason))


def _explanation(reason: str | None) -> Json:
    return {} if reason is None else {"reason": reason}
