/* backends/cpu/c_compiler.c - see c_compiler.h. */
#include "forge/backends/cpu/c_compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/string.h"

enum { MAX_OUTPUT = 2000, WAIT_MS = 1 };
#define TIMEOUT_NS (60 * NS_PER_S)

/* --- finding -------------------------------------------------------------------------------------------- */

static bool is_program(const char *path, struct stat *out_info)
{
    return stat(path, out_info) == 0 && S_ISREG(out_info->st_mode) && access(path, X_OK) == 0;
}

/* Finds a program like a shell, but only in folders with absolute names. Returns false if there is none. */
static bool find_program(const char *name, char *out_path, size_t size, struct stat *out_info)
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/'))
        return string_copy(out_path, size, name) && is_program(out_path, out_info);
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        string_print(out_path, size, "%.*s/%s", (int)length, folders, name);
        if (*folders == '/' && is_program(out_path, out_info))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Adds the file of a word of the command to the identity, if the word names a program: the command "ccache
 * gcc" has two. */
static uint64_t identify(uint64_t identity, const char *word)
{
    char path[4096];
    struct stat info;
    identity = hash_bytes(identity, word, strlen(word) + 1);
    if (*word == '-' || !find_program(word, path, sizeof path, &info))
        return identity;
    int64_t facts[] = {(int64_t)info.st_dev, (int64_t)info.st_ino, info.st_size, info.st_mtim.tv_sec,
                       info.st_mtim.tv_nsec};
    return hash_bytes(hash_bytes(identity, path, strlen(path) + 1), facts, sizeof facts);
}

/* Divides the command into words. Returns false if there is none, or if there are too many. */
static bool divide(struct c_compiler *c, const char *command)
{
    size_t count = 0;
    char *rest, *at = c->words;
    if (!string_copy(c->command, sizeof c->command, command) ||
        !string_copy(c->words, sizeof c->words, command))
        return false;
    for (char *word; (word = strtok_r(at, " \t", &rest)); at = NULL) {
        if (count == C_COMPILER_WORDS)
            return false;
        c->arguments[count++] = word;
    }
    c->arguments[count] = NULL;
    return count > 0;
}

static bool find(struct c_compiler *c, const char *command)
{
    struct stat info;
    if (!divide(c, command) || !find_program(c->arguments[0], c->path, sizeof c->path, &info))
        return false;
    c->identity = HASH_START;
    for (size_t i = 0; c->arguments[i]; i++)
        c->identity = identify(c->identity, c->arguments[i]);
    return true;
}

joule_status c_compiler_find(struct c_compiler *out_compiler, joule_error *out_error)
{
    static const char *const commands[] = {"cc", "gcc", "clang"};
    const char *chosen = getenv("CC");
    memset(out_compiler, 0, sizeof *out_compiler);
    if (getauxval(AT_SECURE))
        return error_set(out_error, JOULE_DENIED,
                         "cannot compile fused operations: this process has more rights than its user");
    if (chosen && *chosen)
        return find(out_compiler, chosen)
                   ? JOULE_OK
                   : error_set(out_error, JOULE_ABSENT,
                               "cannot compile fused operations: there is no program CC=%s", chosen);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (find(out_compiler, commands[i]))
            return JOULE_OK;
    return error_set(out_error, JOULE_ABSENT,
                     "cannot compile fused operations: there is no cc, gcc or clang in PATH; set CC");
}

/* --- running -------------------------------------------------------------------------------------------- */

/* A compiler that runs. */
struct process {
    pid_t pid;
    int output; /* reads what it writes to stderr */
};

/* Starts the program with stderr in a pipe, in a process group of its own. Returns 0 or an errno. */
static int start(const char *path, char *const *argv, struct process *out)
{
    int ends[2], reason;
    sigset_t none, all;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    reason = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!reason)
        reason = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (!reason)
        reason = posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    if (!reason)
        reason = posix_spawn(&out->pid, path, &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    out->output = ends[0];
    if (reason)
        close(ends[0]);
    return reason;
}

