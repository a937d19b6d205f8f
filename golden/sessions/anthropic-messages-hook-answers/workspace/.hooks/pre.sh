printf '%s' '{"systemMessage":"a read is checked","suppressOutput":true,"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","additionalContext":"the notes are old"}}'
