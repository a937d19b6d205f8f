[ -e .hooks/again ] || { touch .hooks/again; printf '%s' '{"decision":"block","reason":"say how many lines"}'; }
