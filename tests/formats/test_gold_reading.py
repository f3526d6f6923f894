from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.formats import Limits, Problems, detect_file_kind
from app.pipeline import Gold, SourceFile
from app.scoring.declaration.task import TaskKind
from tests.each_case import for_each
from tests.formats.reading import code_sets, load_gold_both_ways, summarize_problems


def load(
    folder: Path, text: str, name: str = "gold.json", task: TaskKind = "multiclass", **more: Any
) -> tuple[Gold | None, Problems]:
    name, _, layout = name.partition("?")
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return load_gold_both_ways(SourceFile(path, detect_file_kind(name, None, None, layout)), task=task, **more)


def load_valid(*given: Any, **more: Any) -> Gold:
    """Gold without a problem."""
    gold, problems = load(*given, **more)
    assert problems.to_dict()["problems"] == []
    assert gold is not None
    return gold


def test_without_declared_classes_the_sorted_label_set_is_the_vocabulary(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, '[{"id":1,"label":"eel"},{"id":"2","label":"cat"}]')
    assert gold.spec.classes == ("cat", "eel")
    assert gold.ids == ["1", "2"]
    assert code_sets(gold.labels) == [[1], [0]]
    assert gold.splits is None
    assert any("no classes were declared" in note for note in gold.notes)


def test_declared_classes_keep_their_order_and_are_compared_after_nfc(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, '{"t1":"cafe\u0301"}', classes=["tea", "caf\u00e9"])
    assert gold.spec.classes == ("tea", "caf\u00e9")
    assert code_sets(gold.labels) == [[1]]


SPLIT_FILES = {
    "gold.json": '[{"id":"a","label":"x","split":"public"},{"id":"b","label":"y","split":"private"}]',
    "gold.jsonl": '{"id":"a","label":"x","split":"public"}\n{"id":"b","label":"y","split":"private"}\n',
    "gold.csv": "id,split,label\na,public,x\nb,private,y\n",
    "columns.json": '{"ids":["a","b"],"labels":["x","y"],"split":["public","private"]}',
}


@for_each("name", SPLIT_FILES)
def test_splits_are_read_in_every_format_that_can_hold_them(tmp_path: Path, name: str) -> None:
    gold = load_valid(tmp_path, SPLIT_FILES[name], name)
    assert gold.splits is not None
    assert gold.splits.tolist() == [0, 1]
    assert not any("split" in note for note in gold.notes)


FAULTY: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "split on one row only": (
        "g.json",
        '[{"id":"a","label":"x","split":"public"},{"id":"b","label":"y"}]',
        [{"code": "wrong_shape", "pointer": "/1", "instance_id": "b"}],
    ),
    "empty split in CSV": (
        "g.csv",
        "id,label,split\na,x,public\nb,y,\n",
        [{"code": "wrong_shape", "line": 3, "column": 3, "instance_id": "b"}],
    ),
    "a third split": (
        "g.csv",
        "id,label,split\na,x,Public\nb,y,private\n",
        [{"code": "wrong_shape", "line": 2, "column": 3, "instance_id": "a"}],
    ),
    "a number as split": (
        "g.json",
        '[{"id":"a","label":"x","split":0}]',
        [{"code": "wrong_shape", "pointer": "/0/split", "instance_id": "a"}],
    ),
    "split column too short": (
        "g.json",
        '{"ids":["a","b"],"labels":["x","y"],"split":["public"]}',
        [{"code": "wrong_shape", "pointer": "/split"}],
    ),
    "split is no list": (
        "g.json",
        '{"ids":["a","b"],"labels":["x","y"],"split":"public"}',
        [{"code": "wrong_shape", "pointer": "/split"}],
    ),
    "a name near split": ("g.csv", "id,label,usage\na,x,Public\n", [{"code": "wrong_shape", "line": 1, "column": 3}]),
    "a column named splits": (
        "g.json",
        '{"ids":["a"],"labels":["x"],"splits":["public"]}',
        [{"code": "wrong_shape", "pointer": "/splits"}],
    ),
    "weight": (
        "g.json",
        '[{"id":"a","label":"x","weight":-2}]',
        [{"code": "wrong_shape", "pointer": "/0/weight", "instance_id": "a"}],
    ),
    "weight in lines": (
        "g.jsonl",
        '{"id":"a","label":"x"}\n{"id":"b","label":"x","weight":2}\n',
        [{"code": "wrong_shape", "line": 1, "instance_id": "a"}],
    ),
    "no instance": ("g.json", "[]", [{"code": "wrong_shape"}]),
    "a header only": ("g.csv", "id,label\n", [{"code": "wrong_shape"}]),
    "repeated id": (
        "g.csv",
        "id,label\na,x\nb,y\na,x\n",
        [{"code": "duplicate_id", "line": 4, "column": 1, "instance_id": "a"}],
    ),
    "weights that are all 0": ("g.csv", "id,label,weight\na,x,0\nb,y,0.0\n", [{"code": "wrong_shape"}]),
    "weights of splits too far apart": (
        "g.csv",
        "id,label,split,weight\na,x,public,0.0003\nb,y,public,0.0006000001\nc,y,private,1e12\n",
        [{"code": "wrong_shape"}],
    ),
    "weights too far apart": ("g.csv", "id,label,weight\na,x,1e12\nb,y,0.00001\n", [{"code": "wrong_shape"}]),
    "a weight with a huge exponent": (
        "g.csv",
        "id,label,weight\na,x,1\nb,y,1e-999999999\n",
        [{"code": "wrong_shape", "line": 3, "column": 3, "instance_id": "b"}],
    ),
    "a name near weight": ("g.csv", "id,label,Weight\na,x,1\n", [{"code": "wrong_shape", "line": 1, "column": 3}]),
    "a Usage that nobody knows": (
        "g.csv",
        "Id,Expected,Usage\na,x,Public\nb,y,Secret\n",
        [{"code": "wrong_shape", "line": 3, "column": 3, "instance_id": "b"}],
    ),
    "rows of one id that disagree on the split": (
        "g.csv?long",
        "id,labels,split\na,x,public\na,y,private\n",
        [{"code": "wrong_shape", "line": 3, "column": 3, "instance_id": "a"}],
    ),
}


