// A prompt as a string: text, a tool call, text, a result; then the process ends by itself.
import { blocks, options, query, tell, texts } from "./host.mjs";

const messages = [];
for await (const message of query({ prompt: "What is in the kettle?", options: options() })) messages.push(message);
tell({
  kinds: messages.map((message) => message.type),
  texts: texts(messages),
  calls: blocks(messages, "assistant", "tool_use").map(({ name, input }) => ({ name, input })),
  results: blocks(messages, "user", "tool_result").map((block) => Boolean(block.is_error)),
  init: messages[0],
  result: messages.at(-1),
});
