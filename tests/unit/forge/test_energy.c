/* Checks the energy of operations, with windows of a real meter.
 *
 * The CPU model works on every machine, so the meter needs no sensor. test_attribution.c checks the accuracy
 * of shares. Each wait for sensors has a time limit. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/energy.h>
#include <joule/model.h>
#include "base/clock.h"
#include "forge/runtime/energy.h"
#include "support/allocations.h"
#include "support/check.h"
#include "support/workbench.h"

/* --- a machine ------------------------------------------------------------------------------------------ */

struct machine {
    struct workbench bench;
    joule_meter *meter;
    /* folder with a package's counter, which a thread advances; empty: the machine has no counter */
    char root[64];
    pthread_t counter;
    atomic_bool has_ended;
    bool has_failed;
};

static int tear_down(void **state)
{
    struct machine *m = *state;
    workbench_end(&m->bench);
    joule_close(m->meter);
    if (*m->root) {
        char command[96];
        atomic_store(&m->has_ended, true);
        pthread_join(m->counter, NULL);
        assert_false(m->has_failed);
        snprintf(command, sizeof command, "rm -r %s", m->root);
        assert_int_equal(system(command), 0);
    }
    free(m);
    return 0;
}

#define ZONE "sys/class/powercap/intel-rapl:0"

static void write_zone(const struct machine *m, const char *name, const char *text)
{
    char path[192];
    snprintf(path, sizeof path, "%s/" ZONE "/%s", m->root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Advances the counter at 30 W, independent of the load. */
static void *move_counter(void *context)
{
    struct machine *m = context;
    int64_t begin_ns = clock_now_ns();
    const struct timespec pause = {.tv_nsec = NS_PER_S / 1000};
    char path[192], text[32];
    snprintf(path, sizeof path, "%s/" ZONE "/energy_uj", m->root);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    while (!atomic_load(&m->has_ended)) {
        int length =
            snprintf(text, sizeof text, "%.0f\n", 1e9 + 30e6 * clock_seconds(clock_now_ns() - begin_ns));
        m->has_failed = pwrite(fd, text, (size_t)length, 0) != length || m->has_failed;
        nanosleep(&pause, NULL);
    }
    close(fd);
    return NULL;
}

static int open_measured_machine(struct machine *m)
{
    char command[160];
    strcpy(m->root, "/tmp/forge-energy-XXXXXX");
    assert_non_null(mkdtemp(m->root));
    snprintf(command, sizeof command, "mkdir -p %s/" ZONE, m->root);
    assert_int_equal(system(command), 0);
    write_zone(m, "name", "package-0\n");
    write_zone(m, "max_energy_range_uj", "262143328850\n");
    write_zone(m, "energy_uj", "1000000000\n");
    assert_int_equal(pthread_create(&m->counter, NULL, move_counter, m), 0);
    joule_options options = {.struct_size = sizeof options, .period_s = 0.005, .root = m->root};
    return joule_open(&options, &m->meter, NULL) != JOULE_OK ||
           workbench_begin(&m->bench, 1, NULL) != JOULE_OK;
}

static int open_machine(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    joule_options options = {.struct_size = sizeof options, .period_s = 0.005, .sources = "estimated"};
    *state = m;
    return joule_open(&options, &m->meter, NULL) != JOULE_OK ||
           workbench_begin(&m->bench, 1, NULL) != JOULE_OK;
}

/* Loads two layers and an operation of another phase. One of the layers has its own scope. */
static int load(struct machine *m)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(48, 48)), y = x;
    static const char *const layers[] = {"first", "second"};
    for (int i = 0; i < 2; i++) {
        forge_scope_push(b, "net");
        forge_scope_push(b, layers[i]);
        y = forge_neg(b, forge_matmul(b, y, x, 0));
        y = forge_matmul(b, forge_relu(b, forge_matmul(b, y, x, 0)), x, 0);
        forge_scope_pop(b);
        forge_scope_pop(b);
    }
    forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    forge_output(b, "y", forge_exp(b, y));
    return workbench_try_load(&m->bench, b, NULL) != JOULE_OK ||
           forge_instance_set_zeros(m->bench.instance, NULL, NULL) != JOULE_OK;
}

