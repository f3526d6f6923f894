"""Runs a server for as long as whoever started it lives: then ends it and removes its folder.

    python end_with_parent.py USER FOLDER COMMAND...

USER may be empty. The server's process id is the first line printed. The end of standard input, which a process
that dies cannot help causing, is the sign that nobody needs the server any more.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading


def main(user: str, folder: str, *command: str) -> int:
    """Run the command; its exit status."""
    account = {"user": user, "group": user_group(user), "extra_groups": []} if user else {}
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, cwd=folder, **account)  # type: ignore[call-overload]
    with contextlib.suppress(BrokenPipeError):
        print(server.pid, flush=True)  # noqa: T201
    orphaned = threading.Event()

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would delay the end of this program
        orphaned.set()
        server.send_signal(signal.SIGQUIT)
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()

    threading.Thread(target=watch, daemon=True).start()
    status = int(server.wait())
    if orphaned.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return status


def user_group(user: str) -> int:
    """The user's own group."""
    import pwd  # noqa: PLC0415 - only where there are users to become

    return pwd.getpwnam(user).pw_gid


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
