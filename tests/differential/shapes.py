"""Less common statements: matrices, pointers to structs, methods, late first values, lazy effects."""

from __future__ import annotations

from tests.differential.program_types import INTS, Name, Scope, StructType
from tests.differential.statements import Statements


class Shapes(Statements):
    """Adds them to the common ones."""

    def choices(self, scope: Scope) -> dict[str, float]:
        more = {"undeclared": 1.0, "matrix": 0.7, "aim": 1.0, "move": 0.7, "change": 0.7, "lazy": 1.5}
        return super().choices(scope) | more

    def do_undeclared(self, scope: Scope) -> list[str]:
        """A variable that gets its first value in each arm of a branch."""
        t = self.r.choice((*INTS, "float"))
        text = self.name()
        cond, a, b = self.condition(scope), self.of_type(scope, t, 2), self.of_type(scope, t, 2)
        self.add(scope, Name(text, "scalar", t))
        return [f"{t} {text};", f"if ({cond}) {text} = {a};", f"else {text} = {b};"]

    def do_matrix(self, scope: Scope) -> list[str]:
        t, rows, columns = self.r.choice((*INTS, "float")), self.r.choice((2, 4)), self.r.choice((2, 4, 8))
        text = self.name()
        lines = [
            "{" + ", ".join(self.braced(scope, t) for _ in range(self.r.randrange(1, columns + 1))) + "}"
            for _ in range(self.r.randrange(1, rows + 1))
        ]
        row = self.index(scope, rows)
        scope.here.add(text)
        view = Name(f"{text}[{self.r.randrange(rows)}]", "array", t, columns)
        scope.names.append(view)
        written = f"{text}[{row}][{self.r.randrange(columns)}] = {self.of_type(scope, t, 1)};"
        return [f"{t} {text}[{rows}][{columns}] = {{{', '.join(lines)}}};", written]

    def do_aim(self, scope: Scope) -> list[str]:
        """A pointer to a struct, or into an array of them."""
        found = [n for n in scope.names if n.kind in ("struct", "structs") and not n.const]
        if not found:
            return self.do_struct(scope)
        n = self.r.choice(found)
        assert isinstance(n.type, StructType)
        text = self.name()
        start = f"&{n.text}" if n.kind == "struct" else f"{n.text} + {self.index(scope, n.count)}"
        self.add(scope, Name(f"(*{text})", "struct", n.type))
        return [f"{n.type.name} *{text} = {start};"]

    def do_move(self, scope: Scope) -> list[str]:
        """A pointer gets another target."""
        found = [n for n in scope.names if n.kind == "pointer" and n.text[0] in "vabs" and not n.const]
        pairs = [
            (p, a)
            for p in found
            for a in scope.names
            if a.kind == "array" and a.type == p.type and a.count // 2 >= p.count and not a.const
        ]
        if not pairs:
            return self.do_pointer(scope)
        p, a = self.r.choice(pairs)
        way = f"{p.text} = {a.text} + {self.index(scope, p.count)};"  # p.count is at most half of a.count
        return [f"if ({self.condition(scope)}) {way}"] if self.r.random() < 0.5 else [way]

    def do_change(self, scope: Scope) -> list[str]:
        """A method that changes its object."""
        found = [n for n in scope.names if n.kind == "struct" and not n.const and n.type in self.structs]
        if not found:
            return self.do_struct(scope)
        return [f"{self.r.choice(found).text}.change({self.integer(scope, 2)[0]});"]

    def do_lazy(self, scope: Scope) -> list[str]:
        """Effects that happen only on one side of `&&`, `||` or `?:`."""
        found = self.scalars(scope, ("int", "unsigned", "short", "long long"), write=True)
        if not found:
            return self.do_declare(scope)
        v, w = self.r.choice(found), self.r.choice(found)
        c, e = self.integer(scope, 2)[0], self.integer(scope, 1)[0]
        return [
            self.r.choice((
                f"({c}) && ({v} = {e});",
                f"({c}) || ({v} += {e});",
                f"({c}) ? ({v} = {e}) : ({w} = 5);",
                f"({c} ? (void)({v} ^= {e}) : (void)0);",
                f"{v} = ({c}) ? ({w} = {e}, {w} + 1) : {w};",
                f"if (({v} = {e}) && ({c})) {w}++;",
            ))
        ]  # fmt: skip