@for_each("name", FAULTY)
def test_a_fault_of_gold_is_reported_where_it_stands(tmp_path: Path, name: str) -> None:
    file_name, text, expected = FAULTY[name]
    gold, problems = load(tmp_path, text, file_name)
    assert gold is None
    assert summarize_problems(problems) == expected


@for_each("texts", [("1", "0.5", "2"), ("1e3", "500", "2000.0"), ("0.1", ".05", "+2e-1")])
def test_weights_are_scaled_to_whole_numbers_exactly(tmp_path: Path, texts: tuple[str, ...]) -> None:
    rows = "".join(f"{name},x,{text}\n" for name, text in zip("abc", texts, strict=True))
    gold = load_valid(tmp_path, f"id,label,weight\n{rows}", "g.csv")
    assert gold.weights is not None
    assert gold.weights.tolist() == [2, 1, 4]


WEIGHTS_AS_TEXTS = {
    "csv": "id,label,weight\n" + "".join(f"{name},x,%s\n" for name in "abc"),
    "json": "[" + ",".join(f'{{"id":"{name}","label":"x","weight":%s}}' for name in "abc") + "]",
    "jsonl": "".join(f'{{"id":"{name}","label":"x","weight":%s}}\n' for name in "abc"),
    "uneven.jsonl": "".join(f'{{"id":"{name}","label":"x","weight":%s,"{name}":0}}\n' for name in "abc"),
    "columns.json": '{"ids":["a","b","c"],"labels":["x","x","x"],"weight":[%s,%s,%s]}',
}


@for_each("ending", WEIGHTS_AS_TEXTS)
def test_every_digit_of_a_weight_counts_in_every_format_of_text(tmp_path: Path, ending: str) -> None:
    """Binary64 does not tell these digits: as such numbers they would not be 1 : 2 : 3, nor as multiples of 1e-40."""
    for unit in ("0.12345678901234567", "1234.0000000000000000000000000000000000000001", "0.1" + "0" * 80):
        with localcontext(prec=90):
            texts = tuple(f"{factor * Decimal(unit):f}" for factor in (1, 2, 3))
        gold = load_valid(tmp_path, WEIGHTS_AS_TEXTS[ending] % texts, f"g.{ending}")
        assert gold.weights is not None
        assert (gold.weights.tolist(), gold.weight_unit) == ([1, 2, 3], Fraction(unit))
        assert not any("digits" in note for note in gold.notes)


@for_each("ending", WEIGHTS_AS_TEXTS)
def test_a_weight_that_binary64_takes_for_0_is_refused_in_every_format_of_text(tmp_path: Path, ending: str) -> None:
    gold, problems = load(tmp_path, WEIGHTS_AS_TEXTS[ending] % ("1e-400", "1.5", "0e-400"), f"g.{ending}")
    assert gold is None
    assert [(one["instance_id"], one["got"].strip('"')) for one in problems.to_dict()["problems"]] == [("a", "1e-400")]


