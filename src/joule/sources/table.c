/* joule/sources/table.c - all sources of this build, in the order in which users see them.
 *
 * Note: to add a source, declare its ops and add a line to the table. No other file lists the sources. */
#include "joule/sources/source.h"

extern const struct source_ops source_rapl_perf;
extern const struct source_ops source_rapl_powercap;
extern const struct source_ops source_rapl_msr;
extern const struct source_ops source_helper;
extern const struct source_ops source_nvml;
extern const struct source_ops source_nvidia_smi;
extern const struct source_ops source_amdgpu;
extern const struct source_ops source_amd_smi;
extern const struct source_ops source_rocm_smi;
extern const struct source_ops source_amd_smi_program;
extern const struct source_ops source_rocm_smi_program;
extern const struct source_ops source_level_zero;
extern const struct source_ops source_intel_gpu;
extern const struct source_ops source_hlml;
extern const struct source_ops source_hl_smi;
extern const struct source_ops source_neuron;
extern const struct source_ops source_tpu;
extern const struct source_ops source_accelerators;
extern const struct source_ops source_graphics;
extern const struct source_ops source_cerebras;
extern const struct source_ops source_sambanova;
extern const struct source_ops source_hwmon;
extern const struct source_ops source_jetson;
extern const struct source_ops source_tegrastats;
extern const struct source_ops source_pm_counters;
extern const struct source_ops source_pdu;
extern const struct source_ops source_redfish;
extern const struct source_ops source_ipmi;
extern const struct source_ops source_ioreport;
extern const struct source_ops source_smc;
extern const struct source_ops source_macmon;
extern const struct source_ops source_powermetrics;
extern const struct source_ops source_battery;
extern const struct source_ops source_thermal;
extern const struct source_ops source_estimated;

/* clang-format off: one line for each source */
const struct source_ops *const source_table[] = {
    &source_rapl_perf,
    &source_rapl_powercap,
    &source_rapl_msr,
    &source_helper,
    &source_nvml,
    &source_nvidia_smi,
    &source_amdgpu,
    &source_amd_smi,
    &source_rocm_smi,
    &source_amd_smi_program,
    &source_rocm_smi_program,
    &source_level_zero,
    &source_intel_gpu,
    &source_hlml,
    &source_hl_smi,
    &source_neuron,
    &source_tpu,
    &source_accelerators,
    &source_graphics,
    &source_cerebras,
    &source_sambanova,
    &source_hwmon,
    &source_jetson,
    &source_tegrastats,
    &source_pm_counters,
    &source_pdu,
    &source_redfish,
    &source_ipmi,
    &source_ioreport,
    &source_smc,
    &source_macmon,
    &source_powermetrics,
    &source_battery,
    &source_thermal,
    &source_estimated, /* last, because it models what no other source measures */
    NULL,
};
/* clang-format on */
