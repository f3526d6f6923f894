"""Commands that score on this machine, without a service."""

from app.cli.command_tree.declarations import CommandDeclaration, GroupDeclaration

COMMANDS: tuple[CommandDeclaration | GroupDeclaration, ...] = (
    CommandDeclaration(
        "score",
        "score.score",
        "Score predictions against a gold file on this machine, with the same scorer as the service.",
        "assay score --gold gold.jsonl --predictions mine.json --metric f1_macro",
    ),
    GroupDeclaration(
        "archive",
        "Check archives of phases without a service.",
        (
            CommandDeclaration(
                "verify",
                "archive.verify",
                "Check an archive: the hash of every member, each file and receipt, and with keys their signatures.",
                "assay archive verify digits-main.zip",
            ),
        ),
    ),
    CommandDeclaration(
        "compare",
        "compare.compare",
        "Compare two systems: the difference of their scores, its interval, and whether it could be chance.",
        "assay compare --gold gold.jsonl --predictions mine.json --predictions theirs.json --metric f1_macro",
    ),
    CommandDeclaration(
        "what-if",
        "what_if.what_if",
        "Show what changed predictions would cost or gain, or the scores at another share of positive instances.",
        "assay what-if --gold gold.jsonl --predictions mine.json --share 0.05 --target-label cat",
    ),
    CommandDeclaration(
        "order",
        "order.order",
        "Say how sure an order is: intervals, rank sets and tie groups of the systems in a table or folder of results.",
        "assay order results.csv --html report.html",
    ),
    CommandDeclaration(
        "items",
        "items.items",
        "Find suspect gold, systems with the same errors, and what a relabelling would move.",
        "assay items digits --phase main --select suspect",
    ),
    CommandDeclaration(
        "convert",
        "convert.convert",
        "Find all counts that fit published figures, or prove that there are none.",
        "assay convert --n 1000 --positives 120 --precision 0.81 --recall 0.74 --f1 0.77",
    ),
    CommandDeclaration(
        "metrics",
        "metrics.metrics",
        "List the metrics, or explain one: its equation, parameters, options, source and a worked example.",
        "assay metrics f1_macro",
    ),
)
