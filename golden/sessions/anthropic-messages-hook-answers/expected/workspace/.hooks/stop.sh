[ -e .hooks/again ] || { touch .hooks/again; printf '%s' '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"answer in three words"}}'; }
