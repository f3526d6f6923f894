"""The paths and bodies of the acts that are audited."""

from app.scoring import SCORER_VERSION
from tests.archives.building import good_members, manifest_of, pack

CHALLENGE = "/challenges/{slug}"
PHASE = CHALLENGE + "/phases/main"
EXTRA = CHALLENGE + "/phases/extra"
DRAFT = PHASE + "/gold/1"
TEAM = CHALLENGE + "/teams/{blue}"
MERGE = TEAM + "/merge"
SUBMISSION = "/submissions/{sent}"
REGISTRATIONS = CHALLENGE + "/registrations"
RECIPE = {"primary": "f1_macro", "metrics": ["f1_macro", "accuracy"], "selection": "selected"}
OTHER_RECIPE = RECIPE | {"primary": "accuracy"}
SPLITS = [
    {"id": f"t{number}", "label": label, "split": split}
    for number, (label, split) in enumerate([("a", "public"), ("b", "public"), ("a", "private"), ("b", "private")], 1)
]
NEW_CHALLENGE = {
    "slug": "{slug}",
    "title": "First",
    "task": "multiclass",
    "recipe": RECIPE,
    "draft": True,
    "phases": [{"name": "main", "quota": {"total": 5}}],
}
EMPTY_CHALLENGE = {"slug": "{gone}", "title": "Gone", "task": "multiclass", "recipe": RECIPE, "draft": True}
SETS_CHALLENGE = EMPTY_CHALLENGE | {"slug": "{gone}-sets", "task": "multilabel", "recipe": {"primary": "f1_macro"}}
SETS_PHASE = "/challenges/{gone}-sets/phases/main"
WHY = {"reason": "Agreed on Monday."}
PARTITION = {f"t{number}": "one" for number in (1, 2, 3, 4)}
ADMINISTRATOR = "administrator"
ARCHIVE = pack(
    good_members(),
    manifest_of(
        good_members(),
        program="1",
        scorer_version=SCORER_VERSION,
        exported_at="2027-01-01T00:00:00Z",
        origin={"url": "https://example.org", "challenge_id": "1" * 32, "phase_id": "2" * 32},
    ),
)
"""An archive that a request accepts; what it holds is refused later."""
