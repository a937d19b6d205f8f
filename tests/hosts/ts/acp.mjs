// The official client library of the Agent Client Protocol: a turn with a permission, a cancel, a loaded session.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import path from "node:path";

const find = createRequire(path.join(process.env.HOST_MODULES, "story.js"));
const acp = await import(pathToFileURL(find.resolve("@agentclientprotocol/sdk")));
const { client, methods, ndJsonStream, PROTOCOL_VERSION } = acp;

const cwd = process.env.HOST_CWD;
const program = spawn(process.env.HOST_PROGRAM, ["acp"], { cwd, stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => program.on("exit", resolve));
const updates = [];
const asked = [];
let onText = () => {};

const app = client({ name: "story" })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.sessionUpdate === "agent_message_chunk") onText();
  })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params.options.map((option) => option.kind));
    const chosen = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  });

const text = (kind) =>
  updates
    .filter((update) => update.sessionUpdate === kind)
    .map((update) => update.content.text)
    .join("");

const seen = await app.connectWith(
  ndJsonStream(Writable.toWeb(program.stdin), Readable.toWeb(program.stdout)),
  async (agent) => {
    const about = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
    });
    const { sessionId, configOptions } = await agent.request(methods.agent.session.new, { cwd, mcpServers: [] });
    const first = await agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: "Write a note." }],
    });
    const turn = {
      stop: first.stopReason,
      text: text("agent_message_chunk"),
      calls: updates.filter((update) => update.sessionUpdate === "tool_call").map((update) => update.kind),
      statuses: updates.filter((update) => update.sessionUpdate === "tool_call_update").map((update) => update.status),
    };
    const streaming = new Promise((resolve) => (onText = resolve));
    const running = agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: "Count." }],
    });
    await streaming;
    await agent.notify(methods.agent.session.cancel, { sessionId });
    const stopped = (await running).stopReason;
    await agent.request(methods.agent.session.close, { sessionId });
    updates.length = 0;
    await agent.request(methods.agent.session.load, { sessionId, cwd, mcpServers: [] });
    let refused = "";
    try {
      await agent.request("session/unheard_of", { sessionId });
    } catch (error) {
      refused = error.code;
    }
    return {
      version: about.protocolVersion,
      model: configOptions.find((option) => option.category === "model").currentValue,
      turn,
      asked,
      stopped,
      loaded: text("user_message_chunk"),
      refused,
    };
  },
);
program.stdin.end();
seen.code = await ended;
console.log(JSON.stringify({ ...seen, stderr: "" }));
