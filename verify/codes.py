"""The table of verify's own codes: CP6xxx static, compile; CP7xxx parity; CP8xxx what the
emulator saw; CP9xxx speed, environment.

A code is never renumbered and never reused. `meaning` is one line for a person; what happened in this run
stands in the stage's message.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    # spec and static
    "CP6001": "the target's spec.toml is missing, unreadable or breaks its rules",
    "CP6002": "port.py is missing or is not valid Python",
    "CP6003": "port.py imports something a port may not import",
    "CP6004": "port.py lacks a function that the port contract asks for",
    "CP6005": "port.py uses a construct that a port may not use",
    "CP6006": "port.py computes with torch or fills tensors itself",
    "CP6007": "port.py makes streams, events, threads or processes",
    "CP6008": "port.py handles exceptions",
    "CP6009": "port.py does something while it is imported",
    "CP6011": "the verdict that is to be replayed is damaged, too old, or about nothing that is here",
    # compile
    "CP6101": "port.py raised an error while it was imported",
    "CP6102": "the DSL refused to compile the port",
    "CP6103": "compiling the port took longer than the limit",
    "CP6104": "the process that compiled the port died",
    "CP6105": "the compiled port carries no PTX or no machine code",
    # parity
    "CP7001": "the original could not be built",
    "CP7002": "the original failed to launch or faulted",
    "CP7003": "the port failed to launch or faulted",
    "CP7004": "the port's process died",
    "CP7005": "the port took longer than the limit",
    "CP7006": "the original took longer than the limit",
    "CP7007": "the port wrote outside a buffer",
    "CP7008": "the original wrote outside a buffer",
    "CP7009": "the port changed an input",
    "CP7010": "the original changed an input that the spec calls read-only",
    "CP7011": "the port wrote nothing: its kernel was never launched",
    "CP7012": "values differ from the original's beyond the tolerance",
    "CP7013": "NaN or infinity stands at other places than in the original's output",
    "CP7014": "the port left elements unwritten that the original writes",
    "CP7015": "the port's results change from run to run",
    "CP7016": "the original's results change from run to run and the spec does not say order_dependent",
    "CP7017": "no case can tell this output from zeros, a constant or a copy of an input",
    "CP7018": "the spec still holds an open question",
    "CP7019": "reference.py failed",
    "CP7021": "the port does not take the arguments that the spec lists",
    "CP7022": "no case could be launched",
    "CP7024": "the port wrote elements that the original leaves alone",
    "CP7025": "the arguments of the spec do not fit the original's parameters",
    "CP7026": "reference.py and the original are too far apart for its error to be a limit",
    "CP7027": "the original can't be built in double, as the spec wants its reference",
    "CP7031": "the original's machine code gives other values than its PTX means",
    "CP7032": "the port's machine code gives other values than its PTX means",
    "CP7041": "something else than the port's own kernels on the given stream did the work",
    "CP7042": "the port computes in a narrower type than the original",
    "CP7043": "files of the target or of verify changed while it ran",
    "CP7099": "verify itself failed; this is a bug",
    # the emulator
    "CP7101": "the PTX is malformed",
    "CP7102": "the PTX is of a version or for a target that the emulator does not know",
    "CP7103": "an instruction, modifier or directive of the PTX is not supported",
    "CP7104": "the PTX has no kernel of that name",
    "CP7105": "the arguments do not fit the kernel's parameters",
    "CP7106": "no C compiler for the emulator",
    "CP7107": "the emulator's own C code does not compile; this is a bug",
    "CP7108": "the launch asks for more threads or shared memory than it may have",
    "CP7109": "the port's launches can't be caught with this version of the CuTe DSL",
    "CP7110": "the kernel uses a feature of the GPU that is not emulated",
    # what the emulator saw a kernel do
    "CP8001": "access outside global memory that the kernel was given",
    "CP8002": "access outside the block's shared memory",
    "CP8003": "access outside the thread's local memory",
    "CP8004": "misaligned access",
    "CP8005": "read of shared memory that nothing wrote",
    "CP8006": "read of global memory that nothing wrote",
    "CP8007": "read of local memory that nothing wrote",
    "CP8008": "access outside a function's parameters",
    "CP8011": "race in shared memory",
    "CP8012": "race in global memory",
    "CP8013": "race in which all threads store the same value",
    "CP8014": "an update that is not atomic undoes another thread's store",
    "CP8021": "threads of a warp meet a barrier or warp operation on different paths",
    "CP8022": "a barrier is reached by another number of threads than it waits for",
    "CP8023": "a thread ends while others wait for it at a barrier",
    "CP8024": "no thread can go on",
    "CP8031": "an assertion of the kernel failed",
    "CP8032": "the kernel trapped",
    "CP8041": "the kernel executed more instructions than its budget",
    "CP8051": "the result depends on the order in which threads run",
    # what only compute-sanitizer tells
    "CP8061": "a fault that compute-sanitizer tells and no other code names",
    "CP8062": "synccheck tells of threads of a block that do not meet, which right named barriers do too",
    # performance and environment
    "CP9001": "the CuTe DSL is missing or fails to import",
    "CP9002": "no usable NVIDIA GPU",
    "CP9003": "neither NVRTC nor nvcc can be found",
    "CP9004": "the GPU stopped working",
    "CP9005": "the disk that scratch files lie on is full",
    "CP9011": "compute-sanitizer is not installed, and no emulator is there to check instead",
    "CP9012": "a check for memory and order faults could not be run",
    "CP9101": "the port is slower than the spec allows",
    "CP9102": "the measurement is too noisy to compare",
    "CP9103": "the timed runs' outputs differ from the original's",
    "CP9104": "the benchmark could not be run",
    "CP9105": "the port is faster than the device can move the bytes",
    # a check against baselines, and the search for a version
    "CP9201": "the compiled code or its errors changed since the baseline",
    "CP9202": "the port is slower than in its baseline",
    "CP9203": "the baseline can't be used",
    "CP9204": "the target's own files changed since the baseline",
    "CP9205": "there is no baseline for this device",
    "CP9206": "the target is not there",
    "CP9207": "values could not be compared on this machine",
    "CP9208": "the baseline can't be written",
    "CP9211": "this version of the DSL can't be installed here",
    # a report on verdicts
    "CP9501": "the target has no verdict",
    "CP9502": "the verdict can't be read",
    "CP9503": "a file of the target can't be shown",
    "CP9504": "a file of the target is not what was verified",
    "CP9505": "the verdict was changed after it was written",
}


def known(code: str) -> bool:
    """True where `code` is in the table."""
    return code in CODES
