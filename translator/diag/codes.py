"""The table of diagnostic codes: never renumbered, never reused.

CP1xxx frontend, CP2xxx mapping, CP3xxx analysis and passes, CP4xxx emit, CP51xx to CP54xx what has to do
with a model, CP55xx the server for agents. `verify` has its own table (CP6xxx to CP9xxx), the corpus too
(CP50xx). An error refuses the kernel; a warning or a note leaves a trace in the port.
Each code has a page in `pages/`, printed by `cuteport explain CODE`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Code:
    severity: Literal["error", "warning", "note"]
    message: str


_E: Literal["error"] = "error"
_W: Literal["warning"] = "warning"
_N: Literal["note"] = "note"

CODES: dict[str, Code] = {
    # ---- CP0001-0099: the tool itself, not one stage
    "CP0001": Code("error", "internal error: {what}"),
    "CP0002": Code(_E, "can't write {path}: {reason}"),
    "CP0003": Code(_E, "{path} {why}"),
    "CP0004": Code(_E, "{what} took longer than {seconds} s"),
    "CP0005": Code(_E, "nested too deeply to be translated"),
    "CP0006": Code(_N, "{path} was edited and is kept as it is"),
    # ---- CP1000-1049: reading sources and choosing instantiations
    "CP1001": Code(_E, "no such file or folder: {path}"),
    "CP1002": Code(_E, "can't read {path}: {reason}"),
    "CP1003": Code(_E, "{path} is not text"),
    "CP1004": Code(_E, "{path} is empty"),
    "CP1005": Code(_E, "no CUDA kernel (__global__ function with a body) in {path}"),
    "CP1006": Code(_N, "{path} is not UTF-8; read as Latin-1"),
    "CP1007": Code(_E, "can't use compile commands {path}: {reason}"),
    "CP1008": Code(_E, "{kernel} doesn't parse: {errors} in it or in what it uses; first: {first}"),
    "CP1009": Code(_W, "header not found: {header}"),
    "CP1010": Code(_N, "no launch of template {kernel} seen; taken as {instantiation}"),
    "CP1011": Code(_E, "no instantiation of template {kernel} known; tried {tried}"),
    "CP1012": Code(_E, "--instantiate {text}: {reason}"),
    "CP1013": Code(_N, "{kernel} read through {unit}, which includes its file"),
    "CP1014": Code(_E, "{kernel} has template argument {index} that has no name here ({what})"),
    "CP1015": Code(_E, "no kernel named {kernel} was found"),
    "CP1016": Code(_E, "{path} could not be parsed: {reason}"),
    "CP1017": Code(_E, "{path} has {size}; sources of up to {most} are read"),
    "CP1018": Code(_E, "{path} includes {name}, which is no regular file"),
    "CP1019": Code(_E, "the parser lost {kernels} of {path} to an error: {error}"),
    # mapping: builtins that have no CuTe DSL text, or an approximate one
    "CP2101": Code(_E, "`{what}` is not a CUDA builtin this tool knows, and its body was not found"),
    "CP2102": Code(_E, "`{what}`: the builtin is known, but not for these argument types"),
    "CP2103": Code(_E, "`{what}` can only be translated where an argument is a constant"),
    "CP2111": Code(_E, "`{what}` is a warp operation without a mask, which GPUs since Volta don't have"),
    "CP2112": Code(_E, "`{what}`: asynchronous copies and pipelines are not translated"),
    "CP2113": Code(_E, "`{what}`: this builtin has no equivalent in CuTe DSL"),
    "CP2201": Code(_W, "`{what}` is only checked in a port compiled with --enable-assertions"),
    # ---- CP1100-1199: lifting a kernel out of the compiler's tree
    "CP1100": Code(_E, "the compiler reports an error in {what}: {message}"),
    "CP1101": Code(_E, "the body of {name} is not visible"),
    "CP1102": Code(_E, "{name} is recursive"),
    "CP1103": Code(_E, "{name} is nested too deeply to be read"),
    "CP1110": Code(_E, "inline assembly: {text}"),
    "CP1111": Code(_E, "textures and surfaces: {name}"),
    "CP1112": Code(_E, "dynamic parallelism: {name} is launched by device code"),
    "CP1113": Code(_E, "{what} statement"),
    "CP1114": Code(_E, "{what} need run-time type information"),
    "CP1115": Code(_E, "function pointer: {what}"),
    "CP1116": Code(_E, "exceptions: {what}"),
    "CP1117": Code(_E, "device-side memory allocation: {what}"),
    "CP1118": Code(_E, "device library: {name}"),
    "CP1119": Code(_E, "tensor-core fragments: {name}"),
    "CP1120": Code(_E, "cooperative groups: {name}"),
    "CP1121": Code(_E, "random numbers by curand: {name}"),
    "CP1122": Code(_E, "lambda: {what}"),
    "CP1123": Code(_E, "union {name}"),
    "CP1124": Code(_E, "bit-field {name}"),
    "CP1125": Code(_E, "type {type} has no counterpart"),
    "CP1126": Code(_E, "{what} statement is not covered"),
    "CP1127": Code(_E, "{what} is not covered"),
    "CP1128": Code(_E, "{derived} used as its base class {base}"),
    "CP1129": Code(_E, "reference to {what}"),
    "CP1130": Code(_E, "initialisation of {name}: {what}"),
    "CP1132": Code(_E, "the initial value of {name} is not a constant"),
    "CP1134": Code(_E, "{name} takes a variable number of arguments"),
    "CP1135": Code(_E, "{what} is not resolved: not an instantiation"),
    "CP1136": Code(_E, "switch: {what}"),
    "CP1138": Code(_E, "{name} belongs to the host's library"),
    "CP1139": Code(_W, "the value of {what} is not known; ignored"),
    "CP1140": Code(_E, "launched in clusters of blocks: {what}"),
    "CP1190": Code(_N, "no task folder for {kernel}: {reason}"),
    # ---- CP3001-3099: passes
    "CP3001": Code(_E, "this form is not supported: {what}"),
    "CP3006": Code(_E, "a pointer kept in memory or made from an integer: its address space is unknown"),
    "CP3007": Code(_N, "a pointer read from memory is taken to point to global memory"),
    "CP3008": Code(_W, "CuTe DSL 4.8.1 makes wrong machine code of this loop at its default level; {pinned}"),
    # ---- CP4001-4099: writing CuTe DSL
    "CP4001": Code(_E, "no CuTe DSL text for {what}"),
    "CP4002": Code(_E, "a pointer made from a constant or an integer"),
    "CP4003": Code(_E, "printf needs a literal format"),
    "CP4004": Code(_E, "pointer variable {name} has no first value to start from"),
    "CP4005": Code(_E, "{bytes} bytes of static shared memory, more than the {limit} a kernel may declare"),
    "CP4006": Code(_E, "nested {depth} levels deep, more than Python allows"),
    "CP4007": Code(_E, "beyond what Python can read: {reason}"),
    # ---- CP3101-3119: what the spec could not be told by the source
    "CP3101": Code(_N, "no launch of {kernel} seen; blocks of {block} threads assumed"),
    "CP3102": Code(_N, "the grid of {kernel} ({text}) doesn't follow from its arguments; taken as {grid}"),
    "CP3103": Code(_N, "the block of {kernel} ({text}) is no constant; taken as {block}"),
    "CP3104": Code(_N, "the size of {buffer} is unknown; {elems} elements assumed"),
    "CP3105": Code(_N, "not every access to {buffer} could be bounded; sized {elems} as {why}"),
    "CP3106": Code(_N, "no values seen for {scalars}; assumed: {values}"),
    "CP3107": Code(_N, "values of {buffer} bound a loop; filled with 0, 1, 2, ... so each loop runs once"),
    "CP3108": Code(_W, "{param} can't be described in a spec ({type}); it gets no input"),
    "CP3109": Code(
        _N, "shared memory of {kernel} ({text}) doesn't follow from its arguments; taken as {smem}"
    ),
    "CP3110": Code(
        _N, "{size}, the length of {buffer}, is no argument of the kernel; sizes are chosen freely"
    ),
    "CP3111": Code(
        _W,
        "{buffer} has the {elems} elements allocated at {place}, but {kernel} reaches {beyond} of them",
    ),
    # ---- CP3120-3129: kernels that could be read in part only
    "CP3120": Code(
        _N,
        "{buffer} is taken as inout: what could be read of the kernel {does} it, the rest may do more",
    ),
    # ---- CP5101-5119: choosing entries of the corpus
    "CP5101": Code(_N, "entries were ranked without embeddings: {reason}"),
    # ---- CP5201-5219: names in a draft that the installed DSL doesn't have
    "CP5201": Code(_E, "{name} does not exist: {detail}"),
    "CP5202": Code(_E, "{name} can't be called so: {detail}"),
    "CP5203": Code(_E, "{name} can't be imported, or is not: {detail}"),
    "CP5204": Code(_E, "{name} is not defined: {detail}"),
    "CP5205": Code(_E, "the names of CuTe DSL can't be read: {reason}"),
    # ---- CP5301-5329: asking a model; an error ends the asking, a warning is asked again or told the model
    "CP5301": Code(_E, "{endpoint} needs a key, and OPENAI_API_KEY is not set"),
    "CP5302": Code(_E, "{endpoint} refuses the key in OPENAI_API_KEY: {reason}"),
    "CP5303": Code(_E, "{endpoint} has no model {model}; {known}"),
    "CP5304": Code(_E, "no connection to {endpoint}: {reason}"),
    "CP5305": Code(_W, "{endpoint} limits the rate, after {tries} still: {reason}"),
    "CP5306": Code(_E, "{endpoint} has no credit left for this key: {reason}"),
    "CP5307": Code(_W, "no whole answer from {endpoint}: {reason}"),
    "CP5308": Code(_W, "{endpoint} failed, after {tries} still: {reason}"),
    "CP5309": Code(_W, "the answer of {endpoint} broke off, after {tries} still: {reason}"),
    "CP5310": Code(_W, "the answer of {model} is empty: {reason}"),
    "CP5311": Code(_W, "what {endpoint} sent is no chat completion: {reason}"),
    "CP5312": Code(_W, "the prompt is too long for {model}: {reason}"),
    "CP5313": Code(_W, "the answer of {model} was cut at its longest, {tokens} tokens"),
    "CP5314": Code(_W, "{model} declines to answer: {reason}"),
    "CP5315": Code(_W, "{endpoint} refuses the request (HTTP {status}): {reason}"),
    "CP5316": Code(_E, "{endpoint} is no endpoint for chat completions: {reason}"),
    "CP5317": Code(_E, "{endpoint} redirects to {other}, which is not followed"),
    "CP5318": Code(_W, "the answer of {endpoint} is larger than {most}"),
    "CP5319": Code(_E, "the run differs from its transcript at {where}"),
    "CP5320": Code(_E, "the transcript {path} has {count}, and one more was asked for"),
    "CP5321": Code(_E, "can't read the transcript {path}: {reason}"),
    "CP5322": Code(_E, "money is limited to {money} dollars, and the price of {model} is not known"),
    "CP5323": Code(_W, "no Python code in the answer: {reason}"),
    "CP5324": Code(_W, "the code of the answer is not Python: {reason}"),
    "CP5325": Code(_W, "the code of the answer does not define {wanted}; it defines {found}"),
    "CP5326": Code(_W, "the answer is not the whole file: {reason}"),
    "CP5327": Code(_W, "the arguments of the tool call can't be read: {reason}"),
    # ---- CP5400-5429: the loop with a model
    "CP5400": Code(_N, "refused by the compiler, ported by {by} in {turns}; `verify` passed it"),
    "CP5401": Code(_E, "the spec has open questions, so no candidate could pass: {questions}"),
    "CP5402": Code(_E, "no candidate could be judged: {why}"),
    "CP5403": Code(_E, "the budget is spent: {why}"),
    "CP5404": Code(_E, "the model went round in circles: {why}"),
    "CP5405": Code(_E, "there is no port that passes to begin with: {why}"),
    "CP5406": Code(_E, "the original can't be judged, whatever the candidate: {why}"),
    "CP5407": Code(_E, "{run} can't be resumed or compared: {why}"),
    "CP5408": Code(_E, "another process works in {run}"),
    # ---- CP5501-5519: the server for agents, and the fence around what strangers' sources read
    "CP5501": Code(_E, "arguments of {tool} that can't be used: {reason}"),
    "CP5502": Code(_E, "{path} lies outside the folders that may be read"),
    "CP5503": Code(_E, "{path} includes {name}, which lies outside the folders that may be read"),
    "CP5504": Code(_E, "{path} is neither a regular file nor a folder"),
    "CP5505": Code(_E, "{path} can't be copied into the run folder: {reason}"),
    "CP5506": Code(_E, "{tool} took longer than {seconds} s and was ended"),
    "CP5507": Code(
        _E, "the answer of {tool} has {size}, more than the {most} that are sent; it is in {path}"
    ),
    "CP5508": Code(
        _E, "the package mcp can't be imported: {reason}; `pip install 'cuteport[mcp]'` brings it"
    ),
    "CP5509": Code(_E, "{tool} ended without an answer: {reason}"),
    "CP5510": Code(
        _E, "{tool} would run code of {path}, and this system can't confine what it reads: {reason}"
    ),
    "CP5511": Code(_E, "no such resource: {uri}"),
    "CP5512": Code(_E, "{path} exists and is something else; it is not written over"),
}
