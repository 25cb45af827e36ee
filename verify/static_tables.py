"""What a port may import, call and name: the tables of the static stage. What is in none of them is refused.

A module maps to the names that may be taken from it; ALL stands for every public one.
"""

from __future__ import annotations

from collections.abc import Mapping

ALL: frozenset[str] = frozenset({"*"})


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


IMPORT, CONSTRUCT, TORCH = "CP6003", "CP6005", "CP6006"
STREAM, HANDLER, EFFECT = "CP6007", "CP6008", "CP6009"

# Whole modules, by full name. Parts of the DSL are in DSL_ROOTS.
MODULES: Mapping[str, frozenset[str]] = {
    "__future__": ALL,
    "abc": words("ABC abstractmethod"),
    "collections": words("namedtuple defaultdict OrderedDict deque Counter abc"),
    "collections.abc": ALL,
    "dataclasses": words("dataclass field fields replace asdict astuple is_dataclass KW_ONLY InitVar"),
    "enum": words("Enum IntEnum StrEnum Flag IntFlag auto unique"),
    "functools": words("cache lru_cache cached_property partial reduce wraps"),
    "inspect": words("isclass"),
    "itertools": words(
        """
        product chain repeat accumulate zip_longest permutations combinations pairwise islice
        """
    ),
    "math": ALL,
    "numbers": ALL,
    "operator": words(
        """
        add sub mul truediv floordiv mod pow neg pos abs and_ or_ xor inv invert lshift rshift lt le eq
        ne ge gt not_ truth is_ is_not itemgetter index
        """
    ),
    "types": words("SimpleNamespace NoneType EllipsisType"),
    "typing": words(
        """
        Any Annotated Callable ClassVar Concatenate Dict Final FrozenSet Generic Iterable Iterator List
        Literal Mapping NamedTuple Never NewType NoReturn Optional ParamSpec Protocol Self Sequence Set
        Tuple Type TypeAlias TypedDict TypeGuard TypeVar TypeVarTuple Union Unpack TYPE_CHECKING cast
        final overload override runtime_checkable assert_never Generator
        """
    ),
    "typing_extensions": words(
        """
        Annotated Literal NamedTuple Never NotRequired Self TypeAlias TypedDict TypeVarTuple Unpack
        deprecated override overload final
        """
    ),
}  # fmt: skip
# Anything public below these, apart from DSL_CLOSED and from names of modules that the DSL itself imports.
DSL_ROOTS = ("cutlass",)
# Parts with an underscore that kernels use.
DSL_PRIVATE = words("_mlir _mlir_helpers _Tensor _pack_shape _pack_tile _ComposedLayout")
# Parts of the DSL that reach files, foreign code, tensors behind bare addresses, or the DSL's own machinery.
DSL_CLOSED = words(
    """
    torch jax export viz testing BitCode LinkLibraries extern compile_to CACHE_FILE env_manager
    jit_executor ast_preprocessor ast_helpers cache_helpers compile_backend compiler tvm_ffi_builder
    preprocess_mode dynamic_debug diagnostics register_jit_arg_adapter register_library_unload_callback
    typing_module unregister_library_unload_callback JitArgAdapterRegistry cuda_jit_executor
    cuda_library_adapter tvm_ffi_provider get_type_hints pyir_core pyir_runtime multi_stage_manager
    load_module find_runtime_libraries print_latex print_latex_tv ExecutionEngine PassManager cuda
    cudart driver nvrtc np numpy tvm_ffi
    FFI mangle ConstValue call CallOp func FuncOp LLVMFuncOp mlir_addressof AddressOfOp Module
    Operation OpView dump_kernel_symbols jit_arg_adapters timer logger stacktrace
    """
)
# Modules of the DSL: named on the way to what they hold, never handed on.
DSL_MODULES = words(
    """
    cutlass cute utils pipeline arch nvgpu runtime core algorithm atom tensor base_dsl cutlass_dsl _mlir
    _mlir_helpers dialects ir gpu memory experimental tcgen05 warp warpgroup cpasync hopper_helpers
    blackwell_helpers typing math llvm nvvm arith builtin
    """
)
# Names of the standard library that are the DSL's own too.
DSL_SHARED_NAMES = words(
    """
    copy select array numbers math struct typing enum operator functools dataclasses profiling types abc
    """
)
# Closed parts of which some names are open all the same.
DSL_OPENINGS: Mapping[str, frozenset[str]] = {
    "cutlass.torch": words("dtype current_stream default_stream cutlass_to_torch_dtype"),
    "cutlass.base_dsl.ffi": frozenset(),  # the door is cute.ffi, whose calls are read
    "cutlass.testing": words("CantImplementError"),
    "cutlass.cute.testing": words("CantImplementError assert_"),
    "cutlass.experimental.cuda": words(
        """
        TensorMap TensorMapSwizzle TensorMapDataFormat TensorMapInterleave TensorMapL2Promotion
        TensorMapFloatOOBFill create_tensor_map_tiled create_tensor_map_tiled_from_view
        create_tensor_map_im2col
        """
    ),
}
# `BaseDSL._get_dsl()` is open only for these questions.
DSL_QUESTIONS = words("get_arch_enum")
# What is only ever called, so that its arguments can be read.
ONLY_CALLED = ("cute.ffi", "cute.compile", "cudaMemcpyAsync")
# A function of CUDA's device library; host code reaches any symbol of the process by the same door.
FOREIGN_NAME = r"__nv_\w+"
COMPILE_FLAGS = words(
    """
    --opt-level --enable-assertions --generate-line-info --gpu-arch --keep-ptx --keep-cubin
    --ptxas-options --enable-tvm-ffi
    """
)

