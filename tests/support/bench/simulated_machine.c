/* support/bench/simulated_machine.c - see simulated_machine.h. */
#include "support/bench/simulated_machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/string.h"
#include "support/simulation.h"

#define MAX_WORDS 40

struct simulated_machine simulated;
const char tool_name[] = "joule"; /* for messages */

struct simulated_machine simulated_machine(uint64_t seed)
{
    return (struct simulated_machine){
        .generator = {seed},
        .watts = 50,
        .seconds = 1,
        .idle_watts = NAN,
        .ambient_celsius = NAN,
        .celsius = NAN,
        .thermal_s = 1,
        .gpu_busy = NAN,
    };
}

/* --- the machine ---------------------------------------------------------------------------------------- */

static bool happens(double chance)
{
    return chance > 0 && simulated_uniform(&simulated.generator) < chance;
}

/* Returns exp(sd z), z normal. */
static double scatter(double sd)
{
    return sd > 0 ? exp(sd * simulated_normal(&simulated.generator)) : 1;
}

/* Lets time pass at constant power. */
static void pass(double seconds, double watts)
{
    double end = simulated.ambient_celsius + simulated.kelvins_per_watt * watts;
    simulated.celsius = end + (simulated.celsius - end) * exp(-seconds / simulated.thermal_s);
    simulated.now_ns += (int64_t)(seconds * 1e9);
}

/* Sets power and time of a run. */
static void draw(const char *command, double *out_watts, double *out_seconds)
{
    struct simulated_machine *m = &simulated;
    bool is_b = command[0] == 'b';
    m->drift += m->drift_sd > 0 ? m->drift_sd * simulated_normal(&m->generator) : 0;
    *out_watts = m->watts * exp(m->drift) * scatter(m->power_sd);
    *out_seconds = m->seconds * scatter(m->time_sd);
    if (happens(m->slow_chance))
        *out_seconds *= 1.1 + 0.4 * simulated_uniform(&m->generator);
    if (is_b && m->power_ratio_of_b > 0)
        *out_watts *= m->power_ratio_of_b;
    if (is_b && m->time_ratio_of_b > 0)
        *out_seconds *= m->time_ratio_of_b;
    if (!isnan(m->celsius))
        *out_watts *= 1 + m->leakage_per_kelvin * (m->celsius - m->ambient_celsius);
}

/* --- bench/runner.h ------------------------------------------------------------------------------------- */

joule_status runner_open(struct runner *runner, const struct runner_options *options, size_t max_runs,
                         joule_error *out_error)
{
    (void)max_runs;
    (void)out_error;
    *runner = (struct runner){.options = *options};
    runner->measurement.idle.total_watts.value = simulated.idle_watts;
    simulated.celsius = simulated.ambient_celsius;
    return JOULE_OK;
}

joule_status runner_run(struct runner *runner, char **argv, struct run *out_run, joule_error *out_error)
{
    (void)runner;
    (void)out_error;
    double watts, seconds;
    draw(argv[0], &watts, &seconds);
    if (simulated.run_count < SIMULATED_STARTS)
        simulated.start_celsius[simulated.run_count] = simulated.celsius;
    if (++simulated.run_count == simulated.odd_run)
        seconds *= 3;
    pass(seconds, watts);
    *out_run = (struct run){
        .machine_joules = simulated.is_modelled ? NAN : watts * seconds,
        .net_joules = simulated.is_modelled ? NAN : (watts - simulated.idle_watts) * seconds,
        .command_joules = watts * seconds,
        .seconds = seconds,
        .coverage = 1,
        .cpu_busy = 0.5,
        .gpu_busy = simulated.gpu_busy,
        .temperature_celsius = simulated.celsius,
        .throttled = !(simulated.throttle_celsius > 0)                ? -1
                     : simulated.celsius > simulated.throttle_celsius ? (int)JOULE_CLOCKS_TEMPERATURE
                                                                      : 0,
        .work = NAN,
        .exit_code = happens(simulated.fail_chance),
        .cls = simulated.is_modelled ? JOULE_CLASS_MODELLED : JOULE_CLASS_MEASURED,
        .is_modelled = simulated.is_modelled,
        .rejected = happens(simulated.stop_chance) ? "stopped" : NULL,
    };
    if (happens(simulated.lost_chance))
        out_run->machine_joules = out_run->net_joules = out_run->command_joules = NAN;
    return JOULE_OK;
}

int runner_do(struct runner *runner, const char *text)
{
    (void)runner;
    (void)text;
    return 0;
}

double runner_temperature(struct runner *runner)
{
    (void)runner;
    return simulated.celsius;
}

int64_t runner_now_ns(void)
{
    return simulated.now_ns;
}

void runner_pause(struct runner *runner, double seconds)
{
    (void)runner;
    pass(seconds, isnan(simulated.idle_watts) ? 0 : simulated.idle_watts);
    simulated.pause_count++;
}

void runner_describe(struct runner *runner, char *out_sources, size_t sources_size, char *out_machine,
                     size_t machine_size)
{
    (void)runner;
    string_copy(out_sources, sources_size, "simulated");
    string_copy(out_machine, machine_size, "simulated machine");
}

void runner_close(struct runner *runner)
{
    (void)runner;
}

/* --- experiments ---------------------------------------------------------------------------------------- */

void simulated_begin(struct simulated_experiment *s, const char *subject, const char *const *words)
{
    enum { SIZE = sizeof s->words / sizeof s->words[0] };
    char *argv[SIZE + 1] = {NULL}; /* reading changes it */
    bool stores = false;
    *s = (struct simulated_experiment){.word_count = 0};
    s->words[s->word_count++] = strdup(subject);
    s->words[s->word_count++] = strdup("--quiet");
    for (; *words; words++) {
        assert_true(s->word_count < SIZE);
        stores = stores || strcmp(*words, "--db") == 0;
        s->words[s->word_count++] = strdup(*words);
    }
    memcpy(argv, s->words, sizeof s->words);
    if (!settings_read(subject, s->word_count, argv, &s->settings, &s->code))
        fail_msg("wrong words, exit code %d", s->code);
    s->settings.stores_nothing = !stores;
    s->settings.seed = generator_bits(&simulated.generator); /* by default, the time */
    s->code = experiment_open(&s->experiment, &s->settings);
    if (s->code)
        fail_msg("cannot open the experiment, exit code %d", s->code);
    experiment_run(&s->experiment);
    experiment_finish(&s->experiment);
    s->code = s->experiment.failed_code;
}

void simulated_end(struct simulated_experiment *s)
{
    experiment_close(&s->experiment);
    arena_free(&s->settings.arena);
    for (int i = 0; i < s->word_count; i++)
        free(s->words[i]);
}
