"""A lowered kernel model as CuTe DSL source text for people."""

from translator.emit.module import Draft, build

emit = build

__all__ = ["Draft", "emit"]
