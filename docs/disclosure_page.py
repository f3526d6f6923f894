"""Makes docs/disclosure.md: how much of the gold labels scores can tell at most, with the numbers of the program itself."""

from collections.abc import Iterator

from markdown_parts import code, metric_link, safe, table

from app.scoring.declaration.granularity import GoldSize, Granularity
from app.scoring.declaration.metric import CATALOGUE
from app.scoring.declaration.recipe import parse_recipe
from app.scoring.declaration.task import TaskKind
from app.scoring.disclosure.inference_bound import (
    MIN_RIVALS,
    BoardVisibility,
    DisclosureRules,
    compute_inference_bound,
    digit_bits,
)
from app.scoring.disclosure.wording import round_bits_up

_HEAD = """# What scores tell about the gold

Every score that is shown tells something about the labels that it was computed with. This page says how much that can be
at most, how the numbers of `assay challenge show SLUG` come about, and what lowers them.

## The bound

Whoever sends predictions knows them. All that a shown value can add is which of its possible values came out, so a value
that has at most *v* of them tells at most log2 *v* bits. The bits of all values that a submission is shown add up to *b*.
A label of *K* classes holds log2 *K* bits; of label sets each class of each instance is a decision of one bit. On average
over labellings that are equally likely, a team with *s* scored submissions can therefore come to know at most

```math
\\min\\left(n, \\frac{s\\,b}{\\log_2 K}\\right)
```

of the *n* labels of the split that is shown. This bounds the information; it describes no attack. Most rules allow far
less, and an average says nothing of luck: a file that happens to be wholly right tells every label by its score of 1. What
could be guessed without any score is not counted.

`GET /api/v1/challenges/{slug}/recipe` has the bound of each phase under `inference`, in numbers and in words; so do the
reply to the creation of a challenge, to a new recipe, and to the activation of gold, and `assay doctor`. Before there is
gold, the digits alone bound a submission. No gold label enters the bound. Participants read it for all ids that they are
to predict, once the phase is open; organizers for the ids of the public split.

## What enters it

- **Digits.** A value at *d* significant digits is one of 9·10^(d-1) for each power of ten. {digits}
- **The metric.** Every metric declares how its values depend on single labels; the table below lists the ways. A count of
  right answers among 1,000 has 1,001 values. The value of a ranked list of scores may differ for every labelling: one
  `average_precision` at 6 digits on 30 instances, 16 of them unknown and with scores of their own, fitted exactly 1 of
  65,536 labellings. Where instances have weights, every sum of them may differ for every labelling.
- **The number of metrics**, and the reports per class, of the confusion and of the curves, where the phase shows them. The
  curves alone tell all labels that have scores of their own.
- **The quota.** `total`, or `per_day` times the days of the window. Without either nothing ends a team's submissions, and
  the bound is all labels. Dry runs and rejected files tell nothing: they are answered without the labels. What failed is
  given back, and counts again where organizers have it scored after all.
- **Sizes of predicted sets.** Under `unknown_label=count_as_fp` and `duplicates=multiset` a predicted set may have any
  size, and sizes of one's choice let values of label sets differ for every labelling: of each instance (`instances`, `hits`
  and the report per class), and under `duplicates=multiset`, where gold may repeat labels, too, of all counts but those of
  instances that are wholly right.
- **The order of one's own entries** tells nothing more where their values are shown. Which file stands for a team is
  decided by the value as it is shown, the earlier of two that are shown alike, and lists of one's own submissions are in
  the order of time. Where a team is shown no values of its own, a board after the close names one of its *s* files, which
  adds log2 *s* bits once; without a quota that may be all labels.
- **The order across teams.** The board compares different teams at full precision, so that two rows that show the same
  value may have different ranks. While a board is shown and files are taken, rows move: whoever knows the value of a file
  of another team can set it beside a row, above or below, until the row's value is known to the last digit. So on a public
  board each metric counts at full precision, whatever digits it shows, and fewer digits lower nothing. A board that is
  shown after the close has each row at one place: beside *t* other rows at one of 2·*t* + 1, which adds log2(2·*t* + 1)
  bits once for each metric that it can be ranked by. It is counted with the rows that there can be, teams and entries of
  baselines, and with {teams} at least.
- **When the board is shown.** A board after the close that was shown while files still wait would show each of them in
  turn, as many values as a team has files. So it is refused to all but organizers, with the number of files that are
  waited for, until everything that came before the close has its final status. What fails for good, or is cancelled, is
  not waited for; a team can cancel nothing after the close. What organizers enter after it, and what is finished and
  scored again for comparison, hides nothing. A file that failed and that organizers queue again hides the board while it
  waits: after an outage at the close it would else show all such files one by one. What organizers change after the close
  (a failed file that is scored after all, a row taken off, the window opened again) moves the board once more, and tells
  as much again.
- **Teams and accounts.** The bound is for one team. Each further one can tell as much again. Where registration is open,
  every account may found a team, and where sign-up is open, nothing bounds the number of accounts.
- **Phases.** The bound is for one phase. Where several phases have the same instances, what they tell adds up.
- **Splits.** Before the final release only the public split is shown; the scores of what is private tell nothing. The
  release shows one value of each metric for each file of a team, when nothing can be sent any more. How long scoring takes
  is no score, and is not counted here. It hardly depends on single labels: where measures search (`lca_*`, `mgia`), what one
  instance may cost is bounded to some hundredths of a second, and participants read times to the whole second.

## What lowers it

A quota in total; a board that is shown after the close, and then fewer digits; fewer metrics, and metrics that count; no
reports of curves, confusion or classes; registration by approval or invitation; and a private split that decides in the
end.
"""


