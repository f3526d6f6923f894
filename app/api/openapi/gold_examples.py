"""Examples of gold versions for the API description."""

from app.api.openapi.examples import DRAW_SEED, JSON, TIMESTAMP

GOLD: JSON = {
    "version": 1,
    "status": "active",
    "instances": 4,
    "classes": ["cat", "dog"],
    "has_splits": False,
    "public_instances": None,
    "weighted": False,
    "void_instances": 0,
    "sha256": "46aca1852af4a8d03c03b8affcd55cf63803d5bec9e444b7a70eb0079103008a",
    "commitment": "9b1f0d6a2c4e8f7b3a5d9c1e0f2b4a6c8e0d1f3b5a7c9e1d3f5b7a9c0e2d4f6b",
    "size": 105,
    "format": "json",
    "train_frequencies": None,
    "class_weights": None,
    "accessories": [],
    "notes": [],
    "draw_seed": DRAW_SEED,
    "created_at": TIMESTAMP,
    "activated_at": TIMESTAMP,
    "remarks": [],
    "difference": None,
    "inference": None,
    "switch": None,
    "progress": None,
    "eta": None,
    "blocked_by": [],
}
DRAFT_GOLD: JSON = GOLD | {"status": "draft", "activated_at": None}
CLASS_COUNTS: JSON = {"classes": ["cat", "dog"], "counts": {"all": [2, 2]}}
DIFFERENCE: JSON = {
    "base": 1,
    "counts": {"relabelled": 1, "reweighted": 0, "voided": 1, "restored": 0, "moved": 0},
    "changed": 2,
    "class_counts": {"before": {"all": [2, 2]}, "after": {"all": [2, 1]}},
    "metadata": [],
}
CHANGES: JSON = DIFFERENCE | {
    "version": 2,
    "listed": 2,
    "items": [
        {"id": "doc-1", "before": {"label": "dog"}, "after": {"label": "cat"}},
        {"id": "doc-3", "before": {"label": "cat"}, "after": None},
    ],
    "next": None,
}
CHANGES_CSV = (
    "id,label_before,label_after,labels_before,labels_after,weight_before,weight_after,split_before,split_after\n"
    "doc-1,dog,cat,,,,,,\ndoc-3,cat,,,,,,,\n"
)
