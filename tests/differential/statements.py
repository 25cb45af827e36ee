"""Random statements: each kind knows what it may touch, so that loops end and nothing is undefined."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.expressions import Expressions
from tests.differential.program_types import BITS, FLOATS, INTS, SLOTS, Name, Scope, StructType, promoted


class Statements(Expressions):
    """Adds statements to expressions."""

    # -- statements --------------------------------------------------------------------------------------

    def block(self, scope: Scope, count: int) -> list[str]:
        inner = replace(scope, names=list(scope.names), depth=scope.depth + 1, here=set())
        made: list[str] = []
        for _ in range(count):
            made += self.statement(inner)
        return made

    def nested(self, scope: Scope, **changes: object) -> list[str]:
        return ["    " + line for line in self.block(replace(scope, **changes), self.r.randrange(1, 4))]  # type: ignore[arg-type]

    def statement(self, scope: Scope) -> list[str]:
        choices = self.choices(scope)
        kind = self.r.choices(list(choices), list(choices.values()))[0]
        made: list[str] = getattr(self, f"do_{kind}")(scope)
        return made

    def choices(self, scope: Scope) -> dict[str, float]:
        """Kinds of statements and how often they come."""
        deep = scope.depth >= 4
        return {
            "declare": 5, "assign": 8, "compound": 6, "step": 3, "out": 4, "chain": 2, "effects": 2,
            "array": 1.5, "struct": 2, "copy": 2, "pointer": 1.5, "reference": 1.5, "procedure": 2,
            "if": 0 if deep else 6, "loop": 0 if deep or scope.work > 100 else 5, "switch": 0 if deep else 3,
            "scope": 0 if deep else 1,
            "leave": 2.5 if scope.loop or scope.breakable or scope.result is not None else 0.4,
        }  # fmt: skip

    def do_declare(self, scope: Scope) -> list[str]:
        t = self.r.choice((*INTS, *FLOATS, "int", "unsigned", "float"))
        value = self.literal(t) if t in INTS and self.r.random() < 0.3 else self.of_type(scope, t, 2)
        if t in FLOATS and self.r.random() < 0.3:
            value = self.real(Scope(), 0)
        text = self.name(scope)
        if text in value:  # the new variable would be read before it has a value
            text = self.name()
        const = self.r.random() < 0.2
        self.add(scope, Name(text, "scalar", t, const=const))
        return [f"{'const ' if const else ''}{t} {text} = {value};"]

    def do_assign(self, scope: Scope) -> list[str]:
        t = self.r.choice((*INTS, *FLOATS))
        found = self.scalars(scope, (t,), write=True)
        arrays = [n for n in scope.names if n.kind in ("array", "pointer") and n.type == t and not n.const]
        if arrays and self.r.random() < 0.6:
            n = self.r.choice(arrays)
            return [f"{n.text}[{self.index(scope, n.count)}] = {self.of_type(scope, t, 2)};"]
        if not found:
            return self.do_declare(scope)
        return [f"{self.r.choice(found)} = {self.of_type(scope, t, 3)};"]

    def do_compound(self, scope: Scope) -> list[str]:
        r = self.r
        if r.random() < 0.2 and (found := self.scalars(scope, FLOATS, write=True)):
            return [f"{r.choice(found)} {r.choice('+-*/')}= {self.real(scope, 2)};"]
        t = r.choice(INTS)
        found = self.scalars(scope, (t,), write=True)
        if not found:
            return self.do_declare(scope)
        v = r.choice(found)
        e, _ = self.integer(scope, 2)
        op = r.choice(("+", "-", "*", "&", "|", "^", "<<", ">>", "/", "%"))
        if op in ("<<", ">>"):
            e = f"({e} & {BITS[promoted(t)] - 1})"
        elif op in ("/", "%"):
            e = f"(({e} & 7) + 2)"
        return [f"{v} {op}= {e};"]

    def do_step(self, scope: Scope) -> list[str]:
        found = self.scalars(scope, tuple(t for t in INTS if t != "bool") + FLOATS, write=True)
        if not found:
            return self.do_declare(scope)
        v = self.r.choice(found)
        return [self.r.choice((f"{v}++;", f"++{v};", f"{v}--;", f"--{v};"))]

    def do_out(self, scope: Scope) -> list[str]:
        if scope.result is not None:
            return self.do_assign(scope)
        slot = self.r.randrange(SLOTS)
        if self.r.random() < 0.2:
            return [f"fout[t * {SLOTS} + {slot}] {self.r.choice(('=', '+='))} {self.real(scope, 2)};"]
        return [f"out[t * {SLOTS} + {slot}] {self.r.choice(('=', '+=', '^='))} {self.integer(scope, 2)[0]};"]

    def do_chain(self, scope: Scope) -> list[str]:
        found = self.scalars(scope, ("int", "unsigned char", "short", "long long", "unsigned"), write=True)
        pair = self.r.sample(found, 2) if len(found) > 1 else []
        if not pair or pair[0] == pair[1]:
            return self.do_declare(scope)
        return [f"{pair[0]} = {pair[1]} {self.r.choice(('=', '+=', '^='))} {self.integer(scope, 2)[0]};"]

    def do_effects(self, scope: Scope) -> list[str]:
        """An index or operand that changes a variable, which nothing else in the expression reads."""
        r = self.r
        found = self.scalars(scope, ("int", "unsigned", "unsigned char", "long long"), write=True)
        arrays = [n for n in scope.names if n.kind == "array" and n.type in INTS and not n.const]
        plain = [f for f in found if f.isidentifier()]
        if not plain or not arrays:
            return self.do_declare(scope)
        v, a = r.choice(plain), r.choice(arrays)
        known = [n for n in scope.names if n.text in ("n", "t")]
        if not known:
            return self.do_declare(scope)
        rest = replace(scope, names=known)
        if "&" in v or any(n.text == v and n.kind != "scalar" for n in scope.names):
            return self.do_declare(scope)
        step = r.choice((f"{v}++", f"++{v}", f"{v}--"))
        mask = a.count - 1
        e = self.integer(rest, 1)[0]
        return [
            r.choice(
                (
                    f"{a.text}[{step} & {mask}] = {e};",
                    f"{a.text}[{step} & {mask}] += {e};",
                    f"{a.text}[{v} & {mask}] = {v}++;",  # the right side first
                    f"{a.text}[{v} & {mask}] = ({v} = {e});",
                    f"{a.text}[({e}) & {mask}] = ({e}) + {step};",
                    f"{v} = (({e}), {v} + 1);",
                )
            )
        ]

    def do_array(self, scope: Scope) -> list[str]:
        t, count = self.r.choice((*INTS, "float", "int")), self.r.choice((2, 4, 8))
        text = self.name()
        items = ", ".join(self.braced(scope, t) for _ in range(self.r.randrange(1, count + 1)))
        self.add(scope, Name(text, "array", t, count))
        return [f"{t} {text}[{count}] = {{{items}}};"]

    def do_struct(self, scope: Scope) -> list[str]:
        if not self.structs:
            return self.do_array(scope)
        t = self.r.choice(self.structs)
        text = self.name()
        if self.r.random() < 0.2:
            count = self.r.choice((2, 4))
            items = ", ".join(self.braces(scope, t) for _ in range(self.r.randrange(1, count + 1)))
            self.add(scope, Name(text, "structs", t, count))
            return [f"{t.name} {text}[{count}] = {{{items}}};"]
        value = self.struct_value(scope, t, 2)
        self.add(scope, Name(text, "struct", t))
        return [f"{t.name} {text} = {value};"]

    def do_copy(self, scope: Scope) -> list[str]:
        targets = [n for n in scope.names if n.kind in ("struct", "structs") and not n.const]
        if not targets:
            return self.do_struct(scope)
        n = self.r.choice(targets)
        assert isinstance(n.type, StructType)
        at = n.text if n.kind == "struct" else f"{n.text}[{self.index(scope, n.count)}]"
        return [f"{at} = {self.struct_value(scope, n.type, 2)};"]

    def do_pointer(self, scope: Scope) -> list[str]:
        arrays = [n for n in scope.names if n.kind == "array" and n.count >= 4 and not n.const]
        if not arrays:
            return self.do_array(scope)
        n = self.r.choice(arrays)
        text = self.name()
        half = n.count // 2
        start = self.r.choice(
            (f"{n.text} + {self.index(scope, half)}", f"&{n.text}[{self.index(scope, half)}]", n.text)
        )
        made = [f"{n.type} *{text} = {start};"]
        if start == n.text and self.r.random() < 0.5:
            made.append(self.r.choice((f"{text}++;", f"{text} += {self.index(scope, half)};")))
        self.add(scope, Name(text, "pointer", n.type, half))
        return made

    def do_reference(self, scope: Scope) -> list[str]:
        text = self.name()
        names = [
            n
            for n in scope.names
            if not n.const and n.text not in self.busy and n.kind in ("scalar", "array", "struct")
        ]
        if not names:
            return self.do_declare(scope)
        n = self.r.choice(names)
        if n.kind == "array":
            at = f"{n.text}[{self.index(scope, n.count)}]"
            self.add(scope, Name(text, "scalar", n.type))
            return [f"{n.type} &{text} = {at};"]
        if n.kind == "struct":
            assert isinstance(n.type, StructType)
            if self.r.random() < 0.5:
                self.add(scope, Name(text, "struct", n.type))
                return [f"{n.type.name} &{text} = {n.text};"]
            at, t = self.r.choice(self.leaves(n))
            self.add(scope, Name(text, "scalar", t))
            return [f"{t} &{text} = {at};"]
        self.add(scope, Name(text, "scalar", n.type))
        return [f"{n.type} &{text} = {n.text};"]

    def do_procedure(self, scope: Scope) -> list[str]:
        """A call with reference or pointer parameters, as a statement."""
        usable = [f for f in self.functions if any(k != "value" for k, _ in f.params)]
        if not usable or scope.work > 64:
            return self.do_assign(scope)
        f = self.r.choice(usable)
        args: list[str] = []
        for kind, t in f.params:
            if kind == "value":
                args.append(self.of_type(scope, t, 1))
                continue
            if kind == "pointer":
                found = [
                    n.text
                    for n in scope.names
                    if n.kind == "array" and n.type == t and n.count >= 4 and not n.const
                ]
            elif isinstance(t, StructType):
                found = [n.text for n in scope.names if n.kind == "struct" and n.type == t and not n.const]
            else:
                found = self.scalars(scope, (str(t),), write=True)
            if not found:
                return self.do_assign(scope)
            args.append(self.r.choice(found))
        call = f"{f.name}({', '.join(args)})"
        if f.result in INTS:
            held = self.name()
            self.add(scope, Name(held, "scalar", f.result))
            return [f"{f.result} {held} = {call};"]
        return [f"{call};"]

    def do_if(self, scope: Scope) -> list[str]:
        made = [f"if ({self.condition(scope)}) {{", *self.nested(scope), "}"]
        if self.r.random() < 0.3:
            made[-1] = f"}} else if ({self.condition(scope)}) {{"
            made += [*self.nested(scope), "}"]
        if self.r.random() < 0.5:
            made[-1] = "} else {"
            made += [*self.nested(scope), "}"]
        return made

    def do_scope(self, scope: Scope) -> list[str]:
        return ["{", *self.nested(scope), "}"]

    def do_leave(self, scope: Scope) -> list[str]:
        ways = ["break;"] * scope.breakable + ["continue;"] * scope.loop
        if scope.result is not None:
            value = "" if scope.result == "void" else f" {self.of_type(scope, scope.result, 2)}"
            ways.append(f"return{value};")
        else:
            ways.append("return;")
        way = self.r.choice(ways)
        if self.r.random() < 0.85:
            return [f"if ({self.condition(scope)}) {way}"]
        return [way]

    def do_loop(self, scope: Scope) -> list[str]:
        r = self.r
        kind = r.choice(
            ("up", "up", "up", "down", "unsigned", "while", "do", "ever", "after", "bound", "two", "narrow")
        )
        i = self.name()
        self.busy.add(i)
        inner = replace(scope, names=list(scope.names), loop=True, breakable=True, work=scope.work * 6)
        bound = f"({self.integer(scope, 1)[0]} & 7)"
        step = r.choice(("++{i}", "{i}++", "{i} += 2", "{i} += 3")).format(i=i)
        before: list[str] = []
        after: list[str] = []
        counter = Name(i, "scalar", "int", const=True)
        if kind == "up":
            t = r.choice(("int", "unsigned", "long long", "size_t", "int"))
            compare = r.choice((f"{i} < {bound}", f"{i} <= {bound}", f"{bound} > {i}", f"{i} != 6"))
            if "!=" in compare:
                step = f"{i} += {r.choice((1, 2))}"
            head = f"for ({t} {i} = {r.choice((0, 0, 2))}; {compare}; {step}) {{"
            counter = replace(counter, type={"size_t": "unsigned long long"}.get(t, t))
        elif kind == "narrow":
            t = r.choice(("unsigned char", "short", "signed char"))
            head = f"for ({t} {i} = 0; {i} < {bound}; {step}) {{"
            counter = replace(counter, type=t)
        elif kind == "down":
            head = f"for (int {i} = {bound}; {i} {r.choice(('>', '>='))} 0; {i} -= {r.choice((1, 2))}) {{"
        elif kind == "unsigned":
            head = r.choice((
                f"for (unsigned {i} = {bound}; {i}-- > 0;) {{",
                f"for (unsigned {i} = {bound}; {i} < 8u; --{i}) {{",
            ))  # fmt: skip
            counter = replace(counter, type="unsigned")
        elif kind == "while":
            before = [f"int {i} = {bound};"]
            head = r.choice(
                (f"while ({i}-- > 0) {{", f"while (--{i} >= 0) {{", f"while (({i} = {i} - 1) > 0) {{")
            )
        elif kind == "do":
            before = [f"int {i} = 0;"]
            head = "do {"
        elif kind == "ever":
            before = [f"unsigned {i} = 0;"]
            head = r.choice(("for (;;) {", "while (true) {", "while (1) {"))
            counter = replace(counter, type="unsigned")
        elif kind == "after":  # the counter lives on
            before = [f"int {i};"]
            head = f"for ({i} = 0; {i} < {bound}; {step}) {{"
        elif kind == "bound":  # the bound changes
            m = self.name()
            self.busy.add(m)
            before = [f"int {m} = {bound};"]
            head = f"for (int {i} = 0; {i} < {m}; {i}++) {{"
            inner.names.append(Name(m, "scalar", "int", const=True))
        else:
            j = self.name()
            self.busy.add(j)
            head = f"for (int {i} = 0, {j} = {bound}; {i} < {j}; {i}++, {j}--) {{"
            inner.names.append(Name(j, "scalar", "int", const=True))
        inner.names.append(counter)
        if kind in ("up", "after", "narrow") and r.random() < 0.25:
            head = head.replace(
                f"; {step}) {{",
                f" {r.choice(('&&', '&&', '&&' if '!=' in head else '||'))} {{extra}}; {step}) {{",
            )
            extra = self.condition(replace(inner, names=list(scope.names)))
            if "||" in head:
                extra = f"({i} < 7 && ({extra}))"
            head = head.replace("{extra}", f"({extra})")
        body = self.nested(inner)
        if kind == "ever":
            body.insert(0, f"    if ({i}++ >= {r.randrange(1, 6)}) break;")
        if (
            kind in ("up", "after")
            and step != f"{i} += {r.choice((1, 2))}"
            and r.random() < 0.15
            and "!=" not in head
        ):
            body.insert(
                r.randrange(len(body) + 1) if len(body) == 1 else 0,
                f"    if ({self.integer(scope, 1)[0]}) {i}++;",
            )
        if kind == "bound":
            body.insert(0, f"    if ({self.integer(scope, 1)[0]}) {m}--;")
        tail = [f"}} while (++{i} < {bound});"] if kind == "do" else ["}"]
        if kind == "do":
            body.insert(0, f"    if ({i} > 7) break;")
        self.busy.discard(i)
        if before and kind not in ("bound",) and before[0].split()[0] in ("int", "unsigned"):
            self.add(scope, Name(i, "scalar", before[0].split()[0]))
        if head.startswith("for") and r.random() < 0.15:
            before.append(r.choice(("#pragma unroll", "#pragma unroll 2", "#pragma unroll 1")))
        return [*before, head, *body, *tail, *after]

    def do_switch(self, scope: Scope) -> list[str]:
        r = self.r
        found = self.scalars(scope, ("int", "unsigned char", "long long", "unsigned"), write=True)
        value, _ = self.integer(scope, 2)
        made = [f"switch ({r.choice(found) if found and r.random() < 0.4 else f'(int)({value} & 3)'}) {{"]
        labels = r.sample((0, 1, 2, 3, 5, 100), r.randrange(1, 5))
        default = r.randrange(len(labels) + 2)
        inner = replace(scope, breakable=True)
        for k, label in enumerate(labels):
            if k == default:
                made.append("default:")
            made.append(f"case {label}:")
            if r.random() < 0.15:
                continue
            made += ["    {", *("    " + s for s in self.nested(inner)), "    }"]
            if r.random() < 0.7:
                made.append("    break;")
        if default == len(labels):
            made += ["default:", "    {", *("    " + s for s in self.nested(inner)), "    }"]
        if made[-1].endswith(":"):
            made.append("    ;")
        return [*made, "}"]
