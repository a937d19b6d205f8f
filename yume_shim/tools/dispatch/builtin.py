"""The built-in tools as a tool source: chooses those of a session and imports each at its first call."""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.disk.resolve import resolve
from yume_shim.tools.dispatch.session_state import ToolState
from yume_shim.tools.dispatch.specs import SPECS, chosen_specs
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from yume_shim.system.orphan_watcher import OrphanWatcher
    from yume_shim.tools.dispatch.session_state import Search
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput
    from yume_shim.types.ports import BackgroundTasks, Cancel, Confiner, FileCheckpoints, HostFiles
    from yume_shim.types.settings import Settings

MAX_DRIFTS = 1_000
MAX_DRIFT_NAME = 80
"""Characters of a name that a model made up which are logged."""
NO_ARGUMENTS = ("", "null", '""')


def open_builtin_tools(
    settings: Settings,
    scratch_dir: str,
    env: Mapping[str, str],
    log: Callable[[str, str], None],
    *,
    host_answers: bool = False,
    search: Search | None = None,
    tasks: Callable[[], BackgroundTasks] | None = None,
    secrets: Sequence[str] = (),
    host_files: HostFiles | None = None,
) -> BuiltinTools:
    """The tools of these settings. `scratch_dir` is for outputs too long to show, `env` is the environment of commands.
    Tools that are questions to the host are offered only if it answers (`host_answers`), WebSearch only with `search`.
    `tasks` opens the registry of background commands. `secrets` are removed from saved outputs.
    `host_files`: text files are read and written through the host."""
    state = ToolState(
        settings.cwd or ".",
        settings.permissions.add_dirs,
        scratch_dir,
        env,
        log,
        settings.env,
        settings.tools.web_allow_private,
        settings.tools.sandbox,
        search,
        settings.tools.unasked_env,
        settings.tools.claude_sandbox,
        secrets if settings.credentials.redact_output else None,
    )
    state.tasks = tasks
    state.host_files = host_files
    if settings.tools.file_checkpoints:
        state.keep_checkpoints(os.path.join(os.path.dirname(scratch_dir), "file-history"))
    specs = chosen_specs(
        settings.tools.names,
        settings.permissions.rules.deny,
        host_answers=host_answers,
        searches=search is not None,
        shell=os.name != "nt" or _has_shell(settings, state),
    )
    return BuiltinTools(specs, state)


def _has_shell(settings: Settings, state: ToolState) -> bool:
    """Windows: choose the shell of the session; False if there is none."""
    from yume_shim.system.windows.shell import shell_of_settings

    state.shell_choice = shell_of_settings(settings)
    wanted = settings.tools.names is None or "Bash" in settings.tools.names
    for text in state.shell_choice.warnings if wanted else ():
        state.log("warning", text)
    return bool(state.shell_choice.kind)


def module_name(tool: str) -> str:
    """The module of a tool: `MultiEdit` is in `multi_edit`."""
    made = ""
    for place, char in enumerate(tool):
        hump = char.isupper() and tool[place - 1 : place].islower()
        made += f"_{char.lower()}" if hump else char.lower()
    return made


