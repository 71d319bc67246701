/* Checks the cache of compiled code: damaged files are replaced, unsafe folders are refused, and without a
 * working compiler a device computes the same results by its kernels. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/program.h>
#include "support/cache_folder.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/side.h"

enum { GROUPS = 2 }; /* in the graph of these tests */

static joule_error error;

static forge_graph *two_groups(void)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(3, 100));
    forge_output(b, "y", forge_unary(b, FORGE_EXP, forge_unary(b, FORGE_NEG, x)));
    forge_output(b, "z", forge_unary(b, FORGE_TANH, forge_unary(b, FORGE_SQUARE, x)));
    return graph_of(b);
}

/* Runs the graph on a device that compiles, and compares the results with those of a device that does not.
 * Returns the facts about the compilation. */
static forge_compiled_facts run_graph(void)
{
    forge_device *compiled, *plain;
    forge_graph *graph = two_groups();
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    assert_ok(forge_device_open("cpu", &compiled, &error), &error);
    assert_ok(forge_device_open("cpu", &plain, &error), &error);
    assert_ok(forge_device_set_compiled(compiled, true, &error), &error);
    struct side a = side_load(compiled, graph, NULL), b = side_load(plain, graph, NULL);
    side_run_both(&a, &b, graph, 1, 0);
    side_unload(&a);
    side_unload(&b);
    assert_int_equal(forge_device_query_compiled(compiled, &facts), JOULE_OK);
    forge_device_close(compiled);
    forge_device_close(plain);
    forge_graph_free(graph);
    return facts;
}

static joule_status try_set(void)
{
    forge_device *device;
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    assert_ok(forge_device_open("cpu", &device, &error), &error);
    joule_status status = forge_device_set_compiled(device, true, &error);
    assert_int_equal(forge_device_query_compiled(device, &facts), JOULE_OK);
    assert_int_equal(facts.is_on, status == JOULE_OK);
    forge_device_close(device);
    return status;
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void test_code_is_compiled_once(void **state)
{
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    forge_compiled_facts first = run_graph(), second = run_graph();
    assert_int_equal(first.compiled, GROUPS);
    assert_int_equal(first.cached, 0);
    assert_true(first.seconds > 0);
    assert_true(*first.compiler);
    assert_int_equal(second.compiled, 0);
    assert_int_equal(second.cached, GROUPS);
    assert_int_equal(cache_folder_files(NULL), GROUPS);
}

static void test_files_belong_to_their_user_only(void **state)
{
    char path[300];
    struct stat info;
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    mode_t before = umask(0);
    run_graph();
    umask(before);
    cache_folder_files(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

/* Changes the file: removes bytes at its end, and writes a byte at `at` if at >= 0. */
static void damage(const char *path, off_t kept, off_t at)
{
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    if (kept >= 0)
        assert_int_equal(ftruncate(fd, kept), 0);
    if (at >= 0)
        assert_int_equal(pwrite(fd, "\x5a", 1, at), 1);
    close(fd);
}

static void test_damaged_files_are_replaced(void **state)
{
    static const struct {
        off_t kept, at;
    } damages[] = {{0, -1}, {20, -1}, {5000, -1}, {-1, 0}, {-1, 3000}};
    char path[300];
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    run_graph();
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        cache_folder_files(path);
        damage(path, damages[i].kept, damages[i].at);
        forge_compiled_facts facts = run_graph();
        assert_int_equal(facts.compiled, 1);
        assert_int_equal(facts.cached, GROUPS - 1);
    }
    assert_int_equal(cache_folder_files(NULL), GROUPS);
}

static void test_the_code_of_another_group_is_replaced(void **state)
{
    char one[300], other[300], moved[100], command[700];
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    run_graph();
    cache_folder_files(one);
    snprintf(moved, sizeof moved, "%s/moved", cache_folder);
    assert_int_equal(rename(one, moved), 0);
    assert_int_equal(cache_folder_files(other), GROUPS - 1);
    snprintf(command, sizeof command, "cp %s %s", other, one);
    assert_int_equal(system(command), 0);
    forge_compiled_facts facts = run_graph();
    assert_int_equal(facts.compiled, 1);
    assert_int_equal(facts.cached, 1);
}

static void test_processes_share_the_cache(void **state)
{
    enum { PROCESSES = 4 };
    pid_t children[PROCESSES];
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    for (size_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(run_graph().failed == 0 ? 0 : 1);
    }
    for (size_t i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(cache_folder_files(NULL), GROUPS);
}

/* --- compilers ------------------------------------------------------------------------------------------ */

static void test_a_missing_compiler_is_reported(void **state)
{
    (void)state;
    setenv("CC", "/nonexistent/cc -m64", 1);
    assert_int_equal(try_set(), JOULE_ABSENT);
    assert_contains(error.message, "there is no program CC=/nonexistent/cc -m64");
    unsetenv("CC");
    const char *given = getenv("PATH");
    char *path = strdup(given ? given : "/usr/bin:/bin");
    assert_non_null(path);
    setenv("PATH", cache_folder, 1);
    assert_int_equal(try_set(), JOULE_ABSENT);
    assert_contains(error.message, "there is no cc, gcc or clang in PATH");
    setenv("PATH", path, 1);
    free(path);
}

/* Creates a compiler that is a script. */
static void use_script(const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/compiler", cache_folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", text);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    setenv("CC", path, 1);
}

static void test_a_failing_compiler_leaves_the_kernels(void **state)
{
    (void)state;
    use_script("echo 'no such option: -x' >&2; echo more >&2; exit 3");
    forge_compiled_facts facts = run_graph();
    assert_int_equal(facts.failed, GROUPS);
    assert_int_equal(facts.compiled, 0);
    assert_contains(facts.reason, "no such option: -x");
    assert_null(strstr(facts.reason, "more"));
    assert_int_equal(cache_folder_files(NULL), 0);
}

static void test_a_compiler_that_writes_no_code_leaves_the_kernels(void **state)
{
    (void)state;
    use_script("exit 0");
    forge_compiled_facts facts = run_graph();
    assert_int_equal(facts.failed, GROUPS);
    assert_contains(facts.reason, "No such file");
    use_script("while [ \"$1\" != -o ]; do shift; done; echo nonsense >\"$2\"");
    facts = run_graph();
    assert_int_equal(facts.failed, GROUPS);
    assert_contains(facts.reason, "is not code for this machine");
}

static void test_a_replaced_compiler_compiles_again(void **state)
{
    char command[256], script[300];
    (void)state;
    if (!cache_folder_has_compiler(command))
        skip();
    snprintf(script, sizeof script, "exec %s \"$@\"", command);
    use_script(script);
    assert_int_equal(run_graph().compiled, GROUPS);
    assert_int_equal(run_graph().cached, GROUPS);
    snprintf(script, sizeof script, "exec %s  \"$@\"", command);
    use_script(script);
    assert_int_equal(run_graph().compiled, GROUPS);
}

static void test_gcc_and_clang_compile_all_groups(void **state)
{
    static const char *const commands[] = {"gcc", "clang", "clang-14", "clang-19"};
    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        setenv("CC", commands[i], 1);
        if (cache_folder_has_compiler(NULL))
            assert_int_equal(run_graph().compiled, GROUPS);
    }
}

/* --- folders -------------------------------------------------------------------------------------------- */

static void test_a_folder_that_others_may_write_is_refused(void **state)
{
    char path[100];
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    snprintf(path, sizeof path, "%s/joule/forge", cache_folder);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(try_set(), JOULE_DENIED);
    assert_contains(error.message, "another user could write to");
    assert_contains(error.message, path);
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(chmod(cache_folder, 0770), 0);
    assert_int_equal(try_set(), JOULE_DENIED);
    assert_int_equal(chmod(cache_folder, 0700), 0);
    assert_ok(try_set(), &error);
}

static void test_a_folder_of_another_user_is_refused(void **state)
{
    char path[100];
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can give a folder to another user\n");
        skip();
    }
    if (!cache_folder_has_compiler(NULL))
        skip();
    snprintf(path, sizeof path, "%s/joule/forge", cache_folder);
    assert_int_equal(chown(path, 12345, 12345), 0);
    assert_int_equal(try_set(), JOULE_DENIED);
    assert_int_equal(chown(path, 0, 0), 0);
    assert_int_equal(chown(cache_folder, 12345, 12345), 0);
    assert_int_equal(try_set(), JOULE_DENIED);
    assert_int_equal(chown(cache_folder, 0, 0), 0);
}

