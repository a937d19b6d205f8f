printf '%s' '{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"one call was made"}}'
