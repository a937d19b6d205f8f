"""The gate as a whole: modes, order of rules, updates, suggestions."""

from __future__ import annotations

import os
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.gates import SPECS, bash, decide, gate
from tests.helpers.settings import settings_with
from yume_shim.gate.paths import WINDOWS
from yume_shim.gate.permissions import Permissions
from yume_shim.gate.rulebook import RuleBook
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import Decision
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import ToolKind

ACCEPT_EDITS: Any = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
READ_IN = ("Read", {"file_path": "a.txt"})
READ_OUT = ("Read", {"file_path": "/etc/hostname"})
WRITE_IN = ("Write", {"file_path": "w.txt", "content": "w"})
WRITE_OUT = ("Write", {"file_path": "/elsewhere/w.txt", "content": "w"})
ECHO = ("Bash", {"command": "echo hi"})
TOUCH = ("Bash", {"command": "touch made.txt"})
CAT_OUT = ("Bash", {"command": "cat /etc/hostname"})
MCP: tuple[str, dict[str, Any]] = ("mcp__box__open", {})
TODOS: tuple[str, dict[str, Any]] = ("TodoWrite", {"todos": []})
CHECKS = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow)
COLUMNS = (READ_IN, READ_OUT, WRITE_IN, WRITE_OUT, ECHO, TOUCH, CAT_OUT, MCP, TODOS)


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("alpha\n")
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("mode", "flat", "verdicts"),
    [
        ("default", False, "allow ask ask ask allow ask ask ask allow"),
        ("manual", False, "allow ask ask ask allow ask ask ask allow"),
        ("acceptEdits", False, "allow ask allow ask allow allow ask ask allow"),
        ("auto", False, "allow ask allow ask allow allow ask ask allow"),
        ("plan", False, "allow ask ask ask allow ask ask ask allow"),
        ("dontAsk", False, "allow deny deny deny allow deny deny deny allow"),
        ("bypassPermissions", False, "allow allow allow allow allow allow allow allow allow"),
        ("auto", True, "allow allow allow allow allow allow allow allow allow"),
        ("interactive", True, "ask ask ask ask ask ask ask ask ask"),
        ("deny", True, "deny deny deny deny deny deny deny deny deny"),
    ],
)
def test_the_mode_table(space: Path, mode: str, flat: bool, verdicts: str) -> None:
    guard = gate(space, mode, flat=flat)
    assert " ".join(decide(guard, tool, **fields).verdict for tool, fields in COLUMNS) == verdicts


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "bypassPermissions", "interactive"])
@pytest.mark.parametrize("tool", ["AskUserQuestion", "ExitPlanMode"])
def test_questions_are_asked_in_every_mode(space: Path, mode: str, tool: str) -> None:
    assert decide(gate(space, mode, allow=(tool,)), tool).verdict == "ask"


@pytest.mark.parametrize("kind", ["read", "edit", "search", "shell"])
def test_a_foreign_tool_is_not_judged_by_parameters_that_look_like_ours(space: Path, kind: ToolKind) -> None:
    spec = ToolSpec("mcp__box__open", "", {}, kind, source="mcp")
    call = ToolCall("c", spec.name, {"file_path": "a.txt", "path": "a.txt", "command": "ls"})
    assert gate(space, "acceptEdits").decide(call, spec).verdict == "ask"


def test_a_parameter_without_a_name_is_not_a_command(space: Path) -> None:
    call = ToolCall("c", "mcp__box__open", {"": "ls"})
    for spec in (ToolSpec(call.name, "", {}, "shell", source="mcp"), ToolSpec(call.name, "", {}, source="mcp")):
        assert gate(space).decide(call, spec).verdict == "ask"


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
def test_a_restricted_session_stays_in_its_folders(space: Path, mode: str) -> None:
    home = str(space)
    guard = Permissions(
        settings_with(permission_mode=mode, confined=True, cwd=home), home, home, False, lambda *_: None
    )
    assert decide(guard, "Read", file_path="/etc/hosts").verdict == "deny"
    assert decide(guard, "Write", file_path="../x.txt").verdict == "deny"
    assert decide(guard, "Read", file_path="a.txt").verdict == "allow"


# ---------------------------------------------------------------- words and offers


