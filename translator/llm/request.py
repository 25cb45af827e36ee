"""What is sent: a conversation as the body of a chat completion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from translator.llm.messages import Message, Tool


def body_of(model: str, messages: Sequence[Message], tools: Sequence[Tool], streamed: bool) -> dict[str, Any]:
    """The arguments of the SDK's `create`. Without tools, earlier calls stand as plain text."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_as_sent(m) for m in (messages if tools else without_calls(messages))],
    }
    if tools:
        body["tools"] = [{"type": "function", "function": _tool(t)} for t in tools]
    if streamed:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def _tool(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}


def without_calls(messages: Sequence[Message]) -> list[Message]:
    """The same conversation for an endpoint without tools: calls and their results as plain text."""
    names = {call.id: call.name for m in messages for call in m.calls}
    plain: list[Message] = []
    for m in messages:
        if m.role == "tool":
            plain.append(Message("user", f"Result of {names.get(m.call_id, 'the call')}:\n{m.content}"))
        elif m.calls:
            calls = "\n".join(f"{c.name}({c.arguments})" for c in m.calls)
            plain.append(Message(m.role, f"{m.content}\n\n{calls}".strip()))
        else:
            plain.append(m)
    return plain


def _as_sent(message: Message) -> dict[str, Any]:
    made: dict[str, Any] = {"role": message.role, "content": _encodable(message.content)}
    if message.calls:
        made["content"] = made["content"] or None
        made["tool_calls"] = [
            {
                "id": c.id,
                "type": "function",
                "function": {"name": c.name, "arguments": _encodable(_object(c.arguments))},
            }
            for c in message.calls
        ]
    if message.role == "tool":
        made["tool_call_id"] = message.call_id
    return made


def _object(arguments: str) -> str:
    """Endpoints read the arguments of earlier calls again, and fail on broken JSON that their model wrote."""
    try:
        return arguments if isinstance(json.loads(arguments), dict) else json.dumps({"broken": arguments})
    except (ValueError, RecursionError):
        return json.dumps({"broken": arguments})


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
