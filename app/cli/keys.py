"""Commands about the keys with which an installation signs and signed receipts."""

from app.cli.options import AsJson, DataDir
from app.cli.serve import load_settings, write_transaction
from app.cli.terminal.output import command_output


def list_keys(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the public keys of receipts, the newest first.

    An installation signs each receipt of a score with its private key. With the public key anybody verifies that the
    receipt is from this installation: 'assay receipt keys' gets them from a service, 'assay receipt verify' needs them.
    The list has the key that signs here, keys of other machines of the installation, and former keys, which receipts
    that they signed still need. The key of the transparency log is another one: 'assay log show' prints it.
    """
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.actions.receipts.signing_keys import public_key_set, read_key, receipt_key_path

        path = receipt_key_path(settings)
        current = read_key(path).id if path.exists() else None
        with write_transaction(settings) as session:
            keys = public_key_set(session)["keys"]
        rows = [{"id": each["kid"], "signs": each["kid"] == current} for each in keys]

        def show(_console: object) -> None:
            for row in rows:
                out.say(f"{row['id']}  {'signs receipts here' if row['signs'] else 'verifies receipts'}")

        out.result(rows, show)


def rotate(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """Replace the private key of receipts; receipts that the old one signed stay verifiable.

    A running service uses the new key from its next receipt on. The old private key is deleted, its public key stays.
    """
    with command_output(as_json=as_json) as out:
        settings = load_settings(data_dir=data_dir)
        from app.actions.receipts.signing_keys import rotate_key

        with write_transaction(settings) as session:
            old, new = rotate_key(session, settings)
        value = {"old": None if old is None else old.id, "new": new.id}
        out.result(value, lambda _: out.say(f"Receipts are now signed by the key {new.id}."))