def test_the_question_about_an_edit(space: Path) -> None:
    path = str(space / "w.txt")
    message = f"Claude requested permissions to write to {path}, but you haven't granted it yet."
    assert decide(gate(space), "Write", file_path="w.txt") == Decision(
        "ask", message, "mode", "default", (ACCEPT_EDITS,), judged=path
    )
    planned = decide(gate(space, "plan"), "Write", file_path="w.txt")
    assert planned.message.startswith(message)
    assert "while in plan mode" in planned.message
    dont = decide(gate(space, "dontAsk"), "Write", file_path="w.txt")
    assert (dont.verdict, dont.reason_type, dont.suggestions) == ("deny", "mode", ())
    assert dont.message.startswith("Permission to use Write has been denied")


def test_the_question_about_a_path_outside(space: Path) -> None:
    etc, name = os.path.join(space, "/etc"), os.path.normpath(os.path.join(space, "/etc/hostname"))
    folder: Any = {"type": "addDirectories", "directories": [os.path.normpath(etc)], "destination": "session"}
    message = f"Claude requested permissions to read from {name}, but you haven't granted it yet."
    assert decide(gate(space), "Read", file_path="/etc/hostname") == Decision(
        "ask", message, "workingDir", "outside of the workspace", (folder,), name, judged=name
    )
    assert decide(gate(space), "Write", file_path="/etc/x").suggestions == (folder, ACCEPT_EDITS)


def rule_offer(*contents: str) -> dict[str, Any]:
    rules = [{"toolName": "Bash", "ruleContent": content} for content in contents]
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"}


@pytest.mark.parametrize(
    ("command", "message", "offers"),
    [
        ("touch x", "This command requires approval", (rule_offer("touch x"), ACCEPT_EDITS)),
        ("make *", "This command requires approval", (rule_offer("make \\*"),)),
        ("npm run build", "This command requires approval", (rule_offer("npm run:*"),)),
        (
            "ls && npm i x && make",
            "This Bash command contains multiple operations. The following parts require approval: npm i x, make",
            (rule_offer("npm i:*", "make"),),
        ),
        ("make $X", "This command requires approval (it contains a variable)", (rule_offer("make $X"),)),
    ],
)
def test_the_question_about_a_command(
    space: Path, command: str, message: str, offers: tuple[dict[str, Any], ...]
) -> None:
    decision = bash(gate(space), command)
    assert (decision.verdict, decision.message, decision.suggestions) == ("ask", message, offers)


def test_the_question_names_a_redirect(space: Path) -> None:
    assert bash(gate(space), "ls > x").message.startswith("Output redirection to 'x' needs approval")


def test_the_messages_of_denials(space: Path) -> None:
    guard = gate(space, "bypassPermissions", deny=("Bash(git push:*)", "Read(./a.txt)", "WebFetch"))
    assert bash(guard, "git push x") == Decision(
        "deny", "Permission to use Bash with command git push x has been denied.", "rule", "Bash(git push:*)"
    )
    assert decide(guard, "Read", file_path="a.txt") == Decision(
        "deny",
        "File is in a directory that is denied by your permission settings.",
        "deniedPath",
        "Read(./a.txt)",
    )
    assert decide(guard, "WebFetch", url="https://x.org") == Decision(
        "deny", "Permission to use WebFetch has been denied.", "rule", "WebFetch"
    )


# ---------------------------------------------------------------- rules


def test_deny_comes_before_ask_before_allow(space: Path) -> None:
    rules = ("Bash(make:*)",)
    for mode in ("default", "bypassPermissions", "acceptEdits", "interactive"):
        assert bash(gate(space, mode, allow=rules, ask=rules, deny=rules), "make").verdict == "deny"
        assert bash(gate(space, mode, allow=rules, ask=rules), "make").verdict == "ask"
    assert bash(gate(space, allow=rules), "make").verdict == "allow"
    assert bash(gate(space, "dontAsk", allow=rules), "make").verdict == "allow"
    assert bash(gate(space, "dontAsk", ask=rules), "make").verdict == "deny"


def test_a_rule_without_content_covers_the_whole_tool(space: Path) -> None:
    guard = gate(space, allow=("Bash", "Write"))
    assert bash(guard, "for i in 1; do touch $i; done").verdict == "allow"
    assert decide(guard, "Write", file_path="/elsewhere/x").verdict == "allow"
    assert decide(guard, "Edit", file_path="x").verdict == "ask"
    assert bash(gate(space, "bypassPermissions", deny=("Bash",)), "true").verdict == "deny"
    assert decide(gate(space, "bypassPermissions", deny=("mcp__box",)), "mcp__box__open").verdict == "deny"


