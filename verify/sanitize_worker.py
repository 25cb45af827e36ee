"""The worker as it runs under compute-sanitizer, which stands between it and the process that asks."""

from __future__ import annotations

import os
import resource
import select
import sys
import threading

from verify import worker


def _under_tool() -> None:
    """No core files, and an end with the process that asks: it is not this one's parent, but it alone holds
    the other end of the pipe for results."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end = os.dup(int(sys.argv[1]))  # inherited by nobody

    def wait() -> None:
        gone = select.poll()
        gone.register(end, 0)  # an error on the pipe is told without being asked for
        gone.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Serve jobs until stdin closes."""
    from verify import sanitize_jobs

    worker.main(_under_tool, sanitize_jobs.HANDLERS)


if __name__ == "__main__":
    main()
