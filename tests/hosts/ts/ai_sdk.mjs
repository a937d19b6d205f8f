// The AI SDK with the provider that starts a Claude CLI: streamed text, a tool, a permission.
import { load } from "./host.mjs";

const { streamText } = await load("ai");
const { createClaudeCode } = await load("ai-sdk-provider-claude-code");

const asked = [];
const claude = createClaudeCode({
  defaultSettings: {
    pathToClaudeCodeExecutable: process.env.HOST_PROGRAM,
    cwd: process.env.HOST_CWD,
    canUseTool: async (name, input) => {
      asked.push(name);
      return { behavior: "allow", updatedInput: input };
    },
  },
});
const answer = streamText({ model: claude("sonnet"), prompt: "Write hello" });
const pieces = [];
const tools = [];
for await (const part of answer.fullStream) {
  if (part.type === "text-delta") pieces.push(part.text);
  if (part.type === "tool-call" || part.type === "tool-result") tools.push([part.type, part.toolName]);
  if (part.type === "error") throw part.error;
}
process.stdout.write(
  JSON.stringify({
    asked,
    tools,
    pieces,
    text: await answer.text,
    finish: await answer.finishReason,
    usage: await answer.totalUsage,
  }) + "\n",
);
