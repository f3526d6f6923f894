"""Every format over HTTP, told by media type, encoding or file name: the same predictions get the same scores."""

import csv
import gzip
import io
import json
from typing import Any

import httpx

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

JSON, LINES, CSV = "application/json", "application/x-ndjson", "text/csv"
TRUTH = {"1": "a", "zwei, 2": "b|c", 'drei "3"': "a", "四": "ü"}
PREDICTED = {"1": "a", "zwei, 2": "b|c", 'drei "3"': "b|c", "四": "a"}
SETS = {"d1": ["x", "y"], "d2": [], "d3": ["z"], "d4": ["y"]}
PREDICTED_SETS = {"d1": ["y"], "d2": [], "d3": ["z", "x"], "d4": []}


def written(rows: dict[str, Any], field: str) -> dict[str, tuple[bytes, str]]:
    """The same answers in every shape, each with its media type."""
    records = [{"id": key, field: value} for key, value in rows.items()]
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["id", "label"])
    writer.writerows((key, "|".join(value) if isinstance(value, list) else value) for key, value in rows.items())

    def dumped(value: Any) -> bytes:
        return json.dumps(value, ensure_ascii=False).encode()

    return {
        "records": (dumped({"predictions": records}), JSON),
        "list": (dumped(records), JSON),
        "columns": (dumped({"ids": list(rows), "labels": list(rows.values())}), JSON),
        "map": (dumped(rows), JSON),
        "lines": (b"\n".join(map(dumped, records)), LINES),
        "csv": (table.getvalue().encode(), CSV),
    }


def post(who: Caller, slug: str, body: bytes, query: dict[str, str] | None = None, **headers: str) -> httpx.Response:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    path = f"{MAIN_PHASE_PATH.format(slug)}/submissions"
    return who.post(path, content=body, params=query or {}, headers={"Prefer": "wait=60"} | given)


def ways(body: bytes, media: str) -> dict[str, tuple[bytes, dict[str, str], dict[str, str]]]:
    """Ways to send a file: body, query, headers."""
    ending = {JSON: ".json", LINES: ".jsonl", CSV: ".csv"}[media]
    packed = gzip.compress(body)
    return {
        "media type": (body, {}, {"Content_Type": f"{media}; charset=utf-8"}),
        "encoding": (packed, {}, {"Content_Type": media, "Content_Encoding": "gzip"}),
        "ending": (body, {"filename": f"answers{ending}"}, {}),
        "octets": (body, {"filename": f"answers{ending}"}, {"Content_Type": "application/octet-stream"}),
        "gz ending": (packed, {"filename": f"answers{ending}.gz"}, {}),
        "gz ending and type": (packed, {"filename": "answers.gz"}, {"Content_Type": media}),
    }


def test_every_shape_and_every_way_of_sending_gets_the_same_scores(people: People) -> None:
    """Each shape is sent in two ways, and each way sends JSON, lines or tables; how a kind is told is tested by itself."""
    slug = create_challenge(people.admin, "shape", json.loads(written(TRUTH, "label")["list"][0]))
    blue = people["Blue"].join(slug, "Blue")
    golds = written(TRUTH, "label")
    for at, (shape, (body, media)) in enumerate(written(PREDICTED, "label").items()):
        gold_body, gold_media = golds[shape]
        draft = people.admin.post(
            f"{MAIN_PHASE_PATH.format(slug)}/gold", content=gold_body, headers={"Content-Type": gold_media}
        )  # gold takes the same shapes
        assert draft.json()["classes"] == ["a", "b|c", "ü"], draft.text
        sent_in = list(ways(body, media).items())
        for name, (content, query, headers) in (sent_in[at], sent_in[at - 3]):
            sent = require_finished(post(blue, slug, content, query, **headers))
            assert metric_values(sent["scores"]) == {"f1_macro": 0.388889, "accuracy": 0.5}, (shape, name)
            assert blue.get(f"/submissions/{sent['id']}/predictions").content == content


