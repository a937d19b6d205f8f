#!/usr/bin/env node
// A small host for yume-shim: a chat in the terminal, on the flat dialect. No dependencies.
//
//     node host.mjs [program and flags, default: yume-shim]
//
// Type a prompt. `/models` and `/model N`, `/sessions` and `/resume N`, `/cost`, `/quit`; Ctrl-C or `/stop` interrupts.
// The protocol is in docs/protocol/flat.md.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const FLAGS = ["--output-format", "flat", "--permission-prompt-tool", "stdio"];
const command = process.argv.length > 2 ? process.argv.slice(2) : ["yume-shim"];
const say = (text) => process.stdout.write(text);

let program; // the process
let ended; // resolves when the process has ended and all its lines are read
let approvals = []; // calls that wait for an answer
let models = [];
let sessions = [];
let cost = 0;
let requests = 0;
const answers = new Map(); // request id → resolve

function start(...flags) {
  // A process group of its own keeps Ctrl-C away from it.
  program = spawn(command[0], [...command.slice(1), ...FLAGS, ...flags], {
    stdio: ["pipe", "pipe", "inherit"],
    detached: process.platform !== "win32",
  });
  const lines = createInterface({ input: program.stdout });
  lines.on("line", (line) => show(JSON.parse(line)));
  const child = program;
  ended = Promise.all([
    new Promise((resolve) => child.on("exit", resolve)),
    new Promise((resolve) => lines.on("close", resolve)),
  ]);
}

// The end of input ends the program.
function stop() {
  program.stdin.end();
  return ended;
}

function send(line) {
  program.stdin.write(JSON.stringify(line) + "\n");
}

// A control request; resolves with its answer.
function ask(subtype, fields = {}) {
  const id = String(++requests);
  send({ type: "control_request", request_id: id, request: { subtype, ...fields } });
  return new Promise((resolve) => answers.set(id, resolve));
}

// Print a line of the program. Unknown types and fields are ignored: later versions have more of them.
function show(line) {
  const kind = line.type === "system" ? line.subtype : line.type;
  if (line.parent_tool_use_id && kind === "text") return; // a subagent's text is for the main agent
  switch (kind) {
    case "init":
      return say(`[${line.provider}/${line.model} in ${line.cwd}]\n`);
    case "text":
      return say(line.content);
    case "tool_use":
      return say(`\n* ${line.name} ${JSON.stringify(line.input).slice(0, 200)}\n`);
    case "tool_result":
      return say(`  ${line.is_error ? "failed: " : ""}${line.content.slice(0, 200)}\n`);
    case "approval_needed":
      approvals.push(line);
      for (const hunk of line.patch?.hunks ?? []) say(hunk.lines.map((each) => `  ${each}\n`).join(""));
      return say(`? ${line.reason} [y]es, [a]lways, [n]o:\n`);
    case "approval_withdrawn":
      approvals = approvals.filter((each) => each.tool_use_id !== line.tool_use_id);
      return;
    case "model":
      return say(`[${line.provider}/${line.model}]\n`);
    case "error":
    case "warning":
      return say(`! ${line.message}\n`);
    case "result":
      approvals = [];
      cost = line.total_cost_usd;
      return say(`\n[${line.subtype}, $${cost.toFixed(4)} so far]\n`);
    case "control_response": {
      const { request_id: id, subtype, error, response } = line.response;
      if (subtype === "error") say(`! ${error}\n`);
      answers.get(id)?.(response ?? {});
      answers.delete(id);
    }
  }
}

// Handle what the user typed; false to quit.
async function take(text) {
  const [word, rest = ""] = text.split(/ (.*)/s);
  if (word === "/quit") return false;
  if (word === "/stop") send({ type: "interrupt" });
  else if (approvals.length) {
    const answer = text.slice(0, 1).toLowerCase();
    const always = answer === "a" ? { remember: "session" } : {};
    send({ type: "tool_approval", id: approvals.shift().tool_use_id, approved: "ya".includes(answer || "n"), ...always });
  } else if (word === "/models") {
    models = (await ask("list_models")).models ?? [];
    models.forEach((model, place) => say(`${String(place + 1).padStart(3)} ${model.value}\n`));
  } else if (word === "/model") {
    send({ type: "set_model", model: models[Number(rest) - 1]?.value ?? rest });
  } else if (word === "/sessions") {
    sessions = (await ask("list_sessions")).sessions ?? [];
    sessions.forEach((session, place) => say(`${String(place + 1).padStart(3)} ${session.title.slice(0, 70)}\n`));
  } else if (word === "/resume") {
    const session = sessions[Number(rest) - 1]?.session_id ?? rest;
    await stop();
    start("--resume", session);
  } else if (word === "/cost") say(`$${cost.toFixed(4)}\n`);
  else if (text.trim()) send({ type: "user", content: text });
  return true;
}

start();
process.on("SIGINT", () => send({ type: "interrupt" }));
for await (const text of createInterface({ input: process.stdin })) if (!(await take(text))) break;
await stop();
process.exit();
