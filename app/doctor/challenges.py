"""Checks of the challenges: rules that give the gold labels away, open phases that have none, names that look alike."""

from app.actions.diagnose import dubious_rules, names_alike, phases_without_gold
from app.doctor.declared import REACHABLE, SCHEMA, SETTINGS, Said, check, ok, warning
from app.doctor.patient import Patient

NEEDS = (SETTINGS, REACHABLE, SCHEMA)


@check(
    "challenges.rules",
    needs=NEEDS,
    remedy="Their organizers can set a quota, hide the board until the phase closes, and leave curves out of the reports.",
)
def rules(patient: Patient) -> Said:
    """No published challenge that is not over has rules by which its gold labels can be read."""
    with patient.session() as session:
        found = dubious_rules(session)
    return warning(" ".join(found)) if found else ok("None.")


@check("challenges.gold", needs=NEEDS, remedy="Their organizers have to upload and activate it: assay gold upload.")
def gold(patient: Patient) -> Said:
    """Every open phase has active gold: without it, submissions are refused."""
    with patient.session() as session:
        found = phases_without_gold(session)
    return warning(f"Without gold: {', '.join(found)}.") if found else ok("All have.")


@check(
    "challenges.names",
    needs=NEEDS,
    remedy="New teams get no such name. Their organizers can bar a team that poses as another one.",
)
def names(patient: Patient) -> Said:
    """No two teams of a challenge have names that look the same."""
    with patient.session() as session:
        found = names_alike(session)
    return warning(" ".join(found)) if found else ok("None.")
