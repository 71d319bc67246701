/* tools/helper/main.c - `joule-helper`: reads energy counters that need privileges, and serves their values
 * to clients without privileges.
 *
 * Note: only options determine what clients may read; see docs/helper.md. The program first does everything
 * that needs privileges, then drops all privileges, and then serves clients.
 */
#include <joule/joule.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"
#include "common/options.h"
#include "helper/clients.h"
#include "helper/confine.h"
#include "helper/listener.h"
#include "helper/worker.h"

const char tool_name[] = "joule-helper";

#define DEFAULT_SOURCES "rapl_perf,rapl_powercap,rapl_msr"
#define DEFAULT_GROUP   "joule"
#define PACE_S          0.001
#define COARSE_PACE_S   1.0
#define COARSE_GRAIN_J  1.0
#define REQUESTS_PER_S  2000
#define MAX_RATE        100000
#define GUARD_READY_NS  (10 * NS_PER_S) /* maximum time for a driver to load and for boards to wake */

struct settings {
    const char *socket, *group, *sources, *guards, *root;
    bool is_coarse, is_private, wants_version;
    double pace_s, grain_joules;
    unsigned max_clients, requests_per_s;
};

static volatile sig_atomic_t stop;

static void end(int signal)
{
    stop = signal;
}

/* Blocks SIGTERM and SIGINT except while the loop waits with *out_wait_mask. Ignores SIGPIPE, so that a
 * closed log does not end the helper. */
