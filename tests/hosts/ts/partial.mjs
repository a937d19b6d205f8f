// includePartialMessages: the text as it grows.
import { options, query, tell, texts } from "./host.mjs";

const messages = [];
for await (const message of query({ prompt: "Go on", options: options({ includePartialMessages: true }) }))
  messages.push(message);
const events = messages.filter((message) => message.type === "stream_event").map((message) => message.event);
tell({
  kinds: events.map((event) => event.type),
  pieces: events.filter((event) => event.type === "content_block_delta").map((event) => event.delta.text),
  texts: texts(messages),
});
