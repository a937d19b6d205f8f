"""On Windows, with real files: what was judged is what is opened, and no spelling passes a deny rule."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.settings import settings_with
from yume_shim.disk.resolve import resolve
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.permissions import Permissions
from yume_shim.system.programs import find_program
from yume_shim.text.windows_paths import fold
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "win32", reason="Windows opens these paths in its own way")
SECRET, LONG = "S3CR3T", "a-long-secret-name.txt"
MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")


class Desk:
    """A session's tools and gate in a real folder, with a hidden file that has a short name."""

    def __init__(self, folder: Path, mode: str, *, hides: bool = True) -> None:
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)
        (self.work / LONG).write_text(SECRET)
        (self.work / "other.txt").write_text("plain")
        (self.work / "sub").mkdir(exist_ok=True)
        rules = Rules((), (), (f"Read(./{LONG})", f"Edit(./{LONG})") if hides else ())
        env = {
            "PATH": os.environ["PATH"],
            "USERPROFILE": str(folder),
            "COMPUTERNAME": os.environ.get("COMPUTERNAME", ""),
        }
        settings = settings_with(cwd=str(self.work), permission_mode=mode, rules=rules, env=env)
        tools = open_builtin_tools(settings, str(folder / "scratch"), env, lambda *_: None)
        self.toolbox = Toolbox((tools,))
        self.gate = Permissions(settings, str(self.work), str(folder), False, lambda *_: None, shell="git-bash")

    def use(self, tool: str, **fields: Any) -> str:
        """What the model gets: "" if the call is refused, denied or asked about."""
        try:
            prepared = self.toolbox.prepare(self.toolbox.complete_for_host(ToolCall("call_1", tool, fields)))
            decision = self.gate.decide(prepared.call, prepared.spec)
            if decision.verdict != "allow":
                return ""
            return str(self.toolbox.run(prepared.at(decision.judged), ToolContext("call_1", cancel())).content)
        except ToolFailed as error:
            return str(error)


def short_name(path: str) -> str:
    import ctypes

    buffer = ctypes.create_unicode_buffer(300)
    ctypes.windll.kernel32.GetShortPathNameW(path, buffer, len(buffer))  # type: ignore[attr-defined]
    return buffer.value


def spellings(work: str) -> list[str]:
    full = os.path.join(work, LONG)
    drive, rest = full[:2], full[3:]
    share = f"{full[0].lower()}$"
    slashed = rest.replace("\\", "/")
    return [
        *(LONG, LONG.upper(), f".\\{LONG}", f"sub\\..\\{LONG}", full, full.upper(), full.replace("\\", "/")),
        *(short_name(full), f"\\\\?\\{full}", f"\\\\.\\{full}", f"//?/{drive}/{slashed}", f"\\??\\{full}", f"\\{rest}"),
        *(f"\\\\localhost\\{share}\\{rest}", f"\\\\127.0.0.1\\{share}\\{rest}", f"//localhost/{share}/{slashed}"),
        *(
            f"{full}.",
            f"{full} ",
            f"{full}. .",
            f"{full}::$DATA",
            f"{full}:x",
            f"{drive}{LONG}",
            f"/{full[0]}/{slashed}",
        ),
        *(
            f"/mnt/{full[0].lower()}/{slashed}",
            f"{work}.\\{LONG}",
            f"{work} \\{LONG}",
            f"{work}::$INDEX_ALLOCATION\\{LONG}",
        ),
    ]


@pytest.mark.parametrize("mode", MODES)
def test_the_hidden_file_is_never_shown_or_changed(tmp_path: Path, mode: str) -> None:
    desk = Desk(tmp_path, mode)
    for path in spellings(str(desk.work)):
        assert SECRET not in desk.use("Read", file_path=path), path
        assert SECRET not in desk.use("Grep", path=path, pattern="S3", output_mode="content"), path
        desk.use("Write", file_path=path, content="gone")
        desk.use("Edit", file_path=path, old_string=SECRET, new_string="gone")
        assert (desk.work / LONG).read_text() == SECRET, path
    assert sorted(entry.name for entry in desk.work.iterdir()) == sorted([LONG, "other.txt", "sub"])


