"""assay score --pairs: one file with the gold and the predicted label of each instance."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run_command import run_assay, write_file

GOLD = ["N", "N", "V", "V", "V", "ADJ"]
PREDICTED = ["N", "V", "V", "V", "N", "ADJ"]
METRICS = ("-m", "accuracy", "-m", "f1_macro", "-m", "mcc")


def pairs(path: Path, *more: object) -> Any:
    ran = run_assay("score", "--pairs", path, "--json", *more)
    assert ran.status == 0, ran.err + ran.out
    return ran.value()


def from_two_files(folder: Path, *more: object) -> Any:
    gold = write_file(folder / "gold.json", {str(n): label for n, label in enumerate(GOLD, start=1)})
    mine = write_file(folder / "mine.json", {str(n): label for n, label in enumerate(PREDICTED, start=1)})
    return run_assay("score", "--gold", gold, "--predictions", mine, "--json", *more).value()


def lines(*row: str) -> str:
    return "".join(
        row[0].format(gold=gold, predicted=predicted) + "\n" for gold, predicted in zip(GOLD, PREDICTED, strict=True)
    )


@pytest.mark.parametrize(
    "row",
    [
        "{gold} {predicted}",
        "{gold}\t{predicted}",
        "{gold},{predicted}\r",
        "=,-,k,{gold},{predicted}",
        "=,-,k,{gold},{predicted}        6619.851262815",
        "=,-,k,{gold},{predicted} {{ N 1.00000, V 2.50000 }}        0.0000000",
        "word  tag  {gold}   {predicted} {{ N 1.00000 }}",
        ",\t,\t{gold}\t{predicted}",
    ],
    ids=[
        "whitespace",
        "tab",
        "comma, CRLF",
        "TiMBL",
        "TiMBL +v di",
        "TiMBL +v di+db",
        "columns, +v db",
        "commas as words",
    ],
)
def test_the_scores_are_those_of_two_files(row: str, tmp_path: Path) -> None:
    options = (*METRICS, "--confusion", "--per-class")
    found = pairs(write_file(tmp_path / "out.txt", lines(row)), *options)
    expected = from_two_files(tmp_path, *options)
    assert {key: found[key] for key in found if key != "notes"} == {
        key: expected[key] for key in expected if key != "notes"
    }
    assert found["metrics"]["accuracy"] == 4 / 6
    assert any("is the gold" in note for note in found["notes"])


def test_folds_groups_and_void_instances_are_named_by_line_numbers(tmp_path: Path) -> None:
    """Blank lines, as between sentences, are no instances and keep their numbers."""
    path = write_file(tmp_path / "out.txt", "N N\nN V\n\nV V\n")
    folds = write_file(tmp_path / "folds.json", {"1": "a", "2": "a", "4": "b"})
    found = pairs(path, "--folds", folds, "-m", "f1_cv_mean_macro", "-m", "accuracy")
    assert (found["n"], found["metrics"]["accuracy"]) == (3, 2 / 3)
    assert found["metrics"]["f1_cv_mean_macro"] is not None
    void = write_file(tmp_path / "void.json", ["2"])
    assert pairs(path, "--void", void, "-m", "accuracy")["metrics"] == {"accuracy": 1.0}


def test_classes_a_positive_label_and_compressed_files_are_read(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(gzip.compress(b"yes yes\nyes no\nno no\n"))
    assert pairs(path, "--positive-label", "yes", "-m", "recall")["metrics"] == {"recall": 0.5}
    classes = write_file(tmp_path / "classes.json", ["no", "yes", "perhaps"])
    found = pairs(path, "--classes", classes, "-m", "recall_macro")
    assert (found["classes"], found["metrics"]["recall_macro"]) == (["no", "yes", "perhaps"], 0.5)


def test_cells_of_several_labels_are_split_only_where_asked(tmp_path: Path) -> None:
    """Van Asch 2013, section 5.5: gold [A] and [A], predicted [B C] and [A]."""
    path = write_file(tmp_path / "out.txt", "A B_C\nA A\n")
    counts = pairs(path, "--label-separator", "_", "-m", "f1_macro")["per_class"]
    assert [(row["tp"], row["fp"], row["fn"]) for row in counts.values()] == [(1, 0, 1), (0, 1, 0), (0, 1, 0)]
    assert "B_C" in pairs(path, "-m", "f1_macro")["classes"]
    empty = write_file(tmp_path / "empty.txt", "NONE A\nA NONE\n")
    found = pairs(empty, "--label-separator", "_", "-m", "precision_micro")
    assert (found["classes"], found["metrics"]["precision_micro"]) == (["A"], 0)


@pytest.mark.parametrize(
    ("content", "code", "says"),
    [
        (b"", "empty_file", "no line has labels"),
        (b"\n \n", "empty_file", "no line has labels"),
        (b"N\nV\n", "wrong_columns", "line 1: 1 column where at least 2 are expected"),
        (
            b"N N\nV V\nV V V\nN\n",
            "wrong_columns",
            "line 3: 3 columns where 2 are expected (separator: whitespace). 1 more",
        ),
        (b"N\tN\nV\t\n", "empty_label", "line 2: the predicted label is empty"),
        (b"N,N\n,V\n", "empty_label", "line 2: the gold label is empty"),
        (b"N N\nV\xff V\n", "encoding", "line 2: byte 0xff is not valid UTF-8"),
        (b"gold,predicted\nN,V\n", "header_row", "line 1: 'gold' and 'predicted' look like the names of columns"),
        (b"id,label\nt1,V\n", "header_row", "line 1: 'id' and 'label' look like the names of columns"),
        (b"label prediction\nN V\n", "header_row", "'label' and 'prediction' look like the names of columns"),
    ],
)
def test_a_faulty_file_is_refused_with_the_line(content: bytes, code: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(content)
    ran = run_assay("score", "--pairs", path, "--json")
    assert (ran.status, ran.value()["code"]) == (1, code)
    assert says in ran.value()["detail"]


def test_problems_of_labels_have_the_place_in_the_file_of_pairs(tmp_path: Path) -> None:
    path = write_file(tmp_path / "out.csv", "x,N,N\nx,N,V\n\nx,W,N\n")
    classes = write_file(tmp_path / "classes.json", ["N"])
    ran = run_assay("score", "--pairs", path, "--classes", classes, "--json")
    assert ran.status == 1
    found = ran.value()["problems"]
    assert [(one["file"], one["line"], one["column"], json.loads(one["got"])) for one in found] == [
        ("pairs", 4, 2, "W")
    ]
    ran = run_assay("score", "--pairs", write_file(path, "x,N,N\n\nx,N,W\n"), "--classes", classes)
    assert "line 3, column 3" in ran.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--gold"),
        (("--gold", "{path}"), "--predictions"),
        (("--pairs", "{path}", "--gold", "{path}"), "not allowed with --gold"),
        (("--pairs", "{path}", "--layout", "long"), "not allowed with --pairs"),
        (("--pairs", "{path}", "--label-separator", ""), "must not be empty"),
        (("--gold", "{path}", "--predictions", "{path}", "--separator", "tab"), "only allowed with --pairs"),
    ],
)
def test_conflicting_options_are_refused(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    path = write_file(tmp_path / "out.txt", "N N\n")
    ran = run_assay("score", *(word.format(path=path) for word in words))
    assert ran.status == 2
    assert says in ran.err
