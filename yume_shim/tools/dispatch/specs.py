"""The tools as the model is offered them: names, schemas, and what the gate must know. Imports no tool module.

Descriptions are sent with every request, so they are short.
"""

from __future__ import annotations

from yume_shim.types.models import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

DEFAULT_WORD = "default"
SEARCH_TOOL = "WebSearch"
"""The tool that is offered only where a search function is given."""


def _field(kind: str, text: str = "", **more: object) -> Json:
    made: Json = {"type": kind}
    if text:
        made["description"] = text
    made.update(more)
    return made


def _schema(required: tuple[str, ...], **fields: Json) -> Json:
    made: Json = {"type": "object", "properties": fields}
    if required:
        made["required"] = list(required)
    made["additionalProperties"] = False
    return made


_EDIT_ITEM = _schema(
    ("old_string", "new_string"),
    old_string=_field("string", "Exact text to replace"),
    new_string=_field("string", "Text to put in its place"),
    replace_all=_field("boolean", "Replace every occurrence", default=False),
)

_GREP_FIELDS: dict[str, Json] = {
    "pattern": _field("string", "Regular expression"),
    "path": _field("string", "File or folder to search (default: the working directory)"),
    "glob": _field("string", 'Only files that match, e.g. "*.py" or "src/**/*.{ts,tsx}"'),
    "output_mode": _field(
        "string",
        "content = matching lines, files_with_matches = paths (default), count = matches per file",
        enum=["content", "files_with_matches", "count"],
    ),
    "-B": _field("number", "Lines before each match (content)"),
    "-A": _field("number", "Lines after each match (content)"),
    "-C": _field("number", "Lines around each match (content)"),
    "context": _field("number", "Same as -C"),
    "-n": _field("boolean", "Show line numbers (content; default true)"),
    "-i": _field("boolean", "Ignore case"),
    "-o": _field("boolean", "Show only the matching part of a line (content)"),
    "type": _field("string", "Only files of this type, e.g. py, js, rust"),
    "head_limit": _field("number", "Show at most this many lines or files (default 250, 0 = no limit)"),
    "offset": _field("number", "Skip this many lines or files first"),
    "multiline": _field("boolean", "Let the pattern match across lines"),
}

_QUESTION = _schema(
    ("question", "header", "options"),
    question=_field("string", "The question"),
    header=_field("string", "One or two words for it"),
    options=_field(
        "array",
        "Two to four choices; the user can always answer in own words",
        items=_schema(("label",), label=_field("string", "The choice"), description=_field("string", "What it means")),
    ),
    multiSelect=_field("boolean", "Several may be chosen", default=False),
)

