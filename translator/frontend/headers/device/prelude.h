// What a CUDA source needs to be parsed with no toolkit: declarations only, force-included first.
//
// Rules. Functions are declared host and device (force_cuda_host_device) so that overload resolution is
// the device's. A compiler builtin is declared as the compiler knows it. Templates leave value parameters
// non-deduced where CUDA has one function per type, so that atomicAdd(float*, int) converts its value.
#pragma once
#include "qualifiers.h"
#include "integers.h"
#include "limits_macros.h"
#pragma clang force_cuda_host_device begin
#include "vector_types.h"
#pragma clang force_cuda_host_device end
#include "execution.h"
#pragma clang force_cuda_host_device begin
#include "libc.h"
#include "math_functions_c.h"
#include "standard_library.h"
#include "integer_intrinsics.h"
#include "float_intrinsics.h"
#include "sync_warp_memory.h"
#include "atomics.h"
#include "half_types.h"
#include "fp8_types.h"
#include "complex_numbers.h"
#include "textures.h"
#include "curand_device.h"
#include "groups.h"
#include "tensor_cores.h"
#include "cub_device.h"
#pragma clang force_cuda_host_device end
#include "host_api.h"
#include "host_library.h"
struct cuteport_end_of_prelude;
