printf '%s' '{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"answer with the number of lines"}}'
