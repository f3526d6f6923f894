"""Generates docs/disclosure.md: an upper bound of what scores reveal about the gold, with numbers that the program computes."""

from collections.abc import Iterator

from markdown_parts import code, metric_link, safe, table

from app.scoring.declaration.distinct_value_bounds import GoldSize, Granularity
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import TaskKind
from app.scoring.disclosure.comparison_bits import NOTE_BITS
from app.scoring.disclosure.inference_bound import (
    MIN_RIVALS,
    OWN_ROWS,
    BoardVisibility,
    DisclosureRules,
    compute_inference_bound,
    digit_bits,
)
from app.scoring.disclosure.wording import round_bits_up

_HEAD = """# What scores reveal about the gold

Every published score reveals something about the labels it was computed with. This page explains the upper bound that
`assay challenge show SLUG` prints, what enters it, and how to reduce it.

## The bound

The sender knows the predictions. A published value only adds which of its possible values occurred, so a value with at
most *v* possible values reveals at most log2 *v* bits. The bits of all values that one submission is shown add up to
*b*. A label out of *K* classes holds log2 *K* bits; in label sets, each class of each instance is one bit. Averaged
over equally likely labellings, a team with *s* scored submissions can therefore learn at most

```math
\\min\\left(n, \\frac{s\\,b}{\\log_2 K}\\right)
```

of the *n* labels of the split that is shown. This bounds information; it is not an attack, and most rules allow far
less. An average does not exclude luck: a file that happens to be entirely correct learns every label from its score of
1. What could be guessed without any score is not counted.

`GET /api/v1/challenges/{slug}/recipe` returns the bound of each phase under `inference`, in numbers and in words. It is
also in the replies when a challenge is created, a recipe changed or gold activated, and in `assay doctor`. Before there
is gold, the digits alone bound a submission. No gold label enters the bound. Participants see it for all ids that they
predict, once the phase is open; organizers for the ids of the public split.

## What enters the bound

- **Digits.** A value with *d* significant digits is one of 9·10^(d-1) for each power of ten. {digits}
- **Metrics.** Every metric declares how its values depend on single labels; the table below lists the kinds. A count of
  correct answers among 1,000 has 1,001 values. The value of a ranked list of scores may differ for every labelling: one
  `average_precision` with 6 digits on 30 instances, 16 of them unknown and with distinct scores, fitted exactly 1 of
  65,536 labellings. With instance weights, every sum of weights may differ for every labelling.
- **The number of metrics**, and the reports per class, of the confusion matrix and of the curves, where the phase shows
  them. The curves alone reveal all labels with distinct scores.
- **Intervals, p-values and rank sets**, where the phase shows them. Both ends of an interval, the numbers of a pair of
  rows (difference, its interval, p-value) and the shares of draws in which a row is first, second and third count with
  the digits that are shown, rank sets and tie groups with log2 of the number of rows, and the notes beside them with
  {notes} bits. One submission shows the numbers of its row and of its pairs with all other rows, and may move the rank sets
  and these shares of all rows. On a hidden board nothing is compared for participants; on one that is shown after the close it counts once. Draw
  seeds are public and reveal nothing about labels. A comparison tells how many instances the split has.
- **The quota.** `total`, or `per_day` times the days of the window. Without either, submissions are unlimited and the
  bound is all labels. Dry runs and rejected files reveal nothing: they are answered without the labels. Failed
  submissions are refunded, and count again if organizers have them scored after all.
- **Sizes of predicted sets.** With `unknown_label=count_as_fp` and `duplicates=multiset` a predicted set may have any
  size, and chosen sizes let values differ for every labelling: of each instance (`instances`, `hits` and the report per
  class), and with `duplicates=multiset`, where gold may repeat labels too, of all counts except those of entirely
  correct instances.
- **The order of a team's own entries** reveals nothing more where their values are shown. The entry that represents a
  team is chosen by the values as shown (of equal ones by the tie-breakers, then the earlier), and lists of own submissions are ordered by time.
  Where a team is shown no values, a board after the close names one of its *s* files, which adds log2 *s* bits once;
  without a quota that may be all labels.
- **The order across teams.** The board ranks teams at full precision, so two rows that show the same value may have
  different ranks. While a board is shown and submissions are accepted, rows move: by submitting files with known
  values, another team can place its own row above or below a row until that row's value is known to the last digit. On
  a public board each metric therefore counts at full precision, whatever digits it shows, and fewer digits reduce
  nothing. A board that is shown only after the close has each row at one position: among *t* other rows one of 2·*t* +
  1, which adds log2(2·*t* + 1) bits for each metric that it can be ranked by. *t* is the largest possible number of
  rows: teams, baselines, withdrawn and disqualified files, and at least {teams}.
- **Rows without a rank.** A board also shows the best withdrawn and the best disqualified file of a team. A team may
  withdraw a file to see its place. So a board after the close can show {own_rows} files of a team, and all that it
  reveals once counts as often. Where a phase takes late entries, it shows files that are still sent, and counts as a
  public board.
- **When the board is shown.** A board shown after the close while files are still queued would show each of them in
  turn, as many values as a team has files. Only organizers see it until all submissions from before the close have
  their final status; others see the number of files that are still queued. Submissions that failed for good or were
  cancelled are not waited for; a team cannot cancel after the close. Entries that organizers add after the close, and
  rescoring for comparison, hide nothing. A failed file that organizers queue again hides the board while it is queued:
  otherwise, after an outage at the close, all such files would be shown one by one. Whatever organizers change after
  the close (a failed file scored after all, a row removed, the window reopened) moves the board once more, and reveals
  as much again.
- **A Ladder.** Where the recipe has a `ladder` ([ladder.md](ladder.md)), everybody but the organizers sees its outputs
  instead of scores until the final release: of the primary metric alone, without reports. With *v* values that can be
  told, the outputs of *s* submissions are one of C(*s* + *v*, *v*) sequences, because only improvements are told. So
  all of them together hold log2 C(*s* + *v*, *v*) bits, however many digits are shown. The board ranks by outputs,
  which reveals nothing more. The statement gives both bounds: with the Ladder, and without it. An unlimited number of
  submissions has no such bound either.
- **Teams and accounts.** The bound is for one team. Each further team can learn as much again. With open registration
  every account may found a team, and with open sign-up the number of accounts is unlimited.
- **Phases.** The bound is for one phase. Phases with the same instances add up.
- **Splits.** Before the final release only the public split is shown; private scores reveal nothing. The release shows
  one value of each metric for each file of a team, when nothing can be submitted any more. The duration of scoring is
  not a score and is not counted. It hardly depends on single labels: where measures search (`lca_*`, `mgia`), the cost
  of one instance is limited to some hundredths of a second, and participants read times to the second.

## How to reduce it

Set a total quota; show the board after the close, and then fewer digits; use fewer metrics, and metrics that count;
show no reports of curves, confusion, classes, rankings, significance or intervals; limit feedback by a Ladder; require
approval or invitation for registration; and decide by a private split.
"""


