"""Templates: files to fill in, with every id in the given order and an empty field for its answer."""

from collections.abc import Sequence

from app.errors import BadRequest
from app.formats.content.format_detection import is_supported
from app.formats.format_declaration import Format
from app.formats.registry import FORMATS
from app.formats.templates.template_writers import TemplateContent
from app.scoring.declaration.task import TaskSpec

_MAX_CELLS = 20_000_000
"""Most cells for single scores in a template; a larger file is better written by the system that fills it in."""

TEMPLATES: dict[str, Format] = {name: form for form in FORMATS.values() for name in form.templates}
"""The format of each template, by the name under which the template is requested."""


def build_template(ids: Sequence[str], spec: TaskSpec, format: str = "json", *, scores: bool = False) -> bytes:  # noqa: A002 (the query parameter's name)
    """Write a template with the ids in their order, without labels or splits.

    A single label is the empty string, to be filled in (it is refused as a label); a set of labels is the empty list.
    With `scores`, and always in npz, there are cells for scores instead. Raises BadRequest for a template that TEMPLATES
    does not name, for a format that this installation does not read, and for more than 20 million cells.
    """
    if format not in TEMPLATES:
        raise BadRequest(f"There is no template in the format '{format}'. Known formats: {', '.join(TEMPLATES)}.")
    form = TEMPLATES[format]
    template = form.templates[format]
    if not is_supported(form):
        raise BadRequest(f"This installation cannot read the format '{format}', so there is no template in it.")
    is_single = spec.positive_label is not None
    scored_classes: Sequence[str] = ()
    if scores or format == "npz":
        scored_classes = spec.classes if spec.positive_label is None else (spec.positive_label,)
    advice = "Request format=columns, which lists ids and classes once."
    if template.has_cell_per_score and len(ids) * len(scored_classes) > _MAX_CELLS:
        size = f"{len(ids)} × {len(scored_classes)} cells for scores"
        raise BadRequest(f"The template would have {size}; at most {_MAX_CELLS} are allowed.", remedy=advice)
    if form.table and "id" in scored_classes:
        message = "A table cannot have a column of scores for the class 'id': the column of the ids has this name."
        raise BadRequest(message, remedy=advice)
    content = TemplateContent(list(ids), spec.task == "multilabel", scored_classes, is_single, "score" in spec.classes)
    return template.write(content)
