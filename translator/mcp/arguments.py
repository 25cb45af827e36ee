"""What each tool takes: strict models, from which the input schemas come."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


def _plain(text: str) -> str:
    """Text that a command line can carry."""
    if "\0" in text:
        raise ValueError("it holds a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it is no Unicode text") from None
    return text


Word = Annotated[str, StringConstraints(min_length=1, max_length=500), AfterValidator(_plain)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_plain)]
FilePath = Annotated[
    str,
    StringConstraints(min_length=1, max_length=4000),
    AfterValidator(_plain),
    Field(description="Below an allowed folder or the run folder; relative to the first allowed folder."),
]
_FEW: Any = Field(default_factory=list, max_length=64)
Stage = Literal["static", "compile", "parity", "sanitize", "bench"]


class Arguments(BaseModel):
    """Nothing is converted and nothing unknown is passed over."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Reading(Arguments):
    paths: Annotated[list[FilePath], Field(min_length=1, max_length=64)]
    kernels: Annotated[list[Name], Field(description="Only kernels of these names.")] = _FEW
    includes: Annotated[list[FilePath], Field(description="Include folders.")] = _FEW
    defines: Annotated[list[Word], Field(description="Macros, as NAME or NAME=VALUE.")] = _FEW
    std: Literal["c++11", "c++14", "c++17", "c++20"] | None = None
    instantiate: Annotated[list[Word], Field(description="Instantiations, as k<float, 8>.")] = _FEW


class Analyze(_Reading):
    pass


class _Judging(Arguments):
    arch: Annotated[str | None, Field(pattern=r"^sm_\d{2,3}a?$", description="As in sm_90a.")] = None
    device: Annotated[
        Literal["auto", "gpu", "emulator"],
        Field(description="Where values are compared; auto is a GPU where there is one."),
    ] = "auto"


class Port(_Reading, _Judging):
    verify: Annotated[bool, Field(description="Compile the ports and compare values too.")] = True
    tasks: Annotated[bool, Field(description="Write a task folder for each refused kernel.")] = False
    opt_level: Annotated[int | None, Field(ge=0, le=3, description="Pin the port's level.")] = None


class _Target(_Judging):
    target: Annotated[FilePath, Field(description="A folder with spec.toml, port.py and original/.")]
    cases: Annotated[list[Name], Field(description="Only these cases of the spec.")] = _FEW
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    timeout: Annotated[float, Field(gt=0, le=3600, description="Seconds, per compile and run.")] = 120.0


class Verify(_Target):
    stages: Annotated[list[Stage], Field(max_length=5, description="Each brings what it stands on.")] = Field(
        default_factory=lambda: list[Stage](("static", "compile", "parity", "sanitize"))
    )
    mutate: Annotated[
        int | Literal["some", "all"] | None, Field(description="Judge changed ports too, this many.")
    ] = None


class Bench(_Target):
    pass


class CorpusSearch(Arguments):
    """Either `words` or `path`."""

    words: Word | None = None
    path: Annotated[
        FilePath | None, Field(description="A CUDA file: what its kernels can be ported after.")
    ] = None


class CorpusShow(Arguments):
    id: Annotated[Name, Field(description="As in norm/rms_norm.")]


class ApiLookup(Arguments):
    names: Annotated[
        list[Name],
        Field(
            min_length=1, max_length=32, description="As in cute.arch.shuffle_sync_bfly, or a block's name."
        ),
    ]


class MapBuiltin(Arguments):
    name: Annotated[Name, Field(description="A CUDA builtin, as in __shfl_xor_sync.")]


class Explain(Arguments):
    code: Annotated[str, Field(pattern=r"^[Cc][Pp]\d{4}$", description="As in CP2103.")]


class Doctor(Arguments):
    pass
