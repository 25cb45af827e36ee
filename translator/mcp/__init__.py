"""The tools of `cuteport` for agents: a server of the Model Context Protocol, extra `[mcp]`."""
