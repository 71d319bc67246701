/* gpu.c - work for NVIDIA GPUs through the CUDA driver.
 *
 * The driver compiles the kernels from PTX, the assembly language of NVIDIA's GPUs. Nothing from NVIDIA is
 * needed to build. */
#include "gpu.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

/* One thread of the GPU for each element; thread (x, y) computes row y, column x. The threads of `compute`
 * only multiply and add: 8 independent sums, 8 times in each round. */
#define FMA                                                                                                  \
    "fma.rn.f32 %a, %a, %x, %x; fma.rn.f32 %b, %b, %x, %x; fma.rn.f32 %c, %c, %x, %x; "                      \
    "fma.rn.f32 %d, %d, %x, %x; fma.rn.f32 %e, %e, %x, %x; fma.rn.f32 %f, %f, %x, %x; "                      \
    "fma.rn.f32 %g, %g, %x, %x; fma.rn.f32 %h, %h, %x, %x;\n"
#define ELEMENT                                                                                              \
    "  .reg .b32 %row, %column, %n, %size, %id, %k; .reg .b64 %pa, %pb, %pc, %at, %step; .reg .f32 %x, %y, " \
    "%sum;\n"                                                                                                \
    "  .reg .pred %p;\n"                                                                                     \
    "  ld.param.u64 %pa, [a]; ld.param.u64 %pb, [b]; ld.param.u64 %pc, [c]; ld.param.u32 %n, [n];\n"         \
    "  cvta.to.global.u64 %pa, %pa; cvta.to.global.u64 %pb, %pb; cvta.to.global.u64 %pc, %pc;\n"             \
    "  mov.u32 %id, %ctaid.x; mov.u32 %size, %ntid.x; mov.u32 %k, %tid.x; mad.lo.u32 %column, %id, %size, "  \
    "%k;\n"                                                                                                  \
    "  mov.u32 %id, %ctaid.y; mov.u32 %size, %ntid.y; mov.u32 %k, %tid.y; mad.lo.u32 %row, %id, %size, "     \
    "%k;\n"                                                                                                  \
    "  setp.ge.u32 %p, %column, %n; @%p ret; setp.ge.u32 %p, %row, %n; @%p ret;\n"

