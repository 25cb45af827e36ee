// Stands in for the CuTe DSL's runtime library, so that a compiled port can be called without a GPU.
//
// The host code that the DSL generates calls the functions below under the library's own names. They hand
// each request to Python. Every other function of the library is a stub (REST, listed by build.py from the
// installed library) that says its name and fails.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 801 }; // of cudaError_t

// cudaLaunchConfig_t of the CUDA runtime.
typedef struct {
    uint32_t grid[3], block[3];
    size_t smem;
    void *stream;
    const void *attributes;
    uint32_t attribute_count;
} Config;

// What Python provides; each returns a cudaError_t.
typedef struct {
    int (*load)(uint64_t *library, const void *image);
    int (*unload)(uint64_t library);
    int (*kernel)(uint64_t *kernel, uint64_t library, const char *name);
    int (*symbol)(uint64_t *address, size_t *size, uint64_t library, const char *name);
    int (*attribute)(uint64_t kernel, int attribute, int value);
    int (*launch)(const Config *config, uint64_t kernel, void **arguments);
    int (*device)(int *value, int attribute);
    int (*property)(int *value, int attribute, uint64_t kernel);
    void (*missing)(const char *name);
} Handlers;

static Handlers to;

void cuteport_handlers(const Handlers *handlers) { to = *handlers; }

static int missing(const char *name) {
    fprintf(stderr, "the launch shim has no %s\n", name);
    fflush(stderr);
    if (!to.missing)
        abort();
    to.missing(name);
    return NOT_SUPPORTED;
}

int _cudaLibraryLoadData(uint64_t *library, const void *image) {
    return to.load ? to.load(library, image) : missing("handler of _cudaLibraryLoadData");
}
int _cudaLibraryUnload(uint64_t library) { return to.unload ? to.unload(library) : SUCCESS; }
int _cudaLibraryGetKernel(uint64_t *kernel, uint64_t library, const char *name) {
    return to.kernel(kernel, library, name);
}
int _cudaLibraryGetGlobal(uint64_t *address, size_t *size, uint64_t library, const char *name) {
    return to.symbol(address, size, library, name);
}
int _cudaKernelSetAttributeForDevice(uint64_t kernel, int attribute, int value, int device) {
    (void)device;
    return to.attribute(kernel, attribute, value);
}
int _cudaFuncSetAttribute(uint64_t kernel, int attribute, int value) {
    return to.attribute(kernel, attribute, value);
}
int _cudaLaunchKernelEx(const Config *config, uint64_t kernel, void **arguments) {
    return to.launch(config, kernel, arguments);
}

// One device. A launch has ended when its call returns, so there is nothing to wait for.
int _cudaGetDevice(int *device) { return *device = 0, SUCCESS; }
int _cudaGetDeviceCount(int *count) { return *count = 1, SUCCESS; }
int _cudaSetDevice(int device) { return (void)device, SUCCESS; }
int _cudaDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    return to.device(value, attribute);
}
int _cuKernelGetAttribute(int *value, int attribute, uint64_t kernel, int device) {
    (void)device;
    return to.property(value, attribute, kernel);
}
int _cudaDeviceSynchronize(void) { return SUCCESS; }
int _cudaStreamSynchronize(void *stream) { return (void)stream, SUCCESS; }

void cuda_dialect_print_on_error(int error) {
    if (error)
        fprintf(stderr, "the port's host code got CUDA error %d\n", error);
}
void cuda_dialect_assert_success(int error) {
    cuda_dialect_print_on_error(error);
    if (error)
        abort();
}

#define STUB(name) int name(void) { return missing(#name); }
REST
