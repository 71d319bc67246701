#!/bin/sh
# Checks Joule's declarations of AMD's libraries against AMD's own headers, if these are installed
# (librocm-smi-dev; amd_smi/amdsmi.h of ROCm). Each call must compile with Joule's types, and numbers and
# layouts must agree. CPATH may name a folder with headers of another release.
set -eu
cc=${CC:-cc}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
checked=

compiles() { # FILE; pointers to enumerations and to int may differ in sign, which is permitted here
    "$cc" -std=gnu17 -D_GNU_SOURCE -fsyntax-only -Wall -Werror -Wno-pointer-sign -Wno-unused -I"$JOULE_SOURCE/src" "$1"
}

own_header() { # HEADER; copies Joule's header and renames constants that the vendor's header also defines
    sed -E 's/\b(RSMI|AMDSMI)_([A-Z])/OWN_\1_\2/g' "$JOULE_SOURCE/src/joule/sources/amd/$1" >"$folder/own_$1"
}

present() {
    echo "#include <$1>" >"$folder/present.c"
    "$cc" -std=gnu17 -fsyntax-only "$folder/present.c" 2>/dev/null
}

if present rocm_smi/rocm_smi.h; then
    own_header rocm_smi_abi.h
    cat >"$folder/rocm.c" <<'END'
#include <rocm_smi/rocm_smi.h>
#include "own_rocm_smi_abi.h"
#define SAME(a, b) _Static_assert((uint64_t)(a) == (uint64_t)(b), #a)
SAME(OWN_RSMI_STATUS_SUCCESS, RSMI_STATUS_SUCCESS);
SAME(OWN_RSMI_STATUS_INVALID_ARGS, RSMI_STATUS_INVALID_ARGS);
SAME(OWN_RSMI_STATUS_NOT_SUPPORTED, RSMI_STATUS_NOT_SUPPORTED);
SAME(OWN_RSMI_STATUS_FILE_ERROR, RSMI_STATUS_FILE_ERROR);
SAME(OWN_RSMI_STATUS_PERMISSION, RSMI_STATUS_PERMISSION);
SAME(OWN_RSMI_STATUS_OUT_OF_RESOURCES, RSMI_STATUS_OUT_OF_RESOURCES);
SAME(OWN_RSMI_STATUS_INIT_ERROR, RSMI_STATUS_INIT_ERROR);
SAME(OWN_RSMI_STATUS_NOT_YET_IMPLEMENTED, RSMI_STATUS_NOT_YET_IMPLEMENTED);
SAME(OWN_RSMI_STATUS_NOT_FOUND, RSMI_STATUS_NOT_FOUND);
SAME(OWN_RSMI_STATUS_INTERRUPT, RSMI_STATUS_INTERRUPT);
SAME(OWN_RSMI_STATUS_NO_DATA, RSMI_STATUS_NO_DATA);
SAME(OWN_RSMI_STATUS_BUSY, RSMI_STATUS_BUSY);
SAME(OWN_RSMI_MEM_TYPE_VRAM, RSMI_MEM_TYPE_VRAM);
SAME(OWN_RSMI_TEMP_CURRENT, RSMI_TEMP_CURRENT);
SAME(RSMI_TEMP_TYPE_EDGE, 0);
SAME(RSMI_TEMP_TYPE_JUNCTION, 1);
SAME(RSMI_TEMP_TYPE_MEMORY, 2);
_Static_assert(sizeof(rsmi_status_t) == sizeof(rocm_code), "code");
void calls(uint32_t d, uint64_t *u64, uint32_t *u32, int64_t *i64, float *f, char *text)
{
    rsmi_init(OWN_RSMI_INIT_FLAG_THRAD_ONLY_MUTEX);
    rsmi_shut_down();
    rsmi_num_monitor_devices(u32);
    rsmi_dev_pci_id_get(d, u64);
    rsmi_dev_energy_count_get(d, u64, f, u64);
    rsmi_dev_power_ave_get(d, d, u64);
#ifdef NEW
    rsmi_dev_power_get(d, u64, (RSMI_POWER_TYPE *)u32);
    SAME(OWN_RSMI_AVERAGE_POWER, RSMI_AVERAGE_POWER);
    SAME(OWN_RSMI_CURRENT_POWER, RSMI_CURRENT_POWER);
    SAME(sizeof(RSMI_POWER_TYPE), sizeof(uint32_t));
#endif
    rsmi_dev_power_cap_get(d, d, u64);
    rsmi_dev_power_cap_default_get(d, u64);
    rsmi_dev_power_cap_range_get(d, d, u64, u64);
    rsmi_dev_temp_metric_get(d, d, OWN_RSMI_TEMP_CURRENT, i64);
    rsmi_dev_memory_total_get(d, OWN_RSMI_MEM_TYPE_VRAM, u64);
    rsmi_dev_memory_usage_get(d, OWN_RSMI_MEM_TYPE_VRAM, u64);
    rsmi_dev_busy_percent_get(d, u32);
    rsmi_dev_name_get(d, text, (size_t)1);
    rsmi_dev_unique_id_get(d, u64);
}
END
    echo '#include <rocm_smi/rocm_smi.h>' >"$folder/new.c"
    if "$cc" -std=gnu17 -E "$folder/new.c" | grep -q rsmi_dev_power_get; then
        sed -i '1i #define NEW' "$folder/rocm.c"
    fi
    compiles "$folder/rocm.c"
    checked="$checked rocm_smi.h"
fi

if present amd_smi/amdsmi.h; then
    own_header amd_smi_abi.h
    cat >"$folder/amd.c" <<'END'
