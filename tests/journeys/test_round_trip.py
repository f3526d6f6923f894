"""What was sent comes back to the byte; a template of every format, filled in by its own library, is scored."""

import csv
import gzip
import hashlib
import io
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from backports import zstd

from app.formats import detect_file_kind
from app.formats.content.format_detection import ENCODINGS, FORMATS
from app.formats.source_file import SourceFile
from app.pipeline import load_gold, score_predictions
from app.scoring.declaration.recipe import parse_recipe
from tests.faults.hostile import arrow, npz, parquet, valid_files
from tests.faults.inspection import GOLD
from tests.journeys.support import (
    MAIN_PHASE_PATH,
    People,
    create_challenge,
    make_recipe,
    metric_values,
    require_finished,
    require_refused,
)
from tests.live_service import Caller

PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, "gzip": gzip.compress, "zstd": zstd.compress}
TRUTH = {"1": "a", "zwei, 2": "b|c", 'drei "3"': "a", "四": "ü"}
SETS = {"d1": ["x", "y"], "d2": [], "d3": ["z"], "d4": ["y"]}
LOSS = {"multiclass": -math.log(0.5 * 0.25) / 2, "binary": -math.log(0.75 * 0.75 * 0.25) / 3}
TEMPLATES = ["json", "columns", "map", "documents", "jsonl", "csv", "tsv", "npz", "parquet", "arrow"]
KINDS: dict[str, dict[str, Any]] = {
    "multiclass": {"gold": TRUTH, "task": "multiclass"},
    "multilabel": {"gold": SETS, "task": "multilabel"},
    "binary": {"gold": {"1": "no", "2": "yes", "3": "no"}, "task": "binary", "positive_label": "yes"},
}


def send(who: Caller, slug: str, body: bytes, media: str, **query: str) -> httpx.Response:
    headers = {"Content-Type": media, "Prefer": "wait=60"}
    return who.post(f"{MAIN_PHASE_PATH.format(slug)}/submissions", content=body, headers=headers, params=query)


def test_the_very_bytes_come_back_under_a_name_that_can_be_sent_again(people: People) -> None:
    slug, blue = open_for_files(people)
    scores = set()
    for at, form in enumerate(FORMATS):
        encoding = list(PACK)[at % len(PACK)]
        body, ending = PACK[encoding](valid_files()[form]), ENCODINGS[encoding].ending if encoding else ""
        name = f"my answers{FORMATS[form].endings[0].upper()}{ending}"
        sent = require_finished(send(blue, slug, body, "application/octet-stream", filename=name))
        back = blue.get(f"/submissions/{sent['id']}/predictions", headers={"Range": "bytes=0-3"})
        assert (back.status_code, back.content) == (200, body)
        digest = hashlib.sha256(body).hexdigest()
        assert (sent["sha256"], back.headers["etag"]) == (digest, f'"{digest}"')
        filename = back.headers["content-disposition"].partition("filename=")[2].strip('"')
        assert filename.endswith(FORMATS[form].endings[0] + ending)
        assert "content-encoding" not in back.headers
        unchanged = blue.get(f"/submissions/{sent['id']}/predictions", headers={"If-None-Match": f'"{digest}"'})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        # The name that comes back says the same format and encoding as the one that was sent.
        assert detect_file_kind(filename, None, None) == detect_file_kind(name, None, None)
        scores.add(sent["scores"]["f1_macro"]["value"])
    assert len(scores) == 1  # all formats hold the same predictions
    again = require_finished(send(blue, slug, back.content, "application/octet-stream", filename=filename))
    assert again["scores"]["f1_macro"]["value"] == sent["scores"]["f1_macro"]["value"]


@cache
def open_for_files(people: People) -> tuple[str, Caller]:
    """A challenge that any of the valid files answers, and a member of it."""
    slug = create_challenge(people.admin, "back", GOLD)
    return slug, people["Blue"].join(slug, "Blue")


@cache
def open_kind(kind: str, people: People, primary: str | None = None) -> tuple[str, Caller]:
    """A challenge of this kind, and a member of it."""
    fields = dict(KINDS[kind])
    gold, field = fields.pop("gold"), "labels" if kind == "multilabel" else "label"
    records = [{"id": key, field: value} for key, value in gold.items()]
    recipe = make_recipe(primary or "f1_micro", *(["accuracy"] if kind != "multilabel" else []))
    slug = create_challenge(people.admin, "fill", records, recipe=recipe, **fields)
    return slug, people["Blue"].join(slug, "Blue")


