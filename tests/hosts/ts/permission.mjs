// canUseTool: the first call is allowed without naming an input, the second with another input, the third denied.
import { blocks, end, options, prompts, query, tell, turn } from "./host.mjs";

const asked = [];
const answersTo = [
  () => ({ behavior: "allow" }),
  () => ({ behavior: "allow", updatedInput: { file_path: "changed.txt", content: "changed" } }),
  () => ({ behavior: "deny", message: "not today" }),
];
const input = prompts();
const canUseTool = async (name, given, { toolUseID }) => {
  const answer = answersTo[asked.length]();
  asked.push({ name, given, id: typeof toolUseID });
  return answer;
};
const answers = query({ prompt: input, options: options({ canUseTool }) });
input.say("Write three files");
const messages = await turn(answers);
input.end();
await turn(answers);
tell({
  asked,
  results: blocks(messages, "user", "tool_result").map((block) => ({ error: Boolean(block.is_error), text: block.content })),
  result: end(messages),
});
