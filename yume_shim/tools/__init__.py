"""What a tool does: one module per tool, found by its name, imported when it is first called.

`registry.py` is the door. A tool module (`MultiEdit` is `multi_edit.py`) has one public function:

    run(given, state, context) -> ToolOutput

`given` is the checked input without blank optional parameters, `state` what the tools of a session share. A tool raises
ToolFailed with the text the model reads, or Cancelled. Whether a call may run was decided before, by the gate.
"""
