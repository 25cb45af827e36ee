"""Random single-thread CUDA kernels with defined behaviour, from a seed.

Defined: shift counts and divisors are masked, array indices stay inside, loops end, conversions of floats to
integers are guarded, no object is changed and read in one expression unless the language orders the two.
Signed overflow is left to wrap (the original is built with -fwrapv).
"""

from __future__ import annotations

from tests.differential.program_types import FLOATS, INTS, SLOTS, THREADS, Callee, Name, Scope, StructType
from tests.differential.shapes import Shapes

__all__ = ["THREADS", "Program", "source"]


class Program(Shapes):
    """One kernel with its device functions and structs, as text."""

    # -- the whole ---------------------------------------------------------------------------------------

    def struct(self) -> str:
        name = f"S{self.seed}_{len(self.structs)}"
        fields: list[tuple[str, object, int]] = []
        for k in range(self.r.randrange(1, 5)):
            if self.structs and self.r.random() < 0.25:
                fields.append((f"m{k}", self.r.choice(self.structs), 0))
            else:
                t = self.r.choice((*INTS, *FLOATS, "int", "float"))
                fields.append((f"m{k}", t, self.r.choice((0, 0, 0, 2, 3))))
        self.structs.append(StructType(name, tuple(fields)))
        lines = [
            f"    {t.name if isinstance(t, StructType) else t} {f}{f'[{c}]' if c else ''};"
            for f, t, c in fields
        ]
        plain = [(f, t) for f, t, c in fields if t in INTS and not c and t != "bool"]
        first = plain[0][0] if plain else ""
        lines.append(
            f"    __device__ int sum(int k) const {{ return {f'(int){first} + ' if first else ''}k; }}"
        )
        change = f"{first} = {first} * 3 + k;" if first else ""
        lines.append(f"    __device__ void change(int k) {{ {change} }}")
        return f"struct {name} {{\n" + "\n".join(lines) + "\n};\n"

    def function(self) -> str:
        r = self.r
        name = f"f{self.seed}_{len(self.functions)}"
        result: object = r.choice((*INTS, "int", "void", *self.structs))
        scope = Scope(result=result, work=8)
        params: list[tuple[str, object]] = []
        texts: list[str] = []
        for k in range(r.randrange(1, 4)):
            kind = r.choice(("value", "value", "ref", "pointer"))
            p = f"p{k}"
            t: object = r.choice((*INTS, "int", "float"))
            if kind == "pointer":
                t = r.choice(("int", "unsigned char", "short"))
                scope.names.append(Name(p, "pointer", t, 4))
                texts.append(f"{t} *{p}")
            else:
                if self.structs and r.random() < 0.3:
                    t = r.choice(self.structs)
                word = t.name if isinstance(t, StructType) else t
                scope.names.append(Name(p, "struct" if isinstance(t, StructType) else "scalar", t))
                texts.append(f"{word} {'&' if kind == 'ref' else ''}{p}")
            params.append((kind, t))
        body = ["    " + line for line in self.block(scope, r.randrange(2, 6))]
        if result != "void":
            body.append(f"    return {self.of_type(scope, result, 2)};")
        word = result.name if isinstance(result, StructType) else result
        self.functions.append(Callee(name, result, tuple(params)))
        return f"__device__ {word} {name}({', '.join(texts)})\n{{\n" + "\n".join(body) + "\n}\n"

    def text(self, statements: int = 14) -> str:
        r = self.r
        parts = [self.struct() for _ in range(r.randrange(3))]
        parts += [self.function() for _ in range(r.randrange(4))]
        scope = Scope()
        scope.names = [
            Name("n", "scalar", "int", const=True),
            Name("t", "scalar", "int", const=True),
            Name("x", "array", "int", 32, const=True),
            Name("y", "array", "unsigned char", 32, const=True),
            Name("u", "array", "unsigned long long", 16, const=True),
            Name("h", "array", "short", 16, const=True),
            Name("f", "array", "float", 16, const=True),
            Name("g", "array", "double", 16, const=True),
        ]
        body: list[str] = []
        for _ in range(4):
            body += self.do_declare(scope)
        for _ in range(statements):
            body += self.statement(scope)
        for k, (v, t) in enumerate(
            (n.text, n.type) for n in scope.names if n.kind == "scalar" and n.text not in "nt"
        ):
            which = "fout" if t in FLOATS else "out"
            body.append(f"{which}[t * {SLOTS} + {k % SLOTS}] += {v};")
        params = (
            "long long *out, double *fout, const int *x, const unsigned char *y, "
            "const unsigned long long *u, "
            "const short *h, const float *f, const double *g, int n"
        )
        lines = ["    int t = threadIdx.x;", *("    " + line for line in body)]
        parts.append(f"__global__ void k{self.seed}({params})\n{{\n" + "\n".join(lines) + "\n}\n")
        return "\n".join(parts)


_TEMPLATE = """template <typename T> __device__ T spread(T a, T b)
{
    if (a > b) return a - b;
    return b - a + 1;
}

"""


def source(seeds: range) -> str:
    """A file with one kernel `k<seed>` per seed."""
    return "#include <cuda_runtime.h>\n\n" + _TEMPLATE + "\n".join(Program(s).text() for s in seeds)
