// An abort in the middle of the text ends the query, and with it the process.
import { options, query, tell } from "./host.mjs";

const abortController = new AbortController();
const answers = query({ prompt: "Talk for ever", options: options({ abortController, includePartialMessages: true }) });
let error = "";
try {
  for await (const message of answers) {
    if (message.type === "stream_event" && message.event.type === "content_block_delta") abortController.abort();
  }
} catch (failure) {
  error = failure.message;
}
tell({ error });
