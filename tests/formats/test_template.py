import csv
import io
import json
from pathlib import Path

import pytest

from app.errors import BadRequest
from app.formats import FileKind
from app.formats.template import TEMPLATES, template
from tests.formats.support import predict, sets

ODD_IDS = ["t1", 'quo"te', "com,ma", "line\nend", "é", "00"]
FORMATS = list(TEMPLATES)


def kind(name: str) -> str:
    return FileKind(name if name in {"jsonl", "csv"} else "json").format


@pytest.mark.parametrize("name", FORMATS)
def test_an_unfilled_template_holds_the_ids_in_order_and_no_label(name: str) -> None:
    _, problems = predict(template(ODD_IDS, "multiclass", name), kind(name), ids=ODD_IDS)
    assert problems.total == {"empty_label": len(ODD_IDS)}
    assert [found.instance_id for found in problems.first] == ODD_IDS


@pytest.mark.parametrize("name", FORMATS)
def test_an_unfilled_multilabel_template_is_a_file_of_empty_sets(name: str) -> None:
    labels, problems = predict(template(ODD_IDS, "multilabel", name), kind(name), ids=ODD_IDS, multilabel=True)
    assert not problems
    assert sets(labels) == [[] for _ in ODD_IDS]


def test_templates_filled_in_are_accepted() -> None:
    for name in FORMATS:
        raw = template(ODD_IDS, "multiclass", name).decode()
        if name == "csv":
            rows = list(csv.reader(io.StringIO(raw, newline="")))
            out = io.StringIO(newline="")
            csv.writer(out).writerows([rows[0], *([row[0], "dog"] for row in rows[1:])])
            filled = out.getvalue()
        elif name == "jsonl":
            filled = "\n".join(json.dumps(json.loads(line) | {"label": "dog"}) for line in raw.splitlines())
        else:
            filled = raw.replace('""', '"dog"')
        labels, problems = predict(filled, kind(name), ids=ODD_IDS)
        assert not problems, name
        assert sets(labels) == [[1] for _ in ODD_IDS]


def test_an_unknown_template_format_names_those_that_exist() -> None:
    with pytest.raises(BadRequest, match="columns"):
        template(["a"], "binary", "xlsx")


def test_a_template_of_no_ids_is_still_a_file(tmp_path: Path) -> None:
    for name in ("json", "columns", "map", "csv"):
        assert not predict(template([], "multilabel", name), kind(name), ids=[], multilabel=True)[1]