static void block_signals(sigset_t *out_wait_mask)
{
    sigset_t ending;
    struct sigaction action = {.sa_handler = end};
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigprocmask(SIG_BLOCK, &ending, out_wait_mask);
    sigdelset(out_wait_mask, SIGTERM);
    sigdelset(out_wait_mask, SIGINT);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Starts a guard for each source in a list separated by commas. */
static joule_status start_guards(const char *list, const struct sensors *sensors, struct guard *guards,
                                 size_t *out_count, joule_error *error)
{
    *out_count = 0;
    for (const char *item = list ? list : ""; *item;) {
        size_t length = strcspn(item, ",");
        if (*out_count == MAX_GUARDS)
            return error_set(error, JOULE_INVALID, "--guard takes at most %d sources", MAX_GUARDS);
        joule_status status =
            worker_start(item, length, sensors->host, sensors->pace_ns, &guards[*out_count], error);
        if (status != JOULE_OK)
            return status;
        ++*out_count;
        item += length + (item[length] == ',');
    }
    return JOULE_OK;
}

/* Waits until each guard is ready or has failed. Moves the usable guards to the front and returns their
 * number. Kills a worker that hangs. */
static size_t wait_for_guards(struct guard *guards, size_t count)
{
    size_t kept = 0;
    int64_t deadline_ns = clock_now_ns() + GUARD_READY_NS;
    for (size_t i = 0; i < count; i++) {
        joule_status status = guard_wait_ready(&guards[i], deadline_ns);
        if (status == JOULE_OK) {
            guards[kept++] = guards[i];
            continue;
        }
        if (status == JOULE_FAILED) /* the worker has logged the reason */
            continue;
        complain("", "cannot open %s: no answer within %lld s", guards[i].name,
                 (long long)(GUARD_READY_NS / NS_PER_S));
        kill(guards[i].pid, SIGKILL);
    }
    return kept;
}

static joule_status open_sensors(const struct settings *how, struct sensors *out, joule_error *error)
{
    out->host = how->root ? host_tree_open(how->root) : host_real();
    if (!out->host)
        return error_set(error, JOULE_ABSENT, "cannot open %s: no such folder", how->root);
    out->keeps_pace = how->is_coarse || how->grain_joules > 0;
    double pace_s = how->is_coarse ? COARSE_PACE_S : PACE_S;
    out->pace_ns = (int64_t)((how->pace_s > 0 ? how->pace_s : pace_s) * 1e9);
    out->grain_joules = how->grain_joules > 0 ? how->grain_joules : how->is_coarse ? COARSE_GRAIN_J : 0;
    static struct guard guards[MAX_GUARDS];
    size_t count;
    joule_status status = start_guards(how->guards, out, guards, &count, error);
    if (status == JOULE_OK)
        status = sensors_open(out, how->sources, error);
    if (status == JOULE_INVALID)
        return status;
    sensors_add_guards(out, guards, wait_for_guards(guards, count));
    if (out->count == 0)
        return status;
    if (status != JOULE_OK && *how->sources)
        complain("", "%s", error->message);
    return JOULE_OK;
}

static joule_status open_socket(const struct settings *how, int *out_fd, joule_error *error)
{
    joule_status status = listener_inherit(out_fd, error);
    if (status != JOULE_OK || *out_fd >= 0)
        return status;
    return listener_bind(how->socket, how->is_private ? NULL : how->group, out_fd, error);
}

/* Logs the offered channels. This also makes the C library load its locale, which is impossible after
 * confine. */
static void log_channels(const struct sensors *sensors)
{
    for (size_t i = 0; i < sensors->count; i++)
        complain("", "offers %s (%s)", sensors->channels[i]->info.name, sensors->channels[i]->info.source);
    if (sensors->keeps_pace)
        complain("", "reads every %g s and rounds down to %g J", clock_seconds(sensors->pace_ns),
                 sensors->grain_joules);
}

static int run(const struct settings *how)
{
    static struct sensors sensors;
    static struct clients clients;
    joule_error error = {.message = ""};
    sigset_t wait_mask;
    joule_status status = open_sensors(how, &sensors, &error);
    if (status == JOULE_OK)
        status = open_socket(how, &clients.listener, &error);
    if (status == JOULE_OK) {
        clients.sensors = &sensors;
        clients.max_clients = how->max_clients;
        clients.requests_per_s = how->requests_per_s;
        log_channels(&sensors);
        block_signals(&wait_mask);
        status = confine(&error);
    }
    if (status != JOULE_OK) {
        complain("", "%s", error.message);
        return EXIT_OWN_FAILURE;
    }
    if (!confine_forbids_calls())
        complain("", "system calls are not restricted: this build does not support it");
    sensors_read(&sensors, clock_now_ns());
    complain("", "ready");
    status = clients_serve(&clients, &wait_mask, &stop);
    _exit(status == JOULE_OK ? 0 : EXIT_OWN_FAILURE); /* exit() needs system calls that are now forbidden */
}

static bool is_valid(const struct settings *how)
{
    if (how->root && getauxval(AT_SECURE)) /* any user may start a program file with capabilities */
        complain("", "--root is not allowed if the program file has capabilities");
    else if (how->guards && getauxval(AT_SECURE)) /* the environment could name libraries to load */
        complain("", "--guard is not allowed if the program file has capabilities");
    else if (how->max_clients > MAX_CLIENTS)
        complain("", "--clients takes at most %d", MAX_CLIENTS);
    else if (how->requests_per_s > MAX_RATE)
        complain("", "--rate takes at most %d", MAX_RATE);
    else if (how->pace_s > 0 && !(how->pace_s >= PACE_S && how->pace_s <= 60))
        complain("", "--pace must be between 1ms and 60s");
    else if (!(how->grain_joules <= 1e6))
        complain("", "--grain takes at most 1MJ");
    else
        return true;
    return false;
}

int main(int argc, char **argv)
{
    struct settings how = {.socket = HELPER_SOCKET,
                           .group = DEFAULT_GROUP,
                           .sources = DEFAULT_SOURCES,
                           .max_clients = MAX_CLIENTS,
                           .requests_per_s = REQUESTS_PER_S};
    const struct option table[] = {
        {.name = "sources",
         .kind = OPTION_TEXT,
         .value = &how.sources,
         .argument = "LIST",
         .help = "rapl_perf,rapl_powercap,rapl_msr,hwmon (default: the first three)"},
        {.name = "guard",
         .kind = OPTION_TEXT,
         .value = &how.guards,
         .argument = "LIST",
         .help = "read these in separate processes, as they may hang (default: none):\n"
                 "                                nvml,amdgpu,amd_smi,rocm_smi,level_zero,hlml,hwmon"},
        {.name = "socket",
         .kind = OPTION_TEXT,
         .value = &how.socket,
         .argument = "PATH",
         .help = "socket to listen on unless systemd passes one (default " HELPER_SOCKET ")"},
        {.name = "group",
         .kind = OPTION_TEXT,
         .value = &how.group,
         .argument = "NAME",
         .help = "group that may connect (default " DEFAULT_GROUP ")"},
        {.name = "private",
         .kind = OPTION_FLAG,
         .value = &how.is_private,
         .help = "allow only the user who starts the program to connect"},
        {.name = "coarse",
         .kind = OPTION_FLAG,
         .value = &how.is_coarse,
         .help = "limit side channels: one value per 1s, rounded down to 1J"},
        {.name = "pace",
         .kind = OPTION_TIME,
         .value = &how.pace_s,
         .argument = "TIME",
         .help = "minimum time between hardware readings (default 1ms, with --coarse 1s)"},
        {.name = "grain",
         .kind = OPTION_ENERGY,
         .value = &how.grain_joules,
         .argument = "JOULES",
         .help = "round values down to multiples of JOULES, and read at a fixed pace"},
        {.name = "clients",
         .kind = OPTION_COUNT,
         .value = &how.max_clients,
         .argument = "N",
         .help = "maximum number of clients; one user may have half of them (default 256)"},
        {.name = "rate",
         .kind = OPTION_COUNT,
         .value = &how.requests_per_s,
         .argument = "N",
         .help = "maximum requests per second and client (default 2000)"},
        {.name = "root",
         .kind = OPTION_TEXT,
         .value = &how.root,
         .argument = "DIR",
         .help = "read the machine recorded in DIR instead of this one"},
        {.name = "version",
         .letter = 'V',
         .kind = OPTION_FLAG,
         .value = &how.wants_version,
         .help = "print the version and exit"},
        {0}};
    const struct command_text text = {
        .usage = "joule-helper [OPTIONS]",
        .summary = "Reads energy counters that need privileges, and serves their values to a group of users "
                   "over a Unix socket.",
        .notes = "The program runs in the foreground, drops all privileges once the counters are open, and "
                 "logs to\n"
                 "standard error. Members of the group need no other rights: joule uses the helper for "
                 "counters that\n"
                 "it cannot read itself.\n",
    };
    char no_subcommand[] = "";
    argv[0] = no_subcommand;
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc) {
        complain("", "unexpected argument '%s'; see joule-helper --help", argv[first]);
        return EXIT_USAGE;
    }
    if (how.wants_version)
        return printf("joule-helper %s\n", joule_version()) < 0;
    return is_valid(&how) ? run(&how) : EXIT_USAGE;
}
