printf '%s' '{"hookSpecificOutput":{"hookEventName":"PostModelSwitch","additionalContext":"another model took over"}}'
