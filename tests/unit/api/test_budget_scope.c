/* Tests scopes with a budget on a scripted machine of 60 W: which calls of a scope call the handler and when,
 * with one or many threads.
 *
 * Note: regions use the real clock, so the calls of a scope are simulated by spans in virtual time. One real
 * region registers the scope. This region never gets energy, and no mean includes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "joule/api/budget_scope.h"
#include "joule/api/tag_row.h"
#include "joule/collector/collector.h"
#include "joule/api/open.h"
#include "joule/report/report.h"
#include "joule/session/session.h"
#include "support/check.h"
#include "support/machine.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"
#define S    1000000000LL /* nanoseconds */

static ssize_t energy_uj(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%.0f\n", 60.0 * (double)time_ns * 1e-3);
}

static atomic_int calls_of_handler;
static struct {
    joule_budget_status status;
    char name[SESSION_NAME], message[600];
    uint64_t count;
    joule_quantity joules;
} last;

static void record_event(const joule_budget_event *event, void *context)
{
    last.status = event->status;
    last.count = event->count;
    last.joules = event->joules;
    snprintf(last.name, sizeof last.name, "%s", event->name);
    snprintf(last.message, sizeof last.message, "%s", event->message);
    assert_int_equal(event->struct_size, sizeof *event);
    atomic_fetch_add(&calls_of_handler, 1);
    if (context) /* if a context is given, the handler also queries the meter */
        assert_int_equal(joule_sample_now(*(joule_meter **)context), JOULE_OK);
}

static int set_up(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    bench->next_ns = 1 * S;
    host_script_set_time(bench->host, bench->next_ns);
    host_script_text(bench->host, ZONE "/name", "package-0\n");
    host_script_text(bench->host, ZONE "/max_energy_range_uj", "262143328850\n");
    host_script_file(bench->host, ZONE "/energy_uj", energy_uj, NULL);
    bench->meter = machine_open(bench->host, "rapl_powercap");
    joule_budget_set_handler(record_event, &bench->meter);
    atomic_store(&calls_of_handler, 0);
    return 0;
}

static int tear_down(void **state)
{
    joule_budget_set_handler(NULL, NULL);
    return machine_teardown(state);
}

/* Enters a site once and returns its tag. */
static uint32_t enter(joule_budget_site *site)
{
    joule_region region = joule_budget_scope_begin(site);
    assert_int_equal(joule_end(&region), JOULE_OK);
    return region.tag;
}

static void call(struct machine_bench *bench, uint32_t tag, int64_t begin_ns, int64_t end_ns)
{
    joule_span span = {.struct_size = sizeof span,
                       .tag = tag,
                       .device_index = -1,
                       .begin = (double)begin_ns,
                       .end = (double)end_ns,
                       .scale_ns = 1};
    machine_run_until(bench, end_ns);
    assert_int_equal(joule_span_add(bench->meter, &span), JOULE_OK);
}

static void test_the_mean_call_decides(void **state)
{
    struct machine_bench *bench = *state;
    joule_budget_site over = {.budget = "max_joules=50J", .function = "over", .line = 7};
    joule_budget_site within = {.budget = "max_joules=50J", .function = "within", .line = 8};
    uint32_t over_tag = enter(&over), within_tag = enter(&within);
    call(bench, within_tag, 2 * S, 2 * S + S / 10); /* the call uses 6 J */
    /* The call uses 60 J, which is more than the limit. The mean of both calls is below the limit. */
    call(bench, within_tag, 3 * S, 4 * S);
    machine_run_until(bench, 6 * S);
    assert_int_equal(calls_of_handler, 0);
    call(bench, over_tag, 6 * S, 7 * S);
    call(bench, over_tag, 7 * S, 8 * S);
    machine_run_until(bench, 10 * S);
    assert_int_equal(calls_of_handler, 1);
    assert_int_equal(last.status, JOULE_BUDGET_OVER);
    assert_string_equal(last.name, "over:7");
    assert_true(fabs(last.joules.value - 60) < 2 && last.count >= 1 && last.count <= 2);
    assert_contains(last.message, "its budget is max_joules=50J");

    struct tag_row row;
    assert_true(tag_row_get(bench->meter, within_tag, &row));
    assert_true(row.attributed_count == 2 && row.budget_joules == 100);
    assert_true(fabs(row.result.attributed.value - 66) < 2);
    assert_false(tag_row_get(bench->meter, joule_tag("never ran"), &row));
}

