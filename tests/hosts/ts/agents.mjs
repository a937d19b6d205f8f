// An agent of the options, in the foreground; what the SDK is told about agents.
import { blocks, options, query, tell, texts } from "./host.mjs";

const agents = { scout: { description: "Looks around", prompt: "You are the scout.", tools: ["Read"] } };
const run = query({ prompt: "Go.", options: options({ agents, forwardSubagentText: true }) });
const known = await run.supportedAgents();
const messages = [];
for await (const message of run) messages.push(message);
tell({
  known: known.map(({ name }) => name),
  init: messages.find((message) => message.subtype === "init").agents,
  tasks: messages.filter((message) => String(message.subtype).startsWith("task_")).map(({ subtype }) => subtype),
  texts: texts(messages),
  parents: messages.map((message) => message.parent_tool_use_id).filter(Boolean).length,
  calls: blocks(messages, "assistant", "tool_use").map(({ name }) => name),
  result: messages.at(-1),
});