def test_a_label_that_is_a_long_number_is_shown_as_it_stands(tmp_path: Path) -> None:
    gold, problems = load(tmp_path, '[{"id":"a","label":0.12345678901234567,"other":0.12345678901234567}]')
    assert gold is None
    assert [(one["code"], one["got"]) for one in problems.to_dict()["problems"]] == [
        ("wrong_shape", "0.12345678901234567")
    ]


@given(
    weights=st.lists(st.decimals("1e-6", 1, places=18), min_size=2, max_size=6),
    unit=st.sampled_from(["0.1", "0.5", "3", "7", "10", "999.999", "1e-5"]),
)
def test_weights_in_another_unit_are_the_same_weights(
    tmp_path_factory: pytest.TempPathFactory, weights: list[Decimal], unit: str
) -> None:
    """Also where they have more digits than can be counted and are rounded."""
    found = []
    with localcontext(prec=60):
        for factor in (Decimal(1), Decimal(unit)):
            rows = "".join(f"{row},x,{weight * factor:f}\n" for row, weight in enumerate(weights))
            gold = load_valid(tmp_path_factory.getbasetemp(), f"id,label,weight\n{rows}", "g.csv")
            found.append((None if gold.weights is None else gold.weights.tolist(), gold.weight_unit / Fraction(factor)))
    assert found[0][0] == found[1][0]
    assert found[0][0] is None or found[0] == found[1]


def test_equal_weights_are_no_weights(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, '[{"id":"a","label":"x","weight":0.3},{"id":"b","label":"x","weight":0.3}]')
    assert gold.weights is None


SOLUTIONS = {
    "Kaggle": "Id,Expected,Usage\na,x,Public\nb,y,Private\nc,x,Ignored\n",
    "Kaggle with other names": "ImageId,Class Name,Usage\na,x,Public\nb,y,Private\nc,x,Ignored\n",
    "Kaggle with the split in the middle": "id,Usage,label\na,Public,x\nb,Private,y\nc,Ignored,x\n",
}


@for_each("name", SOLUTIONS)
def test_a_solution_file_of_a_competition_site_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    gold = load_valid(tmp_path, SOLUTIONS[name], "solution.csv")
    assert gold.ids == ["a", "b"]
    assert list(gold.template_ids) == ["a", "b", "c"]
    assert gold.void == {"c"}
    assert gold.splits is not None
    assert gold.splits.tolist() == [0, 1]
    assert "1 instance is not scored: their Usage is Ignored" in gold.notes


def test_a_hugging_face_solution_is_taken_as_it_is(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, "id,pred,split\na,x,public\nb,y,private\n", "solution.csv")
    assert gold.spec.classes == ("x", "y")
    assert gold.splits is not None
    assert gold.splits.tolist() == [0, 1]


def test_a_solution_with_several_columns_that_may_be_the_labels_is_refused(tmp_path: Path) -> None:
    _, problems = load(tmp_path, "id,first,second,Usage\na,x,y,Public\n", "solution.csv")
    assert summarize_problems(problems) == [{"code": "wrong_shape", "line": 1}]


ACCEPTABLE = {
    "g.json": '[{"id":"a","labels":["x","y"]},{"id":"b","labels":["y"]},{"id":"c","labels":[]}]',
    "columns.json": '{"ids":["a","b","c"],"labels":[["x","y"],["y"],[]]}',
    "map.json": '{"a":["x","y"],"b":["y"],"c":[]}',
    "g.jsonl": '{"id":"a","labels":["x","y"]}\n{"id":"b","labels":["y"]}\n{"id":"c","labels":[]}\n',
    "g.csv": "id,labels\na,x|y\nb,y\nc,\n",
    "g.tsv": "id\tlabels\na\tx|y\nb\ty\nc\t\n",
    "g.csv?long": "id,labels\na,x\na,y\nb,y\nc,\n",
}


@for_each("name", ACCEPTABLE)
def test_gold_may_give_sets_of_acceptable_answers(tmp_path: Path, name: str) -> None:
    gold = load_valid(tmp_path, ACCEPTABLE[name], name)
    assert gold.ids == ["a", "b"]
    assert gold.void == {"c"}
    assert list(gold.template_ids) == ["a", "b", "c"]  # who fills in a template does not learn which are void
    assert code_sets(gold.labels) == [[0, 1], [1]]


