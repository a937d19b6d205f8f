"""The packages that are imported only when their job comes up: what each is for, and the command that installs it."""

from __future__ import annotations

import os
import sys

from yume_shim.types.value import Value


class Package(Value):
    """A package of the registry."""

    module: str
    """What is imported. A name with a dot is in a package to which others add as well: google-genai brings
    opentelemetry without its SDK."""
    name: str
    """What is installed."""
    job: str
    """What does not work without it, as the subject of a sentence."""
    extra: str = ""
    """The extra that brings it; "" if a plain install does."""


PACKAGES = {
    package.module: package
    for package in (
        Package("anthropic", "anthropic", "The SDK transport of Anthropic endpoints"),
        Package("bs4", "beautifulsoup4", "Reading web pages as Markdown"),
        Package("click", "click", "This sub-command"),
        Package("ftfy", "ftfy", "The setting repair_mojibake"),
        Package("google", "google-genai", "The SDK transport of Google endpoints"),
        Package("httpx2", "httpx2", "The SDK transport"),
        Package("jsonschema", "jsonschema", "Checking a JSON Schema"),
        Package("markdown_it", "markdown-it-py", "The HTML page of a session"),
        Package("markdownify", "markdownify", "Reading web pages as Markdown"),
        Package("openai", "openai", "The SDK transport of OpenAI endpoints"),
        Package("pathspec", "pathspec", "Reading .gitignore files without ripgrep"),
        Package("PIL", "pillow", "Scaling and converting images"),
        Package("pypdf", "pypdf", "Reading PDFs as text"),
        Package("tiktoken", "tiktoken", "Exact token counts"),
        Package("tree_sitter", "tree-sitter", "Judging shell commands"),
        Package("tree_sitter_bash", "tree-sitter-bash", "Judging shell commands"),
        Package("opentelemetry.sdk", "opentelemetry-sdk", "Telemetry", "otel"),
        Package("ray", "ray", "Running a batch on a cluster", "ray"),
        Package("mcp", "mcp", "Signing in to MCP servers", "mcp"),
        Package("boto3", "boto3", "Signing in to Amazon Bedrock", "bedrock"),
        Package("azure.identity", "azure-identity", "Signing in with Entra ID", "azure"),
    )
}
"""Every module outside the standard library that the program imports late, but orjson, which every turn needs."""


INSTALLERS = (
    ("uv-receipt.toml", "uv pip install --python {place} "),
    ("pipx_metadata.json", "pipx runpip yume_shim install "),
)
"""What uv and pipx leave in an environment that they made, where `pip` would install into another one."""


def install_command(package: Package, place: str = sys.prefix) -> str:
    """What brings the package. A lean install (`--no-deps`) leaves out what no extra names. `place`: the folder of the
    environment."""
    wanted = f"'yume_shim[{package.extra}]'" if package.extra else package.name
    made = (command for file, command in INSTALLERS if os.path.exists(os.path.join(place, file)))
    return next(made, "pip install ").format(place=place) + wanted


def missing_package(error: ImportError) -> str | None:
    """What the user reads when one of the packages cannot be imported; None if the import failed for another reason."""
    top = (error.name or "").partition(".")[0]  # of azure.identity, azure may be what is missing
    package = next((package for package in PACKAGES.values() if package.module.partition(".")[0] == top), None)
    if package is None:
        return None
    return f"{package.job} needs the package {package.name}, which cannot be imported: {install_command(package)}"
