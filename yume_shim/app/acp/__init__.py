"""The Agent Client Protocol over stdio: several sessions in one process. Loaded only by `yume-shim acp`."""
