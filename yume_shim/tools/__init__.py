"""The built-in tools: one module per tool, found by its name and imported at its first call.

`dispatch/builtin.py` is the entry. A tool module (`MultiEdit` is `multi_edit.py`) has one public function:

    run(given, state, context) -> ToolOutput

`given` is the validated input without blank optional parameters, `state` the state that the tools of a session share.
A tool raises ToolFailed with the text for the model, or Cancelled. The gate has already allowed the call.
"""
