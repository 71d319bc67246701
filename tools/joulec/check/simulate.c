/* tools/joulec/check/simulate.c - see simulate.h. */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/options.h"
#include "common/output.h"
#include "joule/host/find_program.h"
#include "joulec/source/whole_file.h"
#include "joulec/work/simulator.h"

#define NEWEST 30 /* major versions of LLVM that are searched */
#define OLDEST 14

/* llvm-mca fails at the first unknown instruction; then each half of the loops is tried alone, up to this
 * number of runs. */
#define MOST_RUNS 24

/* --- which ------------------------------------------------------------------------------------------------------ */

static bool find_newest(struct simulator *out)
{
    const char *asked = getenv("JOULEC_LLVM_MCA");
    char name[32];
    if (asked) {
        int problem = *asked ? find_program(asked, "", out->path) : 0;
        if (problem)
            complain("", "cannot run %s: %s; JOULEC_LLVM_MCA names another, or is empty for none", asked,
                     strerror(problem));
        return *asked && !problem;
    }
    for (out->version = NEWEST; out->version >= OLDEST; out->version--) {
        string_print(name, sizeof name, "llvm-mca-%u", out->version);
        if (find_program(name, "", out->path) == 0)
            return true;
    }
    out->version = 0;
    return find_program("llvm-mca", "", out->path) == 0;
}

static bool is_wanted_of_all(const struct arguments *a)
{
    return a->report || a->html || a->baseline || a->page == PAGE_EIR || a->advises_all ||
           isfinite(a->file_joules);
}

enum module_code simulator_find(const struct order *order, struct simulator *out)
{
    *out = (struct simulator){.version = 0};
    if (!simulator_cpu(order->machine->target.core.id, NULL, UINT_MAX) || !find_newest(out))
        return MODULE_CODE_NONE;
    return is_wanted_of_all(order->arguments) ? MODULE_CODE_ALL : MODULE_CODE_OF_BUDGETS;
}

/* --- running ---------------------------------------------------------------------------------------------------- */

/* Runs a program without showing its messages. Returns a new file in memory with its output; -1: it
 * failed. */
static int output_of(const struct order *order, const char **words)
{
    struct order quiet = *order;
    quiet.is_quiet = true;
    int fd = memfd_create("joulec-simulator", MFD_CLOEXEC);
    if (fd >= 0 && check_run(&quiet, words, fd) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Creates a file in memory with these bytes, and writes its path for other processes. -1: it failed. */
static int file_with(const void *bytes, size_t size, char *path, size_t path_size)
{
    int fd = memfd_create("joulec-code", MFD_CLOEXEC);
    string_print(path, path_size, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (fd >= 0 && !output_write_all(fd, bytes, size)) {
        close(fd);
        return -1;
    }
    return fd;
}

static unsigned version_of(const struct order *order, const char *path)
{
    const char *words[] = {path, "--version", NULL};
    char text[4096] = "";
    int fd = output_of(order, words);
    ssize_t got = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : -1;
    if (fd >= 0)
        close(fd);
    return got > 0 ? simulator_version(text) : 0;
}

/* Runs llvm-mca once for loops[0..count). False: it failed, for example at an unknown instruction. */
static bool run_once(const struct order *order, const struct simulator *simulator, const char *triple,
                     struct assembly_loop *loops, size_t count)
{
    struct arena arena = {0};
    struct text request;
    char path[64], machine[128], cpu[64];
    joule_error error;
    text_init(&request, NULL, 0);
    simulator_ask(loops, count, triple, &request);
    size_t size = request.length + 1;
    char *bytes = arena_alloc(&arena, size);
    text_init(&request, bytes, bytes ? size : 0);
    simulator_ask(loops, count, triple, &request);
    string_print(machine, sizeof machine, "-mtriple=%s", triple);
    string_print(cpu, sizeof cpu, "-mcpu=%s", simulator->cpu);
    const char *words[] = {simulator->path,         machine, cpu, "--json", "--instruction-info=0",
                           "--resource-pressure=0", path,    NULL};
    int asked = bytes ? file_with(bytes, request.length, path, sizeof path) : -1;
    int answer = asked >= 0 ? output_of(order, words) : -1;
    char *text = answer >= 0 ? whole_fd(&arena, answer) : NULL;
    bool done = text && simulator_read(text, strlen(text), loops, count, &error) == JOULE_OK;
    if (asked >= 0)
        close(asked);
    if (answer >= 0)
        close(answer);
    arena_free(&arena);
    return done;
}

/* Simulates all loops; bisects them if a run fails. */
static void run_all(const struct order *order, const struct simulator *simulator, const char *triple,
                    struct assembly_loop *loops, size_t count, int *runs)
{
    if (!count || (*runs)-- <= 0 || run_once(order, simulator, triple, loops, count) || count == 1)
        return;
    run_all(order, simulator, triple, loops, count / 2, runs);
    run_all(order, simulator, triple, loops + count / 2, count - count / 2, runs);
}

/* Moves the loops with assembly to the front. Returns their number. */
static size_t keep_found(struct assembly_loop *loops, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (loops[i].body)
            loops[kept++] = loops[i];
    return kept;
}

void simulator_run(const struct order *order, struct module *module, struct simulator *simulator)
{
    struct arena arena = {0};
    size_t count = 0;
    int runs = MOST_RUNS;
    struct assembly_loop *loops = module->assembly ? assembly_loops(&arena, module, &count) : NULL;
    if (loops && count) {
        if (!simulator->version)
            simulator->version = version_of(order, simulator->path);
        simulator->cpu = simulator_cpu(order->machine->target.core.id, module->triple, simulator->version);
        if (simulator->cpu) {
            assembly_find(module->assembly, strlen(module->assembly), loops, count);
            run_all(order, simulator, module->triple, loops, keep_found(loops, count), &runs);
        }
    }
    arena_free(&arena);
}
