"""What a draft says of a kernel of which not all could be read: nothing that the unread part could change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from translator.analysis.allocated import Room, given
from translator.analysis.draft import Draft
from translator.analysis.fields import leaves
from translator.analysis.poly import Poly
from translator.analysis.roles import Aliases, Role, roles
from translator.model import expr as x
from translator.model.expr import Var
from translator.model.types import BOOL, Pointer, Scalar
from translator.model.walk import walk_exprs

UNREAD_ROLE = "CP3120"
_SMALL = 64  # a larger constant argument is taken for a size, not for a mode or a shift
_DOES: Mapping[Role | None, str] = {
    None: "does not touch",
    "in": "reads",
    "out": "writes",
    "inout": "reads and writes",
}


def roles_of(draft: Draft, described: Sequence[str]) -> dict[Var, Role]:
    """As `roles`; of a partial model every pointer that is not const is "inout" and asked about. `described`
    are the buffers the spec will have."""
    model = draft.model
    seen = roles(model)
    if not model.partial:
        return seen
    touched = _touched(draft, seen)
    found: dict[Var, Role] = {}
    for var, role in seen.items():
        constant = isinstance(var.type, Pointer) and var.type.const and role == "in"
        if constant or var.storage == "constant":
            found[var] = role
            continue
        found[var] = "inout"
        if var.name in described:
            draft.ask(UNREAD_ROLE, buffer=var.name, does=_DOES[role if var in touched else None])
    return found


def _touched(draft: Draft, seen: Mapping[Var, Role]) -> set[Var]:
    """Pointers that what was read surely uses: `roles` says "in" of one that nothing touches, too."""
    aliases = Aliases(draft.model)
    used: set[Var] = {v for v, role in seen.items() if role != "in"}
    for f in (draft.model.kernel, *draft.model.functions):
        for e in walk_exprs(f.body):
            if isinstance(e, x.Index | x.Deref):
                used |= aliases.roots(e)
    return used


def sizes_in(draft: Draft) -> set[str]:
    """Integer scalars of a partial model that may be sizes: those that the source does not give a small
    constant."""
    model, launch = draft.model, draft.launch
    if not model.partial:
        return set()
    values = launch.arg_values if launch is not None else ()
    fields = launch.arg_fields if launch is not None else ()
    found: set[str] = set()

    def note(name: str, t: object, value: float | int | None) -> None:
        if isinstance(t, Scalar) and t.is_integer and t != BOOL and (value is None or abs(value) > _SMALL):
            found.add(name)

    for k, p in enumerate(model.kernel.params):
        note(p.name, p.type, values[k] if k < len(values) else None)
        inside = leaves(p)
        given = fields[k] if k < len(fields) and len(fields[k]) == len(inside) else (None,) * len(inside)
        for leaf, value in zip(inside, given, strict=True):
            note(leaf.var.name, leaf.type, value)
    return found


def by_sizes(draft: Draft, rooms: dict[str, Room]) -> dict[str, Room]:
    """`rooms`; of a partial model those that a size's value in the source divides evenly are taken to be so
    much per unit of it. A size is an argument, or a constant number of blocks that became one; no index says
    how they hang together, so what follows is asked about, as every size of such a model."""
    model = draft.model
    if not model.partial:
        return rooms
    values = given(model, draft.launch)
    known = {name: values[name] for name in sizes_in(draft) if values.get(name, 0) > _SMALL}
    known |= {n: blocks for n, blocks in draft.sizes.items() if n in draft.grid and blocks and blocks > 1}
    for size, value in sorted(known.items(), key=lambda item: (-item[1], item[0])):
        rooms = {name: _per_unit(room, size, value) for name, room in rooms.items()}
    return rooms


def _per_unit(room: Room, size: str, value: int) -> Room:
    if size in room.elems.symbols or not room.elems.terms:
        return room
    if any(factor % value for _, factor in room.elems.terms):
        return room
    each = Poly.of({monomial: factor // value for monomial, factor in room.elems.terms})
    return replace(room, elems=each * Poly.symbol(size))