static const char PTX[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry compute(.param .u64 out, .param .u32 rounds)\n{\n"
    "  .reg .f32 %a, %b, %c, %d, %e, %f, %g, %h, %x; .reg .b32 %left, %id; .reg .b64 %to; .reg .pred "
    "%again;\n"
    "  mov.u32 %id, %tid.x; cvt.rn.f32.u32 %a, %id; mov.f32 %x, 0f3F000000;\n" /* 0.5 */
    "  add.f32 %b, %a, %x; add.f32 %c, %b, %x; add.f32 %d, %c, %x; add.f32 %e, %d, %x; add.f32 %f, %e, %x;\n"
    "  add.f32 %g, %f, %x; add.f32 %h, %g, %x;\n"
    "  ld.param.u32 %left, [rounds];\n"
    "again:\n" FMA FMA FMA FMA FMA FMA FMA FMA
    "  sub.u32 %left, %left, 1; setp.ne.u32 %again, %left, 0; @%again bra again;\n"
    "  add.f32 %a, %a, %b; add.f32 %c, %c, %d; add.f32 %e, %e, %f; add.f32 %g, %g, %h;\n"
    "  add.f32 %a, %a, %c; add.f32 %e, %e, %g; add.f32 %a, %a, %e;\n"
    "  ld.param.u64 %to, [out]; cvta.to.global.u64 %to, %to; st.global.f32 [%to], %a; ret;\n}\n"
    ".visible .entry sum(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n" ELEMENT
    "  mad.lo.u32 %k, %row, %n, %column; mul.wide.u32 %at, %k, 4;\n"
    "  add.u64 %pa, %pa, %at; add.u64 %pb, %pb, %at; add.u64 %pc, %pc, %at;\n"
    "  ld.global.f32 %x, [%pa]; ld.global.f32 %y, [%pb]; add.f32 %sum, %x, %y; st.global.f32 [%pc], %sum; "
    "ret;\n}\n"
    ".visible .entry product(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{\n" ELEMENT
    "  mad.lo.u32 %k, %row, %n, %column; mul.wide.u32 %at, %k, 4; add.u64 %pc, %pc, %at;\n"
    "  mul.lo.u32 %k, %row, %n; mul.wide.u32 %at, %k, 4; add.u64 %pa, %pa, %at;\n"
    "  mul.wide.u32 %at, %column, 4; add.u64 %pb, %pb, %at; mul.wide.u32 %step, %n, 4;\n"
    "  mov.f32 %sum, 0f00000000; mov.u32 %k, %n;\n"
    "next:\n"
    "  ld.global.f32 %x, [%pa]; ld.global.f32 %y, [%pb]; fma.rn.f32 %sum, %x, %y, %sum;\n"
    "  add.u64 %pa, %pa, 4; add.u64 %pb, %pb, %step; sub.u32 %k, %k, 1; setp.ne.u32 %p, %k, 0; @%p bra "
    "next;\n"
    "  st.global.f32 [%pc], %sum; ret;\n}\n";

enum { THREADS = 256, SIDE = 16, FLOP_PER_ROUND = 128, MULTIPROCESSORS = 16 /* CU_DEVICE_ATTRIBUTE_... */ };
enum { BLOCKS_PER_MULTIPROCESSOR = 8, ROUNDS = 4000 };

/* The functions of the driver that are used; all return 0 for success. */
#define FUNCTIONS(X)                                                                                         \
    X(init, "cuInit", (unsigned flags))                                                                      \
    X(count, "cuDeviceGetCount", (int *count))                                                               \
    X(device, "cuDeviceGet", (int *device, int index))                                                       \
    X(name, "cuDeviceGetName", (char *name, int size, int device))                                           \
    X(attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                            \
    X(retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                                      \
    X(release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                 \
    X(use, "cuCtxSetCurrent", (void *context))                                                               \
    X(wait, "cuCtxSynchronize", (void))                                                                      \
    X(load, "cuModuleLoadData", (void **module, const void *image))                                          \
    X(find, "cuModuleGetFunction", (void **function, void *module, const char *name))                        \
    X(allocate, "cuMemAlloc_v2", (uint64_t * address, size_t size_bytes))                                    \
    X(free, "cuMemFree_v2", (uint64_t address))                                                              \
    X(to_device, "cuMemcpyHtoD_v2", (uint64_t to, const void *from, size_t size_bytes))                      \
    X(to_host, "cuMemcpyDtoH_v2", (void *to, uint64_t from, size_t size_bytes))                              \
    X(launch, "cuLaunchKernel",                                                                              \
      (void *function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,          \
       unsigned threads_y, unsigned threads_z, unsigned shared_bytes, void *stream, void **arguments,        \
       void **extra))
#define MEMBER(member, name, arguments) int(*member) arguments;
static struct driver {
    FUNCTIONS(MEMBER)
} cuda;

struct gpu {
    int device;
    char name[128];
    int multiprocessors;
    void *context;
    void *compute, *sum, *product; /* kernels */
    uint64_t out;                  /* of `compute` */
};

/* Returns NULL if the driver is usable, otherwise the reason. */
static const char *open_driver(void)
{
    static bool is_open;
    if (is_open)
        return NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library)
        return "the CUDA driver is not installed (no libcuda.so.1)";
#define FIND(member, name, arguments)                                                                        \
    *(void **)&cuda.member = dlsym(library, name);                                                           \
    if (!cuda.member)                                                                                        \
        return "the CUDA driver has no function " name;
    FUNCTIONS(FIND)
    if (cuda.init(0) != 0)
        return "the CUDA driver cannot be initialised";
    is_open = true;
    return NULL;
}

int gpu_count(const char **out_reason)
{
    int count = 0;
    *out_reason = open_driver();
    if (!*out_reason && (cuda.count(&count) != 0 || count < 1)) {
        *out_reason = "the CUDA driver finds no GPU";
        return 0;
    }
    return count;
}

struct gpu *gpu_open(int index, const char **out_reason)
{
    int count = gpu_count(out_reason);
    if (count == 0)
        return NULL;
    *out_reason =
        index < count ? "the GPU cannot be opened, or it cannot load the kernels" : "no GPU has this number";
    struct gpu *gpu = index < count ? calloc(1, sizeof *gpu) : NULL;
    if (!gpu)
        return NULL;
    void *module;
    if (cuda.device(&gpu->device, index) == 0 && cuda.name(gpu->name, sizeof gpu->name, gpu->device) == 0 &&
        cuda.attribute(&gpu->multiprocessors, MULTIPROCESSORS, gpu->device) == 0 &&
        cuda.retain(&gpu->context, gpu->device) == 0) {
        if (cuda.use(gpu->context) == 0 && cuda.load(&module, PTX) == 0 &&
            cuda.find(&gpu->compute, module, "compute") == 0 && cuda.find(&gpu->sum, module, "sum") == 0 &&
            cuda.find(&gpu->product, module, "product") == 0 && cuda.allocate(&gpu->out, sizeof(float)) == 0)
            return gpu;
        cuda.release(gpu->device);
    }
    free(gpu);
    return NULL;
}

void gpu_close(struct gpu *gpu)
{
    if (!gpu)
        return;
    cuda.release(gpu->device); /* frees the context with its kernels and memory */
    free(gpu);
}

const char *gpu_name(const struct gpu *gpu)
{
    return gpu->name;
}

double gpu_compute(struct gpu *gpu)
{
    uint32_t rounds = ROUNDS;
    unsigned blocks = (unsigned)gpu->multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
    void *arguments[] = {&gpu->out, &rounds};
    if (cuda.use(gpu->context) != 0 ||
        cuda.launch(gpu->compute, blocks, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL) != 0 ||
        cuda.wait() != 0)
        return 0;
    return (double)FLOP_PER_ROUND * ROUNDS * THREADS * blocks;
}

bool gpu_matrix(struct gpu *gpu, bool is_product, size_t size, const float *a, const float *b, float *c)
{
    size_t size_bytes = size * size * sizeof *a;
    uint64_t da = 0, db = 0, dc = 0;
    uint32_t n = (uint32_t)size;
    unsigned blocks = (n + SIDE - 1) / SIDE;
    void *arguments[] = {&da, &db, &dc, &n};
    bool is_done = cuda.use(gpu->context) == 0 && cuda.allocate(&da, size_bytes) == 0 &&
                   cuda.allocate(&db, size_bytes) == 0 && cuda.allocate(&dc, size_bytes) == 0 &&
                   cuda.to_device(da, a, size_bytes) == 0 && cuda.to_device(db, b, size_bytes) == 0 &&
                   cuda.launch(is_product ? gpu->product : gpu->sum, blocks, blocks, 1, SIDE, SIDE, 1, 0,
                               NULL, arguments, NULL) == 0 &&
                   cuda.wait() == 0 && cuda.to_host(c, dc, size_bytes) == 0;
    for (int i = 0; i < 3; i++) {
        uint64_t address = i == 0 ? da : i == 1 ? db : dc;
        if (address)
            cuda.free(address);
    }
    return is_done;
}
