"""Organizers choose metrics and see, before they save, the equations and what the scores give away."""

from collections.abc import Callable

import pytest

from tests.api.in_process_app import ServedApp
from tests.web.reader import Reader, destination
from tests.web.test_organize_create import organizer


@pytest.fixture
def owner(app: ServedApp, new_reader: Callable[[], Reader], request: pytest.FixtureRequest) -> tuple[Reader, str]:
    """The browser of an organizer, and the path of the recipe of their new challenge."""
    name = request.node.name.replace("_", "-")[:50].strip("-")
    reader = organizer(app, new_reader(), name)
    reader.send("/new-challenge", "/new-challenge", title=name, slug=name)
    return reader, f"/challenges/{name}/organize/recipe"


def stored(app: ServedApp, path: str, **query: str) -> dict[str, object]:
    """The recipe as the API says it."""
    slug = path.split("/")[2]
    found: dict[str, object] = app.admin().get(f"/challenges/{slug}/recipe", params=query).json()
    return found


def test_saving_the_page_unchanged_changes_nothing(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    slug = path.split("/")[2]
    recipe = {
        "primary": {"key": "f_beta_macro", "params": {"beta": 0.5}, "options": {"label_set": "gold"}, "name": "F½"},
        "metrics": ["top_k_accuracy:k=3", "accuracy"],
        "tie_breakers": ["accuracy", "mcc"],
        "options": {"zero_division": "0"},
        "selection": "selected",
        "selection_max": 2,
        "decision": {"rule": "threshold", "threshold": 0.25, "strict": True},
        "disclosure": {"digits": 3},
    }
    app.admin().put(f"/challenges/{slug}/recipe", json=recipe).raise_for_status()
    before = stored(app, path)
    answer = reader.send(path, path, do="save")
    assert destination(answer) == (f"{path}", "recipe_saved"), answer.text
    after = stored(app, path)
    same = ("primary", "tie_breakers", "options", "selection", "selection_max", "decision", "disclosure")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert after["metrics"] == [recipe["primary"], "top_k_accuracy:k=3", "accuracy", "mcc"]
    reader.send(path, path, do="save")
    assert stored(app, path)["version"] == after["version"]


def test_the_step_of_a_ladder_is_saved_explained_and_refused_beside_its_field(
    app: ServedApp, owner: tuple[Reader, str]
) -> None:
    reader, path = owner
    preview = reader.send(path, path, do="preview", ladder="0.05")
    assert "better than the team&#39;s best so far by more than 0.05" in preview.text
    assert "heuristic" in preview.text  # the primary metric of a new challenge is no mean over instances
    assert destination(reader.send(preview, path, do="save")) == (path, "recipe_saved")
    assert stored(app, path)["ladder"] == {"step": 0.05}
    version = stored(app, path)["version"]
    reader.send(path, path, do="save")
    assert stored(app, path)["version"] == version
    refused = reader.send(path, path, do="save", ladder="wide")
    assert refused.status_code == 422
    assert "or &#39;auto&#39;" in refused.text.split('name="ladder"')[0].split('for="field-ladder"')[1]
    reader.send(path, path, do="save", ladder="")
    assert stored(app, path)["ladder"] is None


def test_a_metric_is_added_previewed_and_saved(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    added = reader.send(path, path, do="add", add=["balanced_accuracy"], add_other="f_beta_macro")
    assert "These changes are not saved yet." in added.text
    assert "beta" in added.text.split('id="field-metric_5"')[1].split('class="fault"')[1].split("</p>")[0]
    fields = {"m5.params.beta": "0.5", "m5.options.zero_division": "1", "primary": "5", "m1.tie": "1", "digits": "4"}
    preview = reader.send(added, path, do="preview", **fields)
    assert "f_beta_macro:beta=0.5,zero_division=1" in preview.text
    assert preview.text.count("<math") >= 5
    assert stored(app, path)["version"] == 1
    saved = reader.send(preview, path, do="save", reason="Precision matters more.")
    assert saved.status_code == 303
    recipe = stored(app, path)
    assert recipe["primary"] == "f_beta_macro:beta=0.5,zero_division=1"
    assert (recipe["tie_breakers"], recipe["disclosure"]) == (["f1_macro"], {"digits": 4})
    taken_out = reader.send(path, path, do="remove-2")
    reader.send(taken_out, path, do="save")
    assert "accuracy" not in stored(app, path)["metrics"]  # type: ignore[operator]


def test_a_metric_may_be_there_twice_with_other_parameters(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    once = reader.send(path, path, do="add", add_other="f_beta_macro")
    assert 'id="field-metric_5"' not in reader.send(once, path, do="add", add_other="f_beta_macro").text
    page = reader.send(once, path, do="add", add_other="f_beta_macro", **{"m4.params.beta": "0.5"})
    refused = reader.send(page, path, do="save")
    assert 'class="fault"' not in refused.text.split('id="field-metric_4"')[1].split("</fieldset>")[0]
    assert "beta" in refused.text.split('id="field-metric_5"')[1].split("</fieldset>")[0].split('class="fault"')[1]
    assert reader.send(refused, path, do="save", **{"m5.params.beta": "2"}).status_code == 303
    assert {"f_beta_macro:beta=0.5", "f_beta_macro:beta=2"} <= set(stored(app, path)["metrics"])  # type: ignore[call-overload]


def test_faults_stand_beside_their_metric(owner: tuple[Reader, str]) -> None:
    reader, path = owner
    page = reader.send(path, path, do="add", add_other="f_beta_macro")
    answer = reader.send(page, path, do="save", digits="40", **{"m4.params.beta": "-3"})
    assert answer.status_code == 422
    assert 'href="#field-metric_4"' in answer.text
    row = answer.text.split('id="field-metric_4"')[1].split("</fieldset>")[0]
    assert "beta" in row.split('class="fault"')[1].split("</p>")[0]
    assert 'id="fault-digits"' in answer.text
    unknown = reader.send(path, path, do="add", add_other="f1_marco")
    assert "f1_macro" in unknown.text.split('id="field-metric_4"')[1].split("</fieldset>")[0]


def test_the_preview_alone_answers_htmx(owner: tuple[Reader, str]) -> None:
    reader, path = owner
    reader.client.headers["HX-Request"] = "true"
    answer = reader.send(path, path, do="preview")
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert "<math" in answer.text
    assert "What the scores give away" in answer.text


def test_a_phase_gets_a_recipe_of_its_own_and_drops_it(app: ServedApp, owner: tuple[Reader, str]) -> None:
    reader, path = owner
    own = f"{path}?phase=main"
    assert reader.send(own, own, do="save", selection="selected", selection_max="1").status_code == 303
    assert stored(app, path, phase="main")["selection"] == "selected"
    assert stored(app, path)["selection"] == "best"
    assert reader.send(own, f"{path}/drop").status_code == 303
    assert stored(app, path, phase="main")["selection"] == "best"
