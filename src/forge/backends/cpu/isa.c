/* backends/cpu/isa.c - see isa.h. */
#include "forge/backends/cpu/isa.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include "base/error.h"
#include "base/string.h"
#include "forge/backends/cpu/isa/tables.h"

static const struct {
    const char *name;
    const struct cpu_kernel *kernels;
} rows[ISA_COUNT] = {
    [ISA_PLAIN] = {"plain", plain_kernels},
#if defined(__x86_64__)
    [ISA_AVX2] = {"avx2", avx2_kernels},
    [ISA_AVX512] = {"avx512", avx512_kernels},
#else
    [ISA_AVX2] = {"avx2", NULL},
    [ISA_AVX512] = {"avx512", NULL},
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
#endif
    return isa == ISA_PLAIN;
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

const struct cpu_kernel *isa_kernels(enum isa isa)
{
    return rows[isa].kernels;
}