class BuiltinTools:
    """Implements `types.ports.ToolSource`. Calls may run on several threads at once."""

    own_schemas = True

    def __init__(self, specs: tuple[ToolSpec, ...], state: ToolState) -> None:
        self._specs = specs
        self._state = state
        self._by_name = {name: spec for spec in specs for name in (*spec.aliases, spec.name)}
        self._lock = threading.Lock()
        self._drifts: set[tuple[str, str]] = set()

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the processes that tools start."""
        return self._state.env

    def add_variables(self, variables: Mapping[str, str]) -> None:
        """Give commands these variables from now on."""
        self._state.add_variables(variables)

    @property
    def orphan_watcher(self) -> OrphanWatcher:
        """Ends processes that outlive this program."""
        return self._state.orphan_watcher

    def save_output(self, call_id: str, data: bytes, ending: str) -> str:
        """Save an output that cannot be shown, without keys if it is text; returns its path. Raises OSError."""
        try:
            data = self._state.scratch.redact(data.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            pass  # a binary file
        handle, path = self._state.scratch.new_file(call_id, ending)
        with open(handle, "wb") as file:
            file.write(data)
        return path

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    def find(self, name: str) -> ToolSpec | None:
        return self._by_name.get(name)

    def why_missing(self, name: str) -> str:
        known = any(name == spec.name or name in spec.aliases for spec in SPECS)
        return "It is switched off in this session." if known else ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        if fix_arguments:
            call = self._corrected(call, spec)
        if call.broken is not None:
            return call
        from yume_shim.tools.dispatch.own_schemas import with_defaults

        full = with_defaults(call.input, spec.schema)
        return call if full is call.input else replace(call, input=full)

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        """Validates the input and notes where its path leads now, just before the gate decides on it."""
        from yume_shim.tools.dispatch.own_schemas import check_input
        from yume_shim.types.calls import PreparedCall

        check_input(spec, call.input, call.broken)
        call = self._with_local_paths(call, spec)
        path, real_path = self._resolved_path(call, spec) if spec.path_field else ("", "")
        return PreparedCall(call, spec, self, path, real_path)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """A question to the host may have taken long: the path must still lead where it led when it was prepared."""
        from yume_shim.tools.dispatch.own_schemas import normalize

        call, spec = prepared.call, prepared.spec
        context.cancel.check()
        if prepared.path:
            if resolve(prepared.path).real != prepared.real_path:
                raise ToolFailed(f"Refused: {prepared.path} led somewhere else when permission for it was given.")
            context = replace(context, judged=prepared.real_path)
        module = f"yume_shim.tools.{module_name(spec.name)}"
        __import__(module)
        output: ToolOutput = sys.modules[module].run(normalize(call.input, spec.schema), self._state, context)
        return output

    def preview(self, prepared: PreparedCall, cancel: Cancel) -> FilePatch | None:
        """What a call of ours would change in a file, as far as that can be known before it runs."""
        if prepared.source is not self or prepared.spec.kind != "edit":
            return None
        from yume_shim.types.outputs import ToolContext

        try:
            return self.run(prepared, ToolContext(prepared.call.id, cancel, dry=True)).patch
        except ToolFailed:
            return None  # the call will fail: its result says why

    def _with_local_paths(self, call: ToolCall, spec: ToolSpec) -> ToolCall:
        """The call with paths in this system's form: the gate judges, the host sees and the tool opens the same."""
        for field in (spec.path_field, spec.pattern_field):
            given = call.input.get(field) if field else None
            if isinstance(given, str) and given:
                local = self._state.local(given, pattern=field == spec.pattern_field)
                if local != given:
                    call = replace(call, input={**call.input, field: local})
        return call

    def _resolved_path(self, call: ToolCall, spec: ToolSpec) -> tuple[str, str]:
        """(the path named in the call, where it leads)."""
        path = self._state.resolve(call.input.get(spec.path_field) or self._state.cwd)
        return path, resolve(path).real

    def _corrected(self, call: ToolCall, spec: ToolSpec) -> ToolCall:
        """The call with wrong arguments corrected by `argument_fixes.py`; each kind of drift is logged once."""
        from yume_shim.tools.dispatch.argument_fixes import fix_arguments

        if call.broken is not None:
            return replace(call, input={}, broken=None) if call.broken.strip() in NO_ARGUMENTS else call

        def report_drift(name: str, what: str) -> None:
            with self._lock:
                if (spec.name, name) in self._drifts or len(self._drifts) >= MAX_DRIFTS:
                    return
                self._drifts.add((spec.name, name))
            self._state.log("warning", f"schema drift: {spec.name} was called with `{name[:MAX_DRIFT_NAME]}`, {what}")

        better = fix_arguments(call.input, spec.schema, report_drift)
        return call if better is call.input else replace(call, input=better)

    @property
    def checkpoints(self) -> FileCheckpoints | None:
        """Set where the host wants to rewind files."""
        return self._state.checkpoints

    def edit_problem(self, path: str, old: str, judged: str, cancel: Cancel) -> str:
        """Why an Edit of this text must fail; "" = it may succeed."""
        from yume_shim.tools.edit_check import edit_problem

        return edit_problem(path, old, self._state, judged, cancel)

    def closing(self) -> None:
        """The session ends: commands that are stopped from now on get little time."""
        self._state.closing = True

    def forget(self) -> None:
        """A new conversation begins."""
        self._state.forget()

    def shell_folder(self) -> str:
        return self._state.shell_folder()

    @property
    def shell_kind(self) -> str:
        """How the shell reads paths; "" except on Windows."""
        return self._state.shell_choice.kind if self._state.shell_choice is not None else ""

    @property
    def confiner(self) -> Confiner:
        """What the system can enforce on commands, for the gate."""
        return _StateConfiner(self._state)

    def close(self) -> None:
        self._state.close()


class _StateConfiner:
    """Implements `types.ports.Confiner` without loading what confines commands before a command is judged."""

    def __init__(self, state: ToolState) -> None:
        self._state = state

    def problem(self, confinement: Confinement) -> str:
        return self._state.wall.problem(confinement)

    def failed(self, command: str) -> bool:
        return self._state.wall.failed(command)
