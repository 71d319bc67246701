/* Tests that our declarations of Level Zero equal those of the vendor's header, if it is installed (package
 * libze-dev). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include "own_level_zero_abi.h" /* level_zero_abi.h with the prefix OWN_ before its constants */

#if __has_include(<level_zero/zes_api.h>)
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#define SAME_SIZE(own, theirs) assert_int_equal(sizeof(struct own), sizeof(theirs))
#define SAME(own, member, theirs, other)                                                                     \
    do {                                                                                                     \
        assert_int_equal(offsetof(struct own, member), offsetof(theirs, other));                             \
        assert_int_equal(sizeof((struct own){0}.member), sizeof((theirs){0}.other));                         \
    } while (0)

static void test_structures_of_devices_have_the_vendors_layout(void **state)
{
    (void)state;
    SAME_SIZE(lz_core_properties, ze_device_properties_t);
    SAME(lz_core_properties, head.type, ze_device_properties_t, stype);
    SAME(lz_core_properties, head.next, ze_device_properties_t, pNext);
    SAME(lz_core_properties, type, ze_device_properties_t, type);
    SAME(lz_core_properties, vendor_id, ze_device_properties_t, vendorId);
    SAME(lz_core_properties, device_id, ze_device_properties_t, deviceId);
    SAME(lz_core_properties, flags, ze_device_properties_t, flags);
    SAME(lz_core_properties, uuid, ze_device_properties_t, uuid);
    SAME(lz_core_properties, name, ze_device_properties_t, name);
    SAME_SIZE(lz_device_properties, zes_device_properties_t);
    SAME(lz_device_properties, core, zes_device_properties_t, core);
    SAME(lz_device_properties, subdevice_count, zes_device_properties_t, numSubdevices);
    SAME(lz_device_properties, serial, zes_device_properties_t, serialNumber);
    SAME(lz_device_properties, board, zes_device_properties_t, boardNumber);
    SAME(lz_device_properties, brand, zes_device_properties_t, brandName);
    SAME(lz_device_properties, model, zes_device_properties_t, modelName);
    SAME(lz_device_properties, vendor, zes_device_properties_t, vendorName);
    SAME(lz_device_properties, driver_version, zes_device_properties_t, driverVersion);
    SAME_SIZE(lz_pci_properties, zes_pci_properties_t);
    SAME(lz_pci_properties, domain, zes_pci_properties_t, address.domain);
    SAME(lz_pci_properties, bus, zes_pci_properties_t, address.bus);
    SAME(lz_pci_properties, device, zes_pci_properties_t, address.device);
    SAME(lz_pci_properties, function, zes_pci_properties_t, address.function);
    SAME(lz_pci_properties, speed, zes_pci_properties_t, maxSpeed);
}