# Names of torch that may be mentioned, and those that may be called. All else computes, allocates or waits.
TORCH_NAMES = words(
    """
    Tensor dtype device Size cuda.Stream cuda.current_stream cuda.get_device_properties
    cuda.get_device_capability cuda.current_device cuda.is_available bool uint8 int8 int16 short int32
    int int64 long uint16 uint32 uint64 float16 half bfloat16 float32 float float64 double complex64
    complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2
    """
)
TORCH_CALLS = words(
    """
    cuda.current_stream cuda.get_device_properties cuda.get_device_capability cuda.current_device
    cuda.is_available
    """
)
TORCH_STREAMS = words(
    """
    cuda.Stream cuda.stream cuda.ExternalStream cuda.set_stream cuda.StreamContext cuda.default_stream
    cuda.Event cuda.graph cuda.CUDAGraph cuda.graphs cuda.synchronize Stream Event
    """
)
# Methods of a tensor that compute, copy or fill. The DSL has none of these names; methods that end in one
# underscore, which work in place, are refused by their spelling.
TORCH_METHODS = words(
    """
    matmul mm bmm addmm addmv baddbmm mv dot vdot inner outer einsum cumsum cumprod softmax log_softmax
    sigmoid relu gelu silu contiguous cpu cuda numpy tolist item index_select masked_fill masked_select
    scatter scatter_add gather_nd argmax argmin argsort topk median unique bincount histc clamp_min
    clamp_max copy_ detach requires_grad backward untyped_storage storage set_ share_memory pin_memory
    record_stream new_empty new_zeros new_ones new_full new_tensor type_as to_dense wait_stream
    wait_event synchronize record_event query
    """
)  # fmt: skip
DSL_METHODS = words("with_ and_ or_ not_")
STREAM_METHODS = words("wait_stream wait_event synchronize record_event record_stream query")

CUDA_MODULES = ("cuda.bindings.driver", "cuda.bindings.runtime")
CUDA_NAMES = words(
    """
    CUstream CUstream_flags CUdeviceptr CUresult CUfunction CUkernel CUlibrary cudaStream_t cudaError_t
    cudaMemcpyKind cudaLibraryGetGlobal cudaMemcpyAsync
    """
)
# A copy is there for constant memory only: its function asks for the symbol first.
CUDA_COPY, CUDA_SYMBOL = "cudaMemcpyAsync", "cudaLibraryGetGlobal"
CUDA_STREAMS = words("cuStream cuEvent cuGraph cuCtx cudaStream cudaEvent cudaGraph cudaDeviceSynchronize")

# Importing these is asking for other threads or processes.
THREADS = words("threading _thread asyncio concurrent multiprocessing queue sched signal")

