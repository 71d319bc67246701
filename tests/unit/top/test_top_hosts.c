/* Tests `joule top --hosts`, which shows many machines: values of their reports, values that are too old, and
 * totals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "hosts.h"
#include "support/check.h"

#define SECOND INT64_C(1000000000)

static struct hosts hosts;
static struct frame frame;

static void read_list(const char *list)
{
    joule_error error;
    if (!hosts_read(&hosts, list, false, &error))
        fail_msg("%s", error.message);
}

static int tear_down(void **state)
{
    (void)state;
    hosts_free(&hosts);
    frame_free(&frame);
    return 0;
}

static bool report(size_t i, double joules, double watts, const char *cls, double server_s, int64_t now_ns)
{
    char text[1024], power[64] = "null";
    if (!isnan(watts))
        snprintf(power, sizeof power, "%g", watts);
    snprintf(text, sizeof text,
             "{\"schema\":\"joule-serve-1\",\"measuring_seconds\":%g,\"totals\":{\"all\":{\"partial\":false,"
             "\"energy_joules\":%g,\"energy_class\":\"%s\",\"power_watts\":%s,\"power_low_watts\":%g,"
             "\"power_high_watts\":%g,\"power_class\":\"%s\"}},\"devices\":[{\"name\":\"gpu:0\"}]}",
             server_s, joules, cls, power, isnan(watts) ? 0 : watts * 0.9, isnan(watts) ? 0 : watts * 1.1,
             cls);
    return host_parse_report(&hosts.list[i], text, strlen(text), now_ns);
}

static void test_host_lists_are_read(void **state)
{
    (void)state;
    read_list("node-1,node-2:9500,https://node-3,http://node-4:80/,[2001:db8::1],[::1]:9401,localhost");
    static const char *const urls[] = {"http://node-1:9400/events",        "http://node-2:9500/events",
                                       "https://node-3:9400/events",       "http://node-4:80/events",
                                       "http://[2001:db8::1]:9400/events", "http://[::1]:9401/events",
                                       "http://localhost:9400/events"};
    assert_int_equal(hosts.count, sizeof urls / sizeof *urls);
    for (size_t i = 0; i < hosts.count; i++)
        assert_string_equal(hosts.list[i].url, urls[i]);
    assert_true(hosts.list[5].is_loopback && hosts.list[6].is_loopback && !hosts.list[0].is_loopback);
    hosts_free(&hosts);
    joule_error error;
    assert_true(hosts_read(&hosts, "node", true, &error)); /* all hosts use TLS */
    assert_string_equal(hosts.list[0].url, "https://node:9400/events");
}

static void test_invalid_host_lists_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {"",        ",",      "a b",        "a/b",    "user@node",
                                        "node:",   "node:0", "node:70000", "node:x", "ftp://node",
                                        "http://", "a,,b",   "a?b",        ":9400"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        joule_error error;
        if (hosts_read(&hosts, lists[i], false, &error))
            fail_msg("'%s' was taken", lists[i]);
        assert_contains(error.message, "--hosts takes");
        hosts_free(&hosts);
    }
}

/* Energy is counted from the first report that this view received. It never falls, even if the host restarts
 * or is unreachable for a time. */
static void test_energy_counts_from_the_first_report(void **state)
{
    (void)state;
    read_list("a");
    struct host_row *row = &hosts.list[0];
    assert_true(isnan(row->joules));
    assert_true(report(0, 5000, 100, "measured", 50, 10 * SECOND));
    assert_true(row->joules == 0);
    assert_true(report(0, 5100, 100, "measured", 51, 11 * SECOND));
    assert_true(row->joules == 100);
    /* The connection was lost, but the server continued to measure. The energy of this time counts. */
    assert_true(report(0, 7100, 100, "measured", 71, 31 * SECOND));
    assert_true(row->joules == 2100);
    assert_true(report(0, 30, 100, "measured", 0.3, 40 * SECOND)); /* the server was restarted */
    assert_true(row->joules == 2130);
    assert_true(report(0, 40, 100, "modelled", 0.4, 41 * SECOND));
    assert_int_equal(row->joules_class, JOULE_CLASS_MODELLED);
}