def test_what_windows_opens_is_what_resolve_names(tmp_path: Path) -> None:
    """Every spelling that is not refused leads to the file that Windows itself opens for it."""
    desk = Desk(tmp_path, "default")
    accepted = 0
    for path in spellings(str(desk.work)):
        if not (os.path.isabs(path) and os.path.exists(path)):
            continue
        found = resolve(path)
        if found.flaw:
            continue
        accepted += 1
        assert os.path.samefile(found.real, path), path
        assert os.path.normcase(found.real) == os.path.normcase(resolve(str(desk.work / LONG)).real), path
    assert accepted >= 6


def test_letters_that_windows_takes_for_the_same_are_folded() -> None:
    import ctypes

    big = ctypes.windll.ntdll.RtlUpcaseUnicodeChar  # type: ignore[attr-defined,unused-ignore]
    big.argtypes, big.restype = [ctypes.c_uint16], ctypes.c_uint16
    letters = [code for code in range(0x10000) if not 0xD800 <= code < 0xE000]
    assert [hex(code) for code in letters if fold(chr(code)) != fold(chr(big(code)))] == []


def test_devices_are_not_opened_or_made(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "bypassPermissions")
    names = ("nul", "NUL.txt", "con", "com1", "COM\u00b9", "lpt\u00b2.x", "aux", "prn", "conin$", "a:b", "x. ", "a<b")
    for name in (*names, "\\\\.\\pipe\\x", "\\\\.\\PhysicalDrive0", "\\\\?\\GLOBALROOT\\x", "\\\\server\\share\\x"):
        desk.use("Read", file_path=name)
        assert "created" not in desk.use("Write", file_path=name, content="x").lower(), name
    assert sorted(entry.name for entry in desk.work.iterdir()) == sorted([LONG, "other.txt", "sub"])


def test_ordinary_files_work_in_every_spelling(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "acceptEdits")
    full = str(desk.work / "other.txt")
    for path in (
        "other.txt",
        "OTHER.TXT",
        full,
        full.upper(),
        full.replace("\\", "/"),
        f"\\\\?\\{full}",
        "sub/../other.txt",
    ):
        assert "plain" in desk.use("Read", file_path=path), path
    assert desk.use("Write", file_path="new\\deep\\file.txt", content="made")
    assert (desk.work / "new" / "deep" / "file.txt").read_text() == "made"
    assert desk.use("Edit", file_path="NEW/DEEP/FILE.TXT", old_string="made", new_string="changed")
    assert (desk.work / "new" / "deep" / "file.txt").read_text() == "changed"


def test_without_a_bash_no_command_runs(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "bypassPermissions")
    if desk.toolbox.find("Bash") is not None:
        pytest.skip("a bash is installed here")
    for command in (
        "type other.txt",
        "echo 'x & echo P>own.txt & rem '",
        "echo P \\> own.txt",
        "ls # & echo P>own.txt",
    ):
        with pytest.raises(ToolFailed):
            desk.toolbox.prepare(ToolCall("call_1", "Bash", {"command": command}))
    assert not (desk.work / "own.txt").exists()


def test_planted_programs_are_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in ("cmd.exe", "taskkill.exe", "rg.exe", "git.exe", "bash.exe", "node.exe"):
        (work / name).write_bytes(b"MZ")
    monkeypatch.chdir(work)
    for name in ("cmd", "taskkill", "rg", "git", "bash", "node"):
        assert not find_program(name, os.environ["PATH"], owned=(str(work),)).lower().startswith(str(work).lower())
    desk = Desk(tmp_path, "default", hides=False)
    assert "other.txt" in desk.use("Grep", pattern="plain")
    assert "other.txt" in desk.use("Grep", pattern="plain", glob="OTHER.*")


def test_the_configured_bash_gets_the_command(tmp_path: Path) -> None:
    """A stand-in for bash.exe prints the words that it gets: a command never reaches cmd.exe."""
    from yume_shim.system.shell_choice import ShellChoice
    from yume_shim.system.windows.shell import command_line, script_text

    stand_in = tmp_path / "words.py"
    stand_in.write_text("import sys; print(sys.argv[1:])")
    script = tmp_path / "O'B command.sh"
    script.write_text(script_text("echo 'x & echo P>own.txt & rem '", "", "git-bash"))
    line = command_line(ShellChoice("git-bash", sys.executable), str(script), "")
    line = line.replace('"--noprofile" "--norc"', f'"{stand_in}"')
    printed = subprocess.run(line, capture_output=True, check=True, text=True, cwd=tmp_path).stdout
    path = str(script).replace("\\", "/").replace("'", "'\\''")
    assert printed.strip() == repr(["-c", f". '{path}'; eval \"$yume_command\"", "bash"])
    assert not (tmp_path / "own.txt").exists()


