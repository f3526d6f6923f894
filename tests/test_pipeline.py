import gc
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score

from app.errors import InvalidContent
from app.formats import ReadingRules, detect_file_kind
from app.gold import load_gold
from app.offline import OfflineOutcome, score_offline
from app.pipeline import (
    Gold,
    SourceFile,
    garbage_collection_paused,
    infer_task,
    is_fully_scored,
    normalize_distinct,
    predicted_case,
    score_predictions,
    validate_predictions,
)
from app.scoring.declaration.metric import MetricCall
from app.scoring.declaration.metric_parser import parse_metric
from app.scoring.declaration.task import TaskKind, TaskSpec
from tests.each_case import for_each
from tests.formats.reading import code_sets, load_gold_both_ways
from tests.reference_material import needs_shared, shared


def source(folder: Path, name: str, content: object) -> SourceFile:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8", newline="")
    return SourceFile(path, detect_file_kind(name, None, None))


def existing(path: Path) -> SourceFile:
    return SourceFile(path, detect_file_kind(path.name, None, None))


def calls(*metrics: str, options: Mapping[str, str] | None = None) -> list[MetricCall]:
    return [parse_metric(text, options=options or {}, task="multiclass") for text in metrics]


GOLD = [
    {"id": "a", "label": "x", "split": "public"},
    {"id": "b", "label": "y", "split": "private"},
    {"id": "c", "label": "y", "split": "public"},
    {"id": "d", "label": "x", "split": "private"},
]


def load(folder: Path, content: object = GOLD, **more: Any) -> Gold:
    gold, problems = load_gold_both_ways(
        source(folder, "gold.json", content), task=more.pop("task", "multiclass"), **more
    )
    assert gold is not None, problems.to_dict()
    return gold


def test_scores_are_kept_per_split_under_their_canonical_strings(tmp_path: Path) -> None:
    predictions = source(tmp_path, "p.csv", "id,label\nd,x\nc,x\nb,y\na,x\n")
    outcome = score_predictions(load(tmp_path), predictions, calls("accuracy", "f1_macro"))
    assert not outcome.problems
    values = {split: results["accuracy"].value for split, results in outcome.scores.items()}
    assert values == {"all": 0.75, "public": 0.5, "private": 1.0}
    assert set(outcome.scores["public"]) == {"accuracy", "f1_macro"}


def test_a_split_is_decided_by_its_own_rows_where_the_gold_says_how_many_are_positive(tmp_path: Path) -> None:
    gold = [{"id": f"i{at}", "label": "yn"[at % 2], "split": "public" if at < 4 else "private"} for at in range(8)]
    metrics = [parse_metric("f1", task="binary"), parse_metric("accuracy", task="binary")]
    seen = []
    for rest in ([0.99, 0.98, 0.97, 0.96], [0.1, 0.2, 0.3, 0.05]):
        rows = [{"id": f"i{at}", "score": score_} for at, score_ in enumerate([0.9, 0.5, 0.6, 0.4, *rest])]
        truth = load(tmp_path, gold, task="binary", positive_label="y", classes=["y", "n"])
        outcome = score_predictions(
            truth, source(tmp_path, "p.json", rows), metrics, decision={"rule": "top_n_positive"}
        )
        assert not outcome.problems
        seen.append({key: result.value for key, result in outcome.scores["public"].items()})
    assert seen == [{"f1": 1.0, "accuracy": 1.0}] * 2  # whatever the private rows hold


def test_the_input_of_a_report_on_a_split_is_decided_by_the_rows_of_that_split(tmp_path: Path) -> None:
    gold = load(
        tmp_path,
        [{"id": f"i{at}", "label": "yn"[at % 2], "split": "public" if at < 4 else "private"} for at in range(8)],
        task="binary",
        positive_label="y",
        classes=["y", "n"],
    )
    rows = [{"id": f"i{at}", "score": score} for at, score in enumerate([0.4, 0.2, 0.3, 0.1, 0.9, 0.8, 0.7, 0.6])]
    predictions = source(tmp_path, "p.json", rows)
    for split, expected in (("public", [0, 1, 0, 1]), ("private", [0, 0, 1, 1]), ("all", [1, 1, 1, 1, 0, 0, 0, 0])):
        case = predicted_case(gold, predictions, ReadingRules(), split=split, decision={"rule": "top_n_positive"})
        assert case.predicted.codes.tolist() == expected


