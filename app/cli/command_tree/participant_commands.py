"""Commands for participants."""

from app.cli.command_tree.declarations import EXAMPLE_SUBMISSION_ID, CommandDeclaration, GroupDeclaration

COMMANDS: tuple[CommandDeclaration | GroupDeclaration, ...] = (
    CommandDeclaration(
        "signup",
        "account.signup",
        "Create an account and log in with it.",
        'assay signup --email ada@example.org --name "Ada"',
    ),
    CommandDeclaration(
        "login",
        "account.login",
        "Log in to a service: create a token from e-mail address and password, or use an existing one; it is "
        "remembered.",
        "assay login --url https://assay.example.org",
    ),
    CommandDeclaration(
        "logout",
        "account.logout",
        "Revoke the stored token of the last login, and delete it.",
        "assay logout",
    ),
    CommandDeclaration(
        "password",
        "my_account.change_password",
        "Change your password, or set a new one with a reset link.",
        "assay password",
    ),
    GroupDeclaration(
        "account",
        "Show, rename or delete your account, and download your data.",
        (
            CommandDeclaration(
                "show",
                "my_account.show_account",
                "Show your account and what the token in use may do.",
                "assay account show",
            ),
            CommandDeclaration(
                "rename",
                "my_account.rename_account",
                "Change the name of your account.",
                'assay account rename "Ada Lovelace"',
            ),
            CommandDeclaration(
                "data",
                "my_account.download_data",
                "Download everything that the service stores about your account, as one JSON file.",
                "assay account data -o my-data.json",
            ),
            CommandDeclaration(
                "delete",
                "my_account.delete_account",
                "Delete your account. What you sent stays under a pseudonym; it cannot be undone.",
                "assay account delete",
            ),
        ),
    ),
    CommandDeclaration(
        "register",
        "register.register",
        "Register for a challenge by founding a team, or with the code of an invitation.",
        'assay register digits --team "Linear"',
    ),
    CommandDeclaration(
        "unregister",
        "register.unregister",
        "End your registration for a challenge, and leave your team.",
        "assay unregister digits",
    ),
    CommandDeclaration(
        "template",
        "participant.template",
        "Get a file to fill in, with every id that a submission needs.",
        "assay template digits --format csv -o mine.csv",
    ),
    CommandDeclaration(
        "validate",
        "participant.validate",
        "Check predictions without submitting them: by the service, or offline with --ids and --classes.",
        "assay validate digits -f mine.json",
    ),
    CommandDeclaration(
        "submit",
        "participant.submit",
        "Submit predictions.",
        'assay submit digits -f mine.json -m "SVM, bigrams" --wait',
    ),
    CommandDeclaration(
        "submissions",
        "participant.submissions",
        "List your team's submissions in a phase (for organizers: all submissions).",
        "assay submissions digits",
    ),
    CommandDeclaration(
        "submission",
        "participant.submission",
        "Show a submission: status, scores, problems.",
        f"assay submission {EXAMPLE_SUBMISSION_ID}",
    ),
    CommandDeclaration(
        "select",
        "participant.select",
        "Select a submission for the final standing.",
        f"assay select {EXAMPLE_SUBMISSION_ID}",
    ),
    CommandDeclaration(
        "unselect",
        "participant.unselect",
        "Undo the selection of a submission for the final standing.",
        f"assay unselect {EXAMPLE_SUBMISSION_ID}",
    ),
    CommandDeclaration(
        "cancel",
        "disqualification.cancel",
        "Cancel a queued submission.",
        f'assay cancel {EXAMPLE_SUBMISSION_ID} --reason "Wrong file"',
    ),
    CommandDeclaration(
        "withdraw",
        "disqualification.withdraw",
        "Withdraw a submission from the ranking.",
        f'assay withdraw {EXAMPLE_SUBMISSION_ID} --reason "Wrong file"',
    ),
    CommandDeclaration(
        "quota",
        "participant.quota",
        "Show your team's quota in a phase: limits, grants, used and remaining.",
        "assay quota digits",
    ),
    CommandDeclaration(
        "leaderboard",
        "board.leaderboard",
        "Show the leaderboard of a phase, best first: now, at a former time, or by former versions.",
        "assay leaderboard digits --as-of 2027-03-01T12:00:00Z",
    ),
    GroupDeclaration(
        "board",
        "List, show and verify frozen boards; for organizers: freeze the final board of a phase, to be cited.",
        (
            CommandDeclaration(
                "frozen",
                "board.frozen",
                "List the frozen boards of a phase, or show one.",
                "assay board frozen digits 1 --json",
            ),
            CommandDeclaration(
                "verify",
                "board.verify",
                "Compute the hash of a frozen board again, without a service.",
                "assay board verify frozen.json",
            ),
            CommandDeclaration(
                "freeze",
                "board.freeze",
                "Freeze the final board of a phase, to be cited.",
                'assay board freeze digits --reason "All objections were decided"',
            ),
        ),
    ),
    GroupDeclaration(
        "receipt",
        "Get and verify receipts: signed statements of scores, which anybody can check offline.",
        (
            CommandDeclaration(
                "get",
                "receipt.get_receipt",
                "Get the receipt of a submission.",
                f"assay receipt get {EXAMPLE_SUBMISSION_ID} -o receipt.json",
            ),
            CommandDeclaration(
                "keys",
                "receipt.get_keys",
                "Get the public keys with which a service signs or signed receipts.",
                "assay receipt keys -o keys.json",
            ),
            CommandDeclaration(
                "verify",
                "receipt.verify_receipt",
                "Verify a receipt offline: its signature, and with the files the digests, the commitment and the scores.",
                "assay receipt verify receipt.json --keys keys.json --gold gold.csv --predictions mine.csv",
            ),
        ),
    ),
    GroupDeclaration(
        "log",
        "Show and verify the transparency log, which fixes what the service recorded and in which order.",
        (
            CommandDeclaration(
                "show",
                "log.show_log",
                "Show the transparency log of a service: its origin, verifier key, size and last checkpoint.",
                "assay log show --url https://scores.example.org",
            ),
            CommandDeclaration(
                "checkpoint",
                "log.get_checkpoint",
                "Get the last checkpoint of the transparency log; keep it, to compare it with later ones.",
                "assay log checkpoint -o monday.txt",
            ),
            CommandDeclaration(
                "records",
                "log.list_records",
                "List what the transparency log fixes about a challenge: gold, switches of boards, releases and frozen boards.",
                "assay log records digits",
            ),
            CommandDeclaration(
                "proof",
                "log.get_proof",
                "Get the proof that a receipt, an entry of the audit trail or a record of a challenge is in the transparency log.",
                f"assay log proof {EXAMPLE_SUBMISSION_ID} -o receipt.tlog-proof",
            ),
            CommandDeclaration(
                "verify",
                "log.verify_log",
                "Verify a proof of a receipt, the consistency of two checkpoints, or the whole transparency log of a service.",
                "assay log verify --proof receipt.tlog-proof --receipt receipt.json --key scores.example.org/log+1a2b3c4d+AQ0…",
            ),
            CommandDeclaration(
                "continue",
                "log_operation.continue_log",
                "Go on with the transparency log after a move or restore: nothing was published since this checkpoint.",
                "assay log continue last-checkpoint.txt --data-dir ./new-data",
            ),
            CommandDeclaration(
                "renew",
                "log_operation.renew_log",
                "End the transparency log and begin another one, with a new key and the present ASSAY_PUBLIC_URL.",
                "assay log renew --data-dir ./assay-data",
            ),
        ),
    ),
    CommandDeclaration(
        "errata",
        "preview.errata",
        "Show what corrections changed on the boards of a challenge, why, and which ranks moved, newest first.",
        "assay errata digits",
    ),
    GroupDeclaration(
        "announcement",
        "Show what organizers announced; for organizers: post, edit and delete announcements.",
        (
            CommandDeclaration(
                "list",
                "announcement.list_announcements",
                "Show what the organizers of a challenge announced, newest first.",
                "assay announcement list digits",
            ),
            CommandDeclaration(
                "post",
                "announcement.post_announcement",
                "Tell everybody who sees a challenge something, as an organizer.",
                'assay announcement post digits --title "The test phase opens on Monday" -f news.md',
            ),
            CommandDeclaration(
                "edit",
                "announcement.edit_announcement",
                "Change the title or the body of an announcement, as an organizer.",
                'assay announcement edit digits 019a3c5e7b1f7d04a2c98e6f50b1d327 --title "It opens on Tuesday"',
            ),
            CommandDeclaration(
                "delete",
                "announcement.delete_announcement",
                "Delete an announcement, as an organizer.",
                "assay announcement delete digits 019a3c5e7b1f7d04a2c98e6f50b1d327",
            ),
        ),
    ),
    GroupDeclaration(
        "file",
        "List and download the files of a challenge; for organizers: upload, describe and delete them.",
        (
            CommandDeclaration(
                "list",
                "challenge_file.list_files",
                "List the files that a challenge offers, such as training data.",
                "assay file list digits",
            ),
            CommandDeclaration(
                "download",
                "challenge_file.download_file",
                "Download a file of a challenge and check its SHA-256.",
                "assay file download digits train.csv",
            ),
            CommandDeclaration(
                "upload",
                "challenge_file.upload_file",
                "Offer a file for download, as an organizer.",
                "assay file upload digits -f train.csv --licence CC-BY-4.0",
            ),
            CommandDeclaration(
                "edit",
                "challenge_file.edit_file",
                "Change the licence, the description or the audience of a file, as an organizer.",
                "assay file edit digits train.csv --audience teams",
            ),
            CommandDeclaration(
                "delete",
                "challenge_file.delete_file",
                "Delete a file of a challenge, as an organizer.",
                "assay file delete digits train.csv",
            ),
        ),
    ),
)