def page() -> str:
    """The whole page."""
    one = round_bits_up(digit_bits(6, (0.0, 1.0)))
    small = round_bits_up(digit_bits(3, (0.0, 1.0)))
    digits = (
        f"For 6 digits between 0\n  and 1, and every power of ten of binary64, this gives {one} bits; for 3 digits "
        f"{small}. Once there is\n  gold, metrics whose values cannot be that small have fewer."
    )
    lines = [
        _HEAD.replace("{notes}", f"{NOTE_BITS:g}")
        .replace("{digits}", digits)
        .replace("{teams}", str(MIN_RIVALS))
        .replace("{own_rows}", str(OWN_ROWS))
    ]
    lines += [
        "## Examples",
        "",
        "Teams are shown the scores of their own submissions.",
        "",
        *table(["rules", "bits of a submission", "bits once", "labels at most"], _examples()),
    ]
    lines += ["## How metrics depend on single labels", ""]
    lines += ["Bits of one value at full precision, by the size of the gold.", ""]
    lines += table(["name", "its value", *_SIZES, "metrics"], map(_row, _granularities()))
    return "\n".join(lines)


_SIZES = {
    "1,000 instances of 2 classes": GoldSize(1000, 2),
    "1,000 sets of 20 classes": GoldSize(1000, 20, multilabel=True),
}
_Example = tuple[TaskKind, tuple[str, ...], int | str, int, GoldSize, BoardVisibility]
_EXAMPLES: tuple[_Example, ...] = (
    ("binary", ("accuracy",), 6, 1, GoldSize(30, 2), "public"),
    ("binary", ("average_precision",), 6, 1, GoldSize(30, 2), "hidden"),
    ("binary", ("average_precision",), 3, 1, GoldSize(30, 2), "hidden"),
    ("binary", ("average_precision",), 3, 1, GoldSize(30, 2), "after_close"),
    ("binary", ("average_precision",), 3, 1, GoldSize(30, 2), "public"),
    ("binary", ("f1", "accuracy"), 6, 20, GoldSize(2000, 2), "public"),
    ("binary", ("f1", "accuracy"), 3, 20, GoldSize(2000, 2), "after_close"),
    ("binary", ("auc", "average_precision", "log_loss"), 6, 20, GoldSize(2000, 2), "public"),
    ("binary", ("auc", "average_precision", "log_loss"), 6, 20, GoldSize(2000, 2), "after_close"),
    ("binary", ("auc",), 3, 20, GoldSize(2000, 2), "after_close"),
    ("multiclass", ("f1_macro", "accuracy"), 6, 50, GoldSize(5000, 10), "public"),
    ("binary", ("accuracy",), 6, 50, GoldSize(2000, 2), "public"),
)
_LADDER_STEPS = (0.01, 0.05)
"""Of the last example once more, under a Ladder."""
_BOARDS: dict[BoardVisibility, str] = {
    "public": "a public board",
    "after_close": "a board after the close",
    "hidden": "no board",
}


