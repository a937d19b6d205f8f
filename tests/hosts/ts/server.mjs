// A tool that lives in the host.
import { blocks, createSdkMcpServer, end, load, options, prompts, query, tell, tool, turn } from "./host.mjs";

const { z } = await load("zod");
const add = tool("add", "Adds two numbers", { a: z.number(), b: z.number() }, async ({ a, b }) => ({
  content: [{ type: "text", text: `The sum is ${a + b}` }],
}));
const mcpServers = { sums: createSdkMcpServer({ name: "sums", version: "1.0.0", tools: [add] }) };
const input = prompts();
const answers = query({ prompt: input, options: options({ mcpServers, allowedTools: ["mcp__sums__add"] }) });
input.say("19 + 23?");
const messages = await turn(answers);
input.end();
await turn(answers);
tell({ results: blocks(messages, "user", "tool_result"), result: end(messages) });