def page() -> str:
    """The whole page."""
    one = round_bits_up(digit_bits(6, (0.0, 1.0)))
    small = round_bits_up(digit_bits(3, (0.0, 1.0)))
    digits = (
        f"Of 6 digits between 0\n  and 1, and of every power of ten that binary64 has, that makes {one} bits; of 3 digits "
        f"{small}. Where the gold is\n  known, metrics that cannot be as small have fewer."
    )
    lines = [_HEAD.replace("{digits}", digits).replace("{teams}", str(MIN_RIVALS))]
    lines += [
        "## Examples",
        "",
        "Teams are shown the scores of their own submissions.",
        "",
        *table(["rules", "bits of a submission", "bits once", "labels at most"], _examples()),
    ]
    lines += ["## How metrics answer to single labels", ""]
    lines += ["Bits of one value at full precision, by the size of the gold.", ""]
    lines += table(["name", "its value", *_SIZES, "metrics"], map(_row, _granularities()))
    return "\n".join(lines)


_SIZES = {
    "1,000 instances of 2 classes": GoldSize(1000, 2),
    "1,000 sets of 20 classes": GoldSize(1000, 20, multilabel=True),
}
_EXAMPLES: tuple[tuple[TaskKind, tuple[str, ...], int | str, int, GoldSize, BoardVisibility], ...] = (
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
)
_BOARDS: dict[BoardVisibility, str] = {
    "public": "a public board",
    "after_close": "a board after the close",
    "hidden": "no board",
}


def _examples() -> Iterator[list[str]]:
    for task, metrics, digits, submissions, sizes, board in _EXAMPLES:
        body = {"primary": metrics[0], "metrics": list(metrics), "disclosure": {"digits": digits}}
        agreed = parse_recipe(body, task, positive_label="a" if task == "binary" else None)
        found = compute_inference_bound(agreed, DisclosureRules(submissions, board, ("scores",)), sizes)
        named = ", ".join(map(code, metrics))
        sent = "1 submission" if submissions == 1 else f"{submissions} submissions"
        rules = f"{named} at {digits} digits, {_BOARDS[board]}, {sent}, {sizes.instances:,} instances of {sizes.classes} classes"
        bits = [f"{round_bits_up(value):g}" for value in (found.per_submission, found.once)]
        yield [rules, *bits, f"{found.labels:,} of {sizes.labels:,}"]


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
