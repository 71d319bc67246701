/* Tests child processes in a session: a child that opens no sensors reports the total of its parent, and
 * budgets in the child still work.
 *
 * The program starts itself as the child; an argument selects what the child does, and exit status 0 means
 * success. Note: the parent measures with the CPU model, which works on any machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "joule/meter/engine.h"
#include "joule/session/session.h"

static void work(double seconds)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((double)(now.tv_sec - begin.tv_sec) + (double)(now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
}

static int be_reporter(void)
{
    char text[8192] = "";
    size_t length;
    joule_current_power_watts();
    work(0.5);
    if (joule_report_json(NULL, "client", text, sizeof text, &length) != JOULE_OK)
        return 2;
    bool good = !strstr(text, "\"total_energy_joules\":null") &&
                strstr(text, "\"cover\":\"as measured by the parent\"") && strstr(text, "\"devices\":[]") &&
                strstr(text, "\"modelled\":{\"energy_joules\":");
    if (!good)
        fprintf(stderr, "%s\n", text);
    return good ? 0 : 3;
}

/* A thread of libjoule checks the budget and ends the program. This thread only works. */
static int be_spender(void)
{
    joule_budget_options options = {
        .struct_size = sizeof options, .flags = JOULE_BUDGET_STOP, .domain = JOULE_TOTAL, .max_joules = 0.01};
    joule_budget *budget;
    if (joule_budget_begin(NULL, &options, &budget, NULL) != JOULE_OK)
        return 2;
    work(20);
    return 3;
}

static int be_client(const char *role)
{
    if (!session_is_client(session_current()))
        return 4;
    return strcmp(role, "report") == 0 ? be_reporter() : be_spender();
}

static int run_client(const char *role)
{
    extern char **environ;
    char name[] = "client";
    char *const arguments[] = {name, (char *)role, NULL};
    pid_t pid;
    int status;
    if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ) != 0)
        return -1;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static joule_meter *meter;

static int set_up(void **state)
{
    (void)state;
    char path[256];
    joule_options options = {.struct_size = sizeof options, .period_s = 0.02, .sources = "estimated"};
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return -1;
    setenv("JOULE_SESSION", path, 1);
    return joule_open(&options, &meter, NULL) == JOULE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    joule_close(meter);
    session_remove_shared();
    return 0;
}

static void test_a_client_reports_the_total(void **state)
{
    (void)state;
    int status = run_client("report");
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_a_client_keeps_its_budget(void **state)
{
    (void)state;
    int status = run_client("spend");
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return be_client(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_client_reports_the_total),
        cmocka_unit_test(test_a_client_keeps_its_budget),
    };
    return cmocka_run_group_tests_name("report_client", tests, set_up, tear_down);
}
