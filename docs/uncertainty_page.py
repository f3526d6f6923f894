"""Generates docs/uncertainty.md: what intervals, p-values and rank sets mean, and the simulations that measured them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_parts import table

from app.analysis.order.html_report import first_share_text
from app.formats.content.format_detection import detect_file_kind
from app.formats.reading_rules import ReadingRules
from app.pipeline import SourceFile, load_gold, predicted_case
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.evaluate import evaluate
from app.scoring.uncertainty.board import BoardCase, board_uncertainty
from app.scoring.uncertainty.intervals import MAX_ROW_RESAMPLES, MIN_RESAMPLES, RESAMPLES, intervals
from app.scoring.uncertainty.randomization import ROUNDS

HERE = Path(__file__).resolve().parent
COVERAGE, FAMILY_WISE_ERROR = HERE / "coverage.json", HERE / "family_wise_error.json"
DIGITS = HERE.parent / "examples" / "digits"
SYSTEMS = {
    "Kernel": "support_vectors.columns.json.gz",
    "Neighbours": "nearest_neighbours.csv.gz",
    "Forest": "random_forest.jsonl.gz",
    "Linear": "logistic_regression.json.gz",
    "Bayes": "naive_bayes.map.json.gz",
}

_MEANING = f"""\
# How sure a score and an order are

Two systems score 0.731 and 0.729 on a few thousand instances. Is the first one better, or luckier? This page says what
Assay shows about that, how it is computed, and what it does not say.

## What an interval means

The 95 % interval of a score says where its **true value** may lie: the score on all instances like these, drawn in the
same way, with labels given in the same way. Of 100 such intervals, about 95 contain their true value. It does not cover

- the score on another test set of the same size, which is a matter of luck too: where the interval is right, that score
  lies in it in about 83 of 100 cases;
