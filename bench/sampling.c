/* bench/sampling.c - measures the CPU time that sampling takes.
 *
 * Reads four file sources of a simulated machine (real files in a temporary folder) at 1 kHz and at the
 * default rate. Rounds of sampling alternate with rounds in which a thread only wakes up at the same absolute
 * deadlines. Prints the CPU time of both as a share of one core; the difference is the cost of reading.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bench.h"
#include "joule/meter/engine.h"

#define ROUNDS   61 /* maximum number of rounds */
#define NS_PER_S 1000000000LL

static char root[] = "/tmp/joule-bench-XXXXXX";

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

/* Creates the files of four sources with one or two files each: a package counter, a board's energy counter,
 * a battery and a temperature. */
static void make_machine(void)
{
    put("/sys/class/powercap/intel-rapl:0/name", "package-0\n");
    put("/sys/class/powercap/intel-rapl:0/energy_uj", "240422366267\n");
    put("/sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
    put("/sys/class/hwmon/hwmon0/name", "amd_energy\n");
    put("/sys/class/hwmon/hwmon0/energy1_label", "Esocket0\n");
    put("/sys/class/hwmon/hwmon0/energy1_input", "123456789\n");
    put("/sys/class/power_supply/BAT0/type", "Battery\n");
    put("/sys/class/power_supply/BAT0/present", "1\n");
    put("/sys/class/power_supply/BAT0/status", "Discharging\n");
    put("/sys/class/power_supply/BAT0/power_now", "5002000\n");
    put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
    put("/sys/class/thermal/thermal_zone0/temp", "45000\n");
}

struct cost {
    double share; /* CPU time as a share of one core */
    double ticks_per_s;
};

static struct cost empty_loop(double period_s, double round_s)
{
    int64_t begin_ns = clock_ns(CLOCK_MONOTONIC), cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
            deadline_ns = begin_ns;
    uint64_t ticks = 0;
    while (clock_ns(CLOCK_MONOTONIC) - begin_ns < (int64_t)(round_s * 1e9)) {
        deadline_ns += (int64_t)(period_s * 1e9);
        struct timespec deadline = {deadline_ns / NS_PER_S, deadline_ns % NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR)
            ;
        ticks++;
    }
    double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-9;
    return (struct cost){(double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) * 1e-9 / seconds,
                         (double)ticks / seconds};
}

static struct cost sampling(double period_s, double round_s, const char *sources)
{
    joule_options options = {
        .struct_size = sizeof options, .period_s = period_s, .root = root, .sources = sources};
    joule_meter *meter;
    joule_error error;
    if (joule_open(&options, &meter, &error) != JOULE_OK) {
        fprintf(stderr, "sampling: %s\n", error.message);
        exit(1);
    }
    int64_t begin_ns = clock_ns(CLOCK_MONOTONIC);
    double cpu_s = meter_overhead_cpu_s(meter);
    uint64_t ticks = atomic_load(&meter->lanes[0]->ticks);
    usleep((useconds_t)(round_s * 1e6));
    double seconds = (double)(clock_ns(CLOCK_MONOTONIC) - begin_ns) * 1e-9;
    struct cost cost = {(meter_overhead_cpu_s(meter) - cpu_s) / seconds,
                        (double)(atomic_load(&meter->lanes[0]->ticks) - ticks) / seconds};
    joule_close(meter);
    return cost;
}

/* Alternates between rounds with sampling and rounds with an empty loop. Rounds are short, so that other load
 * affects both kinds alike. */
static void measure(const char *name, double period_s, const char *sources)
{
    size_t rounds = period_s < 0.01 ? ROUNDS : 9;
    double round_s = period_s < 0.01 ? 0.25 : 2;
    double empty[ROUNDS], full[ROUNDS], more[ROUNDS], ticks[ROUNDS];
    for (size_t i = 0; i < rounds; i++) {
        struct cost a = empty_loop(period_s, round_s), b = sampling(period_s, round_s, sources);
        empty[i] = a.share;
        full[i] = b.share;
        more[i] = b.share - a.share;
        ticks[i] = b.ticks_per_s;
    }
    double e = median(empty, rounds), f = median(full, rounds), m = median(more, rounds),
           t = median(ticks, rounds);
    printf("%-28s %8.3f %% %8.3f %% %+8.3f %% %10.1f\n", name, 100 * e, 100 * f, 100 * m, t);
    printf("{\"bench\":\"sampling\",\"case\":\"%s\",\"period_s\":%g,\"empty_share\":%.6f,\"share\":%.6f,"
           "\"added_share\":%.6f,"
           "\"ticks_per_s\":%.2f}\n",
           name, period_s, e, f, m, t);
}

int main(void)
{
    if (!mkdtemp(root)) {
        perror("mkdtemp");
        return 1;
    }
    make_machine();
    printf("%-28s %10s %10s %10s %10s\n", "share of one core", "empty", "sampling", "added", "ticks/s");
    measure("1 kHz, 4 file sources", 0.001, "rapl_powercap,hwmon,battery,thermal");
    measure("default rate, 4 file sources", 0.1, "rapl_powercap,hwmon,battery,thermal");
    measure("default rate, all sources", 0.1, NULL);
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? 0 : 1;
}