static int set_up(void **state)
{
    return open_machine(state) != 0 || load(*state) != 0;
}

static int set_up_measured(void **state)
{
    struct machine *m = calloc(1, sizeof *m);
    *state = m;
    return open_measured_machine(m) != 0 || load(m) != 0;
}

static void run(struct machine *m, int times)
{
    for (int i = 0; i < times; i++)
        assert_int_equal(forge_instance_run(m->bench.instance, NULL), JOULE_OK);
}

/* Runs the program until the meter has this many windows. */
static forge_energy_sum run_windows(struct machine *m, uint64_t windows)
{
    forge_energy_sum sum = {.struct_size = sizeof sum};
    int64_t end_ns = clock_now_ns() + 20 * NS_PER_S;
    do {
        run(m, 20);
        assert_int_equal(forge_energy_collect(m->bench.instance), JOULE_OK);
        assert_true(clock_now_ns() < end_ns);
    } while (m->bench.instance->energy->windows < windows);
    assert_int_equal(forge_energy_total(m->bench.instance, &sum), JOULE_OK);
    return sum;
}

static void start(struct machine *m)
{
    assert_int_equal(forge_energy_start(m->bench.instance, m->meter, JOULE_TOTAL, NULL), JOULE_OK);
}

static forge_energy_facts facts_of(struct machine *m, size_t i)
{
    forge_energy_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(forge_energy_get(m->bench.instance, i, &facts), JOULE_OK);
    return facts;
}

