/* tools/joule/calibrate/joule_calibrate.c - `joule calibrate`: measures this machine's core for joulec.
 *
 * Note: the file is written beside the old one and renamed when it is complete, so that an interruption does
 * not damage the old file.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "calibrate/calibration_page.h"
#include "joule_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "joule/sources/cpu/cpu_caches.h"
#include "joule/sources/cpu/cpu_calibration.h"
#include "joule/sources/cpu/cpu_info.h"
#include "common/page.h"

#define EXIT_REFUSED 1

static const struct effort quick = {.seconds = 0.015, .repeats = 5},
                           usual = {.seconds = 0.2, .repeats = 5, .has_energy = true},
                           full = {.seconds = 1, .min_joules = 10, .repeats = 5, .has_energy = true};

struct settings {
    bool is_quick, is_full, is_json, is_dry, is_list;
    const char *output;
};

static volatile sig_atomic_t stopped; /* the signal that stopped the measurement; 0: none */

static void stop(int signal)
{
    stopped = signal;
}

/* --- the machine ---------------------------------------------------------------------------------------- */

static void describe_cpu(const struct cost_cpu *cpu, const struct cost_core *core,
                         struct cost_calibration *out)
{
    struct cpu_info info;
    cpu_info_read(host_real(), &info);
    *out = (struct cost_calibration){.family = cpu->family,
                                     .model = cpu->model,
                                     .stepping = info.stepping,
                                     .is_virtual = cpu->is_virtual,
                                     .unix_seconds = (int64_t)time(NULL),
                                     .prices.cls = JOULE_CLASS_NONE};
    string_copy(out->vendor, sizeof out->vendor, cpu->vendor);
    string_copy(out->name, sizeof out->name, cpu->name);
    string_copy(out->uarch, sizeof out->uarch, core->id);
    string_copy(out->joule_version, sizeof out->joule_version, joule_version());
}

/* Fits speeds, and prices if energy was measured. Returns false after a message. */
static bool fit(const struct cost_cpu *cpu, const struct settings *settings, struct calibrated *c,
                joule_error *error)
{
    static joule_error energy_error;
    struct measured *m = &c->measured;
    struct cost_core typical = c->typical;
    struct cost_table table;
    if (fit_speeds(m->list, m->count, &typical, &c->calibration.speeds, &c->time, error) != JOULE_OK) {
        complain("calibrate", "%s", error->message);
        return false;
    }
    c->calibration.speeds.hz = m->hz;
    c->calibration.speeds.hz_log_sd = m->hz_log_sd;
    c->calibration.temperature_celsius = m->temperature_celsius;
    c->no_energy = settings->is_quick ? "--quick reads no energy sensor"
                                      : "no energy sensor can be read here (see `joule doctor`)";
    if (m->energy_class == JOULE_CLASS_NONE)
        return true;
    cost_core_table(cpu, &table);
    c->no_energy = energy_error.message;
    if (fit_prices(m->list, m->count, &table, &c->calibration.prices, &c->energy, &energy_error) ==
        JOULE_OK) {
        c->no_energy = NULL;
        c->calibration.prices.cls = m->energy_class;
        string_copy(c->calibration.prices.source, sizeof c->calibration.prices.source, m->energy_source);
    } else {
        complain("calibrate", "%s", energy_error.message);
        c->calibration.prices.cls = JOULE_CLASS_NONE;
    }
    return true;
}

/* --- the file ------------------------------------------------------------------------------------------- */

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0700); /* if this fails, writing the file fails with a message */
        *slash = '/';
    }
}

/* Chooses the output file and checks it before any work is done. Returns false after a message. */
static bool choose_path(const struct settings *settings, char path[CALIBRATION_PATH_SIZE])
{
    joule_error error;
    if (settings->is_dry)
        return true;
    if (!settings->output && !cpu_calibration_path(host_real(), path)) {
        complain("calibrate",
                 "neither XDG_CONFIG_HOME nor HOME names a folder; name a file with --output FILE");
        return false;
    }
    if (settings->output && !string_copy(path, CALIBRATION_PATH_SIZE, settings->output)) {
        complain("calibrate", "the name of the output file is too long");
        return false;
    }
    if (!settings->output)
        make_folders(path);
    if (output_check(path, &error) == JOULE_OK)
        return true;
    complain("calibrate", "%s", error.message);
    return false;
}

