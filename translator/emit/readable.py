"""Whether Python can read a port: it has limits that C++ has not."""

from __future__ import annotations

import sys
import warnings

from translator.diag.diagnostic import Sink, Span

_DEPTH = 1000  # Python's own recursion limit, which is what a port's user has; the translator runs with more


def check_readable(source: str, span: Span, sink: Sink) -> None:
    """Reports CP4007 where `source` goes beyond what Python can compile.

    Raises SyntaxError where it is no Python at all, which is a bug of the emitter.
    """
    kept = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(min(kept, _DEPTH))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, "port.py", "exec", dont_inherit=True)
    except (MemoryError, RecursionError):  # of the parser, or of the compiler
        sink.report("CP4007", span, reason="an expression is nested too deeply")
    except SyntaxError as error:
        if not (error.msg or "").startswith("too many"):
            raise
        sink.report("CP4007", span, reason=error.msg)
    finally:
        sys.setrecursionlimit(kept)
