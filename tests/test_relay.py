"""One conversation passed from vendor to vendor, each leg a new process; one process or many send the same requests."""

from __future__ import annotations

import base64
import struct
import sys
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.api_rules import broken_rules
from tests.helpers.scripted_model import ModelServer, call, say, think
from tests.helpers.seen_request import read_request
from tests.helpers.strict_model import StrictModel
from yume_shim.text import codec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.scripted_model import Answer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

NESTED = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
SESSION = "11111111-2222-4333-8444-555555555555"
VARIABLES = {
    "ANTHROPIC_BASE_URL": "",
    "GOOGLE_GEMINI_BASE_URL": "",
    "OPENAI_BASE_URL": "/v1",
    "OPENROUTER_BASE_URL": "/v1",
    "OLLAMA_BASE_URL": "",
}
KEYS = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")


def png() -> bytes:
    """One grey pixel."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"\0\x80")) + part(b"IEND", b"")


class Place:
    """A home and a workspace, pointed at one server for all vendors."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.home.mkdir(parents=True)
        self.cwd.mkdir()
        (self.cwd / "a.txt").write_text("alpha\n", "utf-8")
        (self.cwd / "b.txt").write_text("beta\n", "utf-8")
        (self.cwd / "dot.png").write_bytes(png())
        addresses = {name: server.url + path for name, path in VARIABLES.items()}
        self.env = child.clean_environment(self.home, **addresses, **dict.fromkeys(KEYS, "sk-relay"))

    def run(self, *argv: str, prompts: tuple[Any, ...], form: tuple[str, ...] = NESTED) -> list[dict[str, Any]]:
        """Run one process with these prompts; returns its lines."""
        script: list[dict[str, Any]] = []
        for content in prompts:
            script += [{"type": "user", "message": {"role": "user", "content": content}}, {"!after": "result"}]
        ended = child.run([*form, *argv], script, cwd=self.cwd, env=self.env)
        lines = [codec.loads(line) for line in ended.stdout.splitlines()]
        warned = [line["content"] for line in lines if line.get("tag") == "text_tools"]
        said = [line.partition("] warning ")[2] for line in ended.stderr.decode().splitlines()]
        dropped = [line for line in said if "reasoning blocks left out" in line]  # another model's cannot be sent
        assert [line for line in said if line not in dropped] == warned
        assert len(dropped) <= 1
        return lines


def ending(lines: list[dict[str, Any]]) -> tuple[str, bool, str]:
    (result,) = [line for line in lines if line["type"] == "result"]
    return result["session_id"], result["is_error"], str(result.get("result"))


TEXT: dict[str, Any] = {"type": "text", "text": "x"}
CALL: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "Read", "input": {}}
FUNCTION = {"id": "t", "type": "function", "function": {"name": "Read", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("api", "body"),
    [
        ("anthropic-messages", {"messages": [{"role": "assistant", "content": [TEXT]}]}),
        ("anthropic-messages", {"messages": [{"role": "user", "content": [TEXT | {"text": " "}]}]}),
        (
            "anthropic-messages",
            {
                "messages": [
                    {"role": "user", "content": "x"},
                    {"role": "assistant", "content": [CALL]},
                    {"role": "user", "content": "y"},
                ]
            },
        ),
        ("google-genai", {"contents": [{"role": "user", "parts": []}]}),
        (
            "google-genai",
            {
                "contents": [
                    {"role": "user", "parts": [{"text": "x"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
                ]
            },
        ),
        ("openai-responses", {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "foreign"}]}),
        ("openai-responses", {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]}),
        ("openai-chat", {"messages": [{"role": "assistant", "content": None, "tool_calls": [FUNCTION]}]}),
        ("openai-chat", {"messages": [{"role": "tool", "tool_call_id": "t", "content": "x"}]}),
        ("ollama-chat", {"messages": [{"role": "user", "content": "x"}]}),
        (
            "ollama-chat",
            {"messages": [{"role": "assistant", "content": "", "tool_calls": [FUNCTION]}], "options": {"num_ctx": 1}},
        ),
    ],
)
def test_the_api_rules_catch_violations(api: str, body: dict[str, Any]) -> None:
    assert broken_rules(api, {"max_tokens": 1} | body) != []


def test_a_conversation_passes_through_all_apis_and_returns(tmp_path: Path) -> None:
    legs: list[tuple[str, list[Answer]]] = [
        (
            "anthropic/claude-sonnet-4-5",
            [
                [
                    think("Two files."),
                    say("Looking."),
                    call("Read", file_path="a.txt"),
                    call("Read", file_path="b.txt"),
                ],
                [say("They say alpha and beta.")],
            ],
        ),
        ("google/gemini-3.5-flash", [[call("Read", file_path="dot.png")], [say("A grey dot.")]]),
        ("openai/gpt-5.4", [[think("Hm."), call("Glob", pattern="*.txt")], [think("So."), say("Two texts.")]]),
        ("openrouter/some/model", [[call("Read", file_path="missing.txt")], [say("It is not there.")]]),
        ("ollama/qwen3:8b", [[think("Two."), call("LS"), call("Read", file_path="dot.png")], [say("Still a dot.")]]),
        ("anthropic/claude-sonnet-4-5", [[call("Read", file_path="a.txt")], [say("Home again.")]]),
    ]
    answers = [answer for _, leg in legs for answer in leg]
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(png()).decode()}
    with StrictModel(*answers) as server:
        place = Place(tmp_path, server)
        ends = []
        for number, (model, _) in enumerate(legs):
            names = ("--session-id", SESSION) if number == 0 else ("--resume", SESSION)
            content: Any = f"leg {number}"
            if number == 0:
                content = [{"type": "text", "text": content}, {"type": "image", "source": image}]
            ends.append(ending(place.run(*names, "--model", model, prompts=(content,))))
        assert server.refused == []
        assert ends == [
            (SESSION, False, said)
            for said in (
                "They say alpha and beta.",
                "A grey dot.",
                "Two texts.",
                "It is not there.",
                "Still a dot.",
                "Home again.",
            )
        ]
        last = read_request(server.requests[-1])
        assert [text for text in last.said if text.startswith("leg")] == [f"leg {number}" for number in range(6)]
        assert image["data"] in last.images
        assert len(last.results) == 8
        # the first model, and no other, gets its thinking back with the signature
        (thought,) = [
            block
            for message in server.requests[-1].json()["messages"]
            for block in message["content"]
            if isinstance(block, dict) and block["type"] == "thinking"
        ]
        assert thought["thinking"] == "Two files."
        assert thought["signature"] in server.issued["anthropic-messages"]