@pytest.mark.parametrize("mode", MODES)
def test_no_other_tool_or_pattern_shows_or_changes_what_is_hidden(tmp_path: Path, mode: str) -> None:
    desk = Desk(tmp_path, mode)
    for path in spellings(str(desk.work)):
        desk.use("MultiEdit", file_path=path, edits=[{"old_string": SECRET, "new_string": "gone"}])
        desk.use("NotebookEdit", notebook_path=path, new_source="gone", cell_id="0")
        assert SECRET not in desk.use("LS", path=path), path
        assert SECRET not in desk.use("Glob", path=path, pattern="*"), path
        assert (desk.work / LONG).read_text() == SECRET, path


def test_patterns_in_every_spelling_stay_in_the_folder(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "bypassPermissions")
    (tmp_path / "outside.txt").write_text("x")
    full = str(desk.work)
    for pattern in ("*.txt", f"{full}\\*.txt", f"{full.upper()}\\*.txt", f"{full}/*.txt".replace("\\", "/")):
        assert "other.txt" in desk.use("Glob", pattern=pattern), pattern
    rooted = full[2:]
    for pattern in ("*.TXT", "OTHER.*", f"{rooted}\\*.txt", f"{rooted.upper()}/*.TXT".replace("\\", "/")):
        assert "other.txt" in desk.use("Glob", pattern=pattern), pattern
    for pattern in (f"{tmp_path}\\*.txt", "..\\*.txt", "sub\\..\\..\\*.txt", "*\\..\\..\\*.txt", "C:*.txt"):
        assert "outside" not in desk.use("Glob", pattern=pattern), pattern


def test_a_batch_file_gets_arguments_and_no_commands(tmp_path: Path) -> None:
    """A hook with `args`. (`%` is left out: cmd.exe of Wine does not read `%%cd:~,%` as that of Windows does.)"""
    from yume_shim.extensions.hooks.commands import HookCommands
    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.system.shell_choice import ShellChoice

    folder = tmp_path / "b a"
    folder.mkdir()
    (folder / "words.py").write_text("import sys; print(ascii(sys.argv[1:]))")
    script = folder / "run.cmd"
    script.write_text(f'@"{sys.executable}" "{folder}\\words.py" %*\n')
    hooks = HookCommands(str(folder), dict(os.environ), None, lambda: ShellChoice(""))
    for argument in (
        "a b",
        "&echo P>own.txt",
        '"&echo P>own.txt',
        'a"b&echo P>own.txt&"',
        "|more>own.txt",
        "^&x",
        "a\\",
    ):
        run = hooks.run(Hook("Stop", command=str(script), args=("x", argument, "y")), b"{}", cancel(), {})
        assert run.stdout.strip() == ascii(["x", argument, "y"]), argument
    assert hooks.run(Hook("Stop", command=str(script), args=("a\nb",)), b"{}", cancel(), {}).failed
    assert sorted(entry.name for entry in folder.iterdir()) == ["run.cmd", "words.py"]


def test_a_hook_without_a_bash_gets_its_event_by_stdin(tmp_path: Path) -> None:
    from yume_shim.extensions.hooks.commands import HookCommands
    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.system.shell_choice import ShellChoice

    folder = tmp_path / "a&calc"
    folder.mkdir()
    env = {**os.environ, "CLAUDE_PROJECT_DIR": str(folder)}
    hooks = HookCommands(str(folder), env, None, lambda: ShellChoice(""))
    event = b'{"x":"& echo P>own.txt"}\r\n'
    command = f'"{sys.executable}" -c "import sys; print(sys.stdin.read())"'
    run = hooks.run(Hook("Stop", command=command), event, cancel(), {})
    assert "P>own.txt" in run.stdout
    run = hooks.run(Hook("Stop", command="echo %CLAUDE_PROJECT_DIR%"), event, cancel(), {})
    assert "CLAUDE_PROJECT_DIR" in run.failed
    assert not list(tmp_path.rglob("own.txt"))