static void test_structures_of_power_have_the_vendors_layout(void **state)
{
    (void)state;
    SAME_SIZE(lz_power_properties, zes_power_properties_t);
    SAME(lz_power_properties, on_subdevice, zes_power_properties_t, onSubdevice);
    SAME(lz_power_properties, subdevice, zes_power_properties_t, subdeviceId);
    SAME(lz_power_properties, can_control, zes_power_properties_t, canControl);
    SAME(lz_power_properties, has_threshold, zes_power_properties_t, isEnergyThresholdSupported);
    SAME(lz_power_properties, default_milliwatts, zes_power_properties_t, defaultLimit);
    SAME(lz_power_properties, min_milliwatts, zes_power_properties_t, minLimit);
    SAME(lz_power_properties, max_milliwatts, zes_power_properties_t, maxLimit);
    SAME_SIZE(lz_power_ext_properties, zes_power_ext_properties_t);
    SAME(lz_power_ext_properties, domain, zes_power_ext_properties_t, domain);
    SAME(lz_power_ext_properties, default_limit, zes_power_ext_properties_t, defaultLimit);
    SAME_SIZE(lz_power_limit, zes_power_limit_ext_desc_t);
    SAME(lz_power_limit, level, zes_power_limit_ext_desc_t, level);
    SAME(lz_power_limit, source, zes_power_limit_ext_desc_t, source);
    SAME(lz_power_limit, unit, zes_power_limit_ext_desc_t, limitUnit);
    SAME(lz_power_limit, state_is_locked, zes_power_limit_ext_desc_t, enabledStateLocked);
    SAME(lz_power_limit, is_enabled, zes_power_limit_ext_desc_t, enabled);
    SAME(lz_power_limit, interval_is_locked, zes_power_limit_ext_desc_t, intervalValueLocked);
    SAME(lz_power_limit, interval_ms, zes_power_limit_ext_desc_t, interval);
    SAME(lz_power_limit, limit_is_locked, zes_power_limit_ext_desc_t, limitValueLocked);
    SAME(lz_power_limit, limit, zes_power_limit_ext_desc_t, limit);
    SAME_SIZE(lz_sustained_limit, zes_power_sustained_limit_t);
    SAME(lz_sustained_limit, is_enabled, zes_power_sustained_limit_t, enabled);
    SAME(lz_sustained_limit, milliwatts, zes_power_sustained_limit_t, power);
    SAME(lz_sustained_limit, interval_ms, zes_power_sustained_limit_t, interval);
    SAME_SIZE(lz_energy_counter, zes_power_energy_counter_t);
    SAME(lz_energy_counter, microjoules, zes_power_energy_counter_t, energy);
    SAME(lz_energy_counter, time_us, zes_power_energy_counter_t, timestamp);
}

static void test_structures_of_sensors_have_the_vendors_layout(void **state)
{
    (void)state;
    SAME_SIZE(lz_temperature_properties, zes_temp_properties_t);
    SAME(lz_temperature_properties, type, zes_temp_properties_t, type);
    SAME(lz_temperature_properties, on_subdevice, zes_temp_properties_t, onSubdevice);
    SAME(lz_temperature_properties, subdevice, zes_temp_properties_t, subdeviceId);
    SAME(lz_temperature_properties, max_celsius, zes_temp_properties_t, maxTemperature);
    SAME_SIZE(lz_memory_properties, zes_mem_properties_t);
    SAME(lz_memory_properties, type, zes_mem_properties_t, type);
    SAME(lz_memory_properties, on_subdevice, zes_mem_properties_t, onSubdevice);
    SAME(lz_memory_properties, subdevice, zes_mem_properties_t, subdeviceId);
    SAME(lz_memory_properties, location, zes_mem_properties_t, location);
    SAME(lz_memory_properties, physical_bytes, zes_mem_properties_t, physicalSize);
    SAME_SIZE(lz_memory_state, zes_mem_state_t);
    SAME(lz_memory_state, health, zes_mem_state_t, health);
    SAME(lz_memory_state, free_bytes, zes_mem_state_t, free);
    SAME(lz_memory_state, total_bytes, zes_mem_state_t, size);
    SAME_SIZE(lz_engine_properties, zes_engine_properties_t);
    SAME(lz_engine_properties, type, zes_engine_properties_t, type);
    SAME(lz_engine_properties, on_subdevice, zes_engine_properties_t, onSubdevice);
    SAME(lz_engine_properties, subdevice, zes_engine_properties_t, subdeviceId);
    SAME_SIZE(lz_engine_stats, zes_engine_stats_t);
    SAME(lz_engine_stats, active_us, zes_engine_stats_t, activeTime);
    SAME(lz_engine_stats, time_us, zes_engine_stats_t, timestamp);
}

