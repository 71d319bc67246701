/* Checks the products with AMX, with tiles in plain C (support/amx.h), so that they are checked on processors
 * without AMX, too. Where the processor has AMX, test_cpu_linear checks them with its tiles. Skipped without
 * AVX-512. */
#include "unit/forge/linear_trial.h"

extern const struct cpu_kernel amx_kernels[]; /* amx_kernels.c */

int main(void)
{
    if (!isa_is_here(ISA_AVX512)) {
        puts("skipped: this processor has no AVX-512");
        return 77;
    }
    trial_add("amx", amx_kernels);
    return cmocka_run_group_tests_name("cpu amx", linear_tests, NULL, NULL);
}
