"""The three small data sets of the worked examples, whose values were counted by hand."""

from collections.abc import Mapping

from app.scoring.declaration.metric import Example
from app.scoring.metrics.shared_declarations import worked_example

BINARY_EXAMPLE = Example(
    task="binary",
    classes=("spam", "ham"),
    gold=("spam", "spam", "spam", "spam", "ham", "ham", "ham", "ham", "ham", "ham"),
    predicted=("spam", "spam", "spam", "ham", "spam", "spam", "ham", "ham", "ham", "ham"),
    value="",
    positive_label="spam",
)
MULTICLASS_EXAMPLE = Example(
    task="multiclass",
    classes=("cat", "dog", "mouse"),
    gold=("cat", "cat", "cat", "cat", "dog", "dog", "dog", "mouse", "mouse"),
    predicted=("cat", "cat", "dog", "dog", "dog", "dog", "cat", "mouse", "dog"),
    value="",
    train_frequencies={"cat": 2, "dog": 1, "mouse": 1},
)
MULTILABEL_EXAMPLE = Example(
    task="multilabel",
    classes=("art", "law", "war"),
    gold=(("art", "law"), ("law",), ("art", "war"), ("war",)),
    predicted=(("art",), ("law", "war"), ("art",), ("war",)),
    value="",
)
_EXAMPLE_BY_AVERAGE = {"": BINARY_EXAMPLE, "samples": MULTILABEL_EXAMPLE}
_AVERAGE_ORDER = ("", "macro", "micro", "weighted", "weighted_by_predicted", "lfb_train", "samples")


def values_per_average(*values: str) -> dict[str, str]:
    """Exact values for one class, then for each average in order; `lfb_test` has the value of `weighted`."""
    values_by_suffix = dict(zip(_AVERAGE_ORDER, values, strict=False))
    return (
        {**values_by_suffix, "lfb_test": values_by_suffix["weighted"]}
        if "weighted" in values_by_suffix
        else values_by_suffix
    )


def average_example(suffix: str, values: Mapping[str, str], params: Mapping[str, str]) -> Example:
    """The worked example of an average: binary data for one class, label sets for `samples`, else three classes."""
    return worked_example(_EXAMPLE_BY_AVERAGE.get(suffix, MULTICLASS_EXAMPLE), values[suffix], params)
