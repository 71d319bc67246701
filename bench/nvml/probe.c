/* bench/nvml/probe.c - measures how the sensors of an NVIDIA board behave. Usage: probe FOLDER SQUARE_WAVE
 *
 * Runs idle, steady load, steps and square waves of several periods while polling every sensor. SQUARE_WAVE
 * is the program that makes the load ("-" for none); it is called as SQUARE_WAVE HIGH_MS LOW_MS SECONDS PHASE
 * and prints the times of its edges. Takes about five minutes; JOULE_PROBE_SCALE scales the duration of each
 * phase. The results are raw events in FOLDER, from which analyse.py makes tables.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "probe.h"

extern char **environ;

static bool load(struct probe *probe)
{
    const char *name = getenv("JOULE_NVML_LIB");
    void *library = dlopen(name != NULL ? name : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "probe: %s\n", dlerror());
        return false;
    }
#define RESOLVE(call, parameters) *(void **)&probe->api.call = dlsym(library, "nvml" #call);
    NVML_FUNCTIONS(RESOLVE)
    if (!HAS(probe, Init_v2) || !HAS(probe, DeviceGetHandleByIndex_v2)) {
        fprintf(stderr, "probe: the library lacks its basic functions\n");
        return false;
    }
    int64_t begin_us = now_us();
    nvml_return got = probe->api.Init_v2();
    probe->init_us = now_us() - begin_us;
    if (got == NVML_SUCCESS)
        got = probe->api.DeviceGetHandleByIndex_v2(0, &probe->device);
    if (got != NVML_SUCCESS)
        fprintf(stderr, "probe: NVML answers with error %d\n", got);
    return got == NVML_SUCCESS;
}

static FILE *create(const char *folder, const char *name, const char *header)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "probe: cannot write %s: %s\n", path, strerror(errno));
        exit(1);
    }
    fputs(header, file);
    return file;
}

/* Starts the load. Its output, the times of the edges, is appended to FOLDER/edges.csv. Returns the process
 * id of the load, or -1 if there is no load. */
