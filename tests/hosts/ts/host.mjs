// What every story shares: the SDK from wherever it was installed, our program as its executable, one JSON object out.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import path from "node:path";

const modules = process.env.HOST_MODULES;
const find = createRequire(path.join(modules, "story.js"));

export function load(name) {
  return import(pathToFileURL(find.resolve(name)));
}

export const { query, createSdkMcpServer, tool } = await load("@anthropic-ai/claude-agent-sdk");

const stderr = [];

export function options(more = {}) {
  return {
    pathToClaudeCodeExecutable: process.env.HOST_PROGRAM,
    cwd: process.env.HOST_CWD,
    stderr: (text) => stderr.push(text),
    ...more,
  };
}

export function user(text) {
  return { type: "user", message: { role: "user", content: text }, parent_tool_use_id: null, session_id: "" };
}

// A stream of prompts that the story feeds one by one.
export function prompts() {
  const waiting = [];
  let wake = () => {};
  let ended = false;
  return {
    say(text) {
      waiting.push(user(text));
      wake();
    },
    end() {
      ended = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      while (true) {
        while (waiting.length) yield waiting.shift();
        if (ended) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

// Messages up to and with the next result.
export async function turn(answers) {
  const messages = [];
  while (true) {
    const { value, done } = await answers.next();
    if (done) return messages;
    messages.push(value);
    if (value.type === "result") return messages;
  }
}

export function texts(messages) {
  return blocks(messages, "assistant", "text").map((block) => block.text);
}

export function blocks(messages, type, kind) {
  return messages
    .filter((message) => message.type === type && Array.isArray(message.message.content))
    .flatMap((message) => message.message.content.filter((block) => block.type === kind));
}

export function end(messages) {
  return messages.at(-1);
}

export function tell(told) {
  process.stdout.write(JSON.stringify({ ...told, stderr: stderr.join("") }) + "\n");
}
