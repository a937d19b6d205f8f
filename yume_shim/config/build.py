"""argv values, environment and files -> one frozen Settings. Order, strongest first: flags, environment, files."""

from __future__ import annotations

import os

from yume_shim.config.key_settings import key_wishes
from yume_shim.config.setting_sources import Wishes
from yume_shim.config.settings_files import read_config, read_layers
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import RetrySettings, Rules, Settings, Timeouts
from yume_shim.types.value import fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.config.settings_files import Layer

    Values = Mapping[str, str | bool | tuple[str, ...]]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
CLAUDE_CONCURRENCY = 8
"""Read-only calls that may run side by side in the Claude forms; the flat dialect runs one after another."""
COMMAND_TOOLS = ("Bash", "BashOutput", "KillShell")
_UNTRUSTED_ENV = (
    *("_BASE_URL", "_API_BASE", "_HOST", "_API_KEY", "_TOKEN", "_PROXY", "_PROFILE"),
    *("_USE_BEDROCK", "_USE_VERTEX", "_ACCESS_KEY", "_ACCESS_KEY_ID", "_CREDENTIALS", "_CUSTOM_HEADERS"),
    *("CODEX_HOME", "GEMINI_CLI_HOME", "VIBE_HOME", "CLAUDE_CONFIG_DIR"),  # where keys are looked for
)


def build_settings(
    values: Values,
    words: tuple[str, ...],
    *,
    flat: bool,
    env: Mapping[str, str],
    cwd: str,
    log: Callable[[str, str], None],
) -> Settings:
    """Resolve everything; raises BadInvocation."""
    builder = _Builder(values, words, flat, env, cwd, log)
    return builder.with_work(builder.talk())