static void test_a_link_to_a_folder_of_another_place_is_followed_and_checked(void **state)
{
    char path[100], target[100];
    (void)state;
    if (!cache_folder_has_compiler(NULL))
        skip();
    snprintf(path, sizeof path, "%s/joule/forge", cache_folder);
    snprintf(target, sizeof target, "%s/open", cache_folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_ok(try_set(), &error);
    assert_int_equal(chmod(target, 0777), 0);
    assert_int_equal(try_set(), JOULE_DENIED);
    assert_contains(error.message, target);
}

static void test_a_device_that_runs_nothing_compiles_nothing(void **state)
{
    forge_device *device;
    (void)state;
    assert_ok(forge_device_open("estimated", &device, &error), &error);
    assert_int_equal(forge_device_set_compiled(device, true, &error), JOULE_UNSUPPORTED);
    assert_int_equal(forge_device_set_compiled(device, false, &error), JOULE_OK);
    forge_device_close(device);
}

int main(void)
{
#define WITH_CACHE(test) cmocka_unit_test_setup_teardown(test, cache_folder_set_up, cache_folder_tear_down)
    const struct CMUnitTest tests[] = {
        WITH_CACHE(test_code_is_compiled_once),
        WITH_CACHE(test_files_belong_to_their_user_only),
        WITH_CACHE(test_damaged_files_are_replaced),
        WITH_CACHE(test_the_code_of_another_group_is_replaced),
        WITH_CACHE(test_processes_share_the_cache),
        WITH_CACHE(test_a_missing_compiler_is_reported),
        WITH_CACHE(test_a_failing_compiler_leaves_the_kernels),
        WITH_CACHE(test_a_compiler_that_writes_no_code_leaves_the_kernels),
        WITH_CACHE(test_a_replaced_compiler_compiles_again),
        WITH_CACHE(test_gcc_and_clang_compile_all_groups),
        WITH_CACHE(test_a_folder_that_others_may_write_is_refused),
        WITH_CACHE(test_a_folder_of_another_user_is_refused),
        WITH_CACHE(test_a_link_to_a_folder_of_another_place_is_followed_and_checked),
        WITH_CACHE(test_a_device_that_runs_nothing_compiles_nothing),
    };
    return cmocka_run_group_tests_name("code_cache", tests, NULL, NULL);
}