def _examples() -> Iterator[list[str]]:
    for given in _EXAMPLES:
        yield _example(given)
    for step in _LADDER_STEPS:
        yield _example(_EXAMPLES[-1], {"step": step})


def _example(given: _Example, ladder: dict[str, float] | None = None) -> list[str]:
    task, metrics, digits, submissions, sizes, board = given
    body = {"primary": metrics[0], "metrics": list(metrics), "disclosure": {"digits": digits}, "ladder": ladder}
    agreed = parse_recipe(body, task, positive_label="a" if task == "binary" else None)
    bound = compute_inference_bound(agreed, DisclosureRules(submissions, board, ("scores",)), sizes)
    named = ", ".join(map(code, metrics))
    sent = "1 submission" if submissions == 1 else f"{submissions} submissions"
    told = "" if ladder is None else f" under a Ladder with step {ladder['step']:g}"
    rules = f"{named} at {digits} digits{told}, {_BOARDS[board]}, {sent}, {sizes.instances:,} instances of {sizes.classes} classes"
    bits = [f"{round_bits_up(value):g}" for value in (bound.per_submission, bound.once)]
    return [rules, *bits, f"{bound.labels:,} of {sizes.labels:,}"]


def _granularities() -> list[Granularity]:
    return list({metric.granularity.name: metric.granularity for metric in CATALOGUE.values()}.values())


def _row(granularity: Granularity) -> list[str]:
    metrics = [metric for metric in CATALOGUE.values() if metric.granularity is granularity]
    shown = [metric_link(metric.key, "metrics/") for metric in metrics[:4]]
    more = f" and {len(metrics) - 4} more" if len(metrics) > 4 else ""
    return [code(granularity.name), safe(granularity.meaning), *_bits(granularity), ", ".join(shown) + more]


def _bits(granularity: Granularity) -> Iterator[str]:
    metrics = [metric for metric in CATALOGUE.values() if metric.granularity is granularity]
    for sizes in _SIZES.values():
        fits = next((one for one in metrics if ("multilabel" in one.tasks) >= sizes.multilabel), None)
        single = any(set(one.tasks) & {"binary", "multiclass"} for one in metrics)
        if fits is None or not (sizes.multilabel or single):
            yield ""
            continue
        params = {param.name: param.default or "1" for param in fits.params}
        yield f"{round_bits_up(min(granularity.count(sizes, params), sizes.bits)):,g}"