def cells(rows: list[list[str]], sign: str, fill: Callable[[str, list[str]], list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=sign).writerows([rows[0], *([row[0], *fill(row[0], rows[0][1:])] for row in rows[1:])])
    return out.getvalue().encode()


def filled(body: bytes, form: str, answer: Callable[[str], Any], scores: dict[str, float] | None) -> bytes:
    """A template filled in: with the label (or labels) of each id, or for all with these scores by class."""
    single = None if scores is None or len(scores) > 1 else next(iter(scores.values()))
    if form in {"csv", "tsv"}:
        sign = "," if form == "csv" else "\t"

        def fill(one: str, names: list[str]) -> list[str]:
            if scores is not None:
                return [str(scores.get(name, single)) for name in names]
            value = answer(one)
            return ["|".join(value) if isinstance(value, list) else value]

        return cells(list(csv.reader(io.StringIO(body.decode()), delimiter=sign)), sign, fill)
    if form == "npz":
        with np.load(io.BytesIO(body), allow_pickle=False) as found:
            assert scores is not None
            values = [[scores[str(name)] for name in found["classes"]]] * len(found["ids"])
            return npz(ids=found["ids"], classes=found["classes"], scores=np.array(values))
    if form in {"parquet", "arrow"}:
        table = pq.read_table(io.BytesIO(body)) if form == "parquet" else pa.ipc.open_file(body).read_all()
        ids = table["id"].to_pylist()
        for at, name in enumerate(table.column_names[1:], start=1):
            cells_of: list[Any] = [answer(one) if scores is None else scores.get(name, single) for one in ids]
            table = table.set_column(at, table.schema.field(name), pa.array(cells_of, table.schema.field(name).type))
        return parquet(table) if form == "parquet" else arrow(table)
    return _filled_json(body.decode(), form, answer, scores, single)


def _filled_json(
    text: str, form: str, answer: Callable[[str], Any], scores: dict[str, float] | None, single: float | None
) -> bytes:
    def value(one: str) -> Any:
        return answer(one) if scores is None else scores if single is None else single

    if form == "jsonl":
        records = [json.loads(line) for line in text.splitlines()]
    else:
        document = json.loads(text)
        if form == "columns":
            part = "labels" if scores is None else "scores"
            order = document.get("classes")
            assert part in document
            listed = [[scores[name] for name in order] if scores and order else value(one) for one in document["ids"]]
            return json.dumps(document | {part: listed}).encode()
        if form == "map":
            return json.dumps({one: scores or value(one) for one in document}).encode()
        records = document["documents" if form == "documents" else "predictions"]
    records = [{name: one["id"] if name == "id" else value(one["id"]) for name in one} for one in records]
    if form == "jsonl":
        return "\n".join(map(json.dumps, records)).encode()
    return json.dumps({"documents" if form == "documents" else "predictions": records}).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_of_labels_filled_in_is_scored(people: People, kind: str, tmp_path: Path) -> None:
    """One format of each kind in three is sent; the others are scored as the service scores a file."""
    slug, blue = open_kind(kind, people)
    path = f"{MAIN_PHASE_PATH.format(slug)}/template"
    gold = KINDS[kind]["gold"]
    for at, form in enumerate(TEMPLATES):
        answer = people.visitor.get(path, params={"format": form})
        assert answer.status_code == 200, answer.text
        assert slug in answer.headers["content-disposition"]
        shares = probabilities(people, slug, kind) if form == "npz" else None
        body = filled(answer.content, form, lambda one: gold[one], shares)
        if at % len(KINDS) == list(KINDS).index(kind):
            sent = require_finished(send(blue, slug, body, answer.headers["content-type"]))
            values = metric_values(sent["scores"])
        else:
            values = scored_here(tmp_path, kind, "f1_micro", body, answer.headers["content-type"])
        if form != "npz":
            assert values["f1_micro"] == 1.0, form
            labels = people.visitor.get(path, params={"format": form, "values": "labels"})
            assert labels.content == answer.content
    tag = {"If-None-Match": answer.headers["etag"]}
    assert people.visitor.get(path, params={"format": form}, headers=tag).status_code == 304


def scored_here(folder: Path, kind: str, primary: str, body: bytes, media: str) -> dict[str, float | None]:
    """The values of a file, without the service around it."""
    fields = dict(KINDS[kind])
    field = "labels" if kind == "multilabel" else "label"
    (folder / "gold").write_text(json.dumps([{"id": key, field: value} for key, value in fields.pop("gold").items()]))
    (folder / "sent").write_bytes(body)
    gold, problems = load_gold(
        SourceFile(folder / "gold", detect_file_kind("gold.json", None, None)),
        task=fields["task"],
        classes=None,
        positive_label=fields.get("positive_label"),
        metadata={},
    )
    assert gold is not None, problems
    recipe = parse_recipe(make_recipe(primary), fields["task"], positive_label=fields.get("positive_label"))
    sent = SourceFile(folder / "sent", detect_file_kind(None, media, None))
    outcome = score_predictions(gold, sent, recipe.metrics, primary=recipe.primary)
    assert outcome.scores, (body, outcome)
    return {name: result.value for name, result in outcome.scores["all"].items()}


def probabilities(people: People, slug: str, kind: str) -> dict[str, float]:
    """A score for each class, that of the positive label alone where there is one."""
    if kind == "binary":
        return {"yes": 0.25}
    classes = people.admin.get(f"{MAIN_PHASE_PATH.format(slug)}/gold").json()["items"][0]["classes"]
    return dict(zip(classes, [0.5, 0.25, 0.25], strict=True))


@pytest.mark.parametrize("kind", ["multiclass", "binary"])
def test_a_template_of_scores_filled_in_is_scored(people: People, kind: str, tmp_path: Path) -> None:
    slug, blue = open_kind(kind, people, primary="log_loss")
    path = f"{MAIN_PHASE_PATH.format(slug)}/template"
    gold = KINDS[kind]["gold"]
    for at, form in enumerate(TEMPLATES):
        answer = people.visitor.get(path, params={"format": form})
        assert answer.status_code == 200, answer.text
        body = filled(answer.content, form, str, probabilities(people, slug, kind))
        if at % 2 == (kind == "binary"):
            sent = require_finished(send(blue, slug, body, answer.headers["content-type"]))
            assert people.visitor.get(path, params={"format": form, "values": "scores"}).content == answer.content
            value = sent["scores"]["log_loss"]["value"]
        else:
            value = scored_here(tmp_path, kind, "log_loss", body, answer.headers["content-type"])["log_loss"]
        assert value == pytest.approx(LOSS[kind], rel=1e-5), form
        if form != "npz":
            labels = people.visitor.get(path, params={"format": form, "values": "labels"})
            assert labels.content != answer.content
    hard = filled(labels.content, form, lambda one: gold[one], None)
    refused = send(blue, slug, hard, labels.headers["content-type"]).json()
    assert (refused["status"], refused["total"]) == ("rejected", {"wrong_shape": 1}), refused


@pytest.mark.parametrize("form", ["tsv", "npz", "parquet"])
def test_a_long_table_is_taken_for_gold_and_predictions(people: People, form: str) -> None:
    pairs = [(one, label) for one, labels in SETS.items() for label in labels or [""]]
    ids, labels = [one for one, _ in pairs], [label for _, label in pairs]
    table = pa.table({"id": ids, "label": labels})
    text = "".join(f"{one}\t{label}\n" for one, label in [("id", "label"), *pairs]).encode()
    made = {
        "npz": lambda: npz(ids=ids, labels=labels),
        "parquet": lambda: parquet(table),
    }
    body = made[form]() if form in made else text
    slug, blue = open_kind("multilabel", people)
    media = FORMATS[form].media_types[0]
    sent = send(blue, slug, body, media, layout="long")
    if not FORMATS[form].table:
        require_refused(sent, 400, "bad_request")
        return
    assert require_finished(sent)["scores"]["f1_micro"]["value"] == 1.0
    gold = people.admin.post(
        f"{MAIN_PHASE_PATH.format(slug)}/gold", content=body, headers={"Content-Type": media}, params={"layout": "long"}
    )
    assert (gold.status_code, gold.json()["instances"], gold.json()["classes"]) == (201, 4, ["x", "y", "z"])
    assert send(blue, slug, body, media).json()["status"] == "rejected"


def test_json_has_no_long_layout(people: People) -> None:
    slug, blue = open_kind("multilabel", people)
    for media in ("application/json", "application/x-ndjson"):
        body = require_refused(send(blue, slug, b"[]", media, layout="long"), 400, "bad_request")
        assert "CSV" in body["detail"]
        gold = people.admin.post(
            f"{MAIN_PHASE_PATH.format(slug)}/gold",
            content=b"[]",
            headers={"Content-Type": media},
            params={"layout": "long"},
        )
        require_refused(gold, 400, "bad_request")
    require_refused(send(blue, slug, b"id,label\n", "text/csv", layout="wide"), 400, "bad_request")
