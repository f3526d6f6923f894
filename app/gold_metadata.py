"""What may accompany gold labels: the name, an example and the wording of each kind, for the API and the command line.

`app.scoring.declaration.gold_metadata` holds their parsers. They are apart because the command line builds its options
from this table at every start, and importing the scorer takes long.
"""

from typing import NamedTuple


class GoldMetadataDeclaration(NamedTuple):
    """One kind of gold metadata, as users see it."""

    name: str
    """The last segment of its path in the API and the name of its option, such as `class-weights`."""
    example: str
    """A JSON text that shows its shape."""
    summary: str
    """The title of its route in the API documentation."""
    description: str
    """The text of its route in the API documentation."""
    option_help: str
    """The help of its command-line option, which takes a JSON file."""

    @property
    def field(self) -> str:
        """The name in JSON and in the database, such as `class_weights`."""
        return self.name.replace("-", "_")


_PARTITION_EXAMPLE = '{"t1": "1", "t2": "1", "t3": "2", "t4": "2"}'

CLASSES = GoldMetadataDeclaration(
    "classes",
    '["cat", "dog"]',
    "Declare the classes of a draft",
    "Sets the label vocabulary, in order. It must contain every label of the gold.",
    "JSON list of all classes (default: those that occur).",
)
"""The vocabulary: declared like gold metadata, but stored with the gold version itself."""

GOLD_METADATA = (
    GoldMetadataDeclaration(
        "train-frequencies",
        '{"cat": 812, "dog": 1044}',
        "Give the training label counts",
        "Sets how often each label occurs in the training data. Metrics with `_lfb_train` need it.",
        "JSON {label: count} of the training data.",
    ),
    GoldMetadataDeclaration(
        "class-weights",
        '{"cat": 0.25, "dog": 0.75}',
        "Give class weights",
        "Sets the weights that `weighted_accuracy` uses. They are scaled to sum to one.",
        "JSON {label: weight}.",
    ),
    GoldMetadataDeclaration(
        "cost-matrix",
        '{"cat": {"dog": 1}, "dog": {"cat": 5}}',
        "Give the costs of errors",
        "Sets the cost of each error. Outer keys are gold labels, inner keys predicted labels. `expected_cost` needs it.",
        "JSON {gold label: {predicted label: cost}}.",
    ),
    GoldMetadataDeclaration(
        "hierarchy",
        '{"parents": {"cat": ["pet"], "dog": ["pet"]}}',
        "Give the hierarchy of the classes",
        'Sets the parents of each class: either `{"parents": {child: [parent, …]}}`, or `{"parent": {child: parent}}` '
        "if every class has at most one.\n\nA hierarchy with a cycle, or without a node for some class, is refused.",
        'JSON {"parents": {child: list of parents}} or {"parent": {child: parent}}.',
    ),
    GoldMetadataDeclaration(
        "folds",
        _PARTITION_EXAMPLE,
        "Divide the instances into folds",
        "Sets the fold of each instance id. Cross-validation metrics need it.",
        "JSON {id: fold} for cross-validation.",
    ),
    GoldMetadataDeclaration(
        "groups",
        _PARTITION_EXAMPLE,
        "Divide the instances into groups",
        "Sets the group of each instance id, such as its document, patient or speaker.",
        "JSON {id: group}: its document, patient, speaker.",
    ),
    GoldMetadataDeclaration(
        "unknown-cells",
        '{"t1": ["dog"], "t3": ["cat", "dog"]}',
        "Name the labels that the gold leaves open",
        "Sets, for multi-label gold, the labels of each instance id of which nobody knows whether they apply: the cells "
        "`?` of MEKA. With the option `unknown_cells=skip`, metrics leave these cells out of every count. A recipe "
        "without it is refused together with such gold.\n\nOnly organizers can see which cells are unknown.",
        "JSON {id: [labels]} that multi-label gold leaves open.",
    ),
)