def test_only_gold_without_a_public_instance_has_a_note_about_it(tmp_path: Path) -> None:
    private = [row | {"split": "private"} for row in GOLD]
    assert len(load(tmp_path, private).notes) == len(load(tmp_path).notes) + 1


def test_without_splits_there_is_one_set(tmp_path: Path) -> None:
    gold = load(tmp_path, {"a": "x", "b": "y"})
    outcome = score_predictions(gold, source(tmp_path, "p.json", {"a": "x", "b": "x"}), calls("accuracy"))
    assert {split: found["accuracy"].value for split, found in outcome.scores.items()} == {"all": 0.5}


def test_a_file_with_problems_has_no_scores_at_all(tmp_path: Path) -> None:
    outcome = score_predictions(load(tmp_path), source(tmp_path, "p.json", {"a": "x"}), calls("accuracy"))
    assert outcome.problems.total == {"missing_instances": 3}
    assert outcome.scores == {}


def test_whoever_limits_each_stage_hears_when_a_file_has_been_validated(tmp_path: Path) -> None:
    """A valid file whose scoring takes too long is no fault of the file."""
    heard: list[str] = []
    for name, content in (("whole", {"a": "x", "b": "x", "c": "x", "d": "x"}), ("part", {"a": "x"})):
        score_predictions(
            load(tmp_path),
            source(tmp_path, f"{name}.json", content),
            calls("accuracy"),
            on_validated=lambda name=name: heard.append(name),  # type: ignore[misc]
        )
    assert heard == ["whole", "part"]


def test_the_metrics_decide_what_is_refused(tmp_path: Path) -> None:
    gold = load(tmp_path)
    predictions = source(tmp_path, "p.json", {"a": "x", "b": "zebra"})
    mild = {"unknown_label": "count_as_fp", "missing": "empty_prediction"}
    assert score_predictions(gold, predictions, calls("accuracy", options=mild)).scores["all"]["accuracy"].value == 0.25
    both = [*calls("accuracy", options=mild), *calls("f1_macro")]
    assert score_predictions(gold, predictions, both).problems.total == {"unknown_label": 1, "missing_instances": 2}


@for_each("duplicates", ["set", "multiset"])
def test_a_value_does_not_depend_on_what_else_is_asked(tmp_path: Path, duplicates: str) -> None:
    """One metric reads repetitions once, another counts them: also those of a label outside the vocabulary."""
    gold = load(tmp_path, [{"id": "i", "labels": ["a", "b"]}], task="multilabel", classes=list("abcd"))
    sent = source(tmp_path, "p.json", [{"id": "i", "labels": ["a", "U", "U", "V"]}])
    mild = {"unknown_label": "count_as_fp"}
    metrics = [f"precision_micro:duplicates={duplicates}", f"jaccard_samples:duplicates={duplicates}", "hamming_loss"]

    def values_of(*texts: str, **shared: str) -> dict[str, float | None]:
        found = score_predictions(
            gold, sent, [parse_metric(text, options=mild | shared, task="multilabel") for text in texts]
        )
        return {key.partition(":")[0]: result.value for key, result in found.scores["all"].items()}

    precision, jaccard = {"set": (1 / 3, 1 / 4), "multiset": (1 / 4, 1 / 5)}[duplicates]
    expected = {"precision_micro": precision, "jaccard_samples": jaccard, "hamming_loss": 3 / 4}
    assert values_of(*metrics, duplicates=duplicates) == expected
    assert values_of(*metrics, "f1_micro", duplicates="multiset").items() >= expected.items()