static pid_t start_load(const char *folder, const char *program, const char *phase, double high_ms,
                        double low_ms, double seconds)
{
    char path[4096], high[32], low[32], length[32];
    snprintf(path, sizeof path, "%s/edges.csv", folder);
    snprintf(high, sizeof high, "%g", high_ms);
    snprintf(low, sizeof low, "%g", low_ms);
    snprintf(length, sizeof length, "%g", seconds);
    char *arguments[] = {(char *)program, high, low, length, (char *)phase, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    pid_t child = -1;
    if (strcmp(program, "-") == 0 || posix_spawn(&child, program, &actions, NULL, arguments, environ) != 0)
        child = -1;
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static unsigned long long counter_mj(struct probe *probe)
{
    unsigned long long millijoules = 0;
    if (HAS(probe, DeviceGetTotalEnergyConsumption))
        probe->api.DeviceGetTotalEnergyConsumption(probe->device, &millijoules);
    return millijoules;
}

static int64_t realtime_less_monotonic_us(void)
{
    return clock_us(CLOCK_REALTIME) - now_us();
}

enum watch { WATCH_ALL, WATCH_NOTHING, WATCH_LATENCY };

/* Runs one phase and records the energy counter before and after. During the phase, the function polls
 * sensors for `seconds`, sleeps for `seconds`, or measures the duration of calls, as `watch` requests. */
static void run_phase(struct probe *probe, const char *phase, double seconds, enum watch watch)
{
    int64_t begin_us = now_us();
    unsigned long long begin_mj = counter_mj(probe);
    fprintf(stderr, "probe: %s\n", phase);
    if (watch == WATCH_ALL)
        poll_sensors(probe, phase, seconds);
    else if (watch == WATCH_LATENCY)
        latency_measure(probe, phase);
    else
        sleep_us((int64_t)(seconds * 1e6));
    fprintf(probe->phases, "%s,%lld,%lld,%llu,%llu,%lld\n", phase, (long long)begin_us, (long long)now_us(),
            begin_mj, counter_mj(probe), (long long)realtime_less_monotonic_us());
    fflush(NULL);
}

/* Runs a phase under load. The load starts 2.5 s before the phase and ends after it. */
static void run_loaded(struct probe *probe, const char *folder, const char *program, const char *phase,
                       double high_ms, double low_ms, double seconds, enum watch watch)
{
    pid_t child = start_load(folder, program, phase, high_ms, low_ms, seconds + 3.5);
    sleep_us(2500000); /* creating a CUDA context takes one or two seconds */
    run_phase(probe, phase, seconds, watch);
    if (child > 0 && watch == WATCH_LATENCY)
        kill(child, SIGTERM); /* stop the load: the duration of these phases is not known in advance */
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void run_plan(struct probe *probe, const char *folder, const char *program, double scale)
{
    static const struct {
        const char *phase;
        double high_ms, low_ms, seconds;
    } waves[] = {
        {"square_20_20", 20, 20, 18},       {"square_25_75", 25, 75, 18},
        {"square_37_63", 37, 63, 18},       {"square_13_31", 13, 31, 18},
        {"square_100_100", 100, 100, 18},   {"square_500_500", 500, 500, 18},
        {"step_3000_3000", 3000, 3000, 30},
    };
    facts_write(probe);
    run_phase(probe, "idle_quiet", 8 * scale, WATCH_NOTHING);
    run_phase(probe, "idle_polled", 12 * scale, WATCH_ALL);
    run_phase(probe, "idle", 0, WATCH_LATENCY);
    run_loaded(probe, folder, program, "steady_quiet", 1e9, 0, 8 * scale, WATCH_NOTHING);
    run_loaded(probe, folder, program, "steady_polled", 1e9, 0, 15 * scale, WATCH_ALL);
    run_loaded(probe, folder, program, "loaded", 1e9, 0, 70 * scale, WATCH_LATENCY);
    for (size_t i = 0; i < sizeof waves / sizeof waves[0]; i++) {
        sleep_us((int64_t)(1500000 * scale));
        run_loaded(probe, folder, program, waves[i].phase, waves[i].high_ms, waves[i].low_ms,
                   waves[i].seconds * scale, WATCH_ALL);
    }
    run_phase(probe, "idle_after", 5 * scale, WATCH_ALL);
    fprintf(probe->facts, "--- after the load ---\n");
    facts_write(probe);
}

int main(int argc, char **argv)
{
    struct probe probe = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: probe FOLDER SQUARE_WAVE\n");
        return 2;
    }
    if (!load(&probe))
        return 1;
    const char *scale = getenv("JOULE_PROBE_SCALE");
    signal(SIGPIPE, SIG_IGN);
    probe.facts = create(argv[1], "facts.txt", "");
    probe.latency =
        create(argv[1], "latency.csv", "condition,call,calls,failures,code,median_us,p99_us,max_us\n");
    probe.polls = create(argv[1], "polls.csv", "phase,sensor,before_us,after_us,stamp_us,value\n");
    probe.ring = create(argv[1], "ring.csv", "phase,sensor,before_us,after_us,stamp_us,milliwatts\n");
    probe.gpm = create(argv[1], "gpm.csv",
                       "phase,time_us,sample_us,metrics_us,sample_code,metrics_code,graphics_status,graphics,"
                       "sm_status,sm,tensor_status,tensor,dram_status,dram,fp32_status,fp32\n");
    probe.phases =
        create(argv[1], "phases.csv", "phase,begin_us,end_us,begin_mj,end_mj,realtime_less_monotonic_us\n");
    fclose(create(argv[1], "edges.csv", "phase,edge,time_us\n"));
    fprintf(probe.facts, "Init_v2: %lld us\n", (long long)probe.init_us);
    run_plan(&probe, argv[1], argv[2], scale != NULL ? atof(scale) : 1);
    int64_t begin_us = now_us();
    if (HAS(&probe, Shutdown))
        probe.api.Shutdown();
    fprintf(probe.facts, "Shutdown: %lld us\n", (long long)(now_us() - begin_us));
    fflush(NULL);
    return 0;
}
