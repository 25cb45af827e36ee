"""What in C++ text is no code: comments, and string literals, which may hold what looks like one."""

from __future__ import annotations

import re

# A comment of either kind. Without regard to strings, for texts in which `//` in one does no harm.
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
COMMENT_OR_STRING = re.compile(COMMENT.pattern + r'|"(?:\\.|[^"\\\n])*"', re.DOTALL)