static void test_wrong_budget_is_reported_once(void **state)
{
    (void)state;
    joule_budget_site site = {.budget = "max_joules=50uW", .function = "wrong", .line = 9};
    uint32_t tag = enter(&site);
    enter(&site);
    assert_int_equal(calls_of_handler, 1);
    assert_int_equal(last.status, JOULE_BUDGET_NOT_MEASURED);
    assert_contains(last.message, "wrong:9");
    assert_contains(last.message, "column 14");
    assert_true(isnan(last.joules.value) && isnan(session_get_call_budget(session_current(), tag)));
    joule_budget_site nothing = {0};
    enter(&nothing);
    assert_int_equal(calls_of_handler, 2);
}

static void test_a_long_name_keeps_its_line(void **state)
{
    (void)state;
    char name[SESSION_NAME];
    joule_budget_site site = {.budget = "max_joules=1J",
                              .function = "a_function_with_a_name_that_goes_on_and_on_and_on_for_ever",
                              .line = 4294967295u};
    session_tag_name(session_current(), enter(&site), name);
    assert_string_equal(name, "a_function_with_a_name_that_goes_on_:4294967295");
}

static joule_budget_site crowded = {.budget = "max_jouls=1J", .function = "crowded", .line = 1};

static void *enter_often(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++)
        enter(&crowded);
    return NULL;
}

static void test_many_threads_enter_at_once(void **state)
{
    (void)state;
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, enter_often, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(calls_of_handler, 1);
    assert_int_equal(enter(&crowded), joule_tag("crowded:1"));
}

static joule_budget_site jumped = {.budget = "max_joules=1J", .function = "jumped", .line = 3};
static joule_budget_site around = {.budget = "max_joules=1J", .function = "around", .line = 4};

static void jump(jmp_buf back)
{
    joule_budget_scope_begin(&jumped);
    joule_budget_scope_begin(&jumped); /* a second call, as in a recursive function */
    longjmp(back, 1);
}

static void test_scopes_that_longjmp_left_are_ended(void **state)
{
    struct machine_bench *bench = *state;
    jmp_buf back;
    joule_region outer = joule_budget_scope_begin(&around),
                 other = joule_begin(joule_tag("not bound to a call"));
    uint64_t mark = joule_budget_scope_mark();
    if (setjmp(back) == 0)
        jump(back);
    joule_budget_scope_unwind(mark);
    bench->next_ns = clock_now_ns(); /* regions use this clock */
    machine_run_until(bench, bench->next_ns + 2 * S);
    struct tag_row row;
    assert_true(tag_row_get(bench->meter, joule_tag("jumped:3"), &row));
    assert_int_equal(row.result.count, 2);
    assert_false(tag_row_get(bench->meter, joule_tag("around:4"), &row));
    assert_int_equal(joule_end(&outer), JOULE_OK);
    assert_int_equal(joule_end(&other), JOULE_OK);
    joule_budget_scope_unwind(mark); /* there is no scope left to end */
    machine_run_until(bench, bench->next_ns + 2 * S);
    assert_true(tag_row_get(bench->meter, joule_tag("jumped:3"), &row));
    assert_int_equal(row.result.count, 2);
}