def test_a_path_rule_allows_only_what_it_names_in_both_spellings(space: Path) -> None:
    guard = gate(space, allow=("Edit(sub/**)", "Read(//etc/**)"))
    (space / "sub" / "away").symlink_to("/elsewhere")
    assert decide(guard, "Write", file_path="sub/x").verdict == "allow"
    assert decide(guard, "NotebookEdit", notebook_path="sub/x.ipynb").verdict == "allow"
    assert decide(guard, "Write", file_path="x").verdict == "ask"
    assert decide(guard, "Write", file_path="sub/away/x").verdict == "ask"
    assert decide(guard, "Write", file_path="sub/../x").verdict == "ask"
    assert decide(guard, "Read", file_path="/etc/hosts").verdict == "allow"
    assert decide(gate(space, "plan", allow=("Edit(sub/**)",)), "Write", file_path="sub/x").verdict == "ask"


def test_a_deny_holds_under_every_name_of_a_linked_folder(space: Path) -> None:
    real = space / "real"
    real.mkdir()
    (real / "secret").write_text("x")
    (space / "other").symlink_to(real)
    for spelled, asked in ((space / "other", real), (real, space / "other")):
        guard = gate(spelled, deny=("Read(./secret)",))
        assert decide(guard, "Read", file_path=str(asked / "secret")).verdict == "deny"
    guard = gate(space, deny=("Read(./other/**)",))
    assert decide(guard, "Read", file_path=str(real / "secret")).verdict == "deny"


def test_rules_about_hosts_and_agents(space: Path) -> None:
    guard = gate(space, allow=("WebFetch(domain:x.org)", "WebFetch(domain:*.y.org)"), deny=("Task(risky)",))
    urls = (
        "https://x.org/a",
        "http://X.ORG./",
        "https://ax.org",
        "https://x.org.evil",
        "https://a.y.org",
        "https://x.org@evil/",
    )
    assert [decide(guard, "WebFetch", url=url).verdict for url in urls] == [
        "allow",
        "allow",
        "ask",
        "ask",
        "allow",
        "ask",
    ]
    assert decide(guard, "Task", subagent_type="risky").verdict == "deny"
    assert decide(guard, "Task", subagent_type="calm").verdict == "allow"


def test_content_that_means_nothing_for_a_tool_never_allows(space: Path) -> None:
    assert decide(gate(space, allow=("mcp__box__open(lid)",)), "mcp__box__open", what="lid").verdict == "ask"
    assert (
        decide(gate(space, "bypassPermissions", deny=("mcp__box__open(lid)",)), "mcp__box__open", what="lid").verdict
        == "deny"
    )


