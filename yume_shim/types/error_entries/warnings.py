"""Warnings: the codes of `system/warning` lines and notices. Their advice is printed with them."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry


def _warning(code: str, means: str, advice: str) -> Entry:
    return Entry("warning", code, means, advice)


WARNINGS: tuple[Entry, ...] = (
    _warning(
        "abandoned",
        "Work that was told to stop goes on; the turn has ended without it.",
        "Check what it still does, or start again if it holds something that is needed",
    ),
    _warning(
        "approval_not_kept",
        "The rule of an approval could not be kept; the call itself was allowed.",
        "Allow it with --allowedTools, or make the file that the message names writable",
    ),
    _warning(
        "background_timeout",
        "Background tasks ran longer after the end of input than they may.",
        "Raise --background-timeout, or keep stdin open",
    ),
    _warning("budget", "Most of the budget is spent, or a price is not known.", "Check --max-budget-usd and --price"),
    _warning(
        "compact", "The history could not be summarised; the turn goes on.", "Start a new session if that repeats"
    ),
    _warning(
        "context_truncated",
        "Ollama dropped the start of the prompt, because it does not fit.",
        "Give the model a larger context (OLLAMA_CONTEXT_LENGTH), or compact the history",
    ),
    _warning(
        "credit_low", "The account can pay for short answers only.", "Add credit to the account of the key that is used"
    ),
    _warning(
        "document_as_text",
        "A PDF is sent as text.",
        "Choose a model that reads PDFs if pictures or layout matter",
    ),
    _warning(
        "effort_changed",
        "The model does not know the effort that was asked for.",
        "Choose one that it knows with --effort",
    ),
    _warning("empty_answer", "The answer has no text.", "Ask again, or choose another model with --model"),
    _warning(
        "history",
        "The history was changed for another model.",
        "Start a new session if the new model needs what was left out",
    ),
    _warning(
        "hook_no_verdict",
        "A hook that guards calls failed, so it has not judged.",
        'Correct the hook; `"onFailure": "block"` refuses the call in such a case',
    ),
    _warning(
        "images_left_out",
        "Images or documents are not sent.",
        "Choose a model that sees images, or send fewer and smaller ones",
    ),
    _warning(
        "key_rotated",
        "A key failed and another one is used.",
        "Replace the key that the message names if it was refused",
    ),
    _warning("max_tokens", "The answer ended at the output limit.", "Ask the model to continue"),
    _warning(
        "parameter_left_out",
        "The endpoint refuses a parameter.",
        "Leave it out, or name it in --compat so that it is not tried",
    ),
    _warning("refusal", "The model declined to answer.", "Say it in other words, or choose another model with --model"),
    _warning("repetition_stopped", "The model repeated itself and was stopped.", "Ask again, or in other words"),
    _warning("small_model", "The window of the model is small.", "Choose a larger model if it forgets or guesses"),
    _warning(
        "store",
        "The session is not saved any more; what follows cannot be resumed.",
        "Free space or make the folder writable, then start again; --session-dir names another folder",
    ),
    _warning(
        "text_tools",
        "The model has no native tool calls.",
        "Choose a model with tools if calls go wrong",
    ),
    _warning("tools_deferred", "Not all tools are offered at once.", "Offer fewer tools (--tools) to have all at once"),
    _warning("tools_left_out", "The endpoint takes no tools.", "Choose a model with tools"),
)