def test_every_shape_of_label_sets_gets_the_same_scores(people: People) -> None:
    gold = json.loads(written(SETS, "labels")["list"][0])
    agreed = make_recipe("f1_samples", "subset_accuracy", "hamming_loss", "f1_micro")
    slug = create_challenge(people.admin, "sets", gold, task="multilabel", recipe=agreed)
    blue = people["Blue"].join(slug, "Blue")
    for shape, (body, media) in written(PREDICTED_SETS, "labels").items():
        sent = require_finished(post(blue, slug, body, Content_Type=media))
        # per instance F: 2/3, 1 (both empty), 2/3, 0; wrong cells: x of d1, x of d3, y of d4 of 12
        assert metric_values(sent["scores"]) == {
            "f1_samples": 0.583333,
            "subset_accuracy": 0.25,
            "hamming_loss": 0.25,
            "f1_micro": 0.571429,
        }, shape


def test_a_binary_task_scores_its_positive_label(people: People) -> None:
    gold = {"1": "yes", "2": "yes", "3": "no", "4": "no"}
    agreed = make_recipe("f1", "precision", "recall", "f1:label=no", "f1_macro")
    slug = create_challenge(people.admin, "binary", gold, task="binary", positive_label="yes", recipe=agreed)
    blue = people["Blue"].join(slug, "Blue")
    sent = require_finished(blue.submit(slug, gold | {"2": "no"}))
    found = {name: each["value"] for name, each in sent["scores"].items()}
    assert found == {"f1": 0.666667, "precision": 1.0, "recall": 0.5, "f1:label=no": 0.8, "f1_macro": 0.733333}


def test_a_template_holds_the_ids_in_order_and_nothing_of_the_gold(people: People) -> None:
    gold = [{"id": key, "label": label, "split": "public"} for key, label in TRUTH.items()]
    slug = create_challenge(people.admin, "template-secret", gold)
    for form in ("json", "columns", "map", "jsonl", "csv"):
        text = people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template", params={"format": form}).text
        places = [
            text.index(json.dumps(key, ensure_ascii=False)[1:-1] if form != "csv" else key.replace('"', '""'))
            for key in sorted(TRUTH)
        ]
        assert places == sorted(places)
        assert "split" not in text
        assert "public" not in text
        assert "ü" not in text
        assert "b|c" not in text
    require_refused(
        people.visitor.get(f"{MAIN_PHASE_PATH.format(slug)}/template", params={"format": "xml"}), 400, "bad_request"
    )


UNREAD: tuple[tuple[dict[str, str], dict[str, str]], ...] = (
    ({}, {"Content_Type": "text/plain"}),
    ({}, {"Content_Type": "application/xml"}),
    ({}, {"Content_Type": "application/json; charset=latin-1"}),
    ({}, {"Content_Type": JSON, "Content_Encoding": "br"}),
    ({"filename": "answers.xlsx"}, {}),
    ({"filename": "answers.zip"}, {}),
)


def test_what_nobody_reads_is_refused_with_what_is_read(people: People) -> None:
    slug = create_challenge(people.admin, "media")
    blue = people["Blue"].join(slug, "Blue")
    for query, headers in UNREAD:
        body = require_refused(post(blue, slug, b"{}", query, **headers), 415, "unsupported_media_type")
        assert JSON in body["remedy"]
        assert CSV in body["remedy"]
    assert blue.get(f"{MAIN_PHASE_PATH.format(slug)}/submissions").json()["items"] == []


def test_what_is_not_gzip_is_rejected_as_such(people: People) -> None:
    slug = create_challenge(people.admin, "not-gzip")
    blue = people["Blue"].join(slug, "Blue")
    whole = gzip.compress(json.dumps(TRUTH).encode())
    for body in (b'{"t1": "a"}', whole[:-5], whole + b"tail"):
        sent = post(blue, slug, body, Content_Encoding="gzip").json()
        assert (sent["status"], list(sent["total"])) == ("rejected", ["encoding"]), body
