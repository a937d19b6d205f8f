"""Every key of the Claude CLI's settings.json that we know of, and what it does here.

The check of these files and the table in docs/settings.md come from here. Loaded only if there is such a file.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

HONOURED: Mapping[str, str] = {
    "agent": "the agent that the main loop runs as; `--agent` overrides it",
    "allowManagedHooksOnly": "managed settings only: hooks of other files are not run; those of the host are",
    "allowManagedMcpServersOnly": "managed settings only: `allowedMcpServers` of other files does not count",
    "allowManagedPermissionRulesOnly": (
        "managed settings only: no other file, flag or answer allows calls; ask and deny rules of others hold"
    ),
    "allowedHttpHookUrls": "addresses that hooks of the type `http` may be posted to; not from untrusted folders",
    "allowedMcpServers": "servers that may start, by name, command or address; not from untrusted folders",
    "alwaysThinkingEnabled": "`false` switches thinking off; `--thinking` overrides it; not from untrusted folders",
    "apiKeyHelper": "a command that prints the key; not from untrusted folders",
    "autoCompactEnabled": "also `auto_compact` in config.toml",
    "autoCompactWindow": "the size in tokens at which the history is compacted; `--autocompact` overrides it",
    "claudeMdExcludes": "patterns of instruction files that are not read; not from untrusted folders",
    "deniedMcpServers": "servers that never start, by name, command or address",
    "disableAllHooks": "not from untrusted folders; managed hooks are switched off by managed settings only",
    "disabledMcpjsonServers": "servers of `.mcp.json` that do not start",
    "disableSkillShellExecution": "shell commands in commands and skills are not run; any file may say so",
    "effortLevel": "`--effort` overrides it; not from untrusted folders",
    "enabledPlugins": "installed plugins that are used; an untrusted folder can only switch some off",
    "env": "not from untrusted folders; a project's never redirects requests or changes keys",
    "fallbackModel": "flags override it; never from a project's files",
    "hooks": "see docs/hooks.md; `hooks.failClosed` is ours",
    "httpHookAllowedEnvVars": "variables that headers of `http` hooks may use; not from untrusted folders",
    "model": "flags, environment and config.toml override it; an untrusted folder's counts at the user's provider only",
    "otelHeadersHelper": "headers for the collector of telemetry; never from a project's files",
    "outputStyle": "a built-in style, or the name of a file in `output-styles`; an unknown one is reported",
    "permissions": (
        "`allow`, `ask`, `deny`, `defaultMode`, `additionalDirectories`, `disableBypassPermissionsMode`, "
        "`denyInsteadOfPrompting` (never from a project's files); untrusted folders only ask, deny and disable"
    ),
    "sandbox": "see docs/security.md",
    "skillOverrides": "how single skills are offered; an untrusted folder can only narrow it",
}
NO_TERMINAL = "there is no terminal interface here"
NOT_YET = "not supported yet"
VENDOR = "it is about an account or a service of Anthropic"
CLOUD = "cloud credentials come from the environment and the cloud's own files"
UPDATES = "this program does not update itself"
NO_MARKETPLACES = "plugins are not installed or updated here: the Claude CLI does that"
_IGNORED: Mapping[str, tuple[str, ...]] = {
    NO_TERMINAL: (
        *("autoScrollEnabled", "awaySummaryEnabled", "companyAnnouncements", "editorMode", "externalEditorContext"),
        *("feedbackSurveyRate", "fileSuggestion", "footerLinksRegexes", "prUrlTemplate", "preferredNotifChannel"),
        *("prefersReducedMotion", "promptSuggestionEnabled", "respectGitignore", "showClearContextOnPlanAccept"),
        *("showThinkingSummaries", "showTurnDuration", "skipAutoPermissionPrompt", "skipDangerousModePermissionPrompt"),
        *("spinnerTipsEnabled", "spinnerTipsOverride", "spinnerVerbs", "statusLine", "subagentStatusLine"),
        *("syntaxHighlightingDisabled", "teammateMode", "terminalProgressBarEnabled", "terminalTitleFromRename"),
        *("theme", "tui", "useAutoModeDuringPlan", "verbose", "viewMode", "voice", "voiceEnabled"),
        *("askUserQuestionTimeout", "bashEditDiffEnabled", "defaultView", "dialogExpiry", "emojiCompletionEnabled"),
        *("feedbackDrafts", "inputNeededNotifEnabled", "keybindingFlavor", "maxProseWidth", "modelPicker"),
        *("respondToBashCommands", "showMessageTimestamps", "spellcheck", "timeFormat", "timeZone"),
        *("vimInsertModeRemaps", "wheelScrollAccelerationEnabled", "workflowKeywordTriggerEnabled"),
    ),
    VENDOR: (
        *("allowAllClaudeAiMcps", "channelsEnabled", "allowedChannelPlugins", "disableClaudeAiConnectors"),
        *("disableDeepLinkRegistration", "disableRemoteControl", "fastMode", "fastModePerSessionOptIn"),
        *("forceLoginMethod", "forceLoginOrgUUID", "forceRemoteSettingsRefresh", "remote"),
        *("skipWebFetchPreflight", "sshConfigs", "agentPushNotifEnabled", "allowClaudeInChromeWithManagedMcp"),
        *("attributionProject", "attributionProjectPolicy", "autoContinueAtUsageLimit", "autoUploadSessions"),
        *("crossSessionInbound", "disableReplyCheck", "forceLoginGatewayUrl", "gatewayInternalNetworks"),
        *("isolatePeerMachines", "remoteControlAtStartup", "sshHostCommands", "switchModelsOnFlag"),
        *("syncClaudeAiPlugins", "syncClaudeAiSkills"),
    ),
    CLOUD: ("awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh"),
    UPDATES: ("autoUpdatesChannel", "minimumVersion", "requiredMinimumVersion", "requiredMaximumVersion"),
    NO_MARKETPLACES: (
        *("blockedMarketplaces", "extraKnownMarketplaces", "pluginConfigs", "pluginTrustMessage"),
        *("strictKnownMarketplaces", "strictPluginOnlyCustomization", "additionalMarketplaces", "allowedMarketplaces"),
        *("appendPlugins", "disableCommandPluginSources", "disableSideloadFlags", "pluginSuggestionMarketplaces"),
        "prependPlugins",
    ),
    NOT_YET: (
        *("advisorModel", "availableModels", "claudeMd"),
        *("disableWorkflows", "enforceAvailableModels", "language"),
        *("maxSkillDescriptionChars", "modelOverrides", "plansDirectory", "skillListingBudgetFraction"),
        *("workflows", "worktree", "allowedProviders", "availableModelsMatch", "bashOutputMaxChars"),
        *("deniedModels", "disableBundledSkills", "fileCheckpointingEnabled", "managedMcpServers", "maxEffortLevel"),
        *("modelPricing", "modelSettings", "policyHelper", "processWrapper", "promptCacheTtl", "proxyAuthHelper"),
        *("skillListingMaxDescChars", "subagentPromptCacheTtl", "taskOutputMaxChars", "todoFeatureEnabled"),
    ),
    "the model is not asked to sign commits": ("attribution", "includeCoAuthoredBy", "includeGitInstructions"),
    "transcripts are never deleted": ("cleanupPeriodDays", "desktopSessionCleanupPeriodDays"),
    "there are no background sessions, workflows or artifacts here": (
        *("daemonColdStart", "disableAgentView", "disableArtifact", "enableArtifact", "enableWorkflows", "ultracode"),
        "workflowSizeGuideline",
    ),
    "the history is compacted when it must be": ("idleCompaction", "precomputeCompactionEnabled"),
    "managed settings are files, and all of them count": ("managedSourcesBehavior", "wslInheritsWindowsSettings"),
    "commands are judged as a whole on every system": ("disableWindowsBashCommandSplit",),
    "there is no classifier here": ("autoMode", "classifierPermissionsEnabled", "disableAutoMode"),
    "servers of `.mcp.json` need no approval headless; trust decides": (
        "enableAllProjectMcpServers",
        "enabledMcpjsonServers",
    ),
    "commands run in bash": ("defaultShell",),
    "there is no automatic memory here": ("autoDreamEnabled", "autoMemoryDirectory", "autoMemoryEnabled"),
    "the host's settings are always merged (docs/deviations.md)": ("parentSettingsBehavior",),
    "for editors": ("$schema",),
}
IGNORED: Mapping[str, str] = {key: reason for reason, keys in _IGNORED.items() for key in keys}
UNMET = (
    *("allowedProviders", "availableModels", "deniedModels", "enforceAvailableModels"),
    *("managedMcpServers", "maxEffortLevel", "policyHelper"),
)
"""Ignored keys that forbid or require something: a warning says that they have no effect."""
UNMET_PERMISSIONS = (
    *("blockReadsOutsideWorkingDirectories", "blockWritesOutsideWorkingDirectories", "blockReadsExemptPaths"),
    "workingDirectoriesAsGiven",
)
KEYS = (*HONOURED, *IGNORED)
"""The Claude CLI gets new keys, so an unknown one is reported only if it is like one of these."""
