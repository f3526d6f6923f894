"""The convention options: one declaration of every choice that changes a number and on which tools disagree."""

from collections.abc import Container
from dataclasses import dataclass
from urllib.parse import quote, unquote


@dataclass(frozen=True, slots=True)
class Option:
    """A convention with its allowed values, its default and its meaning; without values it takes a list of labels."""

    name: str
    values: tuple[str, ...]
    default: str
    meaning: str
    value_meanings: tuple[str, ...] = ()


_DECLARED = (
    Option(
        "zero_division",
        ("worst", "0", "1", "skip", "error"),
        "worst",
        "The value of a ratio 0/0.",
        (
            "the measure's worst value: 0 where higher is better (-1 for informedness and markedness), 1 where lower is better",
            "0",
            "1",
            "the class is left out of the average; a value that would only be 0/0 is null",
            "the value is null, with the reason",
        ),
    ),
    Option(
        "label_set",
        ("declared", "gold", "predicted", "gold_or_predicted", "training"),
        "declared",
        "The labels that a macro average includes, and that its divisor counts.",
        (
            "every declared label",
            "labels that occur in gold",
            "labels that were predicted",
            "labels that occur in gold or were predicted",
            "labels that occur in the training data",
        ),
    ),
    Option(
        "absent_gold",
        ("include", "skip"),
        "include",
        "Whether a mean over labels includes labels that never occur in gold.",
        (
            "labels that are absent from gold are included; zero_division applies to them",
            "labels that are absent from gold are left out and listed in a note",
        ),
    ),
    Option(
        "unknown_label",
        ("reject", "count_as_fp", "drop"),
        "reject",
        "How a predicted label outside the vocabulary counts.",
        (
            "the file is refused",
            (
                "a false positive in pooled sums and of its instance, where it replaces a true negative like any other "
                "wrong label; it belongs to no class, so measures of single classes and their averages ignore it, and in "
                "chance-corrected agreement it never agrees"
            ),
            "it is ignored, as if it had not been predicted",
        ),
    ),
    Option(
        "both_empty",
        ("1", "0", "skip"),
        "1",
        "The per-instance precision, recall, F, Jaccard and α-score if gold and prediction are both empty sets.",
        (
            "the best value",
            "the worst value; a prediction of only labels outside the vocabulary counts as empty",
            "the instance is left out of the average",
        ),
    ),
    Option(
        "one_empty",
        ("0", "skip"),
        "0",
        "The per-instance precision, recall, F, Jaccard and α-score if exactly one of the two sets is empty.",
        (
            "the worst value, except for the α-score, which follows its equation",
            "the instance is left out of the average",
        ),
    ),
    Option(
        "empty_label",
        ("not_a_label", "as_class"),
        "not_a_label",
        "Whether the empty set is a class of its own in multi-label data.",
        (
            "the empty set is not a class",
            "an instance without labels has the single label 'no label', which is averaged like any other label",
        ),
    ),
    Option(
        "duplicates",
        ("reject", "set", "multiset"),
        "reject",
        "How a label that is repeated within one prediction counts.",
        (
            "the file is refused",
            "a repeated label counts once",
            (
                "every repetition counts: [A] against [A, A, A] is one true and two false positives; subset accuracy, zero-one "
                "loss, Hamming loss and score, edit distance and split confusion counts still compare sets"
            ),
        ),
    ),
    Option(
        "missing",
        ("reject", "empty_prediction"),
        "reject",
        "How an instance without a prediction counts.",
        ("the file is refused", "it counts as an instance without predicted labels, which lowers recall"),
    ),
    Option(
        "unknown_cells",
        ("reject", "skip"),
        "reject",
        "How a cell counts, an instance with a label, of which the gold does not say whether the label applies.",
        (
            "gold with unknown cells is refused",
            (
                "unknown cells are left out of every count: sums run over the known cells, a prediction there counts "
                "neither for nor against, and labels and instances without a known cell enter no mean"
            ),
        ),
    ),
    Option(
        "score_direction",
        ("higher", "lower"),
        "higher",
        "Whether a higher or a lower score means more confidence in a label.",
        (
            "a higher score means more confidence",
            (
                "a lower score means more confidence: scores are negated before they are ranked, a score reaches a threshold "
                "if it is not greater, and measures of probabilities are refused"
            ),
        ),
    ),
    Option(
        "exclude_labels",
        (),
        "",
        "Labels to leave out of the mean over labels or of the pooled sums, joined by |; their instances are kept. The "
        "value none excludes no label, unless a class has that name.",
    ),
)

OPTIONS: dict[str, Option] = {option.name: option for option in _DECLARED}
DEFAULTS: dict[str, str] = {option.name: option.default for option in _DECLARED}

_RESERVED = str.maketrans({sign: quote(sign, safe="") for sign in ",=:|%"})


def encode_value(value: str) -> str:
    """A value as written in a metric string: the characters , = : | % become %XX."""
    return value.translate(_RESERVED)


def decode_value(value: str) -> str:
    """The value with %XX decoded; raises UnicodeDecodeError if the result is not UTF-8."""
    return unquote(value, errors="strict")


def join_labels(labels: list[str] | tuple[str, ...] | set[str]) -> str:
    """Labels as the canonical value of a list option: distinct, sorted, encoded, joined by |."""
    return "|".join(encode_value(label) for label in sorted(set(labels)))


def split_labels(value: str) -> tuple[str, ...]:
    """The labels in the value of a list option; none in an empty value."""
    return tuple(decode_value(part) for part in value.split("|")) if value else ()


def excluded_labels(value: str, classes: Container[str]) -> tuple[str, ...]:
    """The labels in a value of exclude_labels; 'none' means no label, unless a class has that name."""
    return () if value == "none" and value not in classes else split_labels(value)
