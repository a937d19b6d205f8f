printf '%s' '{"decision":"block","reason":"keep it all"}'
