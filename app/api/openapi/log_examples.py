"""Examples of the transparency log in the API description."""

from app.api.openapi.examples import JSON, TIMESTAMP

ORIGIN = "scores.example.org/log"
CHECKPOINT = """\
scores.example.org/log
2
fvfLFkEx0Py7vJ3Ey4bbLWTVKPSPNoW8s0tSUS2LAZk=

— scores.example.org/log kOhFEQ==
"""
PROOF = """\
c2sp.org/tlog-proof@v1
extra c2FsdCBhbmQgcmVjb3Jk
index 1
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

"""
PROOF += CHECKPOINT
LOGS: JSON = {
    "logs": [
        {
            "origin": ORIGIN,
            "vkey": f"{ORIGIN}+1a2b3c4d+AQ0…",
            "started_at": TIMESTAMP,
            "ended_at": None,
            "size": 2,
            "signed_at": TIMESTAMP,
            "checkpoint": CHECKPOINT,
            "previous": None,
            "first_leaf": {"salt": "00" * 32, "record": f'{{"kind":"origin","origin":"{ORIGIN}","previous":null}}'},
        }
    ]
}
RECORD: JSON = {
    "id": "01a21d0aeec371c6a7adcede0bd85fb2",
    "kind": "release",
    "phase": "main",
    "recorded_at": TIMESTAMP,
    "position": 1,
    "salt": "00" * 32,
    "record": '{"gold_version":1,"kind":"release","recipe_version":1,"scorer_version":2}',
    "entry": "11" * 32,
}
