"""What the lifter refuses: the exception that carries a refusal to its statement, and tables by name."""

from __future__ import annotations

from typing import Any


class LiftError(Exception):
    """Raised where something can't be lifted; `cursor` is where, None for the place being lifted."""

    def __init__(self, code: str, cursor: Any = None, **args: Any) -> None:
        super().__init__(code)
        self.code = code
        self.cursor = cursor
        self.args_for = args


# Stub header → code for everything it declares, unless lifted as an intrinsic.
BY_HEADER = {
    "textures.h": "CP1111",
    "cub_device.h": "CP1118",
    "tensor_cores.h": "CP1119",
    "groups.h": "CP1120",
    "curand_device.h": "CP1121",
    "host_api.h": "CP1138",
    "host_library.h": "CP1138",
}

# Library functions → code, whatever header they are in.
BY_FUNCTION = {
    "malloc": "CP1117",
    "calloc": "CP1117",
    "realloc": "CP1117",
    "free": "CP1117",
    "exit": "CP1138",
    "abort": "CP1138",
    "rand": "CP1138",
    "srand": "CP1138",
}

# Start of a type's qualified name → code.
BY_TYPE = (
    ("texture<", "CP1111"),
    ("cub::", "CP1118"),
    ("thrust::", "CP1118"),
    ("cute::", "CP1118"),
    ("nvcuda::", "CP1119"),
    ("cooperative_groups::", "CP1120"),
    ("curandState", "CP1121"),
    ("std::vector", "CP1138"),
    ("std::string", "CP1138"),
)

# Kind of a cursor (libclang's name) → (code, what it is) for constructs that have one of their own.
BY_KIND = {
    "ASM_STMT": ("CP1110", "inline assembly"),
    "MS_ASM_STMT": ("CP1110", "inline assembly"),
    "GOTO_STMT": ("CP1113", "goto"),
    "INDIRECT_GOTO_STMT": ("CP1113", "goto"),
    "LABEL_STMT": ("CP1113", "label"),
    "CXX_TRY_STMT": ("CP1116", "try"),
    "CXX_THROW_EXPR": ("CP1116", "throw"),
    "CXX_NEW_EXPR": ("CP1117", "new"),
    "CXX_DELETE_EXPR": ("CP1117", "delete"),
    "CXX_FOR_RANGE_STMT": ("CP1126", "range-based for"),
    "CXX_DYNAMIC_CAST_EXPR": ("CP1114", "dynamic_cast"),
    "CXX_TYPEID_EXPR": ("CP1114", "typeid"),
    "StmtExpr": ("CP1127", "statement expression"),
    "OVERLOADED_DECL_REF": ("CP1135", "call that depends on a template parameter"),
}
