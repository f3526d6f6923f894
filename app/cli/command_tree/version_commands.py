"""Commands for organizers about versions: of gold and recipes, and the switches of boards."""

from app.cli.command_tree.declarations import GOLD_OPENING, CommandDeclaration, GroupDeclaration

VERSION_GROUPS: tuple[GroupDeclaration, ...] = (
    GroupDeclaration(
        "gold",
        "Manage the gold labels of a phase.",
        (
            CommandDeclaration(
                "upload",
                "gold.upload_gold",
                "Upload the gold labels of a phase as a draft, show what was read, and activate it if asked to.",
                "assay gold upload digits -f gold.jsonl.gz --activate",
            ),
            CommandDeclaration(
                "list",
                "gold.list_gold",
                "List the versions of a phase's gold, newest first.",
                "assay gold list digits",
            ),
            CommandDeclaration(
                "show",
                "gold.show_gold_version",
                "Show what was read from a version of the gold: instances, classes, splits, weights and remarks.",
                "assay gold show digits 1",
            ),
            CommandDeclaration(
                "preview",
                "preview.preview_gold",
                "Show what a version of the gold would change: scores, ranks, and who would move; nothing is activated.",
                "assay gold preview digits 2 --wait",
            ),
            CommandDeclaration(
                "activate",
                "gold.activate_gold",
                "Activate a version of the gold: at once before the first submission, else when all submissions are scored "
                "by it.",
                'assay gold activate digits 2 --reason "Two labels were wrong" --wait',
            ),
            GOLD_OPENING,
            CommandDeclaration(
                "delete",
                "gold.delete_gold",
                "Delete a draft of the gold.",
                "assay gold delete digits 2",
            ),
        ),
    ),
    GroupDeclaration(
        "recipe",
        "Show and replace the recipe of a challenge or of one phase.",
        (
            CommandDeclaration(
                "show",
                "recipe.show_recipe",
                "Show the recipe of a challenge or of one phase: metrics, ranking rules and what scores disclose.",
                "assay recipe show digits --phase main",
            ),
            CommandDeclaration(
                "set",
                "recipe.set_recipe",
                "Store a recipe for a challenge or for one phase, active at once unless submissions need new scores for it.",
                "assay recipe set digits -f recipe.yaml --phase main",
            ),
            CommandDeclaration(
                "versions",
                "recipe.list_versions",
                "List the versions of the recipes of a challenge and its phases, newest first.",
                "assay recipe versions digits",
            ),
            CommandDeclaration(
                "preview",
                "preview.preview_recipe",
                "Show what a version of a recipe would change in each phase that it scores; nothing is activated.",
                "assay recipe preview digits 2 --wait",
            ),
            CommandDeclaration(
                "activate",
                "recipe.activate_recipe",
                "Activate a draft or a former version of a recipe, for all phases that it scores.",
                'assay recipe activate digits 2 --reason "Classes are unequal" --wait',
            ),
            CommandDeclaration(
                "drop",
                "recipe.drop_recipe",
                "Return a phase to the recipe of its challenge.",
                "assay recipe drop digits --phase main",
            ),
        ),
    ),
    GroupDeclaration(
        "switch",
        "Follow the switches of a board from one set of versions to another.",
        (
            CommandDeclaration(
                "list",
                "switch.list_switches",
                "List which versions the board of a phase was computed from, since when and why, newest first.",
                "assay switch list digits --phase main",
            ),
            CommandDeclaration(
                "preview",
                "switch.preview_switch",
                "Show what a pending switch would change on the board, by the scores that there are now; only organizers see it.",
                "assay switch preview digits 2 --phase main",
            ),
            CommandDeclaration(
                "confirm",
                "switch.confirm_switch",
                "Let a pending switch happen although some submissions cannot be scored: they leave the board.",
                "assay switch confirm digits 2 --phase main",
            ),
            CommandDeclaration(
                "cancel",
                "switch.cancel_switch",
                "Cancel a pending switch; the board stays as it is.",
                "assay switch cancel digits 2 --phase main",
            ),
        ),
    ),
)