def test_notes_name_what_was_ignored(tmp_path: Path) -> None:
    rows = [{"id": row["id"], "label": "x", "scores": [0.5]} for row in GOLD]
    outcome = score_predictions(
        load(tmp_path), source(tmp_path, "p.json", {"predictions": rows, "system": 1, "": 2}), calls("accuracy")
    )
    assert outcome.notes == [
        "field 'system' is not used by this task's metrics and was ignored",
        "the column without a name was ignored",
        "field 'scores' is not used by this task's metrics and was ignored",
    ]


def test_void_ids_are_neither_scored_nor_asked_for(tmp_path: Path) -> None:
    gold = load(tmp_path, void=["b", "elsewhere"])
    predictions = {"a": "x", "c": "y", "d": "x", "elsewhere": "zebra"}
    outcome = score_predictions(gold, source(tmp_path, "p.json", predictions), calls("accuracy"))
    assert not outcome.problems
    assert {split: found["accuracy"].value for split, found in outcome.scores.items()} == {
        "all": 1.0,
        "public": 1.0,
        "private": 1.0,
    }


def test_gold_with_a_void_instance_is_not_fully_scored(tmp_path: Path) -> None:
    assert is_fully_scored(load(tmp_path).notes)
    excluded = [GOLD[0] | {"split": "Ignored"}, *GOLD[1:]]
    usage = [{"id": row["id"], "label": row["label"], "Usage": row["split"].capitalize()} for row in excluded]
    assert not is_fully_scored(load(tmp_path, usage).notes)


names = st.sampled_from(["a", "b", "c", "d", "A", "e", "", "0a"])
answers = st.sampled_from(["x", "y", "X", "", "z"]) | st.none() | st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)


