"""Checks of the key that signs receipts."""

from app.actions.receipts.signing_keys import ReceiptKeyUnusable, read_key, receipt_key_path
from app.doctor.check_declaration import NEEDS_SCHEMA, CheckResult, check, ok, problem, warning
from app.doctor.installation import Installation
from app.doctor.key_files import mode_for_others
from app.store.queries import receipts


@check(
    "receipts.key",
    needs=NEEDS_SCHEMA,
    remedy="Let only the service's account read the file (chmod 600), and keep it: receipts are signed with it. 'assay "
    "keys rotate' replaces a key that others may have read.",
)
def check_receipt_key(installation: Installation) -> CheckResult:
    """The private key of receipts can be read by the service's account alone, and its public key is registered."""
    path = receipt_key_path(installation.settings)
    if not path.exists():
        if installation.settings.receipt_key_file is not None:
            return problem(f"{path} does not exist.", ReceiptKeyUnusable.remedy)
        return ok("There is none yet; the first worker that starts creates it.")
    key, mode = read_key(path), mode_for_others(path)
    if mode is not None:
        return problem(f"Others than the service's account can read {path} (mode {mode}).")
    with installation.session() as session:
        registered = {row.id for row in receipts.receipt_keys(session)}
    if key.id not in registered:
        detail = f"The key {key.id} in {path} is not registered."
        return warning(detail, "Start a worker ('assay serve' or 'assay worker'): it registers the key.")
    return ok(f"{key.id}, in {path}.")
