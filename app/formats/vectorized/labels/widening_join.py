"""Joins predictions with the ids of gold where no classes are declared: labels that the gold lacks become classes, too."""

from dataclasses import dataclass, field

from app.formats.normalize import normalize_clean_texts
from app.formats.reading_rules import Limits
from app.formats.vectorized.id_join import IdJoin
from app.formats.vectorized.labels.dictionary_encoder import Codes, DictionaryEncoder
from app.formats.vectorized.unsupported import require
from app.scoring.string_table import Int, Spans


@dataclass
class WideningJoin(IdJoin):
    """An IdJoin whose classes grow by the unknown labels of the file, whose codes follow those of the known classes."""

    limits: Limits = field(kw_only=True)
    encoder: DictionaryEncoder = field(init=False)

    def __post_init__(self) -> None:
        """Begin with the known classes."""
        super().__post_init__()
        self.encoder = DictionaryEncoder(self.limits.classes, self.tables.classes)

    @property
    def class_count(self) -> int:
        """How many classes the codes count."""
        assert self.encoder.known is not None
        return len(self.encoder.known)

    def take_labels(self, spans: Spans) -> None:
        """Add the labels that come next in the file."""
        self.label_count += len(spans)
        require(self.label_count <= (self.limits.values if self.limits.sets is None else self.limits.sets))
        self.encoder.take(spans)

    def finish(self) -> tuple[Codes, Codes, Int | None]:
        """Rows, codes and counts of the file; raises UnsupportedLayout unless it describes each instance exactly once."""
        self.codes.append(self.encoder.codes())
        classes = self.classes()
        require(normalize_clean_texts(classes, self.limits) == classes)
        return super().finish()

    def classes(self) -> list[str]:
        """The classes by code: the known ones, then the others."""
        return self.encoder.texts()
