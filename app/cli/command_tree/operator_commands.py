"""Commands for operators of a service."""

from app.cli.command_tree.declarations import CommandDeclaration, GroupDeclaration

COMMANDS: tuple[CommandDeclaration | GroupDeclaration, ...] = (
    CommandDeclaration(
        "serve",
        "serve.serve",
        "Run the whole service: migrations, API and scoring.",
        "assay serve --port 8000 --data-dir ./assay-data",
    ),
    CommandDeclaration(
        "demo",
        "demo.demo",
        "Run a service with a real challenge and five scored systems, and print its leaderboard.",
        "assay demo",
    ),
    CommandDeclaration(
        "api",
        "serve.api",
        "Run the API without scoring; any number of APIs and workers can run in parallel (PostgreSQL only).",
        "assay api --port 8000",
    ),
    CommandDeclaration(
        "worker",
        "serve.worker",
        "Score submissions; any number of workers can run in parallel (PostgreSQL only).",
        "assay worker --workers 2",
    ),
    CommandDeclaration(
        "doctor",
        "doctor.doctor",
        "Check an installation and suggest remedies; without --repair it changes nothing.",
        "assay doctor --data-dir ./assay-data",
    ),
    CommandDeclaration(
        "migrate",
        "serve.migrate",
        "Migrate the database to the schema of this version.",
        "assay migrate --data-dir ./assay-data",
    ),
    CommandDeclaration(
        "backup",
        "backup.backup",
        "Copy the database and all uploads into a folder, while the service is running.",
        "assay backup backups/2026-01-31 --data-dir ./assay-data",
    ),
    CommandDeclaration(
        "restore",
        "backup.restore",
        "Restore a backup into an empty installation, on SQLite or PostgreSQL, with uploads in a folder or a bucket.",
        "assay restore backups/2026-01-31 --data-dir ./new-data",
    ),
    CommandDeclaration(
        "import",
        "importing.import_phase",
        "Import a phase of another installation: its scores are computed again before anybody sees it.",
        'assay import digits.zip --slug digits-2026 --reason "The workshop has moved"',
    ),
    CommandDeclaration(
        "imports",
        "importing.list_imports",
        "List the imports of phases, newest first, or show one. Requires an administrator.",
        "assay imports",
    ),
    GroupDeclaration(
        "keys",
        "Show and replace the key with which this installation signs receipts.",
        (
            CommandDeclaration(
                "list",
                "keys.list_keys",
                "List the public keys of receipts, the newest first.",
                "assay keys list --data-dir ./assay-data",
            ),
            CommandDeclaration(
                "rotate",
                "keys.rotate",
                "Replace the private key of receipts; receipts that the old one signed stay verifiable.",
                "assay keys rotate --data-dir ./assay-data",
            ),
        ),
    ),
    GroupDeclaration(
        "user",
        "Manage accounts, as an administrator of the service; create them directly in the database.",
        (
            CommandDeclaration(
                "create",
                "serve.create_user",
                "Create an account directly in the database.",
                'assay user create --email ada@example.org --name "Ada" --approved',
            ),
            CommandDeclaration(
                "list",
                "users.list_users",
                "List accounts. Requires an administrator.",
                "assay user list --search example.org",
            ),
            CommandDeclaration(
                "approve",
                "users.approve_user",
                "Approve a user to create challenges. Requires an administrator.",
                "assay user approve ada@example.org",
            ),
            CommandDeclaration(
                "disable",
                "users.disable_user",
                "Disable an account: its sessions and tokens end, and nobody can log in to it. Requires an administrator.",
                'assay user disable ada@example.org --reason "Shared with others."',
            ),
            CommandDeclaration(
                "enable",
                "users.enable_user",
                "Enable a disabled account. Requires an administrator.",
                "assay user enable ada@example.org",
            ),
            CommandDeclaration(
                "reset",
                "users.reset_user",
                "Make a link with which a user sets a new password within an hour.",
                "assay user reset ada@example.org",
            ),
            CommandDeclaration(
                "delete",
                "users.delete_user",
                "Delete an account; what it sent stays under a pseudonym. Requires an administrator.",
                "assay user delete ada@example.org",
            ),
        ),
    ),
    GroupDeclaration(
        "invitation",
        "Manage invitations to the site, as an administrator.",
        (
            CommandDeclaration(
                "create",
                "users.create_invitation",
                "Invite people to sign up on this site: print a code. Requires an administrator.",
                'assay invitation create --uses 30 --note "The class of 2027"',
            ),
            CommandDeclaration(
                "list",
                "users.list_invitations",
                "List the invitations to this site. Requires an administrator.",
                "assay invitation list",
            ),
            CommandDeclaration(
                "revoke",
                "users.revoke_invitation",
                "Revoke an invitation to this site. Requires an administrator.",
                "assay invitation revoke 019a3c5e7b1f7d04a2c98e6f50b1d327",
            ),
        ),
    ),
    GroupDeclaration(
        "token",
        "List and revoke your tokens; create tokens directly in the database.",
        (
            CommandDeclaration(
                "create",
                "serve.create_token",
                "Create a token for an account directly in the database, and print it.",
                "assay token create --email ada@example.org --days 30",
            ),
            CommandDeclaration(
                "list",
                "my_account.list_tokens",
                "List your tokens that are not revoked, with their last use.",
                "assay token list",
            ),
            CommandDeclaration(
                "revoke",
                "my_account.revoke_token",
                "Revoke one of your tokens; an administrator may revoke any.",
                "assay token revoke 019a3c5e7b1f7d04a2c98e6f50b1d327",
            ),
        ),
    ),
)
