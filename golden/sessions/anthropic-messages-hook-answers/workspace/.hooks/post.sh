printf '%s' '{"decision":"block","reason":"read the other file too"}'