@pytest.mark.parametrize("form", [NESTED, ("--output-format", "flat")], ids=["nested", "flat"])
def test_one_process_per_turn_and_one_for_all_send_the_same_requests(tmp_path: Path, form: tuple[str, ...]) -> None:
    script: list[Answer] = [
        [think("Hm."), say("Looking."), call("Read", file_path="a.txt"), call("Glob", pattern="*")],
        [say("Done.")],
        [call("Read", file_path="missing")],
        [say("No such file.")],
        [say("Bye.")],
    ]
    prompts = ("one", [{"type": "text", "text": "two"}, {"type": "text", "text": "more"}], "three")
    asked = []
    for name, groups in (("kept", [prompts]), ("anew", [(prompt,) for prompt in prompts])):
        with ModelServer(*script) as server:
            place = Place(tmp_path / name, server)
            for number, group in enumerate(groups):
                names = ("--resume" if number else "--session-id", SESSION)
                place.run(*names, "--model", "anthropic/claude-sonnet-4-5", prompts=group, form=form)
            whole = codec.dumps([request.json() for request in server.requests])
            asked.append(codec.loads(whole.replace(str(tmp_path / name).encode(), b"{PLACE}")))
    kept, anew = asked
    assert len(kept) == 5
    assert [request["messages"] for request in anew] == [request["messages"] for request in kept]
    assert anew == kept


def test_a_resumed_session_keeps_its_model_and_its_costs(tmp_path: Path) -> None:
    with ModelServer([say("One.")], [say("Two.")], [say("Three.")]) as server:
        place = Place(tmp_path, server)
        first = place.run("--session-id", SESSION, "--model", "google/gemini-3.5-flash", prompts=("a",))
        second = place.run("--resume", SESSION, prompts=("b",))
        third = place.run("--continue", "--model", "haiku", prompts=("c",))
        paths = [request.path.partition("?")[0] for request in server.requests]
    assert paths[0] == paths[1] == "/v1/models/gemini-3.5-flash:streamGenerateContent"
    assert paths[2] == "/v1/messages"
    costs = [line["total_cost_usd"] for lines in (first, second, third) for line in lines if line["type"] == "result"]
    assert costs[1] == pytest.approx(2 * costs[0])
    assert costs[2] > costs[1] > 0
    (since,) = [line["model_usage_since_last_result"] for line in second if line["type"] == "result"]
    assert since["gemini-3.5-flash"]["inputTokens"] == 12


def test_text_tool_calls_and_native_calls_can_alternate(tmp_path: Path) -> None:
    """Calls made as text become native calls and results for the next model, and the other way round."""

    def by_text(name: str) -> Answer:
        return [say(f'Looking.\n<tool_call>\n{{"name": "Read", "arguments": {{"file_path": "{name}"}}}}\n</tool_call>')]

    text, native = ("--compat", "tools=false"), ()
    legs: list[tuple[str, tuple[str, ...], Answer]] = [
        ("anthropic/claude-sonnet-4-5", text, by_text("a.txt")),
        ("openai/gpt-5.4", native, [think("Hm."), call("Read", file_path="b.txt")]),
        ("google/gemini-3.5-flash", text, by_text("b.txt")),
        ("ollama/qwen3:8b", native, [call("Read", file_path="a.txt")]),
        ("openrouter/some/model", text, by_text("missing.txt")),
        ("anthropic/claude-sonnet-4-5", native, [think("So."), call("Read", file_path="dot.png")]),
        ("openai/gpt-5.4", text, by_text("a.txt")),
        ("google/gemini-3.5-flash", native, [call("Read", file_path="a.txt"), call("Read", file_path="b.txt")]),
    ]
    answers = [answer for number, (*_, leg) in enumerate(legs) for answer in (leg, [say(f"Done {number}.")])]
    with StrictModel(*answers) as server:
        place = Place(tmp_path, server)
        for number, (model, how, _) in enumerate(legs):
            names = ("--resume" if number else "--session-id", SESSION)
            lines = place.run(*names, *how, "--model", model, prompts=(f"leg {number}",))
            assert ending(lines) == (SESSION, False, f"Done {number}."), number
        assert server.refused == []
        bodies = [codec.dumps(request.json()).decode() for request in server.requests]
        assert [("<tool_response" in body, "functionResponse" in body) for body in bodies[-4:]] == [
            (True, False),
            (True, False),
            (False, True),
            (False, True),
        ]
        assert bodies[-3].count('<tool_response name=\\"Read\\"') == 7
        assert bodies[-1].count("functionResponse") == 9
