"""The parts of a report laid out as tables."""

import csv
import io

import pytest

from app.scoring.detail import detailed, rows_of, write_csv
from tests.scoring.build import case, results


@pytest.mark.parametrize("names", [("curves", "x"), ("labels", "matrix"), ("labels", "cells")])
def test_classes_may_be_called_as_the_fields_of_other_parts(names: tuple[str, str]) -> None:
    of = case("multiclass", names, [names[0], names[1], names[0]], [names[0], names[1], names[1]])
    target = io.StringIO()
    write_csv(detailed(of, {}, ["per_class"]), "per_class", target)
    rows = list(csv.DictReader(io.StringIO(target.getvalue())))
    assert [(row["label"], row["tp"], row["fn"]) for row in rows] == [(names[0], "1", "1"), (names[1], "1", "0")]
    assert [row["label"] for row in rows_of(results(of, ["caret_by_class"])["caret_by_class"].data)] == list(names)