static void assert_relative_error(double a, double b, double relative)
{
    if (!(fabs(a - b) <= relative * fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

/* --- shares --------------------------------------------------------------------------------------------- */

static void assert_adds_up(struct machine *m, forge_energy_sum sum)
{
    size_t count = forge_energy_count(m->bench.instance);
    double joules = 0, seconds = 0;
    for (size_t i = 0; i < count; i++) {
        forge_energy_facts facts = facts_of(m, i);
        joules += facts.joules.value;
        seconds += facts.seconds;
        assert_true(facts.joules.low <= facts.joules.value && facts.joules.value <= facts.joules.high);
        assert_true(facts.joules.cls >= sum.joules.cls);
        assert_true(facts.group <= i && facts.group_joules.value >= facts.joules.value * (1 - 1e-12));
    }
    assert_relative_error(joules, sum.joules.value, 1e-9);
    assert_relative_error(joules + sum.unattributed_joules.value, sum.all_joules.value, 1e-9);
    assert_relative_error(seconds, sum.covered_seconds, 1e-9);
    assert_true(*facts_of(m, count - 1).op == '\0' && *facts_of(m, 0).op);
}

static void test_shares_add_up_to_the_meter(void **state)
{
    struct machine *m = *state;
    start(m);
    forge_energy_sum sum = run_windows(m, 12);
    const struct energy *e = m->bench.instance->energy;
    joule_quantity meter;
    assert_int_equal(joule_window_joules(m->meter, JOULE_TOTAL, e->begin_ns, e->cut_ns, &meter, NULL),
                     JOULE_OK);
    assert_int_equal(sum.basis, FORGE_ENERGY_OF_MACHINE);
    assert_relative_error(sum.joules.value, meter.value, 1e-9);
    assert_true(sum.joules.value > 0 && sum.joules.cls < JOULE_CLASS_MODELLED);
    assert_relative_error(sum.covered_seconds, sum.seconds, 1e-9);
    assert_true(sum.joules.low < meter.value && meter.value < sum.joules.high);
    assert_adds_up(m, sum);
}

static double own_cpu_s(void)
{
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static pid_t be_busy(void)
{
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile unsigned i = 0;; i++)
            ;
    }
    assert_true(child > 0);
    return child;
}

/* If a model replaces sensors, the work of other processes is not attributed to operations. */
static void test_energy_of_other_processes_is_not_attributed(void **state)
{
    struct machine *m = *state;
    pid_t neighbours[3];
    for (int i = 0; i < 3; i++)
        neighbours[i] = be_busy();
    double before_s = own_cpu_s();
    start(m);
    run_windows(m, 12);
    assert_int_equal(forge_energy_finish(m->bench.instance, 1), JOULE_OK);
    double used_s = own_cpu_s() - before_s;
    forge_energy_sum sum = {.struct_size = sizeof sum};
    assert_int_equal(forge_energy_total(m->bench.instance, &sum), JOULE_OK);
    for (int i = 0; i < 3; i++) {
        kill(neighbours[i], SIGKILL);
        waitpid(neighbours[i], NULL, 0);
    }
    joule_quantity own, now;
    assert_int_equal(joule_cpu_work_joules(used_s, sum.seconds, &own), JOULE_OK);
    assert_int_equal(sum.basis, FORGE_ENERGY_OF_PROCESS);
    assert_int_equal(sum.joules.cls, JOULE_CLASS_MODELLED);
    assert_relative_error(sum.all_joules.value, own.value, 0.1);
    assert_relative_error(sum.all_joules.high / sum.all_joules.value, own.high / own.value, 0.1);
    assert_adds_up(m, sum);
    assert_int_equal(forge_energy_now(m->bench.instance, &now), JOULE_OK);
    assert_true(now.value >= sum.all_joules.value * (1 - 1e-9));
}

/* A training program saves its energy after each epoch. An epoch may be shorter than a window. */
static void test_energy_is_known_after_a_run_shorter_than_a_window(void **state)
{
    struct machine *m = *state;
    joule_quantity now;
    start(m);
    run(m, 1);
    assert_int_equal(joule_sample_now(m->meter), JOULE_OK);
    assert_int_equal(forge_energy_now(m->bench.instance, &now), JOULE_OK);
    assert_true(now.value > 0);
}

/* Runs are dropped if their spans are not collected in time. Their joules stay unattributed, but the total
 * includes them. */
static void test_joules_without_launches_are_unattributed(void **state)
{
    struct machine *m = *state;
    start(m);
    run_windows(m, 4);
    struct energy *e = m->bench.instance->energy;
    assert_int_equal(forge_energy_finish(m->bench.instance, 1), JOULE_OK); /* all runs are collected */
    e->spans.capacity = 2;
    int64_t end_ns = clock_now_ns() + NS_PER_S / 20;
    do
        run(m, 20);
    while (clock_now_ns() < end_ns);
    assert_int_equal(forge_energy_finish(m->bench.instance, 1), JOULE_OK);
    forge_energy_sum sum = {.struct_size = sizeof sum};
    assert_int_equal(forge_energy_total(m->bench.instance, &sum), JOULE_OK);
    assert_true(sum.unattributed_joules.value > 0);
    assert_true(sum.seconds > sum.covered_seconds);
    assert_adds_up(m, sum);
}

static double in_scope(struct machine *m, const char *scope, int phase)
{
    joule_quantity joules;
    assert_int_equal(forge_scope_energy(m->bench.instance, scope, phase, &joules), JOULE_OK);
    return joules.value;
}

static void test_sums_by_scope_and_phase(void **state)
{
    struct machine *m = *state;
    start(m);
    forge_energy_sum sum = run_windows(m, 5);
    double first = in_scope(m, "net/first", -1), second = in_scope(m, "net/second", -1);
    assert_relative_error(first + second, in_scope(m, "net", FORGE_PHASE_FORWARD), 1e-9);
    assert_relative_error(in_scope(m, "", FORGE_PHASE_FORWARD) + in_scope(m, "", FORGE_PHASE_OPTIMISER),
                          in_scope(m, "", -1), 1e-9);
    joule_quantity joules, step, forward;
    assert_int_equal(forge_scope_energy(m->bench.instance, "net/fir", FORGE_ALL_PHASES, &joules),
                     JOULE_ABSENT);
    assert_int_equal(forge_scope_energy(m->bench.instance, "", FORGE_PHASE_DATA, &joules), JOULE_ABSENT);
    assert_true(isnan(joules.value));
    assert_int_equal(forge_step_energy(m->bench.instance, FORGE_ALL_PHASES, &step), JOULE_OK);
    assert_int_equal(forge_step_energy(m->bench.instance, FORGE_PHASE_FORWARD, &forward), JOULE_OK);
    assert_relative_error(forward.value / step.value, in_scope(m, "net", -1) / sum.joules.value, 0.2);
    assert_true(step.value * (double)m->bench.instance->runs >= sum.joules.value * (1 - 1e-9));
    joule_quantity rate = forge_per_joule(100, step);
    assert_relative_error(rate.value * step.value, 100, 1e-12);
    assert_relative_error(rate.low * step.high, 100, 1e-12);
    assert_true(isnan(forge_per_joule(1, (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0}).value));
}

static void test_launches_share_their_item(void **state)
{
    struct machine *m = *state;
    start(m);
    run_windows(m, 3);
    size_t launches = m->bench.program->launches.count, matmuls = 0;
    double of_item = 0;
    for (size_t i = 0; i < launches; i++) {
        joule_quantity joules;
        assert_int_equal(forge_launch_energy(m->bench.instance, i, &joules), JOULE_OK);
        if (m->bench.instance->energy->items.item_of[i] != 0)
            continue;
        matmuls++;
        of_item += joules.value;
    }
    forge_energy_facts facts = facts_of(m, 0);
    assert_string_equal(facts.op, "fused_matmul");
    assert_string_equal(facts.scope, "net/first");
    assert_true(matmuls == 2 && facts.launches == 2 && facts.flop == 2 * (2 * 48.0 * 48 * 48 + 48 * 48));
    /* not exact: the meter has no window for the last runs yet */
    assert_relative_error(of_item, facts.joules.value, 0.2);
    joule_quantity joules;
    assert_int_equal(forge_launch_energy(m->bench.instance, launches, &joules), JOULE_INVALID);
}

static void test_unknown_energy_has_a_status(void **state)
{
    struct machine *m = *state;
    joule_quantity joules;
    forge_energy_facts facts = {.struct_size = sizeof facts};
    joule_error error = {0};
    assert_int_equal(forge_energy_count(m->bench.instance), 0);
    assert_int_equal(forge_energy_collect(m->bench.instance), JOULE_ABSENT);
    assert_int_equal(forge_step_energy(m->bench.instance, FORGE_ALL_PHASES, &joules), JOULE_ABSENT);
    assert_true(isnan(joules.value));
    assert_int_equal(forge_energy_get(m->bench.instance, 0, &facts), JOULE_ABSENT);
    assert_int_equal(forge_energy_start(m->bench.instance, m->meter, 4711, &error), JOULE_INVALID);
    assert_contains(error.message, "4711");
    start(m);
    assert_int_equal(forge_energy_get(m->bench.instance, 1000, &facts), JOULE_INVALID);
    facts.struct_size = 8;
    assert_int_equal(forge_energy_get(m->bench.instance, 0, &facts), JOULE_INVALID);
    forge_energy_stop(m->bench.instance);
    assert_int_equal(forge_energy_count(m->bench.instance), 0);
    run(m, 2);
}

/* --- costs ---------------------------------------------------------------------------------------------- */

static void test_spans_allocate_nothing(void **state)
{
    struct machine *m = *state;
    start(m);
    joule_meter *meter = m->meter; /* the meter's threads allocate, too */
    m->meter = NULL;
    joule_close(meter);
    run(m, 2);
    unsigned before = allocations;
    run(m, 200);
    assert_int_equal(allocations, before);
    void *volatile memory = malloc(1); /* shows that the counter counts allocations */
    free(memory);
    assert_true(allocations == before + 1);
}

/* After this call, any system call except exit ends the process. Note: seccomp's strict mode would also
 * forbid reading the clock. */
static bool forbid_system_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool survives(struct machine *m, bool runs, bool calls)
{
    pid_t child = fork();
    if (child == 0) {
        if (!forbid_system_calls())
            syscall(SYS_exit, 77);
        int64_t now_ns = clock_now_ns();
        for (int i = 0; runs && i < 100; i++)
            now_ns |= forge_instance_run(m->bench.instance, NULL) != JOULE_OK;
        if (calls)
            syscall(SYS_getpid);
        syscall(SYS_exit, now_ns == 0);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        print_message("skipped: this kernel has no seccomp\n");
        skip();
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_spans_make_no_system_call(void **state)
{
    struct machine *m = *state;
    start(m);
    run(m, 1);
    if (!survives(m, false, false)) {
        print_message("skipped: the clock of this machine is not served by the vDSO\n");
        skip();
    }
    assert_true(survives(m, true, false));
    assert_false(survives(m, true, true));
}

/* --- parts ---------------------------------------------------------------------------------------------- */

static void test_time_is_taken_once(void **state)
{
    (void)state;
    struct spans spans;
    uint32_t item_of[] = {0, 1, 0};
    assert_true(spans_init(&spans, 3, 0)); /* the buffer has capacity for two runs */
    for (int64_t begin = 100; begin <= 200; begin += 100) {
        memcpy(spans_next_row(&spans), (int64_t[]){begin, begin + 10, begin + 10, begin + 40},
               4 * sizeof(int64_t));
        spans_add_row(&spans);
    }
    double active_s[2] = {0};
    assert_true(spans_take(&spans, 50, 105, item_of, active_s));
    assert_relative_error(active_s[0], 5e-9, 1e-9);
    assert_true(spans_take(&spans, 105, 130, item_of, active_s));
    assert_relative_error(active_s[0], 30e-9, 1e-9);
    assert_true(spans_take(&spans, 130, 205, item_of, active_s));
    assert_relative_error(active_s[0], 45e-9, 1e-9);
    assert_true(active_s[1] == 0); /* the launch took no time */
    assert_true(spans_take(&spans, 205, 300, item_of, active_s));
    assert_relative_error(active_s[0], 80e-9, 1e-9);
    for (int64_t begin = 300; begin <= 500; begin += 100) { /* adds three runs, one more than the capacity */
        memcpy(spans_next_row(&spans), (int64_t[]){begin, begin + 10, begin + 20, begin + 30},
               4 * sizeof(int64_t));
        spans_add_row(&spans);
    }
    memset(active_s, 0, sizeof active_s);
    assert_false(spans_take(&spans, 300, 420, item_of, active_s));
    assert_relative_error(active_s[0], 10e-9, 1e-9);
    assert_true(spans_take(&spans, 420, 600, item_of, active_s));
    assert_relative_error(active_s[0], 40e-9, 1e-9);
    assert_relative_error(active_s[1], 20e-9, 1e-9);
    spans_free(&spans);
}

static void test_number_of_scopes_is_limited(void **state)
{
    struct machine *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4));
    for (int i = 0; i < 2 * MAX_ITEMS; i++) {
        char outer[16], inner[16];
        snprintf(outer, sizeof outer, "block%d", i / 64);
        snprintf(inner, sizeof inner, "part%d", i % 64);
        forge_scope_push(b, outer);
        forge_scope_push(b, inner);
        x = forge_scan(b, FORGE_SUM, x, 0, i % 2 ? FORGE_SCAN_REVERSE : 0);
        forge_scope_pop(b);
        forge_scope_pop(b);
    }
    forge_output(b, "y", x);
    workbench_load(&m->bench, b);
    start(m);
    size_t count = forge_energy_count(m->bench.instance);
    assert_true(count == 2 * MAX_ITEMS / 64 + 1); /* several scans count as one kind */
    assert_string_equal(m->bench.instance->energy->items.list[1].scope, "block1");
    assert_int_equal(m->bench.instance->energy->items.list[1].launches, 64);
}

int main(void)
{
#define on_machine(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shares_add_up_to_the_meter, set_up_measured, tear_down),
        on_machine(test_energy_of_other_processes_is_not_attributed),
        on_machine(test_energy_is_known_after_a_run_shorter_than_a_window),
        on_machine(test_joules_without_launches_are_unattributed),
        cmocka_unit_test_setup_teardown(test_joules_without_launches_are_unattributed, set_up_measured,
                                        tear_down),
        on_machine(test_sums_by_scope_and_phase),
        on_machine(test_launches_share_their_item),
        on_machine(test_unknown_energy_has_a_status),
        on_machine(test_spans_allocate_nothing),
        on_machine(test_spans_make_no_system_call),
        cmocka_unit_test(test_time_is_taken_once),
        cmocka_unit_test_setup_teardown(test_number_of_scopes_is_limited, open_machine, tear_down),
    };
    return cmocka_run_group_tests_name("energy", tests, NULL, NULL);
}
