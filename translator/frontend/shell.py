"""What can be read of a kernel that the lifter refuses: enough of a model to draft a spec from."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from clang.cindex import CursorKind as K

from translator.diag.diagnostic import Sink
from translator.frontend import ast
from translator.frontend.clang import Unit
from translator.frontend.host import index_of
from translator.frontend.lift_decl import LiftedKernel, lift_kernel
from translator.frontend.lift_global import initial_values
from translator.frontend.lift_launch import launches_of, written_by_host
from translator.frontend.lift_types import Types, is_const, is_reference
from translator.frontend.loose_types import LooseTypes, of_parameter
from translator.frontend.project import KernelReading
from translator.frontend.reach import reach
from translator.frontend.refusal import LiftError
from translator.frontend.slice import chunks_of, device_slice
from translator.model.expr import Storage, Var
from translator.model.kernel import Function, Global, KernelModel, Source
from translator.model.types import VOID

_MANY = 1 << 20  # uids of what is added here, above any that the lifter gives


@dataclass(frozen=True, slots=True)
class Shell:
    """A partial model, and the parameters and globals that no spec can describe (name, type)."""

    model: KernelModel
    unknown: tuple[tuple[str, str], ...] = ()


def shell_of(reading: KernelReading) -> Shell:
    """The partial model of a reading: parameters, launches, globals, device slice, and what could be read of
    the body. Its refusals are those of `build_model`, which are not told again."""
    unit, cursor = reading.unit, reading.cursor
    unknown: list[tuple[str, str]] = []
    lifted = lift_kernel(unit, cursor, Sink(), partial=True)
    if lifted is None:
        lifted = LiftedKernel(_without_body(reading, cursor), (), ())
    more = _other_globals(unit, cursor, {g.var.name for g in lifted.globals}, unknown)
    model = KernelModel(
        kernel=lifted.kernel,
        functions=lifted.functions,
        globals=written_by_host(index_of(unit), (*lifted.globals, *more)),
        launches=launches_of(unit, cursor),
        source=Source(
            reading.path, reading.unit_path, sha256(unit.source(reading.path)).hexdigest(), unit.std
        ),
        instantiation=reading.instantiation,
        device_slice=device_slice(unit, cursor),
        cuda_name=reading.cuda_name,
        partial=True,
    )
    return Shell(model, tuple(unknown))


def _without_body(reading: KernelReading, cursor: Any) -> Function:
    types = LooseTypes()
    params = [
        Var(
            _MANY + k,
            p.spelling or f"arg{k}",
            of_parameter(types, p.type),
            "param",
            is_reference(p.type),
            is_const(p.type),
            span=ast.span(p),
        )
        for k, p in enumerate(c for c in ast.children(cursor) if c._kind_id == ast.PARM_DECL)
    ]
    return Function(
        cursor.spelling,
        cursor.spelling,
        tuple(params),
        VOID,
        (),
        ast.span(cursor),
        is_kernel=True,
        template_args=reading.template_args,
    )


def _other_globals(
    unit: Unit, kernel: Any, known: set[str], unknown: list[tuple[str, str]]
) -> tuple[Global, ...]:
    """Globals that the slice holds and the lifter did not come to: what refused code uses."""
    found: list[Global] = []
    types = Types()
    for chunk in reach(chunks_of(unit), kernel):
        for c in chunk.cursors:
            kinds = {part.kind for part in ast.children(c)}
            device = kinds & {K.CUDADEVICE_ATTR, K.CUDACONSTANT_ATTR}
            if c.kind != K.VAR_DECL or not device or c.spelling in known:
                continue
            known.add(c.spelling)
            storage: Storage = "constant" if K.CUDACONSTANT_ATTR in kinds else "device"
            const = storage == "constant" or is_const(c.type)
            if const and storage == "device":
                continue  # a table of the program's own: it holds what the source says
            try:
                t = types.of(c.type)
            except LiftError:
                unknown.append((c.spelling, c.type.spelling))
                continue
            var = Var(2 * _MANY + len(found), c.spelling, t, storage, const=const, span=ast.span(c))
            try:
                values = initial_values(c.get_definition() or c, t, c.spelling)
            except LiftError:
                unknown.append((c.spelling, c.type.spelling))
                continue
            found.append(Global(var, values))
    return tuple(found)
