"""Commands for organizers."""

from app.cli.command_tree.declarations import EXAMPLE_SUBMISSION_ID, GOLD_OPENING, CommandDeclaration, GroupDeclaration

COMMANDS: tuple[CommandDeclaration | GroupDeclaration, ...] = (
    CommandDeclaration(
        "rerun",
        "rerun.rerun",
        "Score a phase's finished submissions again and report differences; stored scores are not changed.",
        "assay rerun digits --phase main --wait",
    ),
    CommandDeclaration(
        "disqualify",
        "disqualification.disqualify",
        "Disqualify a submission; 'assay team disqualify' disqualifies a team.",
        f'assay disqualify {EXAMPLE_SUBMISSION_ID} --reason "Labels of the test set"',
    ),
    CommandDeclaration(
        "reinstate",
        "disqualification.reinstate",
        "Undo the withdrawal and the disqualification of a submission.",
        f"assay reinstate {EXAMPLE_SUBMISSION_ID}",
    ),
    CommandDeclaration(
        "delete",
        "disqualification.delete_test_entry",
        "Delete a test entry, as an organizer; other submissions can be withdrawn or disqualified.",
        f"assay delete {EXAMPLE_SUBMISSION_ID}",
    ),
    CommandDeclaration(
        "audit",
        "audit.audit",
        "Show who did what, when and why: in a challenge, for its organizers, or on the whole site.",
        "assay audit digits --action phase --since 2027-01-01",
    ),
    CommandDeclaration(
        "export",
        "challenge_file.export",
        "Save all files of predictions and a list of the submissions as a ZIP archive, as an organizer.",
        "assay export digits --phase main -o digits.zip",
    ),
    GroupDeclaration(
        "organizer",
        "List, add and remove the organizers of a challenge.",
        (
            CommandDeclaration(
                "list",
                "organizer_roles.list_organizers",
                "List the organizers of a challenge and their roles, as one of them.",
                "assay organizer list digits",
            ),
            CommandDeclaration(
                "add",
                "organizer_roles.add_organizer",
                "Make a user an organizer, or change the role of one, as an owner.",
                "assay organizer add digits ada@example.org --role editor",
            ),
            CommandDeclaration(
                "remove",
                "organizer_roles.remove_organizer",
                "Take the role of an organizer away, as an owner; the user still cannot register for the challenge.",
                "assay organizer remove digits ada@example.org",
            ),
        ),
    ),
    GroupDeclaration(
        "registration",
        "Show registrations; for organizers: approve and bar users of a challenge, and invite to it.",
        (
            CommandDeclaration(
                "list",
                "registration.list_registrations",
                "List the registrations for a challenge (for participants: your own).",
                "assay registration list digits --status pending",
            ),
            CommandDeclaration(
                "show",
                "registration.show",
                "Show a registration: state, team, terms, answers, and the history of decisions.",
                "assay registration show digits bob@example.org",
            ),
            CommandDeclaration(
                "approve",
                "registration.approve",
                "Approve a registration, or all that are pending, as an organizer.",
                "assay registration approve digits --all",
            ),
            CommandDeclaration(
                "bar",
                "registration.bar",
                "Bar a user from a challenge, as an organizer.",
                'assay registration bar digits bob@example.org --reason "Two accounts"',
            ),
            CommandDeclaration(
                "invite",
                "registration.invite",
                "Make a code with which users register for a challenge, approved at once, as an organizer.",
                "assay registration invite digits --uses 30",
            ),
            CommandDeclaration(
                "invitations",
                "registration.list_invitations",
                "List the invitations to a challenge that were not revoked, as an organizer.",
                "assay registration invitations digits",
            ),
            CommandDeclaration(
                "revoke",
                "registration.revoke_invitation",
                "Revoke an invitation to a challenge, as an organizer.",
                "assay registration revoke digits 019a3c5e7b1f7d04a2c98e6f50b1d327",
            ),
        ),
    ),
    GroupDeclaration(
        "challenge",
        "List and show challenges; for organizers: create, edit, publish, archive, copy and delete them.",
        (
            CommandDeclaration(
                "list",
                "challenge.list_challenges",
                "List the challenges that are visible to you.",
                "assay challenge list",
            ),
            CommandDeclaration(
                "show",
                "challenge.show_challenge",
                "Show a challenge: task, metrics, selection, tie-breakers, terms, and phases with quota and classes.",
                "assay challenge show digits",
            ),
            CommandDeclaration(
                "create",
                "organizer.create_challenge",
                "Create a challenge from its description.",
                "assay challenge create -f challenge.yaml",
            ),
            CommandDeclaration(
                "edit",
                "organizer.edit_challenge",
                "Change a challenge to match a file: the full description, or only the parts that change.",
                "assay challenge edit digits -f changes.yaml",
            ),
            CommandDeclaration(
                "rename",
                "organizer.rename_challenge",
                "Give a challenge another slug; its former addresses lead to the new ones.",
                "assay challenge rename digits digits-2027",
            ),
            CommandDeclaration(
                "publish",
                "organizer.publish_challenge",
                "Publish a draft; its visibility then determines who can see it.",
                "assay challenge publish digits",
            ),
            CommandDeclaration(
                "archive",
                "organizer.archive_challenge",
                "Make a challenge read-only, as an owner: no registration, submission or change until it is unarchived.",
                "assay challenge archive digits",
            ),
            CommandDeclaration(
                "unarchive",
                "organizer.unarchive_challenge",
                "Let an archived challenge go on, as an owner; phases that have closed stay closed.",
                "assay challenge unarchive digits",
            ),
            CommandDeclaration(
                "copy",
                "organizer.copy_challenge",
                "Copy the rules of a challenge into a new draft: recipes, phases, terms; no teams, submissions or "
                "announcements.",
                "assay challenge copy digits digits-2028 --opens 2028-02-01T12:00",
            ),
            CommandDeclaration(
                "delete",
                "organizer.delete_challenge",
                "Delete a challenge with everything in it; once something was submitted, only an administrator can.",
                "assay challenge delete digits --confirm digits",
            ),
        ),
    ),
    GroupDeclaration(
        "gold",
        "Manage the gold labels of a phase.",
        (
            CommandDeclaration(
                "upload",
                "gold.upload_gold",
                "Upload the gold labels of a phase as a draft, show what was read, and activate it if asked to.",
                "assay gold upload digits -f gold.jsonl.gz --activate",
            ),
            CommandDeclaration(
                "list",
                "gold.list_gold",
                "List the versions of a phase's gold, newest first.",
                "assay gold list digits",
            ),
            CommandDeclaration(
                "show",
                "gold.show_gold_version",
                "Show what was read from a version of the gold: instances, classes, splits, weights and remarks.",
                "assay gold show digits 1",
            ),
            CommandDeclaration(
                "activate",
                "gold.activate_gold",
                "Activate a version of the gold, which replaces the active one until something is submitted.",
                "assay gold activate digits 1",
            ),
            GOLD_OPENING,
            CommandDeclaration(
                "delete",
                "gold.delete_gold",
                "Delete a draft of the gold.",
                "assay gold delete digits 2",
            ),
        ),
    ),
    GroupDeclaration(
        "recipe",
        "Show and replace the recipe of a challenge or of one phase.",
        (
            CommandDeclaration(
                "show",
                "recipe.show_recipe",
                "Show the recipe of a challenge or of one phase: metrics, ranking rules and what scores disclose.",
                "assay recipe show digits --phase main",
            ),
            CommandDeclaration(
                "set",
                "recipe.set_recipe",
                "Activate a recipe for a challenge, or for one phase alone.",
                "assay recipe set digits -f recipe.yaml --phase main",
            ),
            CommandDeclaration(
                "drop",
                "recipe.drop_recipe",
                "Return a phase to the recipe of its challenge.",
                "assay recipe drop digits --phase main",
            ),
        ),
    ),
    GroupDeclaration(
        "phase",
        "Manage the phases of a challenge.",
        (
            CommandDeclaration(
                "release",
                "phase.release_phase",
                "Preview the final release of a phase: public and private ranks; with --yes, release the private "
                "scores.",
                "assay phase release digits --phase final --yes",
            ),
            CommandDeclaration(
                "ladder",
                "phase.show_ladder",
                "Show the feedback that the Ladder of a phase has given to each team, and what it guarantees.",
                "assay phase ladder digits --phase main",
            ),
            CommandDeclaration(
                "list",
                "phase.list_phases",
                "List the phases of a challenge with windows, quotas and states.",
                "assay phase list digits",
            ),
            CommandDeclaration(
                "show",
                "phase.show_phase",
                "Show a phase: window, quota, leaderboard, labels and state.",
                "assay phase show digits --phase final",
            ),
            CommandDeclaration(
                "add",
                "phase.add_phase",
                "Add a phase after the others, from options or a file.",
                'assay phase add digits "Final test" --opens 2027-03-01T12:00 --closes "2027-03-08 AoE" --total 5',
            ),
            CommandDeclaration(
                "edit",
                "phase.edit_phase",
                "Change a phase, by options or to match a file.",
                'assay phase edit digits --phase main --closes "2027-03-15 AoE"',
            ),
            CommandDeclaration(
                "rename",
                "phase.rename_phase",
                "Give a phase another name and slug; its former addresses lead to the new ones.",
                'assay phase rename digits "Development" --phase main',
            ),
            CommandDeclaration(
                "order",
                "phase.order_phases",
                "Put the phases of a challenge in this order.",
                "assay phase order digits development final",
            ),
            CommandDeclaration(
                "pause",
                "phase.pause_phase",
                "Refuse submissions of participants until the phase is resumed; the close does not move.",
                'assay phase pause digits --reason "The gold is being checked."',
            ),
            CommandDeclaration(
                "resume",
                "phase.resume_phase",
                "Accept submissions to a paused phase again.",
                "assay phase resume digits",
            ),
            CommandDeclaration(
                "delete",
                "phase.delete_phase",
                "Delete a phase with its gold, while nothing was submitted to it.",
                "assay phase delete digits --phase extra",
            ),
        ),
    ),
    GroupDeclaration(
        "team",
        "Teams: members, invitations, captaincy and merges; for organizers: quota and disqualification.",
        (
            CommandDeclaration(
                "list",
                "team.list_teams",
                "List the teams of a challenge (for participants: your own).",
                "assay team list digits",
            ),
            CommandDeclaration(
                "show",
                "team.show_team",
                "Show your team: members, open invitations and proposals to merge.",
                "assay team show digits",
            ),
            CommandDeclaration(
                "invite",
                "team.invite",
                "Make a code that admits one user to your team; for its captain.",
                "assay team invite digits",
            ),
            CommandDeclaration(
                "revoke",
                "team.revoke",
                "Revoke an invitation to your team that was not used; for its captain.",
                "assay team revoke digits 019a3c5e7b1f7d04a2c98e6f50b1d327",
            ),
            CommandDeclaration(
                "leave",
                "team.leave",
                "Leave your team; your registration stays.",
                "assay team leave digits",
            ),
            CommandDeclaration(
                "remove",
                "team.remove",
                "Remove a member from your team; for its captain and for organizers.",
                "assay team remove digits Bob",
            ),
            CommandDeclaration(
                "captain",
                "team.hand_over",
                "Hand over the captaincy of your team to another member.",
                "assay team captain digits Bob",
            ),
            CommandDeclaration(
                "rename",
                "team.rename",
                "Give your team another name; for its captain.",
                'assay team rename digits "Linear Two"',
            ),
            CommandDeclaration(
                "merge",
                "team.merge",
                "Propose to merge your team with another one, or agree to its proposal; for captains.",
                'assay team merge digits "Trees"',
            ),
            CommandDeclaration(
                "allow",
                "team.allow",
                "As an organizer, let a user who left a team that had used quota join or found another one.",
                "assay team allow digits bob@example.org",
            ),
            CommandDeclaration(
                "disqualify",
                "disqualification.disqualify_team",
                "Disqualify a team in all phases of a challenge.",
                'assay team disqualify digits "Linear" --reason "Several accounts of one person"',
            ),
            CommandDeclaration(
                "reinstate",
                "disqualification.reinstate_team",
                "Undo the disqualification of a team.",
                'assay team reinstate digits "Linear"',
            ),
            CommandDeclaration(
                "grant",
                "team.grant_quota",
                "Grant one team more submissions in a phase, or fewer with a negative number.",
                'assay team grant digits Blue --total 2 --reason "Two entries were lost to an outage of ours."',
            ),
        ),
    ),
)
