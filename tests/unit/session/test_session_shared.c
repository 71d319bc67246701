/* Tests sessions that processes share: who may join, and which failures the shared memory survives. */
#include <fcntl.h>
#include <sched.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/session_rounds.h"

static void push_some(int count)
{
    for (int i = 0; i < count; i++) {
        joule_region region = joule_begin(1);
        joule_end(&region);
    }
}

/* Runs the children of a shared session one after another. If `collects` is true, each child is reaped before
 * the next one begins. Otherwise all children are reaped at the end. */
static bool many_children(bool collects)
{
    enum { CHILDREN = 3 * SESSION_SLOTS / 2 };
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            push_some(2);
            _exit(0);
        }
        siginfo_t info;
        waitid(P_PID, (id_t)pid, &info, WEXITED | (collects ? 0 : WNOWAIT));
    }
    struct seen seen = session_read_all(false);
    while (!collects && waitpid(-1, NULL, WNOHANG) > 0)
        ;
    session_remove_shared();
    return seen.spans == 2 * CHILDREN;
}

static bool children_in_turn(void *unused)
{
    (void)unused;
    return many_children(true);
}

static void every_process_of_many_is_counted(void **state)
{
    (void)state;
    assert_true(session_in_child(children_in_turn, NULL));
}

static bool children_uncollected(void *unused)
{
    (void)unused;
    return many_children(false);
}

static void zombie_processes_release_their_slots(void **state)
{
    (void)state;
    assert_true(session_in_child(children_uncollected, NULL));
}

static bool be_a_client(void *unused)
{
    (void)unused;
    if (!session_is_client(session_current()))
        return false;
    push_some(100);
    joule_region open = joule_begin(2);
    (void)open;
    raise(SIGKILL);
    return false;
}

static bool share_and_lose_a_child(void *unused)
{
    (void)unused;
    char path[256];
    joule_error error;
    struct stat st;
    if (session_create_shared(path, sizeof path, &error) != JOULE_OK || stat(path, &st) != 0 ||
        (st.st_mode & 0777) != 0600 || session_is_client(session_current()))
        return false;
    push_some(10);
    session_in_child(be_a_client, NULL);
    struct seen seen = session_read_all(false);
    if (seen.spans != 110 || seen.open != 1)
        return false;
    seen = session_read_all(true);
    if (seen.over != 1)
        return false;
    seen = session_read_all(true);
    session_remove_shared();
    return seen.slots == 1 && seen.open == 0 && stat(path, &st) != 0;
}

static void a_killed_child_loses_no_finished_region(void **state)
{
    (void)state;
    assert_true(session_in_child(share_and_lose_a_child, NULL));
}

static bool end_of_parent_in_shared(void *region)
{
    return joule_end(region) == JOULE_STALE;
}

static bool share_and_fork_inside_a_region(void *unused)
{
    (void)unused;
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    joule_region region = joule_begin(1);
    bool good = session_in_child(end_of_parent_in_shared, &region) && joule_end(&region) == JOULE_OK;
    session_remove_shared();
    return good;
}

static void a_child_cannot_end_the_parents_region(void **state)
{
    (void)state;
    assert_true(session_in_child(share_and_fork_inside_a_region, NULL));
}

/* A child tries every way to shrink the shared memory. All of them fail, and other processes can still use
 * the memory. */
static bool cut_off(void *path)
{
    int file = open(path, O_RDWR), cut = open(path, O_RDWR | O_TRUNC);
    bool is_refused = truncate(path, 0) != 0 && cut < 0 && file >= 0 && ftruncate(file, 0) != 0 &&
                      ftruncate(file, 4096) != 0;
    push_some(5);
    return is_refused;
}

static bool push_in_child(void *unused)
{
    (void)unused;
    push_some(7);
    return session_is_client(session_current());
}

