/* Tests fans, video engines, the PCIe link and errors of scripted NVIDIA boards. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include <math.h>
#include "support/check.h"
#include "support/fake_nvml.h"

static struct fake_nvml fake;

static void board_has_its_condition(void **state)
{
    (void)state;
    joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, "580",
                                          "encoder=25; decoder=7; fans=2; fan_percent=40; transmit_mb=1500; "
                                          "receive_mb=300; replays=3; ecc=2; ecc_uncorrected=1",
                                          0);
    assert_near(board.encoder_busy, 0.25, 1e-12);
    assert_near(board.decoder_busy, 0.07, 1e-12);
    assert_near(board.fan_ratio, 0.4, 1e-12); /* the speed of the fastest fan */
    assert_near(board.fan_rpm, 1200, 0);
    assert_near(board.pcie_transmit_bytes_per_second, 1.5e9, 1e3);
    assert_near(board.pcie_receive_bytes_per_second, 3e8, 1e3);
    assert_near(board.pcie_replays, 3, 0);
    assert_near(board.ecc_corrected, 2, 0);
    assert_near(board.ecc_uncorrected, 1, 0);
    assert_near(board.ecc_corrected_lifetime, 12, 0);
    assert_near(board.ecc_uncorrected_lifetime, 11, 0);
    assert_near(board.xid_count, 0, 0);
    assert_near(board.last_xid, 0, 0);
    fake_nvml_close(&fake);
}

/* The board has no fan and no ECC, is split by MIG, and its driver sends no events: these values are unknown,
 * not 0. */
static void unreported_condition_is_unknown(void **state)
{
    (void)state;
    joule_device board =
        fake_nvml_device(&fake, TEST_BINARY_DIR, "580", "fans=0; ecc=-1; mig=2; xid_events=0", 0);
    assert_true(isnan(board.encoder_busy) && isnan(board.decoder_busy) && isnan(board.fan_rpm) &&
                isnan(board.fan_ratio));
    assert_true(isnan(board.ecc_corrected) && isnan(board.ecc_uncorrected_lifetime));
    assert_true(isnan(board.xid_count) && isnan(board.last_xid));
    fake_nvml_close(&fake);
}

/* Fractions above 100 %, and counts with all bits set, are invalid. */
static void impossible_figures_are_unknown(void **state)
{
    (void)state;
    joule_device board = fake_nvml_device(
        &fake, TEST_BINARY_DIR, "580",
        "encoder=255; fans=1; fan_percent=4294967295; replays=4294967295; ecc=4294967295", 0);
    assert_true(isnan(board.encoder_busy) && isnan(board.fan_rpm) && isnan(board.fan_ratio));
    assert_true(isnan(board.pcie_replays) && isnan(board.ecc_corrected));
    fake_nvml_close(&fake);
}

/* If the driver has no 64-bit byte counts, the driver's traffic samples are used. In each second, one
 * direction of one board is sampled. */
static void traffic_is_measured_without_counters(void **state)
{
    static const char *const lines[] = {"580", "535"}, *const scripts[] = {"pcie_counts=2; ", ""};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char script[96];
        snprintf(script, sizeof script, "%sboards=2; transmit_mb=5000; receive_mb=2; fans=1", scripts[i]);
        fake_nvml_device(&fake, TEST_BINARY_DIR, lines[i], script, 0);
        fake_nvml_run(&fake, 4);
        for (size_t k = 0; k < 2; k++) {
            joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, lines[i], script, k);
            assert_near(board.pcie_transmit_bytes_per_second, 5e9, 0);
            assert_near(board.pcie_receive_bytes_per_second, 2e6, 0);
            assert_near(board.fan_ratio, 0.3, 1e-12);
            assert_true(isnan(board.fan_rpm) == (i == 1)); /* the older driver reports no fan speed in rpm */
        }
        fake_nvml_close(&fake);
    }
}

static void xid_errors_are_counted(void **state)
{
    (void)state;
    joule_device first =
        fake_nvml_device(&fake, TEST_BINARY_DIR, "580", "boards=2; 1.xid_at_ms=1500; 1.xid=48", 0);
    fake_nvml_run(&fake, 3);
    first = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", "", 0);
    joule_device second = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", "", 1);
    assert_near(first.xid_count, 0, 0);
    assert_near(second.xid_count, 1, 0);
    assert_near(second.last_xid, 48, 0);
    fake_nvml_close(&fake);
}

/* If the driver has none of these functions, all other values are still known. */
static void older_driver_has_no_condition(void **state)
{
    static const char *const symbols[] = {
        "nvmlDeviceGetEncoderUtilization", "nvmlDeviceGetNumFans",        "nvmlDeviceGetFanSpeed_v2",
        "nvmlDeviceGetFanSpeed",           "nvmlDeviceGetFanSpeedRPM",    "nvmlDeviceGetPcieThroughput",
        "nvmlDeviceGetPcieReplayCounter",  "nvmlDeviceGetTotalEccErrors", "nvmlEventSetWait_v2",
        "nvmlDeviceGetFieldValues"};
    (void)state;
    assert_true(fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "fans=1"));
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        fake_nvml_remove(&fake, symbols[i]);
    fake_nvml_open_devices(&fake);
    fake_nvml_run(&fake, 4);
    joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", "", 0);
    assert_int_equal(board.state, JOULE_OK);
    assert_true(isnan(board.encoder_busy) && isnan(board.fan_ratio) && isnan(board.pcie_replays) &&
                isnan(board.pcie_transmit_bytes_per_second) && isnan(board.ecc_corrected) &&
                isnan(board.xid_count));
    assert_near(board.decoder_busy, 0, 0); /* the older driver supports this value */
    fake_nvml_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(board_has_its_condition),
        cmocka_unit_test(unreported_condition_is_unknown),
        cmocka_unit_test(impossible_figures_are_unknown),
        cmocka_unit_test(traffic_is_measured_without_counters),
        cmocka_unit_test(xid_errors_are_counted),
        cmocka_unit_test(older_driver_has_no_condition),
    };
    return cmocka_run_group_tests_name("nvml_condition", tests, NULL, NULL);
}
