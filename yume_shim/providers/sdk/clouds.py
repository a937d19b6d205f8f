"""Clouds that have their own sign-in: Bedrock, Vertex, Azure with Entra ID. The vendors' SDKs sign the requests.

An endpoint names its `sign_in`; an empty base URL means the address that the SDK computes from region and project. The
SDKs get their settings from the session's environment (which settings files add to), not from the process's.
"""

from __future__ import annotations

from yume_shim.providers.wire.failures import failure_auth, failure_config
from yume_shim.types.errors import ProviderFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from yume_shim.providers.sdk.transport import SdkTransport
    from yume_shim.types.models import Endpoint

AWS_REGION = "us-east-1"
"""The Claude CLI's default region."""
VERTEX_REGION = "us-east5"
GOOGLE_PROJECT = ("GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT")
"""Variables that name the project."""
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
AZURE_SCOPE = "https://cognitiveservices.azure.com/.default"
SIGN_IN_MODULES = {"bedrock": "boto3", "azure-ad": "azure.identity"}
"""Modules that only these sign-ins need; `types/packages.py` names the extras that install them."""
_NOT_SIGNED_IN = frozenset(
    {
        "GoogleAuthError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "ProfileNotFound",
        "TokenRetrievalError",
        "ClientAuthenticationError",
        "CredentialUnavailableError",
    }
)
"""Classes of google-auth, botocore and azure-core for credentials that are missing or were refused."""


def build_cloud(transport: SdkTransport, http: Any) -> Any:
    """The SDK client for the endpoint's sign-in. Raises ImportError if a package is missing."""
    endpoint = transport.endpoint
    build = _BUILDERS.get((endpoint.sign_in, endpoint.api))
    if build is None:
        known = ", ".join(f"{name} for {api}" for name, api in _BUILDERS)
        raise ProviderFailed(
            failure_config(endpoint.name, f"no sign-in '{endpoint.sign_in}' for {endpoint.api}; known: {known}")
        )
    needed = SIGN_IN_MODULES.get(endpoint.sign_in)
    if needed is not None:
        __import__(needed)  # a missing package is reported by the transport
    return build(transport, http)


def not_signed_in(exc: BaseException, names: set[str], endpoint: Endpoint) -> ProviderFailed | None:
    """The failure of a sign-in, or None for anything else. The SDK's message is kept: it says where it looked."""
    unresolved = "RuntimeError" in names and "credentials" in str(exc)
    if not endpoint.sign_in or not (names & _NOT_SIGNED_IN or unresolved):
        return None
    return ProviderFailed(failure_auth(endpoint.name, f"the sign-in ({endpoint.sign_in}) failed: {exc}"))


def from_event_stream(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Amazon's binary event stream as server-sent events, by the SDK's own decoder."""
    from anthropic.lib.bedrock._stream_decoder import AWSEventStreamDecoder

    for event in AWSEventStreamDecoder().iter_bytes(pieces):
        yield b"data: " + event.data.replace("\n", " ").encode() + b"\n\n"


# ---------------------------------------------------------------- the clients


def _build_bedrock(transport: SdkTransport, http: Any) -> Any:
    from anthropic.lib.bedrock import AnthropicBedrock

    env, token = transport.env, transport.credential.key or None
    signing: Mapping[str, str] = {} if token else env  # the client accepts a token or a signature, not both
    return AnthropicBedrock(
        aws_access_key=signing.get("AWS_ACCESS_KEY_ID"),
        aws_secret_key=signing.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=signing.get("AWS_SESSION_TOKEN"),
        aws_profile=signing.get("AWS_PROFILE"),
        api_key=token,
        aws_region=_region(transport.endpoint, _first(env, "AWS_REGION", "AWS_DEFAULT_REGION") or AWS_REGION),
        **_anthropic_options(transport, http),
    )


def _build_vertex(transport: SdkTransport, http: Any) -> Any:
    from anthropic.lib.vertex import AnthropicVertex

    credentials, project = _google_account(transport, "ANTHROPIC_VERTEX_PROJECT_ID", *GOOGLE_PROJECT)
    return AnthropicVertex(
        region=_region(transport.endpoint, transport.env.get("CLOUD_ML_REGION") or VERTEX_REGION),
        project_id=project,
        credentials=credentials,
        **_anthropic_options(transport, http),
    )


def _anthropic_options(transport: SdkTransport, http: Any) -> dict[str, Any]:
    """What the clients of Anthropic's SDK for both clouds are built with."""
    return {
        "base_url": transport.endpoint.base_url or None,
        "max_retries": 0,
        "http_client": http,
        "open_telemetry": False,
    }


def _build_vertex_gemini(transport: SdkTransport, http: Any) -> Any:
    from google import genai
    from google.genai import types

    credentials, project = _google_account(transport, *GOOGLE_PROJECT)
    region = _first(transport.env, "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION") or "global"
    return genai.Client(
        vertexai=True,
        project=project,
        location=_region(transport.endpoint, region),
        credentials=credentials,
        http_options=types.HttpOptions(base_url=transport.endpoint.base_url or None, httpx_client=http),
    )


def _build_azure(transport: SdkTransport, http: Any) -> Any:
    import openai
    from azure.identity import DefaultAzureCredential, get_bearer_token_provider

    return openai.OpenAI(
        api_key=get_bearer_token_provider(DefaultAzureCredential(), AZURE_SCOPE),
        base_url=transport.endpoint.base_url,
        max_retries=0,
        http_client=http,
    )


_BUILDERS: dict[tuple[str, str], Callable[[SdkTransport, Any], Any]] = {
    ("bedrock", "anthropic-messages"): _build_bedrock,
    ("vertex", "anthropic-messages"): _build_vertex,
    ("vertex", "google-genai"): _build_vertex_gemini,
    ("azure-ad", "openai-responses"): _build_azure,
    ("azure-ad", "openai-chat"): _build_azure,
}


def _google_account(transport: SdkTransport, *variables: str) -> tuple[Any, str]:
    """Google's default credentials, and the project: the one that a variable names, else that of the credentials."""
    import os

    import google.auth

    if path := transport.env.get("GOOGLE_APPLICATION_CREDENTIALS"):
        os.environ["GOOGLE_APPLICATION_CREDENTIALS"] = path  # the only way to name the file that is not deprecated
    credentials, project = google.auth.default(scopes=[GOOGLE_SCOPE])
    project = _first(transport.env, *variables) or project
    if not project:
        message = "no Google Cloud project is named: set GOOGLE_CLOUD_PROJECT"
        raise ProviderFailed(failure_config(transport.endpoint.name, message))
    return credentials, project


def _region(endpoint: Endpoint, name: str) -> str:
    """A checked region. The SDKs put it into the host name as it is: `x.test/` would send the sign-in elsewhere."""
    if not name.isascii() or not name.replace("-", "").isalnum():
        raise ProviderFailed(failure_config(endpoint.name, f"'{name}' is not the name of a region"))
    return name


def _first(env: Mapping[str, str], *names: str) -> str:
    return next((env[name] for name in names if env.get(name)), "")
