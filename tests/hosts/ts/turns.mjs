// Three prompts into one running query, each after the result of the one before.
import { end, options, prompts, query, tell, texts, turn } from "./host.mjs";

const input = prompts();
const answers = query({ prompt: input, options: options() });
const told = [];
for (const prompt of ["first", "second", "third"]) {
  input.say(prompt);
  told.push(await turn(answers));
}
input.end();
const rest = await turn(answers);
tell({
  texts: told.map(texts),
  sessions: [...new Set(told.map((messages) => end(messages).session_id))].length,
  rest: rest.map((message) => message.type),
});
