/* backends/cpu/isa.c - see isa.h. */
#include "forge/backends/cpu/isa.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include "base/error.h"
#include "base/string.h"
#include "forge/backends/cpu/isa/tables.h"

/* If the compiler's target has fused multiply-adds, the kernels use them. */
#if defined(__x86_64__) && defined(__FMA__)
#define PLAIN_OPTIONS " -mfma"
#else
#define PLAIN_OPTIONS ""
#endif

static const struct {
    const char *name;
    const struct cpu_kernel *kernels;
    uint32_t vector_bytes;
    const char *options; /* like those in src/CMakeLists.txt */
} rows[ISA_COUNT] = {
    [ISA_PLAIN] = {"plain", plain_kernels, 16, PLAIN_OPTIONS},
#if defined(__x86_64__)
    [ISA_AVX2] = {"avx2", avx2_kernels, 32, " -mavx2 -mfma -mf16c"},
    [ISA_AVX512] = {"avx512", avx512_kernels, 64,
                    " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c"},
#else
    [ISA_AVX2] = {"avx2", NULL, 32, ""},
    [ISA_AVX512] = {"avx512", NULL, 64, ""},
#endif
#if defined(__aarch64__)
    [ISA_NEON] = {"neon", neon_kernels, 16, ""},
#else
    [ISA_NEON] = {"neon", NULL, 16, ""},
#endif
};

const char *isa_name(enum isa isa)
{
    return rows[isa].name;
}

#if defined(__x86_64__)
/* Returns true if the processor converts f16. Clang 14 has no name for this feature. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C;
}
#endif

bool isa_is_here(enum isa isa)
{
#if defined(__x86_64__)
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
    if (isa == ISA_AVX2)
        return has_avx2;
    if (isa == ISA_AVX512)
        return has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(__aarch64__)
    if (isa == ISA_NEON)
        return true;
#endif
    return isa == ISA_PLAIN;
}

#if defined(__x86_64__) && defined(__linux__)
/* Returns the states of registers that the system saves. Only valid if cpuid reports OSXSAVE. */
static uint64_t saved_states(void)
{
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* Bits of cpuid: Intel's manual, volume 1, chapter 18. The system call: Linux,
 * Documentation/arch/x86/xstate.rst. */
static bool find_amx(void)
{
    enum { OSXSAVE = 1 << 27, BF16_TILE_INT8 = 1 << 22 | 1 << 24 | 1 << 25, TILE_STATES = 3 << 17 };
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || (saved_states() & TILE_STATES) != TILE_STATES)
        return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & BF16_TILE_INT8) != BF16_TILE_INT8)
        return false;
    return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}
#else
static bool find_amx(void)
{
    return false;
}
#endif

static bool found_amx;

static void set_found_amx(void)
{
    found_amx = find_amx();
}

bool isa_has_amx(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_found_amx);
    return found_amx;
}

static joule_status choose_best(enum isa *out_isa)
{
    *out_isa = ISA_COUNT - 1;
    while (!isa_is_here(*out_isa))
        --*out_isa;
    return JOULE_OK;
}

joule_status isa_choose(const char *name, enum isa *out_isa, joule_error *out_error)
{
    char known[80];
    struct text text;
    if (!name)
        return choose_best(out_isa);
    text_init(&text, known, sizeof known);
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        text_printf(&text, "%s%s", isa ? ", " : "", rows[isa].name);
        if (strcmp(rows[isa].name, name) != 0)
            continue;
        if (!isa_is_here(isa))
            return error_set(out_error, JOULE_ABSENT,
                             "FORGE_ISA=%s: this processor does not have this instruction set", name);
        *out_isa = isa;
        return JOULE_OK;
    }
    return error_set(out_error, JOULE_INVALID, "FORGE_ISA=%s: unknown instruction set; known: %s", name,
                     known);
}

const char *isa_compiler_options(enum isa isa)
{
    return rows[isa].options;
}

uint32_t isa_vector_bytes(enum isa isa)
{
    return rows[isa].vector_bytes;
}

const struct cpu_kernel *isa_kernels(enum isa isa)
{
    return rows[isa].kernels;
}