@given(st.lists(st.tuples(names, answers), max_size=8), st.sampled_from(["multiclass", "multilabel"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_offline_twin_answers_as_scoring_does_and_no_answer_depends_on_a_gold_label(
    tmp_path: Path, rows: list[tuple[str, Any]], task: TaskKind
) -> None:
    field = "labels" if task == "multilabel" else "label"
    file = source(tmp_path, "p.json", [{"id": name, field: answer} for name, answer in rows])
    spec = TaskSpec(task, ("x", "y"))
    labels, twin, notes = validate_predictions(["a", "b", "c", "d"], spec, file)
    for answer in ("x", "y"):
        value = [answer] if task == "multilabel" else answer
        gold = load(tmp_path, dict.fromkeys("abcd", value), classes=["x", "y"], task=task)
        outcome = score_predictions(gold, file, [parse_metric("f1_macro", task=task)])
        assert json.dumps(outcome.problems.to_dict()) == json.dumps(twin.to_dict())
        assert outcome.notes == notes
        assert bool(outcome.scores) is (labels is not None)


def test_ids_listed_twice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidContent, match="listed twice"):
        validate_predictions(["e\u0301", "\u00e9"], TaskSpec("multiclass", ("x",)), source(tmp_path, "p.json", {}))
    assert normalize_distinct(["e\u0301", "e"]) == ("\u00e9", "e")


def test_of_listed_ids_void_ones_need_not_be_given(tmp_path: Path) -> None:
    found, problems, _ = validate_predictions(
        ["a", "b"], TaskSpec("multiclass", ("x",)), source(tmp_path, "p.json", {"b": "x"}), void=["a"]
    )
    assert not problems
    assert found is not None
    assert found.labels is not None
    assert found.labels.n == 1


@for_each("was_on", [True, False])
def test_the_garbage_collector_is_left_as_it_was_found(was_on: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if was_on else gc.disable)()
        with pytest.raises(KeyError), garbage_collection_paused():
            raise KeyError(gc.isenabled())
        assert gc.isenabled() is was_on
        with garbage_collection_paused():
            assert not gc.isenabled()
        assert gc.isenabled() is was_on
    finally:
        (gc.enable if before else gc.disable)()


def offline(folder: Path, gold: object, predictions: object, **more: Any) -> OfflineOutcome:
    def choose(spec: TaskSpec, _has: frozenset[str]) -> Sequence[MetricCall]:
        return [parse_metric("f1_macro", task=spec.task)]

    return score_offline(
        source(folder, "g.json", gold), source(folder, "p.json", predictions), choose, **({"task": "multiclass"} | more)
    )


def test_offline_without_classes_the_vocabulary_is_what_both_files_hold(tmp_path: Path) -> None:
    outcome = offline(tmp_path, {"a": "x", "b": "y"}, {"a": "x", "b": "z"})
    assert not outcome.problems
    assert outcome.case is not None
    assert outcome.case.spec.classes == ("x", "y", "z")
    assert outcome.scores["all"]["f1_macro"].value == pytest.approx(1 / 3)
    assert any("gold and predictions (3)" in note for note in outcome.notes)


def test_offline_with_classes_others_are_refused_and_nothing_is_noted(tmp_path: Path) -> None:
    outcome = offline(tmp_path, {"a": "x", "b": "y"}, {"a": "x", "b": "z"}, classes=["x", "y"])
    assert outcome.problems.total == {"unknown_label": 1}
    assert outcome.notes == []
    assert outcome.case is None


def test_offline_faults_of_either_file_are_told_apart(tmp_path: Path) -> None:
    outcome = offline(tmp_path, {"a": "x", "b": None}, {"a": "x"})
    assert outcome.gold_problems.total == {"wrong_shape": 1}
    assert not outcome.scores
    outcome = offline(tmp_path, {"a": "x"}, {"a": "x", "b": "x"})
    assert (outcome.gold_problems.total, outcome.problems.total) == ({}, {"unknown_id": 1})


def test_offline_binary_takes_the_second_class_from_either_file(tmp_path: Path) -> None:
    outcome = offline(tmp_path, {"a": "x", "b": "x"}, {"a": "x", "b": "y"}, task="binary", positive_label="y")
    assert not outcome.gold_problems
    assert outcome.case is not None
    assert outcome.case.spec.classes == ("x", "y")
    outcome = offline(tmp_path, {"a": "x", "b": "y"}, {"a": "x", "b": "z"}, task="binary", positive_label="y")
    assert outcome.problems.total == {"unknown_label": 1}


def test_offline_void_ids_and_splits_work_as_on_the_server(tmp_path: Path) -> None:
    outcome = offline(tmp_path, GOLD, {"a": "x", "c": "x", "d": "x"}, void=["b"])
    assert not outcome.problems
    assert list(outcome.scores) == ["all", "public", "private"]


BOTH_WAYS = 600  # instances of each challenge that all readers read, in windows of all sizes
CHALLENGES = [
    ("cifar10-label-errors", "multiclass"),
    ("germeval2018-coarse", "multiclass"),
    ("germeval2018-fine", "multiclass"),
    ("germeval2019-blurbs-a", "multilabel"),
    ("germeval2019-blurbs-b", "multilabel"),
    ("imagenet-real", "multiclass"),
    ("litcovid", "multilabel"),
    ("tweeteval-emoji", "multiclass"),
    ("tweeteval-emotion", "multiclass"),
    ("tweeteval-hate", "multiclass"),
    ("tweeteval-irony", "multiclass"),
    ("tweeteval-offensive", "multiclass"),
    ("tweeteval-sentiment", "multiclass"),
    ("tweeteval-stance", "multiclass"),
]


@needs_shared
@for_each("name, task", CHALLENGES)
def test_real_challenges_load_without_problems_and_agree_with_a_plain_reading(
    tmp_path: Path, name: str, task: TaskKind
) -> None:
    folder = shared() / "challenges" / name
    classes = json.loads((folder / "classes.json").read_text(encoding="utf-8"))
    lines = gzip.decompress((folder / "gold.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (tmp_path / "part.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[:BOTH_WAYS])))
    part, problems = load_gold_both_ways(existing(tmp_path / "part.jsonl.gz"), task=task, classes=classes)
    assert part is not None, problems.to_dict()
    gold, problems = load_gold(existing(folder / "gold.jsonl.gz"), task=task, classes=classes)
    assert gold is not None, problems.to_dict()
    truth = {row["id"]: row["labels" if task == "multilabel" else "label"] for row in map(json.loads, lines)}
    assert len(truth) == len(lines)
    assert gold.ids == sorted(truth)
    for loaded in (part, gold):
        named = [{classes[code] for code in codes} for codes in code_sets(loaded.labels)]
        assert named == [set(truth[name]) if task == "multilabel" else {truth[name]} for name in loaded.ids]
    answers = sorted((folder / "predictions").iterdir())
    assert answers
    for path in answers:
        found, problems, _ = validate_predictions(gold.index, gold.spec, existing(path))
        assert found is not None, problems.to_dict()
        labels = found.labels
        assert labels is not None
        assert labels.n == len(gold.ids)
        if task == "multiclass":
            plain = {row["id"]: row["label"] for row in json.loads(gzip.decompress(path.read_bytes()))}
            mine = [gold.spec.classes[code] for code in labels.codes]
            assert mine == [plain[name] for name in gold.ids]
            scores = score_predictions(gold, existing(path), calls("accuracy")).scores["all"]
            expected = accuracy_score([truth[name] for name in gold.ids], mine)
            assert scores["accuracy"].value == pytest.approx(expected, abs=1e-12)


def test_a_hundred_thousand_records_read_checked_and_scored_agree_with_sklearn(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    n, m = 100_000, 40
    truth, guess = rng.integers(m, size=n), rng.integers(m, size=n)
    rows = [{"id": f"t-{i:06}", "label": f"c{code:02}"} for i, code in enumerate(truth)]
    gold, problems = load_gold(source(tmp_path, "gold.json", rows), task="multiclass")
    assert gold is not None, problems.to_dict()
    order = rng.permutation(n)
    file = source(tmp_path, "p.json", [{"id": f"t-{i:06}", "label": f"c{guess[i]:02}"} for i in order])
    outcome = score_predictions(gold, file, calls("f1_macro"))
    assert outcome.scores["all"]["f1_macro"].value == pytest.approx(f1_score(truth, guess, average="macro"), abs=1e-12)


def test_rules_given_outright_replace_those_of_the_metrics(tmp_path: Path) -> None:
    outcome = score_predictions(
        load(tmp_path),
        source(tmp_path, "p.json", {"a": "x"}),
        calls("accuracy"),
        rules=ReadingRules(missing="empty_prediction"),
    )
    assert outcome.scores["all"]["accuracy"].value == 0.25


@for_each(
    "name, content, task",
    [
        ("g.json", '[{"id":"a","label":"x"}]', "multiclass"),
        ("g.json", '{"predictions":[{"id":"a","labels":["x"]}]}', "multilabel"),
        ("g.json", '{"documents":[{"pmid":1,"labels":["x"]}]}', "multilabel"),
        ("g.json", '{"ids":["a"],"labels":["x"]}', "multiclass"),
        ("g.json", '{"ids":["a"],"labels":[["x"]]}', "multilabel"),
        ("g.json", '{"a":["x"]}', "multilabel"),
        ("g.json", '{"a":"x"}', "multiclass"),
        ("g.jsonl", '{"id":"a","labels":[]}\n', "multilabel"),
        ("g.jsonl", '{"id":"a","label":"x"}\n', "multiclass"),
        ("g.csv", "id,labels\na,x|y\n", "multilabel"),
        ("g.csv", "id,label\na,x|y\n", "multilabel"),
        ("g.csv", "id,label\na,x\nb,y\n", "multiclass"),
        ("g.json", "not JSON", "multiclass"),
        ("g.json", "[]", "multiclass"),
        ("g.json", "7", "multiclass"),
    ],
)
def test_the_task_is_guessed_from_what_the_gold_holds(tmp_path: Path, name: str, content: str, task: TaskKind) -> None:
    file = source(tmp_path, name, content)
    assert infer_task(file) == task
    assert infer_task(file, positive_label="x") == "binary"