static bool share_with_a_hostile_child(void *unused)
{
    (void)unused;
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    push_some(10);
    bool is_safe = session_in_child(cut_off, path) && session_in_child(push_in_child, NULL);
    struct seen seen = session_read_all(true);
    session_remove_shared();
    return is_safe && seen.spans == 22;
}

static void no_child_can_take_the_memory_away(void **state)
{
    (void)state;
    assert_true(session_in_child(share_with_a_hostile_child, NULL));
}

/* Runs this program as a command that cannot look into /proc of the measuring process. The reason is that
 * this process has more rights, or that another /proc is mounted. */
static bool join_by_inherited_descriptor(void *name)
{
    const char *path = getenv("JOULE_SESSION");
    char hidden[64], what[] = "joins";
    snprintf(hidden, sizeof hidden, "/proc/2147483647/fd/%s", strrchr(path, '/') + 1);
    char *const arguments[] = {name, what, NULL};
    setenv("JOULE_SESSION", hidden, 1);
    execv("/proc/self/exe", arguments);
    return false;
}

/* Runs a child of a command that inherited the descriptor of the session. The child closes its own copy of
 * the descriptor. */
static bool join_by_parents_descriptor(void *name)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        close(atoi(strrchr(getenv("JOULE_SESSION"), '/') + 1));
        _exit(join_by_inherited_descriptor(name) ? 0 : 1);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool share_by_descriptor(void *unused)
{
    (void)unused;
    char path[256], name[] = "test";
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    fcntl(atoi(strrchr(path, '/') + 1), F_SETFD, 0);
    setenv("JOULE_SESSION", path, 1);
    bool has_joined = session_in_child(join_by_inherited_descriptor, name) &&
                      session_in_child(join_by_parents_descriptor, name);
    struct seen seen = session_read_all(true);
    session_remove_shared();
    return has_joined && seen.spans == 6;
}

static void a_child_may_join_by_an_inherited_descriptor(void **state)
{
    (void)state;
    assert_true(session_in_child(share_by_descriptor, NULL));
}

#define CANNOT_MOUNT 2

/* Runs `body` in a namespace whose /dev/shm is mounted with the options `shm`. If hides_proc is true, /proc
 * is empty, so that the session is stored in a file. */
