from collections.abc import Mapping

import pytest

from app.formats.reading_rules import ReadingRules
from app.scoring.declaration.metric_parser import parse_metric
from tests.each_case import for_each
from tests.formats.reading import code_sets, read_answer_labels, read_answers, read_valid_sets, summarize_problems

FOUR = '{"t1":["cat","cow","cat"],"t2":["cow","hen"],"t3":[]}'


def strictest(*options: Mapping[str, str]) -> ReadingRules:
    return ReadingRules.strictest([parse_metric("f1_macro", options=given) for given in options])


def test_a_file_is_refused_as_soon_as_one_metric_refuses_it() -> None:
    assert strictest() == ReadingRules("reject", "reject", "reject")
    assert strictest({}, {"unknown_label": "drop"}) == ReadingRules()
    mild = {"unknown_label": "drop", "duplicates": "set", "missing": "empty_prediction"}
    assert strictest(mild) == ReadingRules("drop", "set", "empty_prediction")
    assert strictest(mild, mild | {"duplicates": "reject"}).duplicates == "reject"


def test_where_no_metric_refuses_what_one_needs_is_kept() -> None:
    mixed = ({"unknown_label": "drop", "duplicates": "set"}, {"unknown_label": "count_as_fp", "duplicates": "multiset"})
    rules = strictest(*mixed)
    assert (rules.unknown_label, rules.duplicates) == ("count_as_fp", "multiset")


def test_an_unknown_value_of_a_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown_label must be one of"):
        ReadingRules(unknown_label="ignore")


def test_unknown_labels_can_be_dropped_or_kept_as_the_code_after_the_last_class() -> None:
    text = '{"t1":"cow","t2":"dog","t3":"eel"}'
    assert read_valid_sets(text, rules=ReadingRules(unknown_label="count_as_fp")) == [[3], [1], [2]]
    assert read_valid_sets(text, rules=ReadingRules(unknown_label="drop")) == [[-1], [1], [2]]


def test_repeated_labels_can_be_a_set_or_stay_as_sent() -> None:
    kept = ReadingRules(unknown_label="count_as_fp", duplicates="multiset")
    assert read_valid_sets(FOUR, multilabel=True, rules=kept) == [[0, 3, 0], [3, 3], []]
    once = ReadingRules(unknown_label="count_as_fp", duplicates="set")
    assert read_valid_sets(FOUR, multilabel=True, rules=once) == [[0, 3], [3, 3], []]
    dropped = ReadingRules(unknown_label="drop", duplicates="set")
    assert read_valid_sets(FOUR, multilabel=True, rules=dropped) == [[0], [], []]


def test_missing_predictions_can_be_empty_ones() -> None:
    rules = ReadingRules(missing="empty_prediction")
    assert read_valid_sets('{"t3":"cat"}', rules=rules) == [[-1], [-1], [0]]
    assert read_valid_sets('{"t3":["cat"]}', multilabel=True, rules=rules) == [[], [], [0]]
    assert read_valid_sets("{}", rules=rules) == [[-1], [-1], [-1]]
    assert read_valid_sets("[]", multilabel=True, rules=rules) == [[], [], []]


def test_extra_and_repeated_ids_are_refused_under_every_rule() -> None:
    mild = ReadingRules("drop", "set", "empty_prediction")
    _, problems = read_answer_labels(
        '[{"id":"t1","label":"cat"},{"id":"t1","label":"cat"},{"id":"x","label":"cat"}]', rules=mild
    )
    assert problems.total == {"duplicate_id": 1, "unknown_id": 1}


def test_void_ids_are_ignored_with_all_their_faults_and_need_not_be_given() -> None:
    text = '[{"id":"v","label":"cow"},{"id":"t1","label":"cat"},{"id":"v","label":"dog"}]'
    assert read_valid_sets(text, ids=["t1"], void=["v", "w"]) == [[0]]
    _, problems = read_answer_labels(text, ids=["t1"])
    assert [found["code"] for found in summarize_problems(problems)] == ["unknown_id", "unknown_label", "unknown_id"]


def test_a_repeated_unknown_label_has_another_code_than_its_first_occurrence() -> None:
    rules = ReadingRules(unknown_label="count_as_fp", duplicates="multiset")
    text = '{"t1":["cow","hen","cow"],"t2":["cat","cat"],"t3":["cow"]}'
    assert code_sets(read_answer_labels(text, multilabel=True, rules=rules)[0]) == [[3, 3, 4], [0, 0], [3]]


@for_each(
    "raw, kind",
    [
        ('[{"id":"v","scores":["high"]},{"id":"t1","scores":[0.5,0.25,0.25]}]', "json"),
        ("id,cat,dog,eel\nv,2,2,2\nt1,0.5,0.25,0.25\n", "csv"),
    ],
)
def test_the_scores_of_void_ids_are_ignored_with_all_their_faults(raw: str, kind: str) -> None:
    rules = ReadingRules(probabilities=True, scores="due")
    answers, problems = read_answers(raw, kind, ids=["t1"], void=["v"], rules=rules)
    assert not problems
    assert answers is not None
    assert answers.scores is not None
    assert answers.scores.tolist() == [[0.5, 0.25, 0.25]]
