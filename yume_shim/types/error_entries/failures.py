"""Failures of model requests: the codes of `error` lines and results, by cause."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry

PRIVATE_CA = (
    "If a company proxy or a private certificate authority signs the certificate of {address}, name the file with its "
    "CA in SSL_CERT_FILE or NODE_EXTRA_CA_CERTS (also read: REQUESTS_CA_BUNDLE)"
)
LATER = "Send the prompt again later; --fallback-model names a model that takes over, --max-retries allows more tries"
KEY = "Replace the key ({keys}) by a valid one for {provider}, or choose another provider with --provider"
REPORT = "This is a defect of this program: run it again with --debug-file FILE and report what the file says"
NETWORK = "Check the network, the address ({address}) and the proxy variables (HTTPS_PROXY, NO_PROXY)"

FAILURES: tuple[Entry, ...] = (
    Entry("failure", "auth", "The provider refused the key.", KEY),
    Entry(
        "failure",
        "auth",
        "There is no key for the provider; no request was sent.",
        "Set one of them (`yume-shim init` asks for it), or choose another provider with --provider",
        "missing",
    ),
    Entry(
        "failure",
        "auth",
        "Every key that is configured for the provider was refused.",
        "Replace the keys ({keys}), or choose another provider with --provider",
        "all_keys",
    ),
    Entry(
        "failure",
        "auth",
        "The key is valid, but it may not use this model or this address.",
        "Give the key ({keys}) access to {model} at {provider}, or choose another model with --model",
        "not_permitted",
    ),
    Entry(
        "failure",
        "auth",
        "The sign-in of a cloud failed before a request was sent.",
        "Sign in again with the tool of the cloud, or check its variables (docs/providers.md)",
        "sign_in",
    ),
    Entry(
        "failure",
        "billing",
        "The account has no credit.",
        "Add credit to the account of the key ({keys}) at {provider}, or choose another provider with --provider",
    ),
    Entry("failure", "rate_limit", "The account has used up a rate limit.", LATER),
    Entry(
        "failure",
        "rate_limit",
        "Every key that is configured for the provider is at its limit.",
        f"Wait for the time that the message names, or add a key. {LATER}",
        "all_keys",
    ),
    Entry("failure", "overloaded", "The provider has too little capacity at the moment.", LATER),
    Entry("failure", "server", "The provider failed inside.", LATER),
    Entry("failure", "network", "The provider could not be reached.", NETWORK),
    Entry(
        "failure",
        "network",
        "Nothing listens at the address.",
        "If the server at {address} is your own, start it; otherwise check the address (--api-base), and whether a "
        "firewall refuses it",
        "refused",
    ),
    Entry("failure", "network", "The connection was closed before an answer came.", NETWORK, "closed"),
    Entry(
        "failure",
        "network",
        "The proxy cannot be reached, or refused the way to the provider.",
        "Check HTTPS_PROXY and its login, or except {address} from it with NO_PROXY",
        "proxy",
    ),
    Entry("failure", "tls", "No secure connection could be made.", PRIVATE_CA),
    Entry("failure", "tls", "The certificate of the provider is not trusted.", PRIVATE_CA, "certificate"),
    Entry(
        "failure",
        "tls",
        "The certificate of the provider has expired, or is not valid yet.",
        "Check the clock of this machine; if it is right, who runs {address} must renew the certificate. " + PRIVATE_CA,
        "expired",
    ),
    Entry(
        "failure",
        "tls",
        "The certificate is one for another host.",
        "Check the address ({address}), and whether another server or a proxy answers in its place. " + PRIVATE_CA,
        "wrong_host",
    ),
    Entry("failure", "dns", "The name of the address could not be resolved.", NETWORK),
    Entry(
        "failure",
        "timeout",
        "The provider did not answer, or did not go on, within a time limit.",
        "Raise the limit (--idle-timeout, --response-timeout) if the model needs longer. " + NETWORK,
    ),
    Entry(
        "failure",
        "stream_interrupted",
        "The connection broke inside an answer. What was shown is kept.",
        "Send a further prompt to continue, for example `continue`. " + NETWORK,
    ),
    Entry(
        "failure",
        "stream_interrupted",
        "The answer ended without the mark that the API puts at its end.",
        "Send the prompt again. If that repeats, a proxy between here and {address} cuts answers off",
        "incomplete",
    ),
    Entry(
        "failure",
        "stream_interrupted",
        "Someone cancelled the response at the provider.",
        "Send the prompt again if it should be answered",
        "withdrawn",
    ),
    Entry(
        "failure",
        "stream_interrupted",
        "The connection broke again and again inside one answer.",
        NETWORK + ". --idle-timeout and a proxy's own limit are frequent causes",
        "again",
    ),
    Entry(
        "failure",
        "context_length",
        "The prompt is longer than the model accepts.",
        "Compact the history (/compact), start a new session, or choose a model with a larger window (--model)",
    ),
    Entry(
        "failure",
        "context_length",
        "The request has more bytes than the provider accepts.",
        "Send fewer or smaller images and files, or compact the history (/compact)",
        "too_large",
    ),
    Entry(
        "failure",
        "bad_request",
        "The provider refuses something in the request.",
        "Change what the message names. If it is a feature that the endpoint lacks, --compat switches it off "
        "(docs/providers.md)",
    ),
    Entry(
        "failure",
        "not_found",
        "The provider does not know the model or the address.",
        "Check --model, --provider and the address ({address})",
    ),
    Entry(
        "failure",
        "refusal",
        "The provider's filter stopped the request or the answer.",
        "Say it in other words, or choose another model with --model",
    ),
    Entry(
        "failure",
        "protocol",
        "The answer is not what the API prescribes.",
        "Send the prompt again. If that repeats, --record DIR keeps what the provider sends",
    ),
    Entry(
        "failure",
        "protocol",
        "The address speaks another API.",
        "Check the address ({address}) and the provider, or name the API with --api",
        "wrong_api",
    ),
    *(
        Entry(
            "failure",
            code,
            "A web page came in place of an answer of the API.",
            "Check the address ({address}), and whether a proxy or a login page answers in its place",
            "web_page",
        )
        for code in ("protocol", "not_found", "server", "bad_request")
    ),
    Entry(
        "failure",
        "config",
        "A setting of the provider cannot be used.",
        "Correct what the message names; docs/providers.md lists the settings",
    ),
    Entry(
        "failure",
        "config",
        "The key or a header holds a character that HTTP does not allow.",
        "Enter it again, without line breaks, quotes or letters outside ASCII",
        "header",
    ),
    Entry("failure", "internal", "An error of this program that it did not expect.", REPORT),
    Entry(
        "failure",
        "internal",
        "The transcript of a resumed session was changed by another program, or cannot be read any more.",
        "Resume the session again: its transcript is read anew. Let no other program change it while it is in use",
        "transcript",
    ),
    Entry("failure", "cancelled", "The request was stopped.", "Send the prompt again if it should be answered"),
)
