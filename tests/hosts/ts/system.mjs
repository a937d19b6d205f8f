// System prompts travel in the initialize request, not on the command line.
import { options, query, tell } from "./host.mjs";

const results = [];
for (const systemPrompt of [
  "Speak like a pirate.",
  { type: "preset", preset: "claude_code", append: "Mention tea." },
  undefined,
]) {
  for await (const message of query({ prompt: "Hello", options: options({ systemPrompt }) }))
    if (message.type === "result") results.push(message.result);
}
tell({ results });
