"""Checks of challenges: rules that disclose gold labels, open phases without gold, and team names that look alike."""

from app.actions.challenges.challenge_warnings import (
    find_confusable_team_names,
    find_risky_rules,
    list_inference_bounds,
    phases_without_gold,
)
from app.doctor.check_declaration import NEEDS_SCHEMA, CheckResult, check, ok, warning
from app.doctor.installation import Installation

MAX_LISTED_PHASES = 20


@check(
    "challenges.rules",
    needs=NEEDS_SCHEMA,
    remedy="Their organizers can set a total quota, hide the board until the phase closes and then show fewer digits, show "
    "fewer metrics, choose count-based metrics, leave curves out of the reports, and approve registrations: assay "
    "challenge show SLUG.",
)
def check_risky_rules(installation: Installation) -> CheckResult:
    """No published challenge that is still running lets participants infer its gold labels or evade its quotas."""
    with installation.session() as session:
        risks = find_risky_rules(session, signup=installation.settings.signup)
    return warning(" ".join(risks)) if risks else ok("None.")


@check("challenges.inference", needs=NEEDS_SCHEMA, remedy="'assay challenge show SLUG' shows how to lower the bound.")
def check_inference_bounds(installation: Installation) -> CheckResult:
    """For each phase, the most gold labels that one team can infer from the scores shown to it."""
    with installation.session() as session:
        bounds = list_inference_bounds(session)
    if not bounds:
        return ok("No current or coming phase has gold.")
    more = f", and {len(bounds) - MAX_LISTED_PHASES} more" if len(bounds) > MAX_LISTED_PHASES else ""
    return ok(f"The most labels that one team can infer: {', '.join(bounds[:MAX_LISTED_PHASES])}{more}.")


@check(
    "challenges.gold",
    needs=NEEDS_SCHEMA,
    remedy="An organizer must upload and activate gold: assay gold upload --activate.",
)
def check_open_phases_have_gold(installation: Installation) -> CheckResult:
    """Every open phase has active gold; without it, submissions are refused."""
    with installation.session() as session:
        phases = phases_without_gold(session)
    return warning(f"Without gold: {', '.join(phases)}.") if phases else ok("All have gold.")


@check(
    "challenges.names",
    needs=NEEDS_SCHEMA,
    remedy="New teams cannot take such a name. The organizers can bar a team that impersonates another.",
)
def check_confusable_names(installation: Installation) -> CheckResult:
    """No two teams of a challenge have names that look the same."""
    with installation.session() as session:
        names = find_confusable_team_names(session)
    return warning(" ".join(names)) if names else ok("None.")
