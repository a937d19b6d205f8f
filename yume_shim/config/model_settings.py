"""Builds ModelSettings, EndpointSettings and NetworkSettings: which model answers, and how it is reached."""

from __future__ import annotations

from yume_shim.config.host_settings import streams_text
from yume_shim.config.setting_sources import strings
from yume_shim.config.settings_files import PROJECT_LAYERS
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import EndpointSettings, ModelSettings, NetworkSettings, RetrySettings
from yume_shim.types.value import fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources

SAMPLING = ("temperature", "top_p", "stop_sequences", "models")
"""Keys of the config file that `sampling_settings.py` reads; it is imported only if one of them is set."""


def model_settings(sources: SettingSources) -> ModelSettings:
    """The model, its thinking and its sampling. Raises BadInvocation."""
    text = sources.text
    name, project_name = _models(sources)
    return ModelSettings(
        provider=text("provider") or "",
        default_provider=sources.env.get("YUME_PROVIDER", "") or sources.conf("provider"),
        name=name,
        project_name=project_name,
        provider_model=sources.env.get("YUME_MODEL", "") or sources.conf("model"),
        chosen_by_flag=bool(text("model") or text("provider")),
        aliases=sources.table("aliases"),
        fallback=text("fallback-model") or ",".join(sources.conf_texts("fallback")) or _fallback(sources),
        effort=_effort(sources),  # type: ignore[arg-type]  # checked there
        thinking=text("thinking") or _thinking(sources),  # type: ignore[arg-type]  # the flag table checked the choice
        thinking_budget=sources.whole("max-thinking-tokens", "MAX_THINKING_TOKENS"),
        thinking_display=text("thinking-display") or "",
        max_output_tokens=sources.whole("", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
        price=_price(sources),
        **_sampling(sources),
    )


def _price(sources: SettingSources) -> tuple[float, float] | None:
    """`--price IN,OUT`."""
    raw = sources.text("price")
    if raw is None:
        return None
    try:
        given = tuple(float(part) for part in raw.split(","))
    except ValueError:
        given = ()
    if len(given) != 2 or not all(0 <= price < float("inf") for price in given):
        raise BadInvocation(
            f"Error: --price must be two numbers, USD per million tokens (input,output: 0.5,1.5), not '{raw}'"
        )
    return given[0], given[1]


def _models(sources: SettingSources) -> tuple[str, str]:
    """(the model that the user chose, the one that files of an untrusted project name)."""
    env = sources.env
    named = sources.text("model") or env.get("YUME_MODEL") or env.get("ANTHROPIC_MODEL") or sources.conf("model")
    if named:
        return named, ""
    strongest = [layer for layer in reversed(sources.layers) if layer.data.get("model")]
    theirs = strongest[0].data["model"] if strongest and not strongest[0].trusted else ""
    own = next((str(layer.data["model"]) for layer in strongest if layer.trusted), "")
    return own, theirs if isinstance(theirs, str) else ""


def _fallback(sources: SettingSources) -> str:
    """`fallbackModel` of the strongest file that is not a project's."""
    given = [layer.data.get("fallbackModel") for layer in sources.layers if layer.name not in PROJECT_LAYERS]
    names = next((each for each in reversed(given) if each), "")
    return names if isinstance(names, str) else ",".join(strings(names))


def _thinking(sources: SettingSources) -> str:
    """`alwaysThinkingEnabled: false` of the strongest trusted file switches thinking off."""
    given = [layer.data.get("alwaysThinkingEnabled") for layer in sources.layers if layer.trusted]
    chosen = [switch for switch in given if isinstance(switch, bool)]
    return "disabled" if chosen and not chosen[-1] else "default"


def _effort(sources: SettingSources) -> str | None:
    asked = sources.text("effort")
    place = "--effort"
    for layer in sources.layers:
        if sources.text("effort") is None and layer.trusted and "effortLevel" in layer.data:
            asked, place = str(layer.data["effortLevel"]), f"effortLevel of the {layer.name} settings"
    if asked is None:
        return None
    from yume_shim.types.effort import EFFORTS

    if asked not in EFFORTS:
        sources.log("warning", f"{place} '{asked}' is not one of {', '.join(EFFORTS)}: the default is used")
        return None
    return asked


def _sampling(sources: SettingSources) -> dict[str, Any]:
    if not sources.env.get("YUME_TEMPERATURE") and not any(key in sources.config for key in SAMPLING):
        return {}
    from yume_shim.config.sampling_settings import sampling_settings

    return sampling_settings(sources)


def endpoint_settings(sources: SettingSources) -> EndpointSettings:
    """Rows of the config file, and the flags for the endpoint of the chosen model. Raises BadInvocation."""
    return EndpointSettings(
        rows=sources.table("endpoints"),
        api=sources.text("api") or sources.env.get("YUME_API", ""),
        api_base=sources.text("api-base") or sources.env.get("YUME_API_BASE", ""),
        api_key_env=sources.text("api-key-env") or "",
        compat=_compat(sources.text("compat") or sources.env.get("YUME_COMPAT", "")),
        custom_headers=_headers(sources.env.get("ANTHROPIC_CUSTOM_HEADERS", "")),
    )


def _compat(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    from yume_shim.text.split_list import split_list

    return split_list(text)


def _headers(text: str) -> dict[str, str]:
    """ANTHROPIC_CUSTOM_HEADERS: one `Name: value` per line."""
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): given.strip() for name, colon, given in pairs if colon and name.strip()}


def network_settings(sources: SettingSources) -> NetworkSettings:
    """Transport, retries, cassettes. Raises BadInvocation."""
    return NetworkSettings(
        transport=sources.text("transport") or sources.conf("transport"),  # type: ignore[arg-type]  # checked by the flag table
        retry=_retry(sources),
        on_cut=sources.text("on-cut") or ("continue" if sources.flat or streams_text(sources) else "restart"),  # type: ignore[arg-type]  # likewise
        cassette=sources.text("cassette") or "",
        record=sources.text("record") or "",
        share_limits=_shares_limits(sources),
    )


def _shares_limits(sources: SettingSources) -> bool:
    """Raises BadInvocation."""
    found = sources.config.get("share_limits", True)
    if not isinstance(found, bool):
        raise BadInvocation(f"{sources.config_path}: `share_limits` must be true or false")
    return found and sources.env.get("YUME_SHARE_LIMITS") not in ("0", "false")


def _retry(sources: SettingSources) -> RetrySettings:
    table = sources.table_of("retry", fields(RetrySettings))
    initial = sources.number("retry-initial", "YUME_RETRY_INITIAL", least=0)
    cap = sources.number("retry-max-wait", "YUME_RETRY_MAX_WAIT", least=0)
    retries = sources.whole("max-retries", "CLAUDE_CODE_MAX_RETRIES")
    return RetrySettings(
        initial=table.get("initial") if initial is None else initial,
        multiplier=table.get("multiplier"),
        cap=table.get("cap") if cap is None else cap,
        jitter=table.get("jitter"),
        retries=table.get("retries") if retries is None else retries,
    )
