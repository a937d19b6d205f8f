printf '%s' '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"the garden is in the hall"}}'
