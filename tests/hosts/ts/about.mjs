// What the SDK can ask about us before any prompt.
import { options, prompts, query, tell } from "./host.mjs";

const input = prompts();
const answers = query({ prompt: input, options: options() });
const told = {
  commands: await answers.supportedCommands(),
  models: await answers.supportedModels(),
  agents: await answers.supportedAgents(),
  account: await answers.accountInfo(),
  servers: await answers.mcpServerStatus(),
};
input.end();
for await (const message of answers) told.extra = message;
tell(told);
