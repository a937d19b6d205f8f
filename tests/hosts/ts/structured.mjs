// outputFormat: an object that fits a schema.
import { options, query, tell } from "./host.mjs";

const schema = {
  type: "object",
  properties: { city: { type: "string" }, degrees: { type: "integer" } },
  required: ["city", "degrees"],
  additionalProperties: false,
};
const messages = [];
const outputFormat = { type: "json_schema", schema };
for await (const message of query({ prompt: "Weather?", options: options({ outputFormat }) })) messages.push(message);
tell({ result: messages.at(-1) });