#include <amd_smi/amdsmi.h>
#include <stddef.h>
#include "own_amd_smi_abi.h"
#define SAME(a, b) _Static_assert((uint64_t)(a) == (uint64_t)(b), #a)
SAME(OWN_AMDSMI_STATUS_SUCCESS, AMDSMI_STATUS_SUCCESS);
SAME(OWN_AMDSMI_STATUS_INVAL, AMDSMI_STATUS_INVAL);
SAME(OWN_AMDSMI_STATUS_NOT_SUPPORTED, AMDSMI_STATUS_NOT_SUPPORTED);
SAME(OWN_AMDSMI_STATUS_NOT_YET_IMPLEMENTED, AMDSMI_STATUS_NOT_YET_IMPLEMENTED);
SAME(OWN_AMDSMI_STATUS_TIMEOUT, AMDSMI_STATUS_TIMEOUT);
SAME(OWN_AMDSMI_STATUS_RETRY, AMDSMI_STATUS_RETRY);
SAME(OWN_AMDSMI_STATUS_NO_PERM, AMDSMI_STATUS_NO_PERM);
SAME(OWN_AMDSMI_STATUS_INTERRUPT, AMDSMI_STATUS_INTERRUPT);
SAME(OWN_AMDSMI_STATUS_INIT_ERROR, AMDSMI_STATUS_INIT_ERROR);
SAME(OWN_AMDSMI_STATUS_BUSY, AMDSMI_STATUS_BUSY);
SAME(OWN_AMDSMI_STATUS_NOT_FOUND, AMDSMI_STATUS_NOT_FOUND);
SAME(OWN_AMDSMI_STATUS_NOT_INIT, AMDSMI_STATUS_NOT_INIT);
#if !defined AMDSMI_LIB_VERSION_YEAR || AMDSMI_LIB_VERSION_YEAR > 23 || AMDSMI_LIB_VERSION_MAJOR >= 4 /* ROCm 6 */
SAME(OWN_AMDSMI_STATUS_DRIVER_NOT_LOADED, AMDSMI_STATUS_DRIVER_NOT_LOADED);
#endif
SAME(OWN_AMDSMI_STATUS_NO_DATA, AMDSMI_STATUS_NO_DATA);
SAME(OWN_AMDSMI_INIT_AMD_GPUS, AMDSMI_INIT_AMD_GPUS);
_Static_assert(sizeof(amdsmi_status_t) == sizeof(amd_code), "code");
SAME(offsetof(amdsmi_asic_info_t, market_name), 0);
SAME(offsetof(amdsmi_engine_usage_t, gfx_activity), offsetof(struct amd_activity, graphics));
SAME(offsetof(amdsmi_power_cap_info_t, power_cap), offsetof(struct amd_power_cap, cap));
SAME(offsetof(amdsmi_power_cap_info_t, default_power_cap), offsetof(struct amd_power_cap, default_cap));
SAME(offsetof(amdsmi_power_cap_info_t, min_power_cap), offsetof(struct amd_power_cap, min));
SAME(offsetof(amdsmi_power_cap_info_t, max_power_cap), offsetof(struct amd_power_cap, max));
SAME(sizeof(amdsmi_bdf_t), sizeof(uint64_t));
_Static_assert(sizeof(amdsmi_asic_info_t) <= AMD_ANSWER_BYTES && sizeof(amdsmi_engine_usage_t) <= AMD_ANSWER_BYTES &&
                   sizeof(amdsmi_power_info_t) <= AMD_ANSWER_BYTES &&
                   sizeof(amdsmi_power_cap_info_t) <= AMD_ANSWER_BYTES,
               "room for answers");
#if AMDSMI_LIB_VERSION_MAJOR >= 25
SAME(offsetof(amdsmi_power_info_t, socket_power), offsetof(struct amd_power_25, socket_watts));
SAME(offsetof(amdsmi_power_info_t, current_socket_power), offsetof(struct amd_power_25, current_watts));
SAME(offsetof(amdsmi_power_info_t, average_socket_power), offsetof(struct amd_power_25, average_watts));
#elif AMDSMI_LIB_VERSION_YEAR == 24
SAME(offsetof(amdsmi_power_info_t, current_socket_power), offsetof(struct amd_power_24, current_watts));
SAME(offsetof(amdsmi_power_info_t, average_socket_power), offsetof(struct amd_power_24, average_watts));
#endif
void calls(amd_handle h, uint32_t n, uint32_t *u32, uint64_t *u64, int64_t *i64, float *f, char *text)
{
    amdsmi_init(OWN_AMDSMI_INIT_AMD_GPUS);
    amdsmi_get_socket_handles(u32, (amd_handle *)0);
    amdsmi_get_processor_handles(h, u32, (amd_handle *)0);
    amdsmi_get_processor_type(h, (void *)0);
    amdsmi_get_gpu_device_bdf(h, (amdsmi_bdf_t *)0);
    amdsmi_get_energy_count(h, u64, f, u64);
    amdsmi_get_power_info(h, (void *)0);
    amdsmi_get_temp_metric(h, 0, OWN_AMDSMI_TEMP_CURRENT, i64);
    amdsmi_get_gpu_activity(h, (void *)0);
    amdsmi_get_gpu_memory_total(h, OWN_AMDSMI_MEM_TYPE_VRAM, u64);
    amdsmi_get_gpu_memory_usage(h, OWN_AMDSMI_MEM_TYPE_VRAM, u64);
    amdsmi_get_power_cap_info(h, n, (void *)0);
    amdsmi_get_gpu_asic_info(h, (void *)0);
    amdsmi_get_gpu_device_uuid(h, u32, text);
}
END
    compiles "$folder/amd.c"
    checked="$checked amdsmi.h"
fi

if [ -z "$checked" ]; then
    echo "skipped: neither rocm_smi/rocm_smi.h nor amd_smi/amdsmi.h is installed"
    exit 77
fi
echo "checked:$checked"