def test_two_threads_build_the_rules_once(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[RuleBook] = []

    class SlowRuleBook(RuleBook):
        def __init__(self, *given: Any) -> None:
            time.sleep(0.05)
            super().__init__(*given)
            built.append(self)

    monkeypatch.setattr("yume_shim.gate.rulebook.RuleBook", SlowRuleBook)
    shared = gate(space)
    threads = [threading.Thread(target=bash, args=(shared, "echo hi")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(built) == 1


def test_an_invalid_rule_is_logged_and_ignored(space: Path) -> None:
    logged: list[str] = []
    guard = gate(space, allow=("Bash(oops",), logged=logged)
    assert bash(guard, "oops").verdict == "ask"
    assert logged == ["warning: this permission rule is invalid and has no effect: Bash(oops"]


# ---------------------------------------------------------------- acceptEdits and file commands


@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("touch x", "allow"),
        ("mkdir -p a/b/c", "allow"),
        ("rm -rf sub", "allow"),
        ("rm a.txt && touch b.txt", "allow"),
        ("mv a.txt sub", "allow"),
        ("mv a.txt .", "allow"),
        ("cp a.txt b.txt", "allow"),
        ("cp -r sub sub2", "allow"),
        ("sed -i 's/a/b/g' a.txt", "allow"),
        ("sed -i -E 's|a|b|' a.txt", "allow"),
        ("echo hi > new.txt", "allow"),
        ("cat a.txt >> new.txt", "allow"),
        ("touch {sub}/x", "allow"),
        ("touch /elsewhere/x", "ask"),
        ("touch ../x", "ask"),
        ("touch link", "ask"),
        ("touch out/x", "ask"),
        ("cp a.txt linked", "ask"),
        ("cp a.txt holder", "ask"),
        ("cp -r sub holder/..", "ask"),
        ("rm -rf .", "ask"),
        ("rm -rf ..", "ask"),
        ("rm -rf {sub}/..", "ask"),
        ("rm -rf *", "ask"),
        ("rm -rf $X", "ask"),
        ("rm --no-preserve-root -rf sub", "ask"),
        ("mv a.txt /elsewhere", "ask"),
        ("mv a.txt .git/x", "ask"),
        ("mv .git/config x", "ask"),
        ("cp x/.bashrc .", "ask"),
        ("sed -i 's/a/b/e' a.txt", "ask"),
        ("sed -i 's/a/b/w out' a.txt", "ask"),
        ("sed -i '1e id' a.txt", "ask"),
        ("sed -i s/a/b/ /elsewhere/x", "ask"),
        ("echo hi > /elsewhere/x", "ask"),
        ("echo hi > .git/hooks/x", "ask"),
        ("echo hi > link", "ask"),
        ("cd sub && touch x", "allow"),
        ("cd /elsewhere && touch x", "ask"),
        ("ln -s /etc x", "ask"),
        ("chmod +x a.txt", "ask"),
        ("make", "ask"),
    ],
)
def test_file_commands_in_accept_edits(space: Path, command: str, verdict: str) -> None:
    outside = space.parent / f"{space.name}-outside"
    outside.mkdir(exist_ok=True)
    (space / "link").symlink_to(outside / "f")
    (space / "linked").symlink_to(outside / "f")
    (space / "out").symlink_to(outside)
    (space / "holder").mkdir()
    (space / "holder" / "a.txt").symlink_to(outside / "f")
    assert bash(gate(space, "acceptEdits"), command.replace("{sub}", f"{space}/sub")).verdict == verdict


# ---------------------------------------------------------------- mode changes and updates


def test_modes_that_may_be_entered(space: Path) -> None:
    guard = gate(space, flat=False)
    for mode in ("acceptEdits", "plan", "dontAsk", "auto", "default"):
        guard.set_mode(mode)
        assert guard.mode() == mode
    guard.set_mode("manual")
    assert guard.mode() == "default"


@pytest.mark.parametrize(
    ("flat", "mode", "code"),
    [
        (False, "bogus", "invalid_mode"),
        (False, "interactive", "invalid_mode"),
        (False, "deny", "invalid_mode"),
        (False, "bypassPermissions", "bypass_not_launched"),
        (True, "bypassPermissions", "bypass_not_launched"),
        (True, "auto", "bypass_not_launched"),
        (True, "", "invalid_mode"),
    ],
)
def test_modes_that_may_not_be_entered(space: Path, flat: bool, mode: str, code: str) -> None:
    guard = gate(space, flat=flat)
    with pytest.raises(BadLine) as caught:
        guard.set_mode(mode)
    assert caught.value.code == code
    assert guard.mode() == "default"


def test_bypass_may_be_entered_when_allowed_or_started_in(space: Path) -> None:
    guard = gate(space, allow_bypass=True)
    guard.set_mode("bypassPermissions")
    started = gate(space, "bypassPermissions")
    started.set_mode("plan")
    started.set_mode("auto")
    assert (guard.mode(), started.mode()) == ("bypassPermissions", "auto")


def test_an_unknown_start_mode_is_refused(space: Path) -> None:
    with pytest.raises(BadInvocation, match="unknown permission mode 'bogus'"):
        gate(space, "bogus")
    with pytest.raises(BadInvocation):
        gate(space, "interactive", flat=False)


def rules_update(kind: str, *contents: str | None, behavior: str = "allow") -> dict[str, Any]:
    rules = [{"toolName": "Bash"} if c is None else {"toolName": "Bash", "ruleContent": c} for c in contents]
    return {"type": kind, "rules": rules, "behavior": behavior, "destination": "session"}


def test_updates_change_rules(space: Path) -> None:
    guard = gate(space, allow=("Bash(make:*)",))
    guard.apply((rules_update("addRules", "touch:*", "make x"),))
    assert [bash(guard, c).verdict for c in ("touch a", "touch b && make", "rm a")] == ["allow", "allow", "ask"]
    guard.apply((rules_update("replaceRules", "rm:*"),))
    assert [bash(guard, c).verdict for c in ("touch a", "make", "rm a")] == ["ask", "allow", "allow"]
    guard.apply((rules_update("removeRules", "rm:*", "make:*"),))
    assert [bash(guard, c).verdict for c in ("make", "rm a")] == ["ask", "ask"]
    guard.apply((rules_update("addRules", None),))
    assert bash(guard, "anything at all").verdict == "allow"
    guard.apply((rules_update("addRules", "anything:*", behavior="deny"),))
    assert bash(guard, "anything at all").verdict == "deny"


def test_updates_change_mode_and_folders(space: Path) -> None:
    guard = gate(space)
    more = space.parent / f"{space.name}-more"
    more.mkdir()
    guard.apply((ACCEPT_EDITS, {"type": "addDirectories", "directories": [str(more)], "destination": "session"}))
    assert (guard.mode(), guard.directories()) == ("acceptEdits", (str(more),))
    assert decide(guard, "Write", file_path=str(more / "x")).verdict == "allow"
    guard.apply(({"type": "removeDirectories", "directories": [str(more)], "destination": "session"},))
    assert guard.directories() == ()
    assert decide(guard, "Write", file_path=str(more / "x")).verdict == "ask"


def test_invalid_updates_are_logged_and_skipped(space: Path) -> None:
    logged: list[str] = []
    guard = gate(space, logged=logged)
    guard.apply(
        (
            {"type": "nonsense"},
            {"type": "addRules", "rules": [{}], "behavior": "allow"},
            {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "sometimes"},
            {"type": "setMode", "mode": "bypassPermissions"},
            {"type": "addDirectories", "directories": "no list"},
            ACCEPT_EDITS,
        )
    )
    assert guard.mode() == "acceptEdits"
    assert bash(guard, "make").verdict == "ask"
    assert len(logged) == 4


def test_additional_folders_count_from_the_start(space: Path) -> None:
    more = space.parent / f"{space.name}-more"
    more.mkdir()
    guard = gate(space, "acceptEdits", dirs=(f"../{more.name}",), deny=("Read(.env)",))
    assert guard.directories() == (str(more),)
    assert decide(guard, "Write", file_path=str(more / "x")).verdict == "allow"
    assert decide(guard, "Read", file_path=str(more / "sub" / ".env")).verdict == "deny"
    assert bash(guard, f"touch {more.as_posix()}/x").verdict == "allow"


@pytest.mark.parametrize(
    ("tool", "fields", "other"),
    [
        ("Bash", {"command": "rm *.tmp"}, {"command": "rm x.tmp"}),
        ("Bash", {"command": "for i in 1; do touch $i; done"}, {"command": "for i in 2; do touch $i; done"}),
        ("Write", {"file_path": "a[b].txt"}, {"file_path": "ab.txt"}),
        ("Read", {"file_path": "/etc/hosts"}, {"file_path": "/etc/hostname"}),
        ("WebFetch", {"url": "https://x.org/a"}, {"url": "https://y.org/a"}),
    ],
)
@pytest.mark.parametrize("mode", ["default", "interactive"])
def test_a_remembered_answer_covers_exactly_that_call(
    space: Path, mode: str, tool: str, fields: dict[str, str], other: dict[str, str]
) -> None:
    guard = gate(space, mode)
    assert decide(guard, tool, **fields).verdict == "ask"
    guard.apply((guard.exact_rule_for(ToolCall("c", tool, fields), SPECS[tool]),))
    assert decide(guard, tool, **fields).verdict == "allow"
    assert decide(guard, tool, **other).verdict == "ask"


def test_rules_of_the_settings_do_not_answer_for_the_interactive_mode(space: Path) -> None:
    guard = gate(space, "interactive", allow=("Bash", "mcp__box"))
    assert bash(guard, "ls").verdict == "ask"
    assert decide(guard, "mcp__box__open").verdict == "ask"


def test_odd_windows_paths_are_refused() -> None:
    guard = gate("C:\\w", "acceptEdits", home="C:\\Users\\u", flavour=WINDOWS)
    for path in ("x.txt:stream", "\\\\srv\\share\\x", "GIT~1\\x", "C:x", "sub\\nul"):
        assert decide(guard, "Write", file_path=path).verdict == "deny"


# ---------------------------------------------------------------- the property

ALLOWED = ["git status", "git status -s", "ls", "cat a.txt", "echo hi", "true", "make all"]
REFUSED = [
    "touch C",
    "rm -rf sub",
    "curl x",
    "git push",
    "git statusx",
    "python3 x.py",
    "/bin/ls",
    "ls > C",
    "X=1 ls",
    "$X",
]
JOINTS = ["; ", ";", " && ", " || ", " | ", " |& ", " & ", "\n", "\n\n", " ; ", "&&", "||", " # note\n", " \\\n&& "]
AROUND = [
    "{}",
    "({})",
    "{{ {}; }}",
    "if true; then {}\nfi",
    "$({})",
    'echo "$({})"',
    "! {}",
    "time {}",
    "timeout 5 {}",
    "{} &",
    " {} ",
]


@settings(max_examples=300, deadline=None, suppress_health_check=CHECKS)
@given(
    parts=st.lists(st.sampled_from(ALLOWED), max_size=6),
    bad=st.sampled_from(REFUSED),
    place=st.integers(0, 6),
    joints=st.lists(st.sampled_from(JOINTS), min_size=8, max_size=8),
    around=st.sampled_from(AROUND),
)
def test_no_compound_with_an_unlisted_command_is_ever_allowed(
    space: Path, parts: list[str], bad: str, place: int, joints: list[str], around: str
) -> None:
    guard = gate(space, allow=("Bash(git status:*)", "Bash(make:*)"))
    parts.insert(place, bad)
    text = parts[0] + "".join(joint + part for joint, part in zip(joints, parts[1:], strict=False))
    assert bash(guard, around.format(text)).verdict == "ask"


@settings(max_examples=150, deadline=None, suppress_health_check=CHECKS)
@given(
    parts=st.lists(st.sampled_from(ALLOWED), min_size=1, max_size=7),
    joints=st.lists(st.sampled_from(JOINTS), min_size=8, max_size=8),
)
def test_every_plain_compound_of_allowed_commands_is_allowed(space: Path, parts: list[str], joints: list[str]) -> None:
    guard = gate(space, allow=("Bash(git status:*)", "Bash(make:*)"))
    text = parts[0] + "".join(joint + part for joint, part in zip(joints, parts[1:], strict=False))
    # the grammar takes the word after "a | b | c<newline>" for an argument of c: the gate notices and asks
    misread = re.search(r"\|[^\n]*\|[^\n]*\n", text) is not None
    assert bash(guard, text).verdict in (("allow", "ask") if misread else ("allow",))


# ---------------------------------------------------------------- managed settings


def managed_gate(space: Path, logged: list[str], **limits: Any) -> Permissions:
    rules = Rules(("Bash(make:*)",), ("Bash(git push:*)",), ("Bash(rm:*)", "Bash(curl:*)"))
    managed = Rules((), ("Bash(git push:*)",), ("Bash(rm:*)",))
    given = settings_with(rules=rules, managed=managed, **limits)
    return Permissions(given, str(space), "/home/nobody-here", True, lambda level, text: logged.append(text))


@pytest.mark.parametrize(("behaviour", "rule"), [("deny", "rm:*"), ("ask", "git push:*")])
def test_the_host_cannot_remove_rules_of_managed_settings(space: Path, behaviour: str, rule: str) -> None:
    logged: list[str] = []
    guard = managed_gate(space, logged)
    command = f"{rule.removesuffix(':*')} x"
    for kind in ("removeRules", "replaceRules"):
        guard.apply((rules_update(kind, rule, behavior=behaviour),))
        guard.apply((rules_update(kind, behavior=behaviour),))
    assert bash(guard, command).verdict == behaviour
    assert logged == ["a permission update was not applied: it would remove a rule of the managed settings"]
    guard.apply((rules_update("removeRules", "curl:*", behavior="deny"),))
    assert bash(guard, "curl x").verdict == "ask"


def test_the_host_cannot_add_allow_rules_where_only_managed_ones_count(space: Path) -> None:
    logged: list[str] = []
    guard = managed_gate(space, logged, managed_only=True)
    for kind in ("addRules", "replaceRules"):
        guard.apply((rules_update(kind, "touch:*"),))
    assert bash(guard, "touch x").verdict == "ask"
    assert bash(guard, "make x").verdict == "allow"
    assert logged == ["a permission update was not applied: managed settings admit only their own allow rules"] * 2


@pytest.mark.parametrize("mode", ["bypassPermissions", "auto"])
def test_a_disabled_bypass_cannot_be_switched_on(space: Path, mode: str) -> None:
    guard = managed_gate(space, [], no_bypass=True, allow_bypass=True)
    with pytest.raises(BadLine, match="the settings disable it") as refused:
        guard.set_mode(mode)
    assert (refused.value.code, guard.mode()) == ("bypass_disabled", "default")


@pytest.mark.parametrize("judged_before", [False, True])
def test_rules_of_a_folder_count_from_the_moment_it_is_trusted(space: Path, judged_before: bool) -> None:
    guard = gate(space, "default")
    if judged_before:
        assert decide(guard, "Bash", command="make all").verdict == "ask"
    guard.trust_rules(("Bash(make *)", "not ( a rule"))
    assert decide(guard, "Bash", command="make all").verdict == "allow"
    assert decide(guard, "Bash", command="rm all").verdict == "ask"


@pytest.mark.parametrize(
    ("rule", "covers"),
    [
        ("Bash(git *)", True),
        ("Bash", True),
        ("Bash(ls *)", False),
        ("Read", False),
        ("Bash((", None),
        ("", None),
    ],
)
def test_whether_a_rule_covers_a_call(space: Path, rule: str, covers: bool | None) -> None:
    """What a hook's `if` asks: a part of a command is enough, as for a deny rule."""
    call = ToolCall("c1", "Bash", {"command": "cd sub && git push"})
    assert gate(space, "bypassPermissions").covers(rule, call, SPECS["Bash"]) is covers


# ---------------------------------------------------------------- commands and skills


def test_what_is_granted_for_a_turn_ends_with_it(space: Path) -> None:
    logged: list[str] = []
    guard = gate(space, allow=("Bash(touch:*)",), deny=("Bash(rm:*)",), ask=("Bash(mv:*)",), logged=logged)
    guard.grant(("Bash(touch:*)", "Bash(make:*)", "Bash(rm:*)", "Bash(mv:*)", "Write", "(odd"))
    guard.apply(({"type": "addDirectories", "directories": ["/elsewhere"], "destination": "session"},))
    assert [bash(guard, f"{name} x").verdict for name in ("make", "rm", "mv")] == ["allow", "deny", "ask"]
    assert decide(guard, WRITE_IN[0], **WRITE_IN[1]).verdict == "allow"
    guard.end_grants()
    assert [bash(guard, f"{name} x").verdict for name in ("make", "touch")] == ["ask", "allow"]
    assert decide(guard, WRITE_IN[0], **WRITE_IN[1]).verdict == "ask"
    assert logged == ["warning: this rule of `allowed-tools` is invalid and has no effect: (odd"]


def test_nothing_is_granted_where_only_managed_rules_count(space: Path) -> None:
    logged: list[str] = []
    guard = managed_gate(space, logged, managed_only=True)
    guard.grant(("Bash(touch:*)",))
    assert bash(guard, "touch x").verdict == "ask"
    assert logged == ["managed settings admit only their own allow rules: `allowed-tools` is ignored"]


def test_rules_name_skills(space: Path) -> None:
    skill = ToolSpec("Skill", "", {}, source="skills", rule_field="skill")

    def verdict(guard: Permissions, name: str) -> Decision:
        return guard.decide(ToolCall("c", "Skill", {"skill": name, "args": "x"}), skill)

    guard = gate(space, allow=("Skill(notes)", "Skill(kit:*)"), deny=("Skill(risky)",))
    names = ("notes", "kit", "kit:wave", "kitten", "risky", "other")
    found = [verdict(guard, name).verdict for name in names]
    assert found == ["allow", "allow", "allow", "ask", "deny", "ask"]
    [offer] = verdict(guard, "other").suggestions
    assert offer["rules"] == [{"toolName": "Skill", "ruleContent": "other"}]
    guard.apply((guard.exact_rule_for(ToolCall("c", "Skill", {"skill": "other"}), skill),))
    assert [verdict(guard, name).verdict for name in ("other", "kitten")] == ["allow", "ask"]
