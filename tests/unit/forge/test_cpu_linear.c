/* Checks the CPU's products with weights in storage types, for each instruction set. */
#include "unit/forge/linear_trial.h"

int main(void)
{
    EACH_ISA (isa)
        trial_add(isa_name(isa), isa_kernels(isa));
    return cmocka_run_group_tests_name("cpu linear", linear_tests, NULL, NULL);
}
