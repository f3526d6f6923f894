"""The hierarchy of errors: each leaf has a stable code, an HTTP status and a remedy.

    AssayError
    ├── Renamed               308  a former slug of a challenge or phase
    ├── Unauthorized          401  no valid token
    ├── Forbidden             403  visible but not allowed
    ├── NotFound              404  missing, or hidden from this caller (the reply is the same)
    ├── BadRequest            400  an invalid header or parameter
    ├── Conflict              409  the current state does not allow it
    ├── Gone                  410  deleted, and known to have been there
    ├── TooSlow               408  the body stopped arriving
    ├── TooLarge              413  more bytes than allowed
    ├── UnsupportedMedia      415  an unsupported media type or encoding
    ├── InvalidContent        422  the content is invalid
    ├── TooManyRequests       429  quota or rate limit
    └── Unavailable           503  low disk space, database unavailable, overload

The docstring of a leaf is its default message, so documentation and message are always the same.
"""

from app.errors.account_errors import *  # noqa: F403
from app.errors.branches import *  # noqa: F403
from app.errors.challenge_errors import *  # noqa: F403
from app.errors.service_errors import *  # noqa: F403
from app.errors.submission_errors import *  # noqa: F403
from app.errors.team_errors import *  # noqa: F403
