"""The texts of the built-in commands that are prompts."""

from __future__ import annotations

TEXTS = {
    "init": """\
Write a `CLAUDE.md` in the working folder: what an agent that has never seen this project must know to work in it.

1. Look at the project first: its README, manifests and lock files, build and test configuration, continuous \
integration, the layout of the sources, and rules that other tools keep here (`AGENTS.md`, `.cursor/rules`, \
`.cursorrules`, `.github/copilot-instructions.md`).
2. Write down only what cannot be seen at a glance: the commands that build, check and test, also for a single \
test; how the parts fit together, where that takes reading several files; conventions that a newcomer would break; \
traps.
3. Leave out what any developer knows, lists of files, and anything that you have not verified.
4. If there is a `CLAUDE.md` already, improve it and keep what is right.

Begin the file with a heading and one sentence that says whom it is for.""",
    "code-review": """\
Review code for mistakes. The target: $ARGUMENTS

If no target is given, review what is not committed yet, and if there is nothing, what the current branch adds to \
the branch it came from. Read the changed code and whatever it touches, not the diff alone.

Look for what goes wrong when it runs: wrong conditions and off-by-one errors, unhandled failures, races, leaks, \
broken contracts with callers, lost compatibility, missing tests for new behaviour. For each finding give file and \
line, what happens, with which input, and how to mend it. Try to refute each one before you report it; leave out \
matters of taste. Order them by how much harm they do. If you find nothing, say so. Change no files.""",
    "security-review": """\
Review the changes of the current branch for security problems: what `git diff` shows against the branch it came \
from, and what is not committed.

Follow data from where a stranger controls it to where it does harm: commands, queries, paths, templates, \
deserialisation, requests to other hosts, authentication and permissions, secrets, cryptography, output in a \
browser. Report only problems that these changes bring in or open, that you can describe as an attack step by step, \
and that the code around them does not already prevent. For each give file and line, how bad it is, the attack, and \
the remedy. Leave out missing hardening without an attack. If there are none, say so. Change no files.""",
    "simplify": """\
Simplify code without changing what it does. The target: $ARGUMENTS

If no target is given, take what is not committed yet. Look for things that exist already and were written again, \
for indirection without use, for duplicated or dead code, for needless work. Make the changes, keep them small, and \
run the checks of the project afterwards. Do not look for bugs; if you see one, mention it at the end.""",
    "verify": """\
Show that a change does what it should: $ARGUMENTS

If nothing is named, take what is not committed yet. Do not rely on tests and type checks: start the program, or \
call the code as its users do, go through the paths that the change touches, and one that must not have changed. \
Report what you did and what you saw, with the output that proves it. If something is wrong, say so before anything \
else; do not mend it unless asked.""",
    "debug": """\
Find the cause of this problem: $ARGUMENTS

If nothing is named, take the last failure in this conversation. Reproduce it first. Then narrow it down with \
evidence: read the code on the way, add output, compare with a case that works. Name the cause only when you can \
explain all that was observed with it, and say how you checked it. Suggest the smallest remedy, and make it only if \
asked.""",
    "run": """\
Start this project's program and use it. What to look at: $ARGUMENTS

Find out from README, manifests and scripts how it is started; prefer the way that the project documents. Start it, \
use the part that matters here as a user would, and report what you saw. End every process that you started.""",
    "recap": """\
Sum up this session so far in one line of at most 25 words: what it is about, and what its state is. Use no tools and \
write nothing else.""",
    "team-onboarding": """\
Write a guide for people who begin to work on this project: what it is for, how to set it up, how to build, run and \
test it, where things are, how changes are made, and what to read first. Verify each command before you write it \
down. Put it into `ONBOARDING.md`, unless the project has a place for such guides.""",
}
