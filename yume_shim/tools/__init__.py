"""What a tool does: one module per tool, found by its name, imported when it is first called.

`dispatch/builtin.py` is the entry. A tool module (`MultiEdit` is `multi_edit.py`) has one public function:

    run(given, state, context) -> ToolOutput

`given` is the validated input without blank optional parameters, `state` what the tools of a session share. A tool
raises ToolFailed with the text that the model reads, or Cancelled. The gate has decided before that the call may run.
"""