static void test_short_functions_are_counted(void **state)
{
    struct machine_bench *bench = *state;
    joule_budget_counted tiny = {.site = {.budget = "max_joules=1nJ", .function = "tiny"},
                                 .joules_per_call = {3e-9, 2e-9, 5e-9, JOULE_CLASS_MODELLED, 0}};
    uint64_t folded = collector_folded(collector_of(bench->meter));
    for (int i = 0; i < 1000; i++)
        joule_budget_count(&tiny);
    struct tag_row row;
    assert_true(tag_row_get(bench->meter, joule_tag("tiny"), &row));
    assert_int_equal(row.result.count, 1000);
    assert_true(row.flags & TAG_COUNTED);
    assert_true(fabs(row.result.attributed.value - 3e-6) < 1e-12);
    assert_true(fabs(row.result.attributed.low - 2e-6) < 1e-12 &&
                fabs(row.result.attributed.high - 5e-6) < 1e-12);
    assert_int_equal(row.result.attributed.cls, JOULE_CLASS_MODELLED);
    assert_true(isnan(row.result.duration_s) && isnan(row.timestamp_joules.value));
    assert_true(fabs(row.budget_joules - 1e-6) < 1e-12);
    assert_int_equal(joule_budget_judge(row.result.attributed, row.budget_joules), JOULE_BUDGET_OVER);
    assert_int_equal(collector_folded(collector_of(bench->meter)), folded);
}

static void test_stamps_are_subtracted(void **state)
{
    struct machine_bench *bench = *state;
    joule_budget_site site = {.budget = "max_joules=50J", .function = "stamped", .line = 8};
    uint32_t tag = enter(&site);
    double stamp_s = session_timestamp_seconds(session_current());
    assert_true(stamp_s > 0 && stamp_s < 1e-3);
    call(bench, tag, 2 * S, 3 * S);
    call(bench, tag, 4 * S, 5 * S);
    machine_run_until(bench, 7 * S);
    struct tag_row row;
    assert_true(tag_row_get(bench->meter, tag, &row));
    double part = row.timestamp_joules.value / (row.timestamp_joules.value + row.result.attributed.value);
    double stamped = (double)row.result.count; /* this count includes the region that registered the scope */
    assert_true(fabs(part - stamped * stamp_s / row.result.duration_s) < 1e-6 * part);
}

static void test_nothing_but_stamps_is_no_certain_zero(void **state)
{
    struct machine_bench *bench = *state;
    joule_budget_site site = {.budget = "max_joules=1nJ", .function = "nothing", .line = 9};
    uint32_t tag = enter(&site);
    int64_t stamp_ns = (int64_t)lround(session_timestamp_seconds(session_current()) * 1e9);
    call(bench, tag, 2 * S, 2 * S + stamp_ns);
    machine_run_until(bench, 4 * S);
    struct tag_row row;
    assert_true(tag_row_get(bench->meter, tag, &row));
    assert_true(row.timestamp_joules.value > 0 && row.result.attributed.low >= 0);
    assert_true(row.result.attributed.high > row.timestamp_joules.value * 0.1);
    assert_int_equal(report_function_status(&row), JOULE_BUDGET_BELOW_RESOLUTION);
}

static void test_too_short_to_be_judged(void **state)
{
    struct machine_bench *bench = *state;
    joule_budget_site site = {.budget = "max_joules=1J", .function = "brief", .line = 6};
    uint32_t tag = enter(&site);
    struct tag_row row;
    call(bench, tag, 2 * S + S / 20, 2 * S + S / 10); /* the call uses 3 J in 50 ticks of a millisecond */
    machine_run_until(bench, 4 * S);
    assert_true(tag_row_get(bench->meter, tag, &row));
    assert_int_equal(report_function_status(&row), JOULE_BUDGET_BELOW_RESOLUTION);
    assert_int_equal(calls_of_handler, 0);
    call(bench, tag, 4 * S, 4 * S + S / 10);
    machine_run_until(bench, 6 * S);
    assert_true(tag_row_get(bench->meter, tag, &row));
    assert_int_equal(report_function_status(&row), JOULE_BUDGET_OVER);
    assert_int_equal(calls_of_handler, 1);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_the_mean_call_decides),
        machine(test_wrong_budget_is_reported_once),
        machine(test_a_long_name_keeps_its_line),
        machine(test_many_threads_enter_at_once),
        machine(test_scopes_that_longjmp_left_are_ended),
        machine(test_short_functions_are_counted),
        machine(test_stamps_are_subtracted),
        machine(test_nothing_but_stamps_is_no_certain_zero),
        machine(test_too_short_to_be_judged),
    };
    return cmocka_run_group_tests_name("budget scope", tests, NULL, NULL);
}