def test_gold_labels_outside_the_declared_classes_are_refused(tmp_path: Path) -> None:
    gold, problems = load(tmp_path, '{"a":"x","b":"z"}', classes=["x", "y"])
    assert gold is None
    assert summarize_problems(problems) == [{"code": "unknown_label", "pointer": "/b", "instance_id": "b"}]


def test_void_rows_leave_the_gold_with_their_labels_and_faults(tmp_path: Path) -> None:
    text = "id,label,split\na,x,public\nv,unheard of,public\nb,y,private\n"
    gold = load_valid(tmp_path, text, "gold.csv", classes=["x", "y"], void=["v", "never there"])
    assert gold.ids == ["a", "b"]
    assert gold.splits is not None
    assert gold.splits.tolist() == [0, 1]
    assert gold.void == {"v", "never there"}
    gold = load_valid(tmp_path, text, "gold.csv", void=["v"])
    assert gold.spec.classes == ("x", "y")


def test_gold_of_nothing_but_void_rows_is_refused(tmp_path: Path) -> None:
    gold, problems = load(tmp_path, '{"a":"x"}', void=["a"])
    assert gold is None
    assert problems.total == {"wrong_shape": 1}


@for_each(
    "text, more, words",
    [
        ('{"a":"x"}', {"positive_label": "x"}, "Declare both classes"),
        ('{"a":"x","b":"y","c":"z"}', {"positive_label": "x"}, "A binary task has two labels"),
        ('{"a":"x","b":"y"}', {"positive_label": "z"}, "not among the classes"),
        ('{"a":"x","b":"y"}', {"positive_label": "x", "classes": ["x", "y", "z"]}, "exactly two classes"),
        ('{"a":"x","b":"y"}', {}, "not among the classes"),
    ],
)
def test_binary_gold_needs_two_classes_one_of_them_positive(
    tmp_path: Path, text: str, more: dict[str, Any], words: str
) -> None:
    gold, problems = load(tmp_path, text, task="binary", **more)
    assert gold is None
    assert problems.total == {"wrong_shape": 1}
    assert words in problems.first[0].message


def test_binary_gold_with_one_label_is_fine_once_both_classes_are_declared(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, '{"a":"x"}', task="binary", positive_label="y", classes=["x", "y"])
    assert gold.spec.positive_label == "y"


def test_multilabel_gold_holds_sets_the_empty_one_included(tmp_path: Path) -> None:
    gold = load_valid(tmp_path, '{"a":["y","x"],"b":[]}', task="multilabel")
    assert code_sets(gold.labels) == [[1, 0], []]
    without_labels, problems = load(tmp_path, '{"a":[],"b":[]}', task="multilabel")
    assert without_labels is None
    assert "The gold has no labels" in problems.first[0].message


def test_weights_and_splits_follow_their_ids_past_void_rows(tmp_path: Path) -> None:
    rows = ["id,label,split,weight", "c,x,private,3", "a,y,public,1", "v,x,public,100", "b,x,public,2"]
    gold, problems = load(tmp_path, "\n".join(rows) + "\n", "gold.csv", void=["v"])
    assert not problems
    assert gold is not None
    assert gold.weights is not None
    assert gold.splits is not None
    assert gold.ids == ["a", "b", "c"]
    assert (gold.weights.tolist(), gold.weight_unit) == ([1, 2, 3], Fraction(1))
    assert gold.splits.tolist() == [0, 0, 1]
    assert code_sets(gold.labels) == [[1], [0], [0]]


def test_a_void_id_occurs_once_too(tmp_path: Path) -> None:
    text = '[{"id":"v","label":"x"},{"id":"a","label":"x"},{"id":"v","label":"y"}]'
    gold, problems = load(tmp_path, text, void=["v"])
    assert gold is None
    assert summarize_problems(problems) == [{"code": "duplicate_id", "pointer": "/2/id", "instance_id": "v"}]


def test_weights_that_sum_to_2_to_the_52_are_exact(tmp_path: Path) -> None:
    gold, problems = load(tmp_path, "id,label,weight\na,x,4503599627.370495\nb,y,0.000001\n", "gold.csv")
    assert not problems
    assert gold is not None
    assert gold.weights is not None
    assert gold.weights.tolist() == [2**52 - 1, 1]


@for_each("allowed, total", [(2, {}), (1, {"too_large": 1})])
def test_gold_may_have_as_many_classes_as_the_limit(tmp_path: Path, allowed: int, total: dict[str, int]) -> None:
    assert load(tmp_path, '{"a":"x","b":"y"}', limits=Limits(classes=allowed))[1].total == total