- training the system again with another seed or other data: it judges these predictions, not the method;
- wrong or disputed gold labels: it takes the gold as true;
- a choice among many files: the best of fifty entries is partly the luckiest, see [Selection](#selection).

## Intervals of scores

Each metric declares its method; `assay metrics KEY` and the page of the metric name it.

- **A share of the instances** (accuracy, error rate, exact match): the exact binomial interval (Clopper & Pearson 1934).
- **AUC**, with at least 30 positive and 30 negative instances: DeLong, DeLong & Clarke-Pearson 1988 on the logit scale.
- **All other metrics**: the bias-corrected percentile bootstrap (Efron 1981) with {RESAMPLES:,} resamples. The bias
  correction uses the share of resamples below the score, of equal ones half. No value is interpolated.
  Beyond {MAX_ROW_RESAMPLES:,} resamples of single rows there are fewer resamples, at least {MIN_RESAMPLES}, and a note says so;
  confusion counts are merged into a few rows first.
- Resampling moves some scores: macro-F1 falls where a class is absent from a resample. If the mean of the resamples is
  off by more than a quarter of their standard deviation, the percentile interval is shifted by twice that; if it is off
  by more than the standard deviation, there is no interval, and the reply gives the reason.
- **No interval** where resampling is known to mislead, such as for calibration errors and for Cramér's V.

The first two apply without instance weights and groups. Groups (documents, patients, speakers) are drawn whole, because
instances of one group resemble each other. A note flags classes that are rare (more than a tenth of the classes have
fewer than 5 gold instances), resamples in which the metric is null, and intervals without width.

### How often the intervals contain the true value

Simulated systems find each class with probability 0.7; wrong answers are other classes, in proportion to their share.
The classes are equally common, or the k-th most common has a share proportional to 1/k (Zipf). The true value is that of
the population.
"""
_AFTER_COVERAGE = """\
A 95 % interval should contain the true value in 95 of 100 samples. Where many classes are rare, there is often no
interval at all; `given` is the number of samples with one. The few that are given there are too narrow, as the note on
rare classes says: macro-F1 over 20 Zipf classes with 100 instances is such a case. With 100 Zipf classes and 1,000
instances the intervals of weighted F1 and MCC are too narrow as well. Each row of 100 samples is itself uncertain by
about 4 points, each row of 400 by about 2. `make simulate` runs this again.

"""
_PAIRS = f"""\
## Two systems

`assay compare --gold G --predictions A --predictions B` compares two named systems.

- **p-value**: approximate randomization (Noreen 1989). The null hypothesis: on each instance it is pure chance which of
  the two outputs came from which system. The outputs are exchanged at random {ROUNDS:,} times; p = (r + 1) / (R + 1),
  where r of R exchanges give a difference at least as large, in either direction. A small p says that chance alone
  rarely gives such a difference; a large p does not say that the systems are equal. With few instances that differ, all
  exchanges are tried, and p is exact. Groups are exchanged whole. Metrics of rankings exchange ranks, so that p does not
  change if one system's scores are stretched.
- **`mcnemar_p`**: for accuracy, the exact McNemar test of the instances that only one of the two has right. The
  χ² approximation with continuity correction is not offered: it gives 0.868 for 18 against 18, where the exact value
  is 1.
- **Interval of the difference**: the paired bootstrap; both systems get the same resample.
- **The smallest difference that this test set could have shown** with a probability of 80 %: a true difference of this
  size would be significant in 80 of 100 such test sets.

The table has these in the columns `p`, `McNemar p`, `low 95 %` and `high 95 %`, and `smallest shown`. `differ on` counts the
instances on which the outputs differ, and `rounds` the random exchanges (`all 8`: all 8 possible ones were tried).

## A whole board

A board of 30 teams makes 435 comparisons: at 5 % each, some would be significant by chance alone. Assay compares all rows
together. The promise: with a probability of 95 %, no pair is called different whose true values are equal or in the other
order. The bootstrap keeps it approximately: [simulated boards](#how-often-a-board-of-equal-systems-shows-any-difference)
err in 0 to 6 %. A pair that is not called different is not shown to be equal.

- One paired bootstrap with 10,000 draws: all rows get the same instance weights.
- Romano & Wolf's step-down method (2005) on studentised differences, over both directions of every pair (Mogstad et al.
  2024). Rows that differ on fewer than 6 instances (or groups), or by less than rounding, are never called
  different. Nor are rows with the same difference in every draw, such as all right and all wrong, which leave no spread to
  studentise: compare two such rows by themselves.
- `rank_low` is 1 + the number of rows that are significantly better, `rank_high` the number of rows minus those that are
  significantly worse.
- `tie_group` is a reading aid: from its leader downwards until the first row that differs from the leader. Members may
  differ from each other, so it is no group of equals.
- **Small samples**: below 2,000 instances, below 1,000 groups or with many rare classes the bootstrap alone breaks its
  promise. Then a pair counts as different only if its exact p-value agrees (McNemar for accuracy, else randomization),
  adjusted over all pairs by Holm's method. Where the instances or rounds cannot reach that level, the answer is "too few
  to tell".
- Baselines, unofficial rows and rows without a value stay outside.
- The work is limited to 10⁹ draws of single pairs: beyond it there are fewer draws (at least 2,000), and then only pairs with the
  first 100 rows. The reply says so. Scores chose these rows, so a difference must then also pass Bonferroni's quantile
  over all pairs.

### Selection

The promise holds for rows that were fixed before the split was seen. If the best of a team's entries is chosen by the
split that is shown, each row is partly chosen for its luck, and neighbours look more different than they are. Boards say
so beside the number of entries. Only a split that chose nothing carries the promise: the private split after the
release.

### Any table

`assay order results.csv` does the same for a table of any origin: a header of any name and instance ids, and one row per
system with its name and a value for each instance:

```text
system,q1,q2,q3,q4
mine,1,0,1,1
theirs,0,0,1,1
```

The metric is the mean: accuracy for 0 and 1, which get exact binomial intervals. `--lower-is-better` is for losses,
`--groups` draws groups whole, `--svg` and `--html` write a chart and a report. Empty cells are refused, with their places.
A pair of the JSON report (`--json`) has a `p_value` only where an exact test was made: in small samples, for pairs that
the bootstrap calls different.

`ranks` are the ranks that a system may have, from `rank_low` to `rank_high`, and `first` is the share of the bootstrap
draws in which it has the best value. That share is not the probability that it is the best: the draws come from this one
sample, and the best of these instances is favoured in them.

### How often a board of equal systems shows any difference

All systems are equally good, so every difference that a board shows is an error. `bootstrap alone` is what the step-down
method would show, `board` what Assay shows. The promise is 5 %.
"""
_AFTER_BOARD = """\
## Rankings side by side

`GET …/leaderboard/rankings` ranks the same submissions by every metric of the recipe and by the averages of F1 that the
literature calls by the same name, with Kendall's tau-b between each two rankings, the pairs of rows that two metrics rank
the other way round, and how each ranking holds under resampling. A flip counts as significant if both metrics call the
two rows different. In small samples the exact tests of a ranking are those of the pairs that flip; all other pairs count
as p = 1, so a board may call a pair different that is no significant flip here.

`assay order FOLDER --gold GOLD --metric f1_macro --metric accuracy` and `assay.order(…, metric=[…])` do the same offline:
the first metric gives the order, the others stand beside it.

## Reproducing the numbers

Every gold version has a public random `draw_seed`, which nobody can redraw. The seed of a computation is SHA-256 over the
draw seed, the purpose, the split, the metric and, for a submission, its canonical content: records sorted by id, labels as
text. No gold label enters a seed. Resamples are assigned in the order of ids, so the order of rows and of classes changes
no digit. The generator is PCG64; the samplers belong to the scorer version. The same draw seed gives the same digits from
the service and from `assay score --ci --draw-seed SEED`; without the option it is 0.

"""


def page() -> str:
    """The whole page."""
    lines = [_MEANING, *_coverage_table(), _AFTER_COVERAGE, _PAIRS, *_error_table(), _AFTER_BOARD, *_worked_example()]
    return "\n".join(lines).rstrip() + "\n"


def _coverage_table() -> list[str]:
    rows = json.loads(COVERAGE.read_text(encoding="utf-8"))["rows"]
    cells = (
        [
            str(row["classes"]),
            row["balance"],
            f"{row['instances']:,}",
            row["metric"],
            _share(row["covered"], row["intervals"]),
            f"{row['intervals']} of {row['samples']}",
            "" if row["mean_width"] is None else f"{row['mean_width']:.3f}",
        ]
        for row in rows
    )
    head = ["classes", "balance", "instances", "metric", "contain the true value", "given", "mean width"]
    return table(head, cells)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none given"


def _error_table() -> list[str]:
    rows = json.loads(FAMILY_WISE_ERROR.read_text(encoding="utf-8"))["rows"]
    cells = (
        [
            row["metric"] if row["classes"] is None else f"{row['metric']}, {row['classes']} Zipf classes",
            str(row["teams"]),
            f"{row['instances']:,}",
            "" if row["groups"] is None else f"{row['groups']:,}",
            f"{row['runs']:,}",
            _share(row["bootstrap_alone"], row["runs"]),
            _share(row["rank_sets"], row["runs"]),
        ]
        for row in rows
    )
    head = ["metric", "teams", "instances", "groups", "boards simulated", "bootstrap alone", "board"]
    return table(head, cells)


def _worked_example() -> Iterator[str]:
    """The five systems of the demonstration, computed when the page is generated."""
    call = parse_metric("f1_macro", options={}, task="multiclass")
    gold, _ = load_gold(_source("gold.jsonl.gz"), task="multiclass")
    assert gold is not None
    cases = {
        name: predicted_case(gold, _source(file), ReadingRules.strictest([call])) for name, file in SYSTEMS.items()
    }
    board = board_uncertainty(
        [BoardCase(name, case) for name, case in cases.items()], gold.ids, call, draw_seed="0", split="all"
    ).to_dict()
    yield "## A worked example\n"
    yield (
        f"The demonstration (`assay demo`) has five systems that read {board['n']} handwritten digits. Their macro-F1 with "
        "the draw seed 0. The board of the demonstration has a random seed, so its last digits differ, and a pair at the "
        "border of 5 % may be decided otherwise:\n"
    )
    yield from table(
        ["system", "macro-F1", "95 % interval", "rank", "ranks that it may have", "tie group", "first in"],
        (_example_row(row, cases[row["key"]], gold.ids, call) for row in sorted(board["rows"], key=_rank)),
    )
    yield _example_sentence(board)
    yield (
        "The files are in `examples/digits`. With these five in a folder of their own, "
        "`assay order FOLDER --gold examples/digits/gold.jsonl.gz` prints the same numbers.\n"
    )


def _rank(row: dict[str, Any]) -> int:
    return int(row["rank"])


def _example_row(row: dict[str, Any], case: Any, ids: Any, call: Any) -> list[str]:
    value = evaluate(case, [call])[call.text].value
    interval = intervals(case, [call], {call.text: value}, ids, draw_seed="0", split="all")[call.text]
    ranks = f"{row['rank_low']} to {row['rank_high']}" if row["rank_low"] != row["rank_high"] else str(row["rank_low"])
    span = f"{interval.low:.4f} to {interval.high:.4f}"
    share = f"{first_share_text(row)} of draws"
    return [row["key"], f"{value:.4f}", span, str(row["rank"]), ranks, str(row["tie_group"]), share]


def _example_sentence(board: dict[str, Any]) -> str:
    pairs = [pair for pair in board["pairs"] if pair["different"] is False]
    listed = "; ".join(f"{pair['a']} and {pair['b']}" for pair in pairs) or "none"
    return (
        f"Pairs that are not shown to differ at 5 %: {listed}. All other pairs are shown to differ. The split has fewer than 2,000 "
        "instances, so each of these differences was confirmed by a randomization test.\n"
    )


def _source(name: str) -> SourceFile:
    return SourceFile(DIGITS / name, detect_file_kind(name, None, None))
