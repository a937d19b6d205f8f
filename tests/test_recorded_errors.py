"""Every recorded error body, with the headers it came with: its kind, whether another try may help, how long to wait.

`YUME_RECORDED` names the folder of recordings; without it there is nothing to judge.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeIds
from yume_shim.providers.apis import google_genai
from yume_shim.providers.wire.failures import failure_from_payload, failure_from_status
from yume_shim.types.events import ResponseFailed
from yume_shim.types.models import Endpoint, ModelSpec, Request

if TYPE_CHECKING:
    from yume_shim.types.errors import Failure

FOLDER = Path(os.environ.get("YUME_RECORDED") or "no-recordings")

# file -> (kind, another try may help, milliseconds to wait)
EXPECTED: dict[str, tuple[str, bool, int | None]] = {
    "anthropic/err_400_context_length.json": ("context_length", False, None),
    "anthropic/err_400_effort_unsupported.json": ("bad_request", False, None),
    "anthropic/err_401.json": ("auth", False, None),
    "anthropic/err_404_model.json": ("not_found", False, None),
    "azure/err_401.json": ("auth", False, None),
    "azure/err_404_deployment.json": ("not_found", False, None),
    "azure/err_429.json": ("rate_limit", True, 1_000),  # retry-after-ms says 0, retry-after 1
    "deepseek/err_400_context.json": ("context_length", False, None),
    "deepseek/err_400_interleaved.json": ("bad_request", False, None),
    "deepseek/err_401.json": ("auth", False, None),
    "gemini/err_400_bad_key.json": ("auth", False, None),  # only its reason says so
    "gemini/err_400_context_vertex.json": ("context_length", False, None),
    "gemini/err_400_role.json": ("bad_request", False, None),
    "gemini/err_400_url_image.json": ("bad_request", False, None),
    "gemini/err_404_model.json": ("not_found", False, None),
    "gemini/err_429_quota.json": ("rate_limit", True, 48_000),  # in the body: no header says it
    "gemini/err_429_retryinfo.json": ("rate_limit", True, 34_400),
    "groq/err_400_tool_use_failed.json": ("bad_request", True, None),  # the model's fault, not the request's
    "mistral/err_401.json": ("auth", False, None),
    "ollama/err_400_cloud_context.json": ("context_length", False, None),
    "ollama/err_401_cloud.json": ("auth", False, None),
    "openai_chat/err_400_content_type.json": ("bad_request", False, None),
    "openai_chat/err_400_gpt5.json": ("bad_request", False, None),
    "openai_chat/err_400_max_tokens.json": ("bad_request", False, None),
    "openai_chat/err_400_o1mini_developer_role.json": ("bad_request", False, None),
    "openai_chat/err_400_o1mini_system_role.json": ("bad_request", False, None),
    "openai_chat/err_401.json": ("auth", False, None),
    "openai_chat/err_404_model.json": ("not_found", False, None),
    "openai_responses/err_400_context_length.json": ("context_length", False, None),
    "openai_responses/err_400_file_type.json": ("bad_request", False, None),
    "openai_responses/err_400_model.json": ("not_found", False, None),  # Responses says 400 where Chat says 404
    "openai_responses/err_400_other.json": ("bad_request", False, None),
    "openai_responses/err_400_reasoning_item_without_following.json": ("bad_request", False, None),
    "openai_responses/err_400_temperature.json": ("bad_request", False, None),
    "openai_responses/err_400_tool_schema.json": ("bad_request", False, None),
    "openai_responses/err_401.json": ("auth", False, None),
    "openai_responses/err_429_insufficient_quota.json": ("billing", False, None),  # no wait helps
    "openrouter/err_400_context.json": ("context_length", False, None),
    "openrouter/err_401.json": ("auth", False, None),
    "openrouter/err_429_upstream.json": ("rate_limit", True, None),
    "reported_errors/anthropic_400_cache_control_limit.json": ("bad_request", False, None),
    "reported_errors/anthropic_400_empty_text.json": ("bad_request", False, None),
    "reported_errors/anthropic_400_missing_tool_result.json": ("bad_request", False, None),
    "reported_errors/anthropic_400_tool_use_id_pattern.json": ("bad_request", False, None),
    "reported_errors/anthropic_400_top_level_union.json": ("bad_request", False, None),
    "reported_errors/anthropic_400_whitespace_text.json": ("bad_request", False, None),
    "reported_errors/anthropic_413_request_too_large.json": ("context_length", False, None),
    "reported_errors/anthropic_500_api_error.json": ("server", True, None),
    "reported_errors/anthropic_500_overloaded_null_request_id.json": ("overloaded", True, None),  # 500, and means 529
    "reported_errors/anthropic_529_overloaded.json": ("overloaded", True, None),
    "reported_errors/deepseek_400_reasoning_content_required.json": ("bad_request", False, None),
    "reported_errors/gemini_400_missing_thought_signature.json": ("bad_request", False, None),
    "reported_errors/gemini_400_response_count.json": ("bad_request", False, None),
    "reported_errors/gemini_503_overloaded.json": ("overloaded", True, None),
    "reported_errors/openai_400_item_not_found_store_false.json": ("bad_request", False, None),
    "reported_errors/openai_400_tool_call_id_too_long.json": ("bad_request", False, None),
    "reported_errors/openai_500_server_error.json": ("server", True, None),
    "reported_errors/openai_stream_server_is_overloaded_event.json": ("overloaded", True, None),  # inside a stream
    "xai/err_400_bad_key.json": ("auth", False, None),  # 400, and the error is a string
}


def error_bodies() -> dict[str, int]:
    """File -> status of every body that is an error; those with status 200 came inside a stream."""
    index = FOLDER / "INDEX.tsv"
    if not index.exists():
        return {}
    with index.open(encoding="utf-8", newline="") as rows:
        return {
            row["file"]: int(row["status"])
            for row in csv.DictReader(rows, delimiter="\t")
            if int(row["status"]) >= 400 or row["api"] == "error body"
        }


def judged(file: str, status: int) -> Failure:
    body = (FOLDER / file).read_bytes()
    if status < 400:
        return failure_from_payload(json.loads(body), "somebody")
    about = FOLDER / f"{file.removesuffix('.json')}.meta.json"
    headers = json.loads(about.read_text("utf-8")).get("response_headers", {}) if about.exists() else {}
    return failure_from_status(status, {name.lower(): text for name, text in headers.items()}, body, "somebody")


@pytest.mark.parametrize(("file", "status"), error_bodies().items())
def test_every_error_body(file: str, status: int) -> None:
    failure = judged(file, status)
    assert (failure.kind, failure.retryable, failure.retry_after_ms) == EXPECTED[file]
    assert failure.status == (status if status >= 400 else None)
    assert failure.message
    assert not failure.message.startswith(("{", "["))


@pytest.mark.recordings
def test_nothing_is_expected_of_bodies_that_are_not_there() -> None:
    assert set(EXPECTED) == set(error_bodies())


@pytest.mark.recordings
@pytest.mark.parametrize("file", ["reported_errors/gemini_stream_malformed_function_call_event.json"])
def test_a_malformed_call_is_no_answer(file: str) -> None:
    """It comes with status 200 and nothing but a signature."""
    model = ModelSpec("gemini-x", Endpoint("somebody", google_genai.API, "http://127.0.0.1:1"))
    decoder = google_genai.Decoder(Request(model, ()), {}, FakeIds().call_id)
    events = [*decoder.feed(json.loads((FOLDER / file).read_bytes())), *decoder.finish()]
    assert isinstance(events[-1], ResponseFailed)
    assert events[-1].failure.retryable