/* The first bytes that a process has written. */
struct output {
    char text[MAX_OUTPUT];
    size_t length;
};

/* Waits up to wait_ms for output and reads it. Returns 1, or 0: there was none, or -1: it has ended. */
static int read_output(int fd, int wait_ms, struct output *out)
{
    char rest[512];
    bool is_full = out->length == sizeof out->text - 1;
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    if (poll(&poll_fd, 1, wait_ms) <= 0)
        return 0;
    ssize_t count = read(fd, is_full ? rest : out->text + out->length,
                         is_full ? sizeof rest : sizeof out->text - 1 - out->length);
    if (count < 0 && errno == EINTR)
        return 0;
    if (count > 0 && !is_full)
        out->length += (size_t)count;
    return count > 0 ? 1 : -1;
}

/* Waits for the end of the process, and kills it at the deadline. Keeps its output. A program that it has
 * started may keep the pipe open, so the end of the output is not awaited. Returns the status, as waitpid
 * writes it. Returns 0 if the surrounding program does not let anyone wait for its children: then only the
 * compiled file shows success. *out_is_late: it was killed. */
static int finish(const struct process *process, int64_t deadline_ns, struct output *output,
                  bool *out_is_late)
{
    int status = 0, fd = process->output;
    pid_t ended;
    *out_is_late = false;
    for (;;) {
        if (read_output(fd, WAIT_MS, output) < 0)
            fd = -1; /* poll then only waits */
        ended = waitpid(process->pid, &status, *out_is_late ? 0 : WNOHANG);
        if (ended == process->pid || (ended < 0 && errno != EINTR))
            break;
        if (ended == 0 && clock_now_ns() >= deadline_ns) {
            kill(-process->pid, SIGKILL);
            *out_is_late = true;
        }
    }
    while (output->length < sizeof output->text - 1 && read_output(fd, 0, output) > 0)
        ;
    return ended == process->pid ? status : 0;
}

/* Fills `argv`: [C_COMPILER_WORDS + C_COMPILER_OPTIONS + 6]. options: words, which are written to. Returns
 * false if there are too many. */
static bool list_arguments(const struct c_compiler *c, char *options, const char *source, const char *object,
                           const char **argv)
{
    size_t count = 0, words = 0;
    char *rest, *at = options;
    for (size_t i = 0; c->arguments[i]; i++)
        argv[count++] = c->arguments[i];
    for (char *word; (word = strtok_r(at, " ", &rest)); at = NULL) {
        if (words++ == C_COMPILER_OPTIONS)
            return false;
        argv[count++] = word;
    }
    argv[count++] = "-o";
    argv[count++] = object;
    argv[count++] = source;
    argv[count] = NULL;
    return true;
}

joule_status c_compiler_run(const struct c_compiler *compiler, const char *options, const char *source,
                            const char *object, joule_error *out_error)
{
    const char *argv[C_COMPILER_WORDS + C_COMPILER_OPTIONS + 6];
    char words[600];
    struct output output = {0};
    struct process process = {.output = -1};
    bool is_late;
    int64_t deadline_ns = clock_now_ns() + TIMEOUT_NS;
    if (!string_copy(words, sizeof words, options) || !list_arguments(compiler, words, source, object, argv))
        return error_set(out_error, JOULE_INVALID, "cannot run %s: too many options", compiler->command);
    int reason = start(compiler->path, (char *const *)argv, &process);
    if (reason)
        return error_set(out_error, status_of_errno(reason), "cannot run %s: %s", compiler->command,
                         file_reason(reason));
    int status = finish(&process, deadline_ns, &output, &is_late);
    close(process.output);
    output.text[strcspn(output.text, "\n")] = '\0';
    if (is_late)
        return error_set(out_error, JOULE_FAILED, "cannot run %s: it did not end within a minute",
                         compiler->command);
    if (status != 0)
        return error_set(out_error, JOULE_FAILED, "cannot compile with %s: %s", compiler->command,
                         *output.text ? output.text : "it failed without a message");
    return JOULE_OK;
}