static void in_namespace(const char *shm, bool hides_proc, bool (*body)(void))
{
    pid_t pid = fork();
    if (pid == 0) {
        if ((unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0) ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("none", "/dev/shm", "tmpfs", 0, shm) != 0 ||
            (hides_proc && mount("none", "/proc", "tmpfs", 0, "size=4k") != 0))
            _exit(CANNOT_MOUNT);
        _exit(body() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_MOUNT) {
        print_message("skipped: no small file system can be mounted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* A new session removes the files of sessions whose owners have ended without removing them. It keeps files
 * that are in use and files that are new. */
static bool leave_files(void)
{
    char mine[256], dead[300], fresh[300];
    struct stat st;
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    if (session_create_shared(mine, sizeof mine, NULL) != JOULE_OK)
        return false;
    snprintf(dead, sizeof dead, "%s-dead", mine);
    snprintf(fresh, sizeof fresh, "%s-fresh", mine);
    int a = open(dead, O_CREAT | O_RDWR, 0600), b = open(fresh, O_CREAT | O_RDWR, 0600);
    close(a);
    close(b);
    utimensat(AT_FDCWD, dead, long_ago, 0);
    utimensat(AT_FDCWD, mine, long_ago, 0);
    char other[256];
    pid_t pid = fork();
    if (pid == 0) {
        bool made = session_create_shared(other, sizeof other, NULL) == JOULE_OK;
        session_remove_leftovers();
        session_remove_shared();
        _exit(made ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    bool good = status == 0 && stat(dead, &st) != 0 && stat(fresh, &st) == 0 && stat(mine, &st) == 0;
    unlink(fresh);
    unlink(dead);
    session_remove_shared();
    return good && stat(mine, &st) != 0;
}

static void files_of_dead_owners_are_removed(void **state)
{
    (void)state;
    in_namespace("size=16m", true, leave_files);
}

/* The file system has space for the session's header and a few names, but not for the board or a slot.
 * Regions are timed, names become "(other)", and no process is killed by SIGBUS. */
static bool use_a_full_file_system(void)
{
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK || strncmp(path, "/dev/shm/", 9) != 0)
        return false;
    for (int i = 0; i < 10000; i++) {
        joule_region region = joule_begin(1);
        if (joule_end(&region) != JOULE_OK)
            return false;
    }
    uint32_t tag = 1;
    for (int i = 0; i < 1000 && tag != TAG_OTHER; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i);
        tag = session_tag(session_current(), name);
    }
    joule_quantity none = quantity_unknown();
    session_publish(session_current(), 1, &none, &none, &none);
    bool nothing_is_published = atomic_load(&session_map(session_current())->board_count) == 0;
    bool nothing_is_allowed = !session_add_budget(session_current(), 1, 5) &&
                              isnan(session_get_budget(session_current(), 1)) &&
                              !session_set_call_budget(session_current(), 1, 5) &&
                              isnan(session_get_call_budget(session_current(), 1));
    bool is_refused = nothing_is_published && nothing_is_allowed;
    struct session_map *map = session_map(session_current());
    bool is_counted = map->unstored == 10000 && map->unnamed_tags == 1;
    return session_read_all(true).slots == 0 && tag == TAG_OTHER && is_refused && is_counted;
}

static void full_file_system_kills_no_process(void **state)
{
    (void)state;
    in_namespace("size=48k", true, use_a_full_file_system);
}

/* The session is in sealed memory, which is in no file system. */
static bool use_no_file_system(void)
{
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    uint32_t tag = session_tag(session_current(), "a name");
    push_some(12000);
    struct seen seen = session_read_all(true);
    session_remove_shared();
    return tag != TAG_OTHER && seen.spans + seen.folded == 12000;
}

static void a_full_file_system_loses_nothing(void **state)
{
    (void)state;
    in_namespace("size=4k", false, use_no_file_system);
}

#define CANNOT_UNSHARE 2

static bool is_numbered_differently(void *unused)
{
    (void)unused;
    return session_is_client(session_current()) && session_process(session_current()) == 0;
}

/* A child has its own namespace of process ids. In the namespace of the reader, these ids belong to other
 * processes. The reader of the session must not use them to find out whether the child is alive. */
static int fork_into_a_namespace(void)
{
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return 1;
    bool can = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWPID | CLONE_NEWUSER) == 0;
    bool good = can && session_in_child(is_numbered_differently, NULL);
    session_remove_shared();
    return !can ? CANNOT_UNSHARE : good ? 0 : 1;
}

static void child_in_another_namespace_has_no_pid(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(fork_into_a_namespace());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_UNSHARE) {
        print_message("skipped: no namespace can be made here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* With an argument, this program is the child that joins a session. */
int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "joins") == 0) {
        push_some(3);
        return session_is_client(session_current()) ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_process_of_many_is_counted, session_forget),
        cmocka_unit_test_setup(zombie_processes_release_their_slots, session_forget),
        cmocka_unit_test_setup(a_killed_child_loses_no_finished_region, session_forget),
        cmocka_unit_test_setup(a_child_cannot_end_the_parents_region, session_forget),
        cmocka_unit_test_setup(no_child_can_take_the_memory_away, session_forget),
        cmocka_unit_test_setup(a_child_may_join_by_an_inherited_descriptor, session_forget),
        cmocka_unit_test_setup(files_of_dead_owners_are_removed, session_forget),
        cmocka_unit_test_setup(full_file_system_kills_no_process, session_forget),
        cmocka_unit_test_setup(a_full_file_system_loses_nothing, session_forget),
        cmocka_unit_test_setup(child_in_another_namespace_has_no_pid, session_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
