// An interrupt in the middle of the text; the next prompt is answered.
import { end, options, prompts, query, tell, texts, turn } from "./host.mjs";

const input = prompts();
const answers = query({ prompt: input, options: options({ includePartialMessages: true }) });
input.say("Count to a thousand");
for (;;) {
  const { value } = await answers.next();
  if (value.type === "stream_event" && value.event.type === "content_block_delta") break;
}
const begun = performance.now();
await answers.interrupt();
const stopped = await turn(answers);
const milliseconds = performance.now() - begun;
input.say("Enough. Thanks?");
const after = await turn(answers);
input.end();
await turn(answers);
tell({ milliseconds, stopped: end(stopped), after: texts(after) });
