"""Building the provider of a model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeIds
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.http.transport import DirectTransport
from yume_shim.providers.load import known_apis, load_adapter, load_provider
from yume_shim.providers.sdk.transport import SdkTransport
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential, Endpoint, ModelSpec, TransportSettings
from yume_shim.types.settings import Timeouts

KEY = Credential("k", "key", "test")


def test_adapters_are_found_by_name() -> None:
    assert set(known_apis()) >= {"anthropic-messages", "google-genai", "openai-chat", "openai-responses"}
    assert [load_adapter(api).API for api in known_apis()] == list(known_apis())


@pytest.mark.parametrize("api", ["soap", "", "load", "_errors", "../x", "anthropic.messages", "anthropic_messages"])
def test_unknown_apis_are_refused_with_the_list(api: str) -> None:
    with pytest.raises(BadInvocation, match="anthropic-messages, google-genai"):
        load_adapter(api)


@pytest.mark.parametrize(
    ("transport", "made"), [("", DirectTransport), ("direct", DirectTransport), ("sdk", SdkTransport)]
)
def test_the_transport_is_chosen_by_the_settings(transport: str, made: type) -> None:
    spec = ModelSpec("m", Endpoint("p", "anthropic-messages", "http://127.0.0.1:1"))
    provider = load_provider(spec, KEY, settings_with(transport=transport), FakeIds(), no_log)
    assert isinstance(provider._transport, made)  # type: ignore[attr-defined]
    provider.close()


def test_an_api_without_an_sdk() -> None:
    with pytest.raises(BadInvocation, match="direct transport"):
        SdkTransport(TransportSettings(Endpoint("p", "foo-bar", ""), KEY, {}, Timeouts(), {}, {}, no_log))


def test_loading_is_light() -> None:
    """Neither SDKs nor TLS nor anything else heavy is imported before it is needed."""
    code = (
        "import sys; from yume_shim.providers.load import load_provider;"
        "from yume_shim.types.models import *; from yume_shim.types.settings import Settings;"
        "spec = ModelSpec('m', Endpoint('p', 'anthropic-messages', 'http://127.0.0.1:1'));"
        "load_provider(spec, Credential('k', 'key', 't'), Settings(), None, None);"
        "print(sorted(sys.modules.keys() & {'ssl', 'http.client', 'orjson', 'dataclasses', 'inspect', 'asyncio',"
        " 'logging', 'urllib.parse', 'typing', 'email', 'subprocess', 'anthropic', 'httpx2', 'socket'}))"
    )
    root = Path(__file__).parents[3]
    command = [sys.executable, "-S", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, cwd=root)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