static void test_states_and_totals(void **state)
{
    (void)state;
    struct hosts_total total;
    read_list("a,b,c");
    hosts_sum(&hosts, SECOND, &total);
    assert_true(isnan(total.watts.value) && isnan(total.joules) && total.is_partial && total.live == 0);
    report(0, 0, 100, "measured", 1, 10 * SECOND);
    report(1, 0, 50, "modelled", 1, 10 * SECOND);
    report(0, 200, 100, "measured", 3, 12 * SECOND);
    report(1, 100, 50, "modelled", 3, 12 * SECOND);
    hosts_sum(&hosts, 12 * SECOND, &total);
    assert_true(total.watts.value == 150 && total.joules == 300 && total.live == 2 && total.is_partial);
    assert_true(fabs(total.watts.low - 135) < 1e-9 && fabs(total.watts.high - 165) < 1e-9);
    assert_int_equal(total.watts.cls, JOULE_CLASS_MODELLED);
    assert_int_equal(host_state_of(&hosts.list[2], 12 * SECOND), HOST_WAITING);
    report(2, 10, NAN, "measured", 1, 13 * SECOND); /* the host answers, but its power is unknown */
    report(0, 300, 100, "measured", 4, 13 * SECOND);
    hosts_sum(&hosts, 16 * SECOND, &total); /* host b does not answer */
    assert_int_equal(host_state_of(&hosts.list[1], 16 * SECOND), HOST_STALE);
    assert_true(total.watts.value == 100 && total.joules == 400 && total.live == 2 && total.is_partial);
    assert_int_equal(total.watts.cls, JOULE_CLASS_MEASURED);
    assert_int_equal(total.joules_class, JOULE_CLASS_MODELLED); /* the total includes the joules of b */
}

static void expect_row(int y, const char *piece, const char *absent)
{
    char line[512];
    struct text text;
    text_init(&text, line, sizeof line);
    frame_row(&frame, y, &text);
    if (!strstr(line, piece) || (absent && strstr(line, absent)))
        fail_msg("'%s' in row %d: %s", piece, y, line);
}

/* Old values are marked as old, and unknown values are shown as "-". Neither is shown as 0 W. */
static void test_old_and_unknown_values_are_marked(void **state)
{
    (void)state;
    read_list("a,b,c");
    report(0, 0, 100, "measured", 1, 10 * SECOND);
    report(1, 0, 50, "modelled", 1, 10 * SECOND);
    hosts_tick(&hosts, 10 * SECOND);
    report(0, 2000, 100, "measured", 21, 30 * SECOND);
    snprintf(hosts.list[2].problem, sizeof hosts.list[2].problem, "Connection refused");
    hosts_tick(&hosts, 30 * SECOND);
    assert_true(hosts_draw_once(&frame, &hosts, 30 * SECOND, 120));
    expect_row(1, "100 W m", "150 W");
    expect_row(0, "1 of 3 hosts (partial)", NULL);
    expect_row(4, "100 W m", "stale");
    expect_row(5, "stale, 20 s ago", "50 W");
    expect_row(5, "-", " W");
    expect_row(6, "Connection refused", " W");
    assert_true(hosts_draw_once(&frame, &hosts, 30 * SECOND, 40));
    expect_row(0, "1 of 3 hosts (partial)", NULL);
    expect_row(5, "stale", NULL);
    for (int width = 0; width < 130; width += 7)
        for (int height = 0; height < 12; height++)
            if (frame_clear(&frame, width, height))
                hosts_draw(&frame, &hosts, 30 * SECOND);
}

static void test_invalid_reports_are_refused(void **state)
{
    (void)state;
    read_list("a");
    char texts[][160] = {"", "{", "[]", "null", "{\"schema\":\"joule-serve-2\"}", "{\"schema\":3}", "<html>"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(host_parse_report(&hosts.list[0], texts[i], strlen(texts[i]), SECOND));
        assert_true(hosts.list[0].seen_ns == 0 && hosts.list[0].problem[0]);
    }
    static const char negative[] = "{\"schema\":\"joule-serve-1\",\"totals\":{\"all\":{\"power_watts\":-5,"
                                   "\"power_class\":\"measured\",\"energy_joules\":-1}}}";
    static const char classless[] = "{\"schema\":\"joule-serve-1\",\"totals\":{\"all\":{\"power_watts\":5,"
                                    "\"power_class\":\"best\"}}}";
    static const char *const odd[] = {"{\"schema\":\"joule-serve-1\"}",
                                      "{\"schema\":\"joule-serve-1\",\"totals\":[1],\"devices\":7}", negative,
                                      classless};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char text[256];
        snprintf(text, sizeof text, "%s", odd[i]);
        assert_true(host_parse_report(&hosts.list[0], text, strlen(text), SECOND));
        assert_true(isnan(hosts.list[0].watts.value) && isnan(hosts.list[0].joules) &&
                    hosts.list[0].is_partial);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_host_lists_are_read, tear_down),
        cmocka_unit_test_teardown(test_invalid_host_lists_are_refused, tear_down),
        cmocka_unit_test_teardown(test_energy_counts_from_the_first_report, tear_down),
        cmocka_unit_test_teardown(test_states_and_totals, tear_down),
        cmocka_unit_test_teardown(test_old_and_unknown_values_are_marked, tear_down),
        cmocka_unit_test_teardown(test_invalid_reports_are_refused, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