static bool store(struct calibrated *c, const char *path)
{
    size_t length;
    joule_error error;
    char *json = page_make("calibrate", calibrate_json, c, &length);
    bool done = json && output_write(path, json, length, &error) == JOULE_OK;
    if (json && !done)
        complain("calibrate", "%s", error.message);
    free(json);
    c->path = done && strcmp(path, "-") != 0 ? path : NULL;
    return done;
}

/* --- the subcommand ------------------------------------------------------------------------------------- */

static int measure_and_store(const struct cost_cpu *cpu, struct calibrated *c,
                             const struct settings *settings, const char *path)
{
    joule_error error;
    struct effort effort = settings->is_quick ? quick : settings->is_full ? full : usual;
    effort.prints_progress = isatty(STDERR_FILENO);
    if (measure_kernels(&c->typical, &effort, &stopped, &c->measured, &error) != JOULE_OK) {
        complain("calibrate", "%s", error.message);
        return stopped ? 128 + stopped : EXIT_OWN_FAILURE;
    }
    if (!fit(cpu, settings, c, &error))
        return EXIT_REFUSED;
    if (!settings->is_dry && !store(c, path))
        return EXIT_OWN_FAILURE;
    bool is_printed = !settings->is_dry && strcmp(path, "-") == 0;
    return is_printed ? 0 : page_print("calibrate", settings->is_json ? calibrate_json : calibrate_text, c);
}

static int calibrate(const struct settings *settings)
{
    static struct calibrated c; /* too large for the stack */
    static char path[CALIBRATION_PATH_SIZE];
    struct cost_cpu cpu;
    if (!cpu_core_read(host_real(), &cpu, &c.typical)) {
        complain("calibrate", "out of memory");
        return EXIT_OWN_FAILURE;
    }
    if (settings->is_list)
        return page_print("calibrate", calibrate_list, &c.typical);
    if (!choose_path(settings, path))
        return EXIT_OWN_FAILURE;
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    describe_cpu(&cpu, &c.typical, &c.calibration);
    return measure_and_store(&cpu, &c, settings, path);
}

int calibrate_main(int argc, char **argv)
{
    struct settings settings = {0};
    const struct option table[] = {{.name = "quick",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.is_quick,
                                    .help = "take a few seconds; measure time only, and less accurately"},
                                   {.name = "full",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.is_full,
                                    .help = "measure each kernel and repeat for at least 1 s and 10 J"},
                                   {.name = "output",
                                    .letter = 'o',
                                    .kind = OPTION_TEXT,
                                    .value = &settings.output,
                                    .argument = "FILE",
                                    .help = "write the calibration to FILE ('-': standard output)"},
                                   {.name = "json",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.is_json,
                                    .help = "print the calibration as JSON instead of text"},
                                   {.name = "dry-run",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.is_dry,
                                    .help = "measure and print, write nothing"},
                                   {.name = "list",
                                    .kind = OPTION_FLAG,
                                    .value = &settings.is_list,
                                    .help = "list the kernels, run none"},
                                   {0}};
    const struct command_text text = {
        .usage = "joule calibrate [--quick | --full] [--json] [--output FILE | --dry-run | --list]",
        .summary =
            "Measures the speed of this machine's CPU cores and, with an energy sensor, the energy of\n"
            "their operations. joulec then predicts for this machine and not for a typical machine.\n"
            "The calibration takes about 90 s. Let no other program run during this time.",
        .notes =
            "The file is $XDG_CONFIG_HOME/joule/calibration.json, else ~/.config/joule/calibration.json.\n"
            "For all users: --output /etc/joule/calibration.json.\n"
            "Exit status: 0; 1: the measurements are inconsistent and nothing was written; 2: wrong usage.\n",
    };
    int first = options_read(table, &text, argc, argv);
    if (first <= OPTIONS_HELP)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    const char *wrong = first < argc                            ? argv[first]
                        : settings.is_quick && settings.is_full ? "--full together with --quick"
                        : settings.is_dry && settings.output    ? "--output together with --dry-run"
                                                                : NULL;
    if (wrong) {
        complain("calibrate", "unexpected argument '%s'; see joule calibrate --help", wrong);
        return EXIT_USAGE;
    }
    return calibrate(&settings);
}