static void test_constants_have_the_vendors_values(void **state)
{
    static const struct {
        uint32_t own, theirs;
    } numbers[] = {
        {OWN_ZE_RESULT_SUCCESS, ZE_RESULT_SUCCESS},
        {OWN_ZE_RESULT_NOT_READY, ZE_RESULT_NOT_READY},
        {OWN_ZE_RESULT_ERROR_DEVICE_LOST, ZE_RESULT_ERROR_DEVICE_LOST},
        {OWN_ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY},
        {OWN_ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY},
        {OWN_ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS},
        {OWN_ZE_RESULT_ERROR_NOT_AVAILABLE, ZE_RESULT_ERROR_NOT_AVAILABLE},
        {OWN_ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE},
        {OWN_ZE_RESULT_ERROR_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED},
        {OWN_ZE_RESULT_ERROR_UNSUPPORTED_VERSION, ZE_RESULT_ERROR_UNSUPPORTED_VERSION},
        {OWN_ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE},
        {OWN_ZE_RESULT_ERROR_INVALID_ARGUMENT, ZE_RESULT_ERROR_INVALID_ARGUMENT},
        {OWN_ZE_RESULT_ERROR_UNKNOWN, ZE_RESULT_ERROR_UNKNOWN},
        {OWN_ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES, ZES_STRUCTURE_TYPE_DEVICE_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_PCI_PROPERTIES, ZES_STRUCTURE_TYPE_PCI_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES, ZES_STRUCTURE_TYPE_ENGINE_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_MEM_PROPERTIES, ZES_STRUCTURE_TYPE_MEM_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_POWER_PROPERTIES, ZES_STRUCTURE_TYPE_POWER_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_TEMP_PROPERTIES, ZES_STRUCTURE_TYPE_TEMP_PROPERTIES},
        {OWN_ZES_STRUCTURE_TYPE_MEM_STATE, ZES_STRUCTURE_TYPE_MEM_STATE},
        {OWN_ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC, ZES_STRUCTURE_TYPE_POWER_LIMIT_EXT_DESC},
        {OWN_ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES, ZES_STRUCTURE_TYPE_POWER_EXT_PROPERTIES},
        {OWN_ZE_DEVICE_TYPE_GPU, ZE_DEVICE_TYPE_GPU},
        {OWN_ZE_DEVICE_TYPE_VPU, ZE_DEVICE_TYPE_VPU},
        {OWN_ZE_DEVICE_PROPERTY_FLAG_INTEGRATED, ZE_DEVICE_PROPERTY_FLAG_INTEGRATED},
        {OWN_ZES_POWER_DOMAIN_UNKNOWN, ZES_POWER_DOMAIN_UNKNOWN},
        {OWN_ZES_POWER_DOMAIN_CARD, ZES_POWER_DOMAIN_CARD},
        {OWN_ZES_POWER_DOMAIN_PACKAGE, ZES_POWER_DOMAIN_PACKAGE},
        {OWN_ZES_POWER_DOMAIN_STACK, ZES_POWER_DOMAIN_STACK},
        {OWN_ZES_TEMP_SENSORS_GLOBAL, ZES_TEMP_SENSORS_GLOBAL},
        {OWN_ZES_TEMP_SENSORS_GPU, ZES_TEMP_SENSORS_GPU},
        {OWN_ZES_TEMP_SENSORS_MEMORY, ZES_TEMP_SENSORS_MEMORY},
        {OWN_ZES_ENGINE_GROUP_ALL, ZES_ENGINE_GROUP_ALL},
        {OWN_ZES_MEM_LOC_SYSTEM, ZES_MEM_LOC_SYSTEM},
        {OWN_ZES_MEM_LOC_DEVICE, ZES_MEM_LOC_DEVICE},
        {OWN_ZES_POWER_LEVEL_SUSTAINED, ZES_POWER_LEVEL_SUSTAINED},
        {OWN_ZES_LIMIT_UNIT_POWER, ZES_LIMIT_UNIT_POWER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        assert_int_equal(numbers[i].own, numbers[i].theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_structures_of_devices_have_the_vendors_layout),
                                       cmocka_unit_test(test_structures_of_power_have_the_vendors_layout),
                                       cmocka_unit_test(test_structures_of_sensors_have_the_vendors_layout),
                                       cmocka_unit_test(test_constants_have_the_vendors_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    puts("skipped: <level_zero/zes_api.h> was not there when this was built (package libze-dev)");
    return 77;
}
#endif
