/* tests/fakes/cuda/fake_cuda.c - a libcuda.so.1 with one GPU, which runs the kernels of
 * examples/support/gpu.c.
 *
 * A kernel is recognised by its name and computed here, so its PTX is not tested. Memory of the GPU is memory
 * of the process, and freed memory and foreign addresses are refused. The variable FAKE_CUDA_FAIL names a
 * function that fails. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALISED = 3,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500
};
enum { MULTIPROCESSOR_COUNT = 16, MULTIPROCESSORS = 2, MAX_BLOCKS = 16 };

static atomic_bool is_initialised;
static int context; /* its address is the handle of the context */
static _Thread_local void *current;
static struct block {
    void *memory;
    size_t size_bytes;
} blocks[MAX_BLOCKS];
static const char *const kernels[] = {"compute", "sum", "product"};

static bool is_failing(const char *function)
{
    const char *name = getenv("FAKE_CUDA_FAIL");
    return name && *name && strcmp(name, function) == 0;
}

/* Returns the result of a function that needs a context if `is_context`. */
static int check(const char *function, bool is_context)
{
    if (is_failing(function))
        return INVALID_VALUE;
    if (!atomic_load(&is_initialised))
        return NOT_INITIALISED;
    return is_context && current != &context ? INVALID_CONTEXT : OK;
}

static struct block *find_block(uint64_t address, size_t size_bytes)
{
    for (int i = 0; i < MAX_BLOCKS; i++)
        if (address && (uint64_t)(uintptr_t)blocks[i].memory == address && size_bytes <= blocks[i].size_bytes)
            return &blocks[i];
    return NULL;
}

EXPORT int cuInit(unsigned flags);
EXPORT int cuInit(unsigned flags)
{
    if (is_failing("cuInit") || flags != 0)
        return INVALID_VALUE;
    atomic_store(&is_initialised, true);
    return OK;
}

EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGetCount(int *count)
{
    *count = is_failing("cuDeviceGetCount") ? 0 : 1;
    return check("", false);
}

EXPORT int cuDeviceGet(int *device, int index);
EXPORT int cuDeviceGet(int *device, int index)
{
    *device = 7; /* not the index, so that a mistake is seen */
    return index == 0 ? check("cuDeviceGet", false) : INVALID_VALUE;
}

EXPORT int cuDeviceGetName(char *name, int size, int device);
EXPORT int cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "Fake GPU");
    return device == 7 ? check("cuDeviceGetName", false) : INVALID_VALUE;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = MULTIPROCESSORS;
    return device == 7 && attribute == MULTIPROCESSOR_COUNT ? check("cuDeviceGetAttribute", false)
                                                            : INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRetain(void **out_context, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **out_context, int device)
{
    *out_context = &context;
    return device == 7 ? check("cuDevicePrimaryCtxRetain", false) : INVALID_VALUE;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    for (int i = 0; i < MAX_BLOCKS; i++) {
        free(blocks[i].memory);
        blocks[i] = (struct block){0};
    }
    return device == 7 ? OK : INVALID_VALUE;
}

EXPORT int cuCtxSetCurrent(void *next);
EXPORT int cuCtxSetCurrent(void *next)
{
    current = next;
    return next == &context ? check("cuCtxSetCurrent", false) : INVALID_VALUE;
}

EXPORT int cuCtxSynchronize(void);
EXPORT int cuCtxSynchronize(void)
{
    return check("cuCtxSynchronize", true);
}

EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleLoadData(void **module, const void *image)
{
    *module = &context;
    return strncmp(image, ".version ", 9) == 0 ? check("cuModuleLoadData", true) : INVALID_VALUE;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i], name) == 0) {
            *function = (void *)(uintptr_t)&kernels[i];
            return check("cuModuleGetFunction", true);
        }
    return NOT_FOUND;
}

EXPORT int cuMemAlloc_v2(uint64_t *address, size_t size_bytes);
EXPORT int cuMemAlloc_v2(uint64_t *address, size_t size_bytes)
{
    int code = check("cuMemAlloc_v2", true);
    for (int i = 0; code == OK && i < MAX_BLOCKS; i++)
        if (!blocks[i].memory) {
            blocks[i] = (struct block){malloc(size_bytes), size_bytes};
            *address = (uint64_t)(uintptr_t)blocks[i].memory;
            return blocks[i].memory ? OK : OUT_OF_MEMORY;
        }
    return code == OK ? OUT_OF_MEMORY : code;
}

EXPORT int cuMemFree_v2(uint64_t address);
EXPORT int cuMemFree_v2(uint64_t address)
{
    struct block *block = find_block(address, 0);
    if (!block)
        return INVALID_VALUE;
    free(block->memory);
    *block = (struct block){0};
    return check("cuMemFree_v2", true);
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size_bytes);
EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t size_bytes)
{
    if (!find_block(to, size_bytes))
        return INVALID_VALUE;
    memcpy((void *)(uintptr_t)to, from, size_bytes);
    return check("cuMemcpyHtoD_v2", true);
}

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size_bytes);
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t size_bytes)
{
    if (!find_block(from, size_bytes))
        return INVALID_VALUE;
    memcpy(to, (void *)(uintptr_t)from, size_bytes);
    return check("cuMemcpyDtoH_v2", true);
}

/* Computes the sum or the product with the threads of the grid; returns INVALID_VALUE if they do not cover
 * it. */
static int run_matrix(bool is_product, void **arguments, unsigned width, unsigned height)
{
    uint64_t addresses[3];
    float *matrices[3];
    uint32_t n = *(uint32_t *)arguments[3];
    for (int i = 0; i < 3; i++) {
        memcpy(&addresses[i], arguments[i], sizeof addresses[i]);
        if (!find_block(addresses[i], (size_t)n * n * sizeof(float)) || width < n || height < n)
            return INVALID_VALUE;
        matrices[i] = (float *)(uintptr_t)addresses[i];
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            float sum = is_product ? 0 : matrices[0][i * n + j] + matrices[1][i * n + j];
            for (size_t k = 0; is_product && k < n; k++)
                sum += matrices[0][i * n + k] * matrices[1][k * n + j];
            matrices[2][i * n + j] = sum;
        }
    return OK;
}

EXPORT int cuLaunchKernel(void *function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                          unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                          void *stream, void **arguments, void **extra);
EXPORT int cuLaunchKernel(void *function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                          unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                          void *stream, void **arguments, void **extra)
{
    const char *const *kernel = function;
    int code = check("cuLaunchKernel", true);
    if (code != OK || blocks_z != 1 || threads_z != 1 || shared_bytes != 0 || stream || extra)
        return code != OK ? code : INVALID_VALUE;
    if (kernel != kernels)
        return run_matrix(kernel == kernels + 2, arguments, blocks_x * threads_x, blocks_y * threads_y);
    uint64_t out;
    memcpy(&out, arguments[0], sizeof out);
    return find_block(out, sizeof(float)) && *(uint32_t *)arguments[1] > 0 ? OK : INVALID_VALUE;
}
