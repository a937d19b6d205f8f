"""Tests outside of `tests/test_error_catalogue.py` that reach entries of the catalogue of errors.

While one of them runs, `tests/conftest.py` notes what it reaches; it fails if its entry is not among that.
"""

from __future__ import annotations

Id = tuple[str, str]
"""Group and id of an entry."""
ELSEWHERE: dict[Id, str] = {
    ("failure", "auth.all_keys"): "unit/providers/keys/test_keyring.py::test_all_refused_names_every_place",
    ("failure", "rate_limit.all_keys"): (
        "unit/providers/keys/test_keyring.py::"
        "test_when_all_are_limited_the_shortest_wait_is_reported_and_that_key_used_again"
    ),
    ("outcome", "structured_output_retries"): "unit/engine/test_structured.py::test_it_gives_up_after_five_tries",
    ("outcome", "execution_error"): "unit/engine/test_turn.py::test_an_internal_error_still_ends_the_turn",
    ("outcome", "cancelled"): "unit/engine/test_turn.py::test_interrupt_before_the_first_byte",
    ("warning", "abandoned"): "unit/engine/test_abandonment.py::test_a_tool",
    ("warning", "background_timeout"): (
        "unit/engine/test_tasks.py::test_tasks_that_take_too_long_after_the_end_of_input_are_stopped"
    ),
    ("warning", "compact"): (
        "unit/engine/test_compaction.py::test_a_failed_summary_is_reported_once_and_the_request_is_sent"
    ),
    ("warning", "document_as_text"): (
        "unit/providers/fitting/media/test_fitter.py::test_pdfs_become_text_where_they_are_not_taken"
    ),
    ("warning", "history"): "unit/engine/test_portability.py::test_losses_are_reported_once",
    ("warning", "hook_no_verdict"): (
        "unit/extensions/hooks/test_runner.py::test_a_command_that_does_not_exist_fails_open"
    ),
    (
        "warning",
        "images_left_out",
    ): "unit/providers/fitting/media/test_fitter.py::test_notes_where_images_are_not_accepted",
    ("warning", "key_rotated"): "unit/providers/keys/test_keyring.py::test_a_refused_key_is_never_asked_again",
    ("warning", "parameter_left_out"): (
        "unit/providers/fitting/test_endpoint_adaptation.py::"
        "test_an_adaptation_is_kept_for_later_requests_and_reported_once"
    ),
    ("warning", "repetition_stopped"): "unit/app/test_watchers.py::test_reasoning_that_repeats_itself_is_asked_again",
    ("warning", "small_model"): (
        "unit/engine/test_instructions.py::test_a_small_model_gets_a_short_prompt_and_few_tools"
    ),
    ("warning", "store"): "unit/app/test_transcript.py::test_a_transcript_that_cannot_be_written_is_reported_once",
    (
        "warning",
        "text_tools",
    ): "unit/providers/fitting/text_tools/test_protocol.py::test_the_request_has_no_native_tools",
    ("start", "config.input"): "unit/app/test_program.py::test_without_a_prompt_nothing_runs",
    ("start", "config.managed"): (
        "unit/config/test_managed_settings.py::test_a_policy_that_cannot_be_read_ends_the_start"
    ),
    ("start", "config.command"): "unit/batch/test_out_file.py::test_two_runs_cannot_write_one_file",
    ("start", "config.cluster"): "test_batch_ray.py::test_a_batch_does_not_go_through_the_client_of_a_cluster",
    ("request", "unsupported_request"): "unit/app/test_control_requests.py::test_anything_else_is_unsupported",
    ("request", "unsupported"): "unit/app/test_control_requests.py::test_the_working_folder_stays",
    ("request", "invalid_value"): "unit/app/test_control_requests.py::test_effort",
    ("request", "invalid_mode"): "unit/app/test_control_requests.py::test_permission_mode",
    (
        "request",
        "bypass_not_launched",
    ): "unit/gate/test_permissions.py::test_modes_that_may_not_be_entered[False-bypassPermissions-bypass_not_launched]",
    ("request", "bypass_disabled"): "unit/gate/test_permissions.py::test_a_disabled_bypass_cannot_be_switched_on",
    ("request", "not_found"): "unit/app/test_model_requests.py::test_one_provider_and_pages",
    ("request", "not_running"): "unit/app/test_control_requests.py::test_a_prompt_joins_only_a_running_turn",
    ("request", "running"): "unit/app/test_session_requests.py::test_a_session_is_deleted_with_its_files",
    ("request", "busy"): "unit/app/test_control_requests.py::test_too_many_slow_requests_are_refused",
    ("request", "failed"): "unit/app/test_session_requests.py::test_no_title_without_a_prompt_or_an_answer",
    ("request", "internal_error"): "unit/host/test_control.py::test_answers[ask3-happened3]",
    ("tool", "tool.cut"): "unit/engine/test_repeats.py::test_cuts_are_counted_by_tool_until_it_arrives_whole",
    ("tool", "tool.denied"): "unit/engine/test_call_pipeline.py::test_a_denied_call_does_not_run_and_has_no_after_hook",
    ("tool", "tool.internal"): "unit/engine/test_call_pipeline.py::test_a_gate_that_raises_is_an_error_result",
    (
        "tool",
        "tool.agent",
    ): "unit/engine/test_child_limits.py::test_an_agent_starts_only_those_that_its_definition_names",
    ("tool", "tool.skill"): "unit/engine/test_slash_commands.py::test_a_shell_command_that_fails_ends_the_turn",
    ("tool", "tool.schema"): "unit/engine/test_structured.py::test_output_that_does_not_fit_is_sent_back",
    ("mcp", "mcp.config"): "unit/extensions/mcp/test_servers.py::test_a_program_that_does_not_exist",
    ("mcp", "mcp.http"): "unit/extensions/mcp/test_http_hazards.py::test_a_broken_answer_fails_its_call_only",
    ("mcp", "mcp.answer"): "unit/extensions/mcp/test_servers.py::test_answers_that_are_wrong_harm_no_other_call",
    ("hook", "hook.refused"): "unit/extensions/hooks/test_runner.py::test_exit_code_two_blocks",
    ("hook", "hook.failed"): (
        "unit/extensions/hooks/test_runner.py::test_a_command_that_hangs_is_ended_and_fails_open"
    ),
    ("hook", "hook.not_run"): "unit/extensions/hooks/test_runner.py::test_a_guard_that_we_do_not_run_refuses",
}
PLACES = frozenset(ELSEWHERE.values())


def place_of(nodeid: str) -> str:
    """`unit/x/test_y.py::test_z` of a test's id; with its case if only that one is named here."""
    place = nodeid.removeprefix("tests/")
    return place if place in PLACES else place.partition("[")[0]


def expected_of(place: str) -> set[Id]:
    """The entries that a test is said to reach."""
    return {entry for entry, named in ELSEWHERE.items() if named == place}