BUILTINS = words(
    """
    abs all any bin bool bytes callable chr complex dict divmod enumerate filter float format frozenset
    getattr hasattr hash hex int isinstance issubclass iter len list map max min next object oct ord pow
    print property range repr reversed round set slice sorted staticmethod str classmethod sum super
    tuple type zip NotImplemented Ellipsis True False None __name__ __debug__ ArithmeticError
    AssertionError AttributeError DeprecationWarning Exception ImportError IndexError KeyError
    LookupError MemoryError NotImplementedError OSError OverflowError RuntimeError RuntimeWarning
    StopIteration TypeError UserWarning ValueError Warning ZeroDivisionError
    """
)
# Attributes that lead from a value to frames, code or the interpreter.
INTROSPECTION = words(
    """
    mro gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await ag_frame ag_code f_back f_builtins
    f_code f_globals f_locals tb_frame tb_next func_globals func_code modules cache_parameters
    """
)
DUNDER_READ = words(
    """
    __name__ __qualname__ __doc__ __init__ __post_init__ __call__ __class__ __version__ __members__
    __c_pointers__ __get_mlir_types__ __extract_mlir_values__ __new_from_mlir_values__
    __extract_mlir_attributes__ __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __getitem__
    __setitem__ __len__ __repr__ __str__ __neg__
    """
)
DUNDER_DEFINED = words(
    """
    __init__ __post_init__ __call__ __repr__ __str__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__
    __bool__ __len__ __iter__ __getitem__ __setitem__ __contains__ __add__ __radd__ __iadd__ __sub__
    __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __rtruediv__ __floordiv__ __rfloordiv__
    __mod__ __rmod__ __divmod__ __rdivmod__ __pow__ __neg__ __pos__ __abs__ __invert__ __and__ __rand__
    __or__ __ror__ __xor__ __rxor__ __lshift__ __rshift__ __int__ __index__ __float__ __matmul__
    __c_pointers__ __get_mlir_types__ __extract_mlir_values__ __new_from_mlir_values__
    __extract_mlir_attributes__
    """
)
DUNDER_CLASS = words("__slots__ __doc__ __match_args__ __hash__")
DUNDER_MODULE = words("__all__ __doc__ __version__ __author__")

# Decorators, apart from all of the DSL's and from `@name.setter`.
DECORATORS = words(
    """
    functools.cache functools.lru_cache functools.cached_property functools.wraps dataclasses.dataclass
    abc.abstractmethod enum.unique typing.overload typing.final typing.override typing.runtime_checkable
    typing_extensions.override typing_extensions.final typing_extensions.overload
    typing_extensions.deprecated
    """
)
DECORATOR_BUILTINS = words("property staticmethod classmethod")

# What values made at import consist of, besides calls.
PLAIN = words(
    """
    Constant Name Attribute BinOp UnaryOp BoolOp Compare IfExp Tuple List Set Dict Subscript Slice
    Starred JoinedStr FormattedValue Lambda ListComp SetComp DictComp GeneratorExp comprehension
    keyword expr_context operator unaryop boolop cmpop arguments arg
    """
)
# Calls that a module may make while it is imported, apart from those of the DSL, math and typing.
CALLED_AT_IMPORT = words(
    """
    dict list set tuple frozenset int float str bool bytes range len min max sum abs round slice sorted
    type map zip enumerate reversed isinstance pow divmod
    """
)
ITERATORS = words("map zip enumerate reversed iter filter")
IMPORTABLE_CALLS = words(
    """
    enum.auto functools.partial collections.namedtuple types.SimpleNamespace dataclasses.field
    """
)
DSL_CALLED_LATER = words("compile jit kernel")  # what would compile or run something at import

# Methods that host code may call on what is no part of the DSL and no class of the port's own.
HOST_METHODS = words(
    """
    data_ptr is_contiguous size stride numel dim element_size encode get items keys values index count
    join format startswith endswith removeprefix bit_length split strip lower upper copy append extend
    insert add update launch mark_layout_dynamic mark_compact_shape_dynamic get_device
    is_floating_point ndimension toint ir_value align width
    """
)
READS = words("get items keys values index count")  # those of them that leave a container as it is
CONTAINERS = words("list dict set defaultdict OrderedDict deque Counter")