class _Builder(Wishes):
    def __init__(
        self,
        values: Values,
        words: tuple[str, ...],
        flat: bool,
        env: Mapping[str, str],
        cwd: str,
        log: Callable[[str, str], None],
    ) -> None:
        self.values, self.words, self.flat, self.cwd, self.log = values, words, flat, cwd, log
        home = env.get("HOME") or os.path.expanduser("~")
        config_dir = env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        named = self.text("config") or env.get("YUME_CONFIG", "")
        self.config_path = named or os.path.join(home, ".yume", "config.toml")
        self.config = read_config(self.config_path, log, required=bool(named))
        sources = self.text("setting-sources")
        self.sources = (
            ("user", "project", "local")
            if sources is None
            else tuple(s.strip() for s in sources.split(",") if s.strip())
        )
        if self.on("restricted"):
            self.sources = ()
        self.layers = read_layers(self.sources, self.text("settings"), cwd, config_dir, home, log)
        if any(layer.data.get("hooks") for layer in self.layers):
            log("warning", "hooks of the settings files are not run by this version, and guard nothing")
        self.env = self.merged_env(env)

    def talk(self) -> Settings:
        """How to talk, and to which model."""
        text = self.text
        stream_in = text("input-format") == "stream-json"
        output = "flat" if self.flat else text("output-format") or "text"
        one_shot = bool(self.words) or self.on("print")
        self.check_forms(output, stream_in)
        self.check_extensions()
        return Settings(
            output_format=output,  # type: ignore[arg-type]  # the flag table checked the choice
            input_format="lines" if stream_in or (self.flat and not one_shot) else "text",
            prompt=self.words[0] if self.words and not stream_in else None,
            verbose=self.on("verbose"),
            partial_messages=self.on("include-partial-messages"),
            replay_user_messages=self.on("replay-user-messages"),
            max_line_bytes=self.whole("max-line-bytes", "YUME_MAX_LINE_BYTES", least=1024) or 0,
            log_level=self.log_level(),
            debug_file=text("debug-file") or "",
            provider=text("provider") or "",
            default_provider=self.env.get("YUME_PROVIDER", "") or self.conf("provider"),
            model=self.model(),
            provider_model=self.env.get("YUME_MODEL", "") or self.conf("model"),
            api=text("api") or self.env.get("YUME_API", ""),
            api_base=text("api-base") or self.env.get("YUME_API_BASE", ""),
            api_key_env=text("api-key-env") or "",
            transport=text("transport") or self.conf("transport"),  # type: ignore[arg-type]  # checked by the table
            aliases=self.table("aliases"),
            endpoints=self.table("endpoints"),
            **key_wishes(self, self.layers),
            config_file=self.config_path,
            fallback_model=text("fallback-model") or ",".join(self.conf_texts("fallback")),
            compat=tuple((text("compat") or self.env.get("YUME_COMPAT", "")).replace(",", " ").split()),
            effort=self.effort(),  # type: ignore[arg-type]  # checked there
            thinking=text("thinking") or "default",  # type: ignore[arg-type]  # the flag table checked the choice
            thinking_budget=self.whole("max-thinking-tokens", "MAX_THINKING_TOKENS"),
            thinking_display=text("thinking-display") or "",
            max_output_tokens=self.whole("", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
            custom_headers=_headers(self.env.get("ANTHROPIC_CUSTOM_HEADERS", "")),
            cassette=text("cassette") or "",
            record=text("record") or "",
            retry=self.retry(),
            timeouts=self.timeouts(),
            **self.sampling(),
        )

    def with_work(self, talk: Settings) -> Settings:
        """Add what the model is told, what it may do, and where it is remembered."""
        text = self.text
        mode, bypass = self.mode()
        return replace(
            talk,
            system_prompt=self.prompt_text("system-prompt", "System prompt"),
            json_schema=self.json_schema(),
            append_system_prompt=self.prompt_text("append-system-prompt", "Append system prompt") or "",
            max_turns=self.whole("max-turns", ""),
            max_budget_usd=self.budget(),
            tool_concurrency=1 if self.flat else CLAUDE_CONCURRENCY,
            on_cut=text("on-cut") or ("continue" if self.flat else "restart"),
            join_continuations=self.flat,
            merge_waiting=not self.flat,
            tools=self.tools(),
            permission_mode=mode,
            allow_bypass=bypass,
            prompt_tool=text("permission-prompt-tool") or "",
            ask_nobody=text("permission-prompts") == "none",
            rules=self.rules(),
            add_dirs=tuple(os.path.normpath(os.path.join(self.cwd, d)) for d in self.many("add-dir") if d),
            env=self.env,
            cwd=self.cwd,
            session_id=self.session_id(),
            resume=self.resume(),
            resume_newest=self.on("continue"),
            fork=self.on("fork-session"),
            resume_at=text("resume-session-at") or "",
            model_chosen=bool(text("model") or text("provider")),
            session_mirror=self.on("session-mirror"),
            persist=not self.on("no-session-persistence"),
            session_dir=text("session-dir") or self.env.get("YUME_SESSION_DIR", "") or self.conf("session_dir"),
            entrypoint=self.env.get("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
            repair_mojibake=bool(self.config.get("repair_mojibake", False)),
            redact_output=self.table("secrets").get("redact_output", True) is not False,
            keys_for_tools=self.table("secrets").get("keys_for_tools", False) is True,
            sandbox=self.sandbox(),
            memory=not self.on("bare"),
            confined=self.on("restricted"),
            file_checkpoints=self.env.get("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") in ("1", "true"),
            history_trimming=self.config.get("history_trimming", True) is not False,
            max_history_tokens=self.conf_number("max_history_tokens"),
            keep_recent_user_turns_in_chained_tool_calls=self.conf_number(
                "keep_recent_user_turns_in_chained_tool_calls"
            )
            or 1,
            auto_compact=self.auto_compact(),
            autocompact_tokens=self.autocompact_tokens(),
            slash_commands=not self.on("disable-slash-commands"),
            web_allow_private=tuple(_strings(self.table("web").get("allow_private", []))),
            setting_sources=self.sources,
            session_states=any(
                self.env.get(name) in ("1", "true")
                for name in ("CLAUDE_CODE_SDK_READS_SESSION_STATE", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
            ),
        )

    # ------------------------------------------------------------ single settings

    def check_forms(self, output: str, stream_in: bool) -> None:
        """The combinations that the Claude CLI refuses."""
        if output == "stream-json" and not self.on("verbose"):
            raise BadInvocation("Error: When using --print, --output-format=stream-json requires --verbose")
        if stream_in and output not in ("stream-json", "flat"):
            raise BadInvocation("Error: --input-format=stream-json requires output-format=stream-json.")
        if self.on("include-partial-messages") and output != "stream-json" and not self.flat:
            raise BadInvocation("Error: --include-partial-messages requires --print and --output-format=stream-json.")
        if self.on("replay-user-messages") and not (stream_in and output == "stream-json") and not self.flat:
            raise BadInvocation(
                "Error: --replay-user-messages requires both --input-format=stream-json "
                "and --output-format=stream-json."
            )

    def check_extensions(self) -> None:
        if "mcp-config" in self.values or "agents" in self.values or "agent" in self.values:
            from yume_shim.config.extensions import check_agents, check_mcp_config

            check_mcp_config(self.many("mcp-config"), self.cwd)
            check_agents(self.text("agents"), self.text("agent"), self.cwd)

    def model(self) -> str:
        for found in (
            self.text("model"),
            self.env.get("YUME_MODEL"),
            self.env.get("ANTHROPIC_MODEL"),
            self.conf("model"),
        ):
            if found:
                return found
        return next((str(layer.data["model"]) for layer in reversed(self.layers) if layer.data.get("model")), "")

    def effort(self) -> str | None:
        asked = self.text("effort")
        if asked is not None and asked not in EFFORTS:
            self.log("warning", f"--effort '{asked}' is not one of {', '.join(EFFORTS)}: the default is used")
            return None
        return asked

    def budget(self) -> float | None:
        raw = self.text("max-budget-usd")
        if raw is None:
            return None
        try:
            amount = float(raw)
        except ValueError:
            amount = 0.0
        if not 0 < amount < float("inf"):
            raise BadInvocation(f"Error: --max-budget-usd must be a positive number, not '{raw}'")
        return amount

    def mode(self) -> tuple[str, bool]:
        """(the mode to start in, may bypassPermissions be entered)."""
        asked = self.text("permission-mode")
        if asked is None:
            asked = next(
                (m for layer in reversed(self.layers) if layer.trusted and (m := _default_mode(layer))), "default"
            )
        if self.on("dangerously-skip-permissions"):
            asked = "bypassPermissions"
        if asked == "manual":
            asked = "default"
        if asked in ("interactive", "deny") and not self.flat:
            raise BadInvocation(f"permission mode '{asked}' belongs to --output-format flat")
        if asked == "auto":
            asked = "bypassPermissions" if self.flat else "acceptEdits"
            if not self.flat:
                self.log("info", "permission mode auto has no classifier here: it behaves as acceptEdits")
        bypass = asked == "bypassPermissions"
        if bypass and _is_root() and self.env.get("IS_SANDBOX") != "1":
            raise BadInvocation(
                "--dangerously-skip-permissions cannot be used with root privileges "
                "unless IS_SANDBOX=1 says that this is a sandbox"
            )
        return asked, bypass or self.on("allow-dangerously-skip-permissions")

    def tools(self) -> tuple[str, ...] | None:
        if "tools" not in self.values:
            return None
        names = tuple(n for part in self.many("tools") for n in part.replace(",", " ").split())
        return None if names == ("default",) else names

    def rules(self) -> Rules:
        allow, ask, deny = (
            list(_split_rules(self.many("allowedTools"))),
            [],
            list(_split_rules(self.many("disallowedTools"))),
        )
        for layer in self.layers:
            permissions = layer.data.get("permissions")
            if not isinstance(permissions, dict):
                continue
            if layer.trusted:
                allow += _strings(permissions.get("allow"))
            ask += _strings(permissions.get("ask"))
            deny += _strings(permissions.get("deny"))
        if self.on("restricted"):
            deny += COMMAND_TOOLS
        return Rules(tuple(allow), tuple(ask), tuple(deny))

    def auto_compact(self) -> bool:
        if self.env.get("DISABLE_AUTO_COMPACT") in ("1", "true"):
            return False
        said = [layer.data["autoCompactEnabled"] for layer in self.layers if "autoCompactEnabled" in layer.data]
        return self.config.get("auto_compact", said[-1] if said else True) is not False

    def autocompact_tokens(self) -> int | None:
        """`--autocompact`: "auto", or a size such as 200000 or 200k."""
        raw = self.text("autocompact")
        if raw is None or raw == "auto":
            return None
        factor = {"k": 1_000, "m": 1_000_000}.get(raw[-1:].lower(), 1)
        digits = raw if factor == 1 else raw[:-1]
        try:
            tokens = round(float(digits) * factor)
        except (ValueError, OverflowError):
            tokens = 0
        if tokens < 1_000:
            raise BadInvocation(f"--autocompact must be auto or a number of tokens such as 200k, not '{raw}'")
        return tokens

    def sandbox(self) -> str:
        asked = self.env.get("YUME_SANDBOX", "") or self.conf("sandbox")
        if asked not in ("", "workspace", "workspace-nonet"):
            raise BadInvocation(f"sandbox '{asked}' is not one of workspace, workspace-nonet")
        return asked

    def session_id(self) -> str:
        import re

        given = self.text("session-id") or ""
        if given and not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", given):
            raise BadInvocation("Error: Invalid session ID. Must be a valid UUID.")
        return given

    def resume(self) -> str:
        """The flag's value may be left out, but only an interactive program could ask which session is meant."""
        given = self.text("resume")
        if self.on("resume") and not given:
            raise BadInvocation("Error: --resume needs a session ID or a session title when nobody can be asked.")
        return given or ""

    def prompt_text(self, flag: str, what: str) -> str | None:
        path = self.text(flag + "-file")
        if path is None:
            return self.text(flag)
        try:
            with open(os.path.join(self.cwd, path), encoding="utf-8") as file:
                return file.read()
        except (OSError, UnicodeDecodeError):
            raise BadInvocation(f"Error: {what} file not found: {path}") from None

    def json_schema(self) -> Mapping[str, Any] | None:
        raw = self.text("json-schema")
        if raw is None:
            return None
        from yume_shim.text import codec

        try:
            schema = codec.loads(raw)
        except ValueError as error:
            raise BadInvocation(f"Error: --json-schema is not valid JSON: {error}") from None
        if not isinstance(schema, dict):
            raise BadInvocation("Error: --json-schema must be a JSON object")
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for

        try:
            validator_for(schema).check_schema(schema)
        except SchemaError as error:
            raise BadInvocation(f"Error: --json-schema is not a valid JSON Schema: {error.message}") from None
        return schema

    def retry(self) -> RetrySettings:
        table = self.table("retry")
        unknown = [key for key in table if key not in fields(RetrySettings)]
        if unknown:
            raise BadInvocation(f"{self.config_path}: [retry] does not know {', '.join(unknown)}")
        retries = self.whole("max-retries", "CLAUDE_CODE_MAX_RETRIES")
        return RetrySettings(
            initial=_first(self.number("retry-initial", "YUME_RETRY_INITIAL", least=0), table.get("initial")),
            multiplier=table.get("multiplier"),
            cap=_first(self.number("retry-max-wait", "YUME_RETRY_MAX_WAIT", least=0), table.get("cap")),
            jitter=table.get("jitter"),
            retries=table.get("retries") if retries is None else retries,
        )

    def timeouts(self) -> Timeouts:
        wanted: dict[str, Any] = dict(self.table("timeouts"))
        unknown = [key for key in wanted if key not in fields(Timeouts)]
        if unknown:
            raise BadInvocation(f"{self.config_path}: [timeouts] does not know {', '.join(unknown)}")
        for field, flag, variable in (
            ("idle", "idle-timeout", "YUME_IDLE_TIMEOUT"),
            ("total", "response-timeout", "YUME_RESPONSE_TIMEOUT"),
            ("approval", "approval-timeout", "YUME_APPROVAL_TIMEOUT"),
        ):
            seconds = self.number(flag, variable, least=0.001)
            if seconds is not None:
                wanted[field] = seconds
        return Timeouts(**wanted)

    def log_level(self) -> str:
        if self.on("debug") or self.on("debug-to-stderr"):
            return "debug"
        level = self.env.get("YUME_LOG", "") or self.conf("log") or "warning"
        if level not in ("debug", "info", "warning", "error"):
            raise BadInvocation(f"log level '{level}' is not one of debug, info, warning, error")
        return level

    def merged_env(self, env: Mapping[str, str]) -> dict[str, str]:
        """The process environment under the settings files' `env` and the config file's `[env]`."""
        merged = dict(env)
        for layer in self.layers:
            extra = layer.data.get("env")
            if layer.trusted and isinstance(extra, dict):
                from_project = layer.name in ("project", "local")
                for name, given in extra.items():
                    # a repository must not redirect requests or swap keys, trusted or not
                    if from_project and (name.upper() == "HOME" or name.upper().endswith(_UNTRUSTED_ENV)):
                        continue
                    merged[str(name)] = str(given)
        for name, given in self.table("env").items():
            merged.setdefault(name, str(given))
        return merged


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _first(*found: Any) -> Any:
    return next((item for item in found if item is not None), None)


def _default_mode(layer: Layer) -> str:
    permissions = layer.data.get("permissions")
    mode = permissions.get("defaultMode", "") if isinstance(permissions, dict) else ""
    return mode if mode in ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions") else ""


def _strings(found: Any) -> list[str]:
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def _split_rules(words: tuple[str, ...]) -> list[str]:
    """Rules separated by commas or blanks, but not inside parentheses: `Bash(git log, git status) Read`."""
    rules: list[str] = []
    for word in words:
        depth, current = 0, ""
        for char in word:
            if char in ", \t" and depth == 0:
                rules.append(current)
                current = ""
                continue
            depth += (char == "(") - (char == ")" and depth > 0)
            current += char
        rules.append(current)
    return [rule for rule in rules if rule]


def _headers(text: str) -> dict[str, str]:
    """ANTHROPIC_CUSTOM_HEADERS: one `Name: value` per line."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): given.strip() for name, colon, given in pairs if colon and name.strip()}
