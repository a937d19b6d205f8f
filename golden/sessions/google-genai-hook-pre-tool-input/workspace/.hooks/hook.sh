echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"file_path":"other.txt"},"additionalContext":"use the other file"}}'
