// setModel and setPermissionMode between turns.
import { blocks, options, prompts, query, tell, turn } from "./host.mjs";

const input = prompts();
const answers = query({ prompt: input, options: options({ model: "sonnet" }) });
const told = [];
input.say("Write a");
told.push(await turn(answers));
await answers.setModel("haiku");
await answers.setPermissionMode("acceptEdits");
input.say("Write b");
told.push(await turn(answers));
let refused = "";
try {
  await answers.setPermissionMode("bypassPermissions");
} catch (error) {
  refused = String(error.message);
}
input.end();
await turn(answers);
tell({
  errors: told.map((messages) => blocks(messages, "user", "tool_result").map((block) => Boolean(block.is_error))),
  inits: told.map((messages) => {
    const { model, permissionMode } = messages.find((message) => message.subtype === "init");
    return { model, permissionMode };
  }),
  refused,
});