SPECS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "Bash",
        "Run a shell command and return stdout and stderr together. The working directory persists between calls inside"
        " the workspace, the environment does not; stdin is empty. Prefer Read, Edit, Grep and Glob where they serve.",
        _schema(
            ("command",),
            command=_field("string", "The command"),
            timeout=_field("number", "Milliseconds, at most 600000 (default 120000)"),
            description=_field("string", "What it does, in five to ten words"),
            run_in_background=_field("boolean", "Start it and return at once; its output goes to a file"),
            dangerouslyDisableSandbox=_field("boolean", "Run outside the sandbox, if there is one"),
        ),
        kind="shell",
        command_field="command",
        describing_field="description",
        prompt_hint="Quote paths with spaces. Start what keeps running (servers, watchers) in the background.",
    ),
    ToolSpec(
        "Read",
        "Read a file: text with line numbers, images, PDFs, notebooks. Not folders (use LS or Glob).",
        _schema(
            ("file_path",),
            file_path=_field("string", "Path of the file"),
            offset=_field("integer", "First line to read, counted from 1"),
            limit=_field("integer", "Number of lines to read"),
            pages=_field("string", 'Pages of a PDF that matter, e.g. "1-5"'),
            allow_large=_field("boolean", "Read a text file over 256 KB whole"),
        ),
        kind="read",
        path_field="file_path",
        describing_field="file_path",
        parallel=True,
    ),
    ToolSpec(
        "Write",
        "Write a whole file, creating missing folders. Replaces what was there; to change a part use Edit.",
        _schema(
            ("file_path", "content"),
            file_path=_field("string", "Path of the file"),
            content=_field("string", "The whole new content"),
        ),
        kind="edit",
        path_field="file_path",
        describing_field="file_path",
    ),
    ToolSpec(
        "Edit",
        "Replace an exact piece of text in a file. old_string must occur exactly once unless replace_all is set, and"
        " has no line-number prefix; an empty old_string creates a new file.",
        _schema(
            ("file_path", "old_string", "new_string"),
            file_path=_field("string", "Path of the file"),
            old_string=_field("string", "Exact text to replace"),
            new_string=_field("string", "Text to put in its place"),
            replace_all=_field("boolean", "Replace every occurrence", default=False),
        ),
        kind="edit",
        path_field="file_path",
        describing_field="file_path",
    ),
    ToolSpec(
        "MultiEdit",
        "Several Edits of one file, applied in order; if one fails, none is made.",
        _schema(
            ("file_path", "edits"),
            file_path=_field("string", "Path of the file"),
            edits=_field("array", "The edits, in order", items=_EDIT_ITEM),
        ),
        kind="edit",
        path_field="file_path",
        describing_field="file_path",
    ),
    ToolSpec(
        "Glob",
        "Find files by a pattern such as `src/**/*.ts`, newest first. `*` stays inside a folder, `**` crosses folders.",
        _schema(
            ("pattern",),
            pattern=_field("string", "Pattern of the paths"),
            path=_field("string", "Folder to look in (default: the working directory)"),
        ),
        kind="search",
        path_field="path",
        pattern_field="pattern",
        describing_field="path",
        parallel=True,
    ),
    ToolSpec(
        "Grep",
        "Search file contents with a regular expression. Files that .gitignore names are left out.",
        _schema(("pattern",), **_GREP_FIELDS),
        kind="search",
        path_field="path",
        shows_content=True,
        describing_field="path",
        parallel=True,
    ),
    ToolSpec(
        "LS",
        "List a folder as a tree.",
        _schema(
            (),
            path=_field("string", "Folder to list (default: the working directory)"),
            ignore=_field("array", "Patterns of names to leave out", items={"type": "string"}),
        ),
        kind="search",
        path_field="path",
        describing_field="path",
        parallel=True,
    ),
    ToolSpec(
        "NotebookEdit",
        "Change one cell of a Jupyter notebook that you have read. Cells are named by their id, or `cell-N` from 0.",
        _schema(
            ("notebook_path", "new_source"),
            notebook_path=_field("string", "Path of the .ipynb file"),
            cell_id=_field("string", "The cell; with insert: the one to insert after (none = at the beginning)"),
            new_source=_field("string", "The new source of the cell (ignored by delete)"),
            cell_type=_field("string", "Needed by insert", enum=["code", "markdown"]),
            edit_mode=_field("string", "Default: replace", enum=["replace", "insert", "delete"]),
        ),
        kind="edit",
        path_field="notebook_path",
        describing_field="notebook_path",
    ),
    ToolSpec(
        "TaskOutput",
        "What a background task (a command or an agent) has printed since the last look, and whether it still runs. You"
        " are told when a task ends; look only at what you need before that.",
        _schema(
            ("task_id",),
            task_id=_field("string", "ID of the task"),
            block=_field("boolean", "Wait for its end"),
            timeout=_field("number", "Longest wait in milliseconds (default 30000, at most 600000)"),
            filter=_field("string", "Regular expression: show only lines that match, drop the others"),
        ),
        aliases=("BashOutput", "BashOutputTool", "AgentOutput", "AgentOutputTool"),
        harmless=True,
    ),
    ToolSpec(
        "TaskStop",
        "Stop a background task: a command or an agent.",
        _schema(("task_id",), task_id=_field("string", "ID of the task")),
        aliases=("KillShell", "KillBash"),
        harmless=True,
    ),
    ToolSpec(
        "TodoWrite",
        "Replace the todo list that the user sees. Keep exactly one item in progress while you work.",
        _schema(
            ("todos",),
            todos=_field(
                "array",
                "The whole list",
                items=_schema(
                    ("content", "status"),
                    content=_field("string", "What to do"),
                    status=_field("string", enum=["pending", "in_progress", "completed"]),
                    activeForm=_field("string", "The same while it is being done: `Running the tests`"),
                ),
            ),
        ),
        harmless=True,
        prompt_hint="Plan work of several steps with TodoWrite, and mark each step as soon as it is done.",
    ),
    ToolSpec(
        "WebFetch",
        "Fetch a public web page and return its text, headed by URL and title; you answer your question from it"
        " yourself. Redirects to other hosts are reported, not followed.",
        _schema(
            ("url", "prompt"),
            url=_field("string", "http or https URL"),
            prompt=_field("string", "What you want to know from the page"),
            offset=_field("integer", "Character to begin at, for the rest of a long page"),
        ),
        describing_field="url",
        parallel=True,
    ),
    ToolSpec(
        "WebSearch",
        "Search the web.",
        _schema(
            ("query",),
            query=_field("string", "What to search for"),
            allowed_domains=_field("array", "Only results from these", items={"type": "string"}),
            blocked_domains=_field("array", "No results from these", items={"type": "string"}),
        ),
        describing_field="query",
        parallel=True,
    ),
    ToolSpec(
        "AskUserQuestion",
        "Ask the user one to four questions with choices, when you cannot go on without an answer.",
        _schema(
            ("questions",),
            questions=_field("array", "The questions", items=_QUESTION),
            answers=_field("object", "Filled in by the user, never by you"),
            annotations=_field("object", "Filled in by the user, never by you"),
            metadata=_field("object", "Where the question comes from", properties={"source": {"type": "string"}}),
        ),
        needs_host=True,
        host_fields=("answers", "annotations"),
    ),
    ToolSpec(
        "EnterPlanMode",
        "Ask to work out a plan before anything is changed. For work with real choices, not for small tasks.",
        _schema(()),
        needs_host=True,
    ),
    ToolSpec(
        "ExitPlanMode",
        "In plan mode, when the plan is ready: hand it over for approval.",
        _schema(
            (),
            plan=_field("string", "The plan, in Markdown"),
            allowedPrompts=_field(
                "array",
                "Kinds of commands that the plan needs",
                items=_schema(("tool", "prompt"), tool=_field("string"), prompt=_field("string")),
            ),
        ),
        needs_host=True,
    ),
)


def chosen_specs(
    requested: tuple[str, ...] | None,
    denied: tuple[str, ...],
    *,
    host_answers: bool = False,
    searches: bool = False,
    shell: bool = True,
) -> tuple[ToolSpec, ...]:
    """The specs in their stable order: the requested ones (None = all), without those whose bare name is denied and
    those that would not work here (`shell` False: nothing runs commands). The same arguments give what
    `open_builtin_tools` offers."""
    every = requested is None or DEFAULT_WORD in requested
    names = frozenset(requested or ())
    hidden = frozenset(denied)
    return tuple(
        spec
        for spec in SPECS
        if (every or spec.name in names or names.intersection(spec.aliases))
        and spec.name not in hidden
        and not hidden.intersection(spec.aliases)
        and (host_answers or not spec.needs_host)
        and (searches or spec.name != SEARCH_TOOL)
        and (shell or spec.kind != "shell")
    )
