"""Keys through the real program: rotation, commands, files that change, expiry in the middle of an answer, the host."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer, LoopbackServer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from tests.helpers.fake_server import Exchange
    from yume_shim.types.blocks import Json

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")

ONE, TWO, THREE = "key-number-one-1111", "key-number-two-2222", "key-number-three-3333"
HELLO = {"type": "user", "content": "Hello"}
GO_ON = {"!after": "message_stop"}


def start(text: str) -> list[Json]:
    return [
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [],
                "usage": {},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
    ]


def end(reason: str = "end_turn") -> list[Json]:
    return [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


def answer(text: str) -> list[Json]:
    return [*start(text), *end()]


def call(name: str, given: Json) -> list[Json]:
    begun = start("")[:1]
    block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
    begun.append({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    return [*begun, {"type": "content_block_delta", "index": 0, "delta": delta}, *end("tool_use")]


def refusal(status: int, kind: str, message: str, **headers: str) -> list[Json]:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return [{"!status": status, "headers": headers, "body": body}]


LIMITED = refusal(429, "rate_limit_error", "slow down", **{"retry-after": "20"})
REFUSED = refusal(401, "authentication_error", "invalid x-api-key")
EXPIRED: Json = {"type": "error", "error": {"type": "authentication_error", "message": "token expired"}}


class World:
    """A home, a server that speaks for `acme`, and the program between them."""

    def __init__(self, home: Path, *wires: list[Json]) -> None:
        self.home = home
        self.server = FakeServer("anthropic-messages", list(wires))
        (home / ".yume").mkdir()

    def config(self, text: str, row: str = "") -> None:
        endpoint = f'[endpoints.acme]\napi = "anthropic-messages"\nbase_url = "{self.server.url}"\n{row}\n'
        (self.home / ".yume" / "config.toml").write_text(text + endpoint)

    def run(self, *script: Json, argv: tuple[str, ...] = (), **env: str) -> Ended:
        whole = child.clean_environment(self.home, YUME_TEST_CLOCK="1", YUME_LOG="debug", **env)
        words = ("--output-format", "flat", "--model", "acme/m", *argv)
        return child.run(words, script, cwd=self.home, env=whole)

    def sent(self) -> list[str]:
        """The key of each request."""
        return [received.headers.get("x-api-key", "") for received in self.server.requests]

    def everything_kept(self) -> bytes:
        """All that was written below the home, but what the test itself put there."""
        return b"".join(path.read_bytes() for path in self.home.rglob("*.json*") if path.is_file())


def results(ended: Ended) -> list[tuple[str, str]]:
    return [(line["subtype"], line.get("result", "")) for line in ended.lines if line["type"] == "result"]


def warnings(ended: Ended) -> list[str]:
    return [line["code"] for line in ended.lines if line["type"] == "system" and line["subtype"] == "warning"]


def test_a_limited_key_leaves_the_request_to_the_next_and_no_key_is_ever_shown(tmp_path: Path) -> None:
    world = World(tmp_path, LIMITED, answer("From two."), answer("Still two."))
    world.config(f'[keys]\nacme = ["{ONE}", "{TWO}"]\n')
    with world.server:
        ended = world.run(HELLO, GO_ON, HELLO, argv=("--record", str(tmp_path / "tape")))
    assert results(ended) == [("success", "From two."), ("success", "Still two.")]
    assert world.sent() == [ONE, TWO, TWO]
    [told] = [line["message"] for line in ended.lines if line.get("code") == "key_rotated"]
    assert told == (
        "key 1 of 2 (config file [keys] acme #1) is at its limit: key 2 of 2 (config file [keys] acme #2) is used. "
        "Replace the key that the message names if it was refused."
    )
    assert b"2 keys for acme, used in this order" in ended.stderr
    shown = ended.stdout + ended.stderr + world.everything_kept()
    assert (tmp_path / "tape" / "wire" / "03.jsonl").exists()
    assert ONE.encode() not in shown
    assert TWO.encode() not in shown


@pytest.mark.parametrize("form", [("--output-format", "flat"), ("-p", "--output-format", "stream-json", "--verbose")])
def test_a_server_that_quotes_the_key_it_refuses_does_not_make_us_show_it(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    def quote(exchange: Exchange) -> bool:
        key = exchange.request.headers["x-api-key"]
        body = {"type": "error", "error": {"type": f"no_{key}", "message": f"bad key {key}"}}
        exchange.reply(401, {"Content-Type": "application/json"}, json.dumps(body).encode())
        return True

    with LoopbackServer(quote) as server:
        env = child.clean_environment(tmp_path, ANTHROPIC_API_KEY=ONE, ANTHROPIC_BASE_URL=server.url, YUME_LOG="debug")
        argv = (*form, "--record", str(tmp_path / "tape"), "Hello")
        ended = child.run(argv, (), cwd=tmp_path, env=env)
    assert b"bad key [redacted]" in ended.stdout
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"bad key [redacted]" in kept
    assert ONE.encode() not in ended.stdout + ended.stderr + kept


def test_a_key_in_a_wrong_place_is_not_told_back(tmp_path: Path) -> None:
    key = "sk-ant-0123456789abcdefghij"
    world = World(tmp_path, answer("Never."))
    world.config("")
    with world.server:
        by_flag = world.run(HELLO, argv=("--api-key-env", key))
        world.config("", f'key_vars = "{key}"')
        by_row = world.run(HELLO)
    assert (by_flag.code, by_row.code) == (2, 2)
    for ended in (by_flag, by_row):
        assert b"[redacted]" in ended.stdout
        assert b"[redacted]" in ended.stderr
        assert key.encode() not in ended.stdout + ended.stderr


def test_what_one_key_taught_and_told_holds_for_the_next(tmp_path: Path) -> None:
    unable = refusal(400, "invalid_request_error", "messages.0: no tools here: this model does not support tools")
    world = World(tmp_path, unable, LIMITED, answer("From two."))
    world.config(f'[keys]\nacme = ["{ONE}", "{TWO}"]\n')
    with world.server:
        ended = world.run(HELLO)
    assert results(ended) == [("success", "From two.")]
    assert world.sent() == [ONE, ONE, TWO]
    assert ["tools" in received.json() for received in world.server.requests] == [True, False, False]
    codes = warnings(ended)
    assert len(codes) == len(set(codes)) == 2, codes


def test_when_all_rest_the_shortest_rest_is_waited_for(tmp_path: Path) -> None:
    later = refusal(429, "rate_limit_error", "slow down", **{"retry-after": "50"})
    world = World(tmp_path, later, LIMITED, answer("Two again."))
    world.config(f'[keys]\nacme = ["{ONE}", "{TWO}"]\n')
    with world.server:
        ended = world.run(HELLO)
    assert results(ended) == [("success", "Two again.")]
    assert world.sent() == [ONE, TWO, TWO]
    [retry] = [line for line in ended.lines if line["type"] == "system" and line["subtype"] == "retry"]
    assert (retry["delay_ms"], retry["code"]) == (20_000, "rate_limit")


def test_all_keys_refused_ends_the_turn_once(tmp_path: Path) -> None:
    world = World(tmp_path, REFUSED)
    world.config(f'[keys]\nacme = ["{ONE}", "{TWO}"]\n')
    with world.server:
        ended = world.run(HELLO)
    [line] = [line for line in ended.lines if line["type"] == "result"]
    assert line["is_error"] is True
    assert "config file [keys] acme #1, config file [keys] acme #2" in json.dumps(line)
    assert world.sent() == [ONE, TWO]


# ---------------------------------------------------------------- keys that change


COUNTING = "echo x >> runs; echo helper-secret-$(wc -l < runs | tr -d ' ')"


def test_an_expiry_in_the_middle_of_an_answer_keeps_it_and_goes_on_with_a_new_key(tmp_path: Path) -> None:
    world = World(tmp_path, [*start("The first half, "), EXPIRED], answer("and the second."))
    world.config(f'[profiles.vault]\nprovider = "acme"\nkind = "token"\nkey_command = """{COUNTING}"""\n')
    with world.server:
        ended = world.run(HELLO)
    assert results(ended) == [("success", "The first half, and the second.")]
    tokens = [received.headers["authorization"] for received in world.server.requests]
    assert tokens == ["Bearer helper-secret-1", "Bearer helper-secret-2"]
    again = world.server.requests[1].json()["messages"]
    assert "The first half," in json.dumps(again)
    assert b"helper-secret" not in ended.stdout + ended.stderr + world.everything_kept()


def test_a_cut_followed_by_a_refusal_is_mended_too(tmp_path: Path) -> None:
    world = World(tmp_path, [*start("The first half, "), {"!drop": True}], REFUSED, answer("and the second."))
    world.config(f'[profiles.vault]\nprovider = "acme"\nkey_command = """{COUNTING}"""\n')
    with world.server:
        ended = world.run(HELLO)
    assert results(ended) == [("success", "The first half, and the second.")]
    assert world.sent() == ["helper-secret-1", "helper-secret-1", "helper-secret-2"]


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    world = World(tmp_path, answer("Old."), REFUSED, answer("New."))
    (tmp_path / "key.txt").write_text(ONE)
    (tmp_path / "key.txt").chmod(0o600)
    world.config("", 'key_files = [{root = "~", file = "key.txt", format = "text"}]')
    with world.server:
        env = child.clean_environment(tmp_path)
        program = child.start(("--output-format", "flat", "--model", "acme/m"), cwd=tmp_path, env=env)
        program.send(HELLO)
        program.wait_for("message_stop")
        (tmp_path / "key.txt").write_text(TWO)
        program.send(HELLO)
        program.wait_for("message_stop")
        ended = program.end()
    assert results(ended) == [("success", "Old."), ("success", "New.")]
    assert world.sent() == [ONE, ONE, TWO]
    assert ended.stderr == b""


def test_the_helper_of_the_settings_speaks_for_anthropic_and_its_key_stays_out_of_tool_results(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("helper-secret-1\n")
    world = World(tmp_path, call("Read", {"file_path": str(tmp_path / "token")}), answer("Done."))
    settings = json.dumps({"apiKeyHelper": "cat token"})
    with world.server:
        env = child.clean_environment(tmp_path, ANTHROPIC_BASE_URL=world.server.url)
        argv = ("-p", "Read it", "--output-format", "stream-json", "--verbose", "--settings", settings)
        ended = child.run(argv, (), cwd=tmp_path, env=env)
    assert results(ended) == [("success", "Done.")]
    init = next(line for line in ended.lines if line.get("subtype") == "init")
    assert init["apiKeySource"] == "apiKeyHelper"
    for received in world.server.requests:
        assert received.headers["x-api-key"] == "helper-secret-1"
        assert received.headers["authorization"] == "Bearer helper-secret-1"
    assert "[redacted]" in world.server.requests[1].body.decode()
    assert b"helper-secret" not in world.server.requests[1].body
    assert b"helper-secret" not in ended.stdout + ended.stderr


def test_limits_are_asked_for_with_the_key_of_the_command(tmp_path: Path) -> None:
    def serve(exchange: Exchange) -> bool:
        if exchange.request.method == "GET":
            body = {"data": [{"id": "m", "max_model_len": 50_000}]}
            exchange.reply(200, {"Content-Type": "application/json"}, json.dumps(body).encode())
        else:
            exchange.reply(400, {"Content-Type": "application/json"}, b'{"error": {"message": "No."}}')
        return True

    (tmp_path / ".yume").mkdir()
    with LoopbackServer(serve) as server:
        row = f'[endpoints.acme]\napi = "openai-chat"\nbase_url = "{server.url}"\ntells_limits = "vllm-models"\n'
        profile = f'[profiles.vault]\nprovider = "acme"\nkey_command = """{COUNTING}"""\n'
        (tmp_path / ".yume" / "config.toml").write_text(row + profile)
        env = child.clean_environment(tmp_path)
        child.run(("--output-format", "flat", "--model", "acme/m", "Hello"), (), cwd=tmp_path, env=env)
    sent = [(received.method, received.headers["authorization"]) for received in server.requests]
    assert sent == [("GET", "Bearer helper-secret-1"), ("POST", "Bearer helper-secret-1")]


def test_a_helper_that_fails_is_an_auth_failure_that_names_it(tmp_path: Path) -> None:
    world = World(tmp_path, answer("Never."))
    world.config('[profiles.vault]\nprovider = "acme"\nkey_command = "echo secret-word >&2; exit 7"\n')
    with world.server:
        ended = world.run(HELLO)
    [line] = [line for line in ended.lines if line["type"] == "result"]
    assert "the command of profile 'vault' (key_command) ended with exit code 7" in json.dumps(line)
    assert (world.sent(), ended.code) == ([], 1)
    assert b"secret-word" not in ended.stdout + ended.stderr


# ---------------------------------------------------------------- choosing


PROFILES = f"""
[profiles.work]
provider = "acme"
key = "{ONE}"
[profiles.own]
provider = "acme"
key = "{TWO}"
[profiles.other]
provider = "openai"
key = "{THREE}"
"""


def control(number: int, **request: Any) -> list[Json]:
    return [
        {"type": "control_request", "request_id": f"r{number}", "request": request},
        {"!after": "control_response"},
    ]


def test_the_host_picks_a_profile(tmp_path: Path) -> None:
    world = World(tmp_path, answer("Hi."))
    world.config(PROFILES)
    with world.server:
        ended = world.run(
            *[HELLO, GO_ON],
            *control(1, subtype="set_profile", profile="own"),
            *control(2, subtype="list_profiles"),
            *[HELLO, GO_ON],
            *control(3, subtype="set_profile", profile="nobody"),
            *control(4, subtype="set_profile", profile=None),
            *[HELLO, GO_ON],
            *control(5, subtype="set_profile", profile=3),
        )
    assert world.sent() == [ONE, TWO, ONE]
    said = {line["response"]["request_id"]: line["response"] for line in ended.lines if "response" in line}
    assert said["r1"]["response"] == {"profile": "own"}
    assert said["r2"]["response"] == {
        "profiles": [
            {"name": "work", "provider": "acme", "chosen": False},
            {"name": "own", "provider": "acme", "chosen": True},
            {"name": "other", "provider": "openai", "chosen": False},
        ]
    }
    assert said["r3"]["subtype"] == "error"
    assert "there is no profile 'nobody'" in said["r3"]["error"]
    assert said["r4"]["response"] == {"profile": None}
    assert said["r5"]["subtype"] == "error"


def test_the_flag_picks_a_profile_and_stderr_says_so(tmp_path: Path) -> None:
    world = World(tmp_path, answer("Hi."))
    world.config(PROFILES)
    with world.server:
        ended = world.run(HELLO, argv=("--profile", "own"))
    assert world.sent() == [TWO]
    assert warnings(ended) == []
    assert b"key from profile 'own'" in ended.stderr


def test_an_unknown_profile_is_told_before_anything_starts(tmp_path: Path) -> None:
    world = World(tmp_path, answer("Never."))
    world.config(PROFILES)
    with world.server:
        ended = world.run(HELLO, argv=("--profile", "nobody"))
    assert ended.code == 2
    [line] = ended.lines
    assert line["message"].startswith("there is no profile 'nobody' in ")
    assert line["message"].endswith(": it has work, own, other")


@pytest.mark.parametrize("form", [("--output-format", "flat"), ("-p", "--output-format", "stream-json", "--verbose")])
def test_a_session_whose_key_is_gone_says_which_or_goes_on_with_another_and_says_so(
    tmp_path: Path, form: tuple[str, ...]
) -> None:
    world = World(tmp_path, answer("Hi."))
    world.config("", 'key_vars = ["ACME_KEY"]')
    with world.server:
        begun = world.run(HELLO, ACME_KEY=ONE)
        again = (*form, "--resume", begun.lines[0]["session_id"], "Hello")
        alone = child.run(again, (), cwd=tmp_path, env=child.clean_environment(tmp_path))
        others = {"ANTHROPIC_API_KEY": TWO, "ANTHROPIC_BASE_URL": world.server.url}
        other = child.run(again, (), cwd=tmp_path, env=child.clean_environment(tmp_path, **others))
    assert alone.code != 0
    assert b"no key for provider 'acme'" in alone.stdout
    assert results(other) == [("success", "Hi.")]
    assert b"there is no key for acme/m, the model of this session: continuing with anthropic/" in other.stderr
    assert world.sent() == [ONE, TWO]
