/* Tests the promises of the public headers: results for NULL and invalid arguments, for callers compiled with
 * older or newer headers, and for handles that were opened before a fork. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "support/check.h"

#define S                           1000000000LL
#define UNKNOWN_FLAG                0x80000000u
#define NOT_A_DOMAIN                9999
#define assert_status(call, status) assert_int_equal(call, JOULE_##status)

/* --- a meter of one package and one temperature --------------------------------------------------------- */

static struct joule_host *host;
static joule_meter *meter;

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 1000 * 50)); /* the microjoules of 50 W */
}

static int set_up(void **state)
{
    (void)state;
    host = host_script_open();
    host_script_set_time(host, 1000 * S);
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850000\n");
    host_script_file(host, "/sys/class/powercap/intel-rapl:0/energy_uj", energy_uj, NULL);
    host_script_text(host, "/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    host_script_text(host, "/sys/class/thermal/thermal_zone0/temp", "51000\n");
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap,thermal"};
    if (meter_open_on(host, true, &options, &meter, NULL) != JOULE_OK)
        return -1;
    for (int i = 1; i <= 10; i++) {
        host_script_set_time(host, 1000 * S + i * S / 10);
        meter_tick(meter);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    joule_close(meter);
    return 0;
}

static joule_region finished_region(void)
{
    return (joule_region){.begin_ns = 1000 * S + S / 4, .end_ns = 1000 * S + S / 2, .slot = 0xffffff};
}

/* --- NULL and invalid arguments ------------------------------------------------------------------------- */

static void test_opening_refuses_wrong_arguments(void **state)
{
    (void)state;
    joule_meter *opened = (joule_meter *)&opened;
    joule_error error = {0};
    joule_options options = {.struct_size = sizeof options};
    assert_status(joule_open(&options, NULL, &error), INVALID);
    assert_true(error.message[0] != '\0' && error.status == JOULE_INVALID);
    options.period_s = NAN;
    assert_status(joule_open(&options, &opened, NULL), INVALID);
    assert_null(opened);
    options = (joule_options){.struct_size = sizeof options, .wait_s = NAN};
    assert_status(joule_open(&options, &opened, &error), INVALID);
    options = (joule_options){.struct_size = sizeof options, .sources = "no_such_source"};
    assert_status(joule_open(&options, &opened, &error), INVALID);
    assert_contains(error.message, "no_such_source");
    options = (joule_options){.struct_size = sizeof options, .flags = UNKNOWN_FLAG};
    assert_status(joule_open(&options, &opened, &error), UNSUPPORTED);
    options = (joule_options){.struct_size = sizeof options, .root = "/nowhere/at/all"};
    assert_status(joule_open(&options, &opened, &error), ABSENT);
    joule_close(NULL);
}

static void test_queries_refuse_wrong_arguments(void **state)
{
    (void)state;
    joule_quantity q;
    double value;
    joule_domain domain = {.struct_size = sizeof domain};
    assert_status(joule_domain_get(meter, 0, NULL), INVALID);
    assert_status(joule_domain_get(meter, NOT_A_DOMAIN, &domain), INVALID);
    assert_status(joule_energy_joules(meter, JOULE_TOTAL, NULL), INVALID);
    assert_status(joule_rest_joules(meter, 0, NULL), INVALID);
    assert_status(joule_power_watts(meter, JOULE_TOTAL, NULL), INVALID);
    assert_status(joule_gauge(meter, 1, NULL), INVALID);
    const int32_t wrong[] = {NOT_A_DOMAIN, JOULE_GPU - 1, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_status(joule_energy_joules(meter, wrong[i], &q), INVALID);
        assert_true(isnan(q.value) && isnan(q.low) && isnan(q.high));
        assert_status(joule_power_watts(meter, wrong[i], &q), INVALID);
        assert_status(joule_rest_joules(meter, wrong[i], &q), INVALID);
        assert_status(joule_gauge(meter, wrong[i], &value), INVALID);
        assert_true(isnan(value));
    }
    assert_status(joule_energy_joules(meter, 1, &q), INVALID); /* domain 1 is a gauge */
    assert_status(joule_power_watts(meter, 1, &q), INVALID);
    assert_status(joule_rest_joules(meter, 1, &q), INVALID);
    assert_status(joule_gauge(meter, 0, &value), INVALID); /* domain 0 is a counter */
    assert_status(joule_gauge(meter, 1, &value), OK);
    assert_true(value == 51);
}

static void test_windows_add_up(void **state)
{
    (void)state;
    joule_quantity whole, part, sum = {0};
    double coverage;
    int64_t begin = 1000 * S, end = begin + 9 * S / 10, last = 1001 * S;
    assert_status(joule_window_joules(meter, JOULE_TOTAL, begin, end, &whole, &coverage), OK);
    assert_float_equal(whole.value, 45, 1e-3);
    assert_float_equal(coverage, 1, 1e-9);
    for (int i = 0; i < 7; i++) {
        joule_window_joules(meter, 0, begin + (end - begin) * i / 7, begin + (end - begin) * (i + 1) / 7,
                            &part, NULL);
        sum.value += part.value;
    }
    assert_float_equal(sum.value, whole.value, 1e-9);
    assert_status(joule_window_joules(meter, JOULE_TOTAL, end, begin, &part, NULL), INVALID);
    assert_status(joule_window_joules(meter, JOULE_TOTAL, begin - 1, end, &part, NULL), INVALID);
    assert_status(joule_window_joules(meter, JOULE_TOTAL, begin, last + 1, &part, &coverage), INVALID);
    assert_true(isnan(part.value) && coverage == 0);
    assert_status(joule_window_joules(meter, NOT_A_DOMAIN, begin, end, &part, NULL), INVALID);
    assert_status(joule_window_joules(meter, JOULE_TOTAL, begin, end, NULL, NULL), INVALID);
    host_script_set_time(host, last + S / 20); /* the time advances, but no reading follows */
    assert_status(joule_window_joules(meter, JOULE_TOTAL, begin, last + S / 20, &part, &coverage), PENDING);
    assert_true(part.value > 49 && coverage < 1);
}

static void test_ticks_are_ordered_and_inside_the_window(void **state)
{
    (void)state;
    int64_t ticks[64] = {0}, begin = 1000 * S;
    size_t count = joule_ticks(meter, JOULE_TOTAL, begin, ticks, 64);
    assert_true(count >= 2 && count <= 64 && ticks[0] > begin && ticks[count - 1] <= 1002 * S);
    for (size_t i = 1; i < count; i++)
        assert_true(ticks[i - 1] < ticks[i]);
    int64_t second = ticks[1];
    assert_int_equal(joule_ticks(meter, 0, ticks[0], ticks, 1), count - 1);
    assert_true(ticks[0] == second);
    assert_int_equal(joule_ticks(meter, JOULE_TOTAL, ticks[0], NULL, 0), count - 2);
    assert_int_equal(joule_ticks(meter, JOULE_TOTAL, INT64_MAX, NULL, 0), 0);
    assert_int_equal(joule_ticks(meter, NOT_A_DOMAIN, begin, ticks, 64), 0);
    assert_int_equal(joule_ticks(meter, 1, begin, ticks, 64), 0); /* domain 1 is a gauge */
}

static void test_regions_refuse_wrong_arguments(void **state)
{
    (void)state;
    joule_region never = {0}, region = finished_region(), running = joule_begin(0);
    joule_result result = {.struct_size = sizeof result};
    assert_status(joule_end(NULL), INVALID);
    assert_status(joule_end(&never), INVALID);
    assert_int_equal(joule_tag(NULL), 0);
    assert_int_equal(joule_tag(""), 0);
    assert_status(joule_region_result(meter, NULL, &result), INVALID);
    assert_status(joule_region_result(meter, &region, NULL), INVALID);
    assert_status(joule_region_result(meter, &never, &result), INVALID);
    assert_status(joule_region_result(meter, &running, &result), INVALID);
    assert_status(joule_region_wait(meter, NULL, 1, &result), INVALID);
    assert_status(joule_region_wait(meter, &region, 1, NULL), INVALID);
    assert_status(joule_tag_result(meter, 0, NULL), INVALID);
    assert_status(joule_tag_result(meter, UINT32_MAX, &result), ABSENT);
    assert_status(joule_end(&running), OK);
    assert_status(joule_end(&running), INVALID);
    joule_set_sync(NULL, NULL);
}

static void test_spans_refuse_wrong_arguments(void **state)
{
    (void)state;
    joule_span span = {.struct_size = sizeof span, .device_index = -1, .begin = 2, .end = 1, .scale_ns = 1};
    assert_status(joule_span_add(meter, NULL), INVALID);
    assert_status(joule_span_add(meter, &span), INVALID);
    span.end = NAN;
    assert_status(joule_span_add(meter, &span), INVALID);
    span.end = 1e300;
    assert_status(joule_span_add(meter, &span), INVALID);
    span = (joule_span){.device_index = -1, .begin = 1, .end = 2, .scale_ns = 1};
    assert_status(joule_span_add(meter, &span), INVALID);
}

static void count_call(void *count)
{
    ++*(int *)count;
}

static void test_measuring_and_budgets_refuse_wrong_arguments(void **state)
{
    (void)state;
    int calls = 0;
    joule_measurement measurement = {0};
    assert_status(joule_measure(NULL, NULL, &measurement), INVALID);
    assert_status(joule_measure(count_call, &calls, NULL), INVALID);
    assert_status(joule_measure(count_call, &calls, &measurement), INVALID);
    assert_int_equal(calls, 0);
    joule_budget *budget = (joule_budget *)&budget;
    joule_budget_options options = {
        .struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1, .flags = UNKNOWN_FLAG};
    assert_status(joule_budget_begin(meter, &options, &budget, NULL), UNSUPPORTED);
    assert_null(budget);
    options.flags = 0;
    assert_status(joule_budget_begin(meter, &options, NULL, NULL), INVALID);
    assert_status(joule_budget_begin(meter, NULL, &budget, NULL), INVALID);
    options.domain = 1; /* domain 1 is a temperature */
    assert_status(joule_budget_begin(meter, &options, &budget, NULL), INVALID);
    options.domain = JOULE_TOTAL;
    options.max_joules = -1;
    assert_status(joule_budget_begin(meter, &options, &budget, NULL), INVALID);
    options.max_joules = 1;
    assert_status(joule_budget_begin(meter, &options, &budget, NULL), OK);
    joule_budget_result too_small = {.struct_size = 8};
    assert_status(joule_budget_now(budget, NULL), INVALID);
    assert_status(joule_budget_now(NULL, &too_small), INVALID);
    assert_status(joule_budget_end(budget, &too_small), INVALID);
    assert_status(joule_budget_end(NULL, NULL), INVALID);
    assert_status(joule_budget_end(budget, NULL), OK);
}

static void test_names_of_unknown_values_are_unknown(void **state)
{
    (void)state;
    double value = 7;
    char text[4];
    assert_string_equal(joule_status_name((joule_status)99), "unknown");
    assert_string_equal(joule_status_name((joule_status)-1), "unknown");
    assert_string_equal(joule_class_name((joule_class)99), "unknown");
    assert_string_equal(joule_scope_name((joule_scope)99), "unknown");
    assert_string_equal(joule_reading_kind_name((joule_reading_kind)0), "unknown");
    assert_string_equal(joule_budget_status_name((joule_budget_status)99), "unknown");
    assert_status(joule_parse(NULL, JOULE_DIMENSION_ENERGY, &value, NULL), INVALID);
    assert_status(joule_parse("1 J", JOULE_DIMENSION_ENERGY, NULL, NULL), INVALID);
    assert_status(joule_parse("1 J", (joule_dimension)0, &value, NULL), INVALID);
    assert_true(value == 7);
    assert_int_equal(joule_format(12, JOULE_DIMENSION_POWER, 2, NULL, 0), strlen("12 W"));
    assert_int_equal(joule_format(12, JOULE_DIMENSION_POWER, 2, text, sizeof text), strlen("12 W"));
    assert_string_equal(text, "12 ");
    joule_quantity unknown = {.value = NAN, .low = NAN, .high = NAN};
    assert_true(isnan(joule_confidence(unknown)) && isnan(joule_probability_below(unknown, 1)));
    assert_int_equal(joule_budget_judge(unknown, 1), JOULE_BUDGET_NOT_MEASURED);
    size_t length = 0;
    assert_status(joule_report_json(meter, NULL, NULL, 0, NULL), OK);
    assert_status(joule_report_json(meter, NULL, NULL, 0, &length), OK);
    assert_true(length > 2);
    assert_status(joule_report_json(meter, NULL, NULL, 1, &length), INVALID);
}

/* The status gives the reason why a value is unknown. A caller must not wait for a value that no later
 * reading can provide. */
static void test_unknown_values_have_a_reason(void **state)
{
    (void)state;
    joule_quantity q;
    struct joule_host *other = host_script_open();
    host_script_text(other, "/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    host_script_text(other, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    host_script_error(other, "/sys/class/powercap/intel-rapl:0/energy_uj", EACCES);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap"};
    joule_meter *denied = NULL;
    assert_status(meter_open_on(other, true, &options, &denied, NULL), OK);
    assert_status(joule_energy_joules(denied, 0, &q), DENIED);
    assert_status(joule_power_watts(denied, 0, &q), DENIED);
    assert_status(joule_energy_joules(denied, JOULE_TOTAL, &q), DENIED);
    assert_status(joule_energy_joules(denied, JOULE_GPU, &q), ABSENT);
    assert_status(joule_power_watts(meter, JOULE_GPU, &q), ABSENT);
    joule_close(denied);
}

/* --- older and newer callers ---------------------------------------------------------------------------- */

/* Returns `size` bytes that end at the last readable byte of a page. */
static void *at_the_edge(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    char *start = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(start, MAP_FAILED);
    assert_int_equal(mprotect(start + room, page, PROT_NONE), 0);
    return start + room - size; /* freed when the program ends */
}

static void test_a_structure_too_small_is_left_alone(void **state)
{
    (void)state;
    uint32_t *small = at_the_edge(8);
    joule_region region = finished_region();
    joule_meter *opened = NULL;
    joule_budget *budget;
    for (uint32_t size = 0; size <= 8; size += 8) {
        *small = size;
        assert_status(joule_open((const joule_options *)(void *)small, &opened, NULL), INVALID);
        assert_status(joule_domain_get(meter, 0, (joule_domain *)(void *)small), INVALID);
        assert_status(joule_region_result(meter, &region, (joule_result *)(void *)small), INVALID);
        assert_status(joule_tag_result(meter, 0, (joule_result *)(void *)small), INVALID);
        assert_status(joule_span_add(meter, (const joule_span *)(void *)small), INVALID);
        assert_status(joule_budget_begin(meter, (const joule_budget_options *)(void *)small, &budget, NULL),
                      INVALID);
        assert_int_equal(*small, size);
    }
}

struct newer_domain {
    joule_domain known;
    double added;
};

struct newer_result {
    joule_result known;
    double added;
};

struct newer_options {
    joule_options known;
    uint64_t added;
};

static void test_newer_caller_gets_the_filled_size(void **state)
{
    (void)state;
    struct newer_domain domain = {.known.struct_size = sizeof domain, .added = 42};
    assert_status(joule_domain_get(meter, 0, &domain.known), OK);
    assert_int_equal(domain.known.struct_size, sizeof domain.known);
    assert_string_equal(domain.known.name, "package-0");
    assert_true(domain.added == 42);
    joule_region region = finished_region();
    struct newer_result result = {.known.struct_size = sizeof result, .added = 42};
    joule_status status = joule_region_result(meter, &region, &result.known);
    assert_true(status == JOULE_OK || status == JOULE_PENDING);
    assert_int_equal(result.known.struct_size, sizeof result.known);
    assert_true(result.known.count == 1 && result.added == 42);
}

static void test_unknown_options_of_a_newer_caller_are_refused(void **state)
{
    (void)state;
    joule_meter *opened = NULL;
    struct newer_options options = {
        .known = {.struct_size = sizeof options, .wait_s = -1, .sources = "rapl_powercap"}, .added = 1};
    assert_status(joule_open(&options.known, &opened, NULL), UNSUPPORTED);
    assert_null(opened);
    options.added = 0;
    assert_status(joule_open(&options.known, &opened, NULL), OK);
    joule_close(opened);
}

/* --- fork ----------------------------------------------------------------------------------------------- */

/* Returns the number of the first check that failed, or 0. */
static int broken_in_child(joule_region *running, joule_budget *budget)
{
    joule_quantity q;
    double value;
    joule_domain domain = {.struct_size = sizeof domain};
    joule_result result = {.struct_size = sizeof result};
    joule_budget_result judged = {.struct_size = sizeof judged};
    joule_region region = finished_region();
    joule_span span = {
        .struct_size = sizeof span, .device_index = -1, .begin = 1e9, .end = 2e9, .scale_ns = 1};
    joule_budget *other;
    joule_budget_options options = {.struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1};
    const bool kept[] = {
        joule_domain_count(meter) == 0,
        joule_domain_get(meter, 0, &domain) == JOULE_STALE,
        joule_sample_now(meter) == JOULE_STALE,
        joule_energy_joules(meter, JOULE_TOTAL, &q) == JOULE_STALE && isnan(q.value),
        joule_rest_joules(meter, 0, &q) == JOULE_STALE,
        joule_power_watts(meter, JOULE_TOTAL, &q) == JOULE_STALE,
        joule_gauge(meter, 1, &value) == JOULE_STALE,
        joule_region_result(meter, &region, &result) == JOULE_STALE,
        joule_region_wait(meter, &region, 1, &result) == JOULE_STALE,
        joule_tag_result(meter, 0, &result) == JOULE_STALE,
        joule_span_add(meter, &span) == JOULE_STALE,
        joule_end(running) == JOULE_STALE,
        joule_budget_begin(meter, &options, &other, NULL) == JOULE_STALE,
        joule_budget_now(budget, &judged) == JOULE_STALE,
        joule_budget_end(budget, &judged) == JOULE_STALE,
        joule_report_json(meter, NULL, NULL, 0, NULL) == JOULE_STALE,
    };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        if (!kept[i])
            return (int)i + 1;
    joule_close(meter);
    joule_close(meter); /* the second call is allowed, because the child's close does not free the handle */
    return 0;
}

static void test_handles_from_before_fork_are_stale(void **state)
{
    (void)state;
    joule_budget *budget;
    joule_budget_options options = {.struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1};
    assert_status(joule_budget_begin(meter, &options, &budget, NULL), OK);
    joule_region running = joule_begin(0);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(broken_in_child(&running, budget));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status))
        fail_msg("promise number %d was not kept", WEXITSTATUS(status));
    assert_status(joule_end(&running), OK);
    assert_status(joule_budget_end(budget, NULL), OK);
}

int main(void)
{
    alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opening_refuses_wrong_arguments),
        cmocka_unit_test(test_queries_refuse_wrong_arguments),
        cmocka_unit_test(test_windows_add_up),
        cmocka_unit_test(test_ticks_are_ordered_and_inside_the_window),
        cmocka_unit_test(test_regions_refuse_wrong_arguments),
        cmocka_unit_test(test_spans_refuse_wrong_arguments),
        cmocka_unit_test(test_measuring_and_budgets_refuse_wrong_arguments),
        cmocka_unit_test(test_names_of_unknown_values_are_unknown),
        cmocka_unit_test(test_unknown_values_have_a_reason),
        cmocka_unit_test(test_a_structure_too_small_is_left_alone),
        cmocka_unit_test(test_newer_caller_gets_the_filled_size),
        cmocka_unit_test(test_unknown_options_of_a_newer_caller_are_refused),
        cmocka_unit_test(test_handles_from_before_fork_are_stale),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
