// A hook of the host that blocks a call.
import { blocks, end, options, prompts, query, tell, turn } from "./host.mjs";

const seen = [];
const guard = async (given) => {
  seen.push([given.hook_event_name, given.tool_name]);
  const decision = { permissionDecision: "deny", permissionDecisionReason: "no touching" };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", ...decision } };
};
const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [guard] }] };
const input = prompts();
const answers = query({ prompt: input, options: options({ hooks, allowedTools: ["Bash"] }) });
input.say("Make a file");
const messages = await turn(answers);
input.end();
await turn(answers);
const results = blocks(messages, "user", "tool_result");
tell({ seen, results: results.map((block) => [Boolean(block.is_error), block.content]), result: end(messages) });
