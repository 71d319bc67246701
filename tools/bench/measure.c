/* bench/measure.c - `joule bench` and `joule compare`. */
#include <stdlib.h>
#include "commands.h"
#include "common/output.h"
#include "common/page.h"
#include "output.h"
#include "output_plot.h"

/* Writes a report to a file. Returns false after a message. */
static bool write_report(const struct results *r, const char *path, page_print_fn print)
{
    joule_error error;
    size_t length;
    const char *subject = r->e->settings->subject;
    char *text = path ? page_make(subject, print, r, &length) : NULL;
    bool done = !path || text;
    if (text && output_write(path, text, length, &error) != JOULE_OK) {
        complain(subject, "%s", error.message);
        done = false;
    }
    free(text);
    return done;
}

/* Returns true if the file is standard output, where it replaces the text. */
static bool is_stdout(const char *path)
{
    return path && path[0] == '-' && !path[1];
}

/* Evaluates --fail-if. Returns true if a condition holds for a command. */
static bool check_conditions(struct results *r)
{
    const struct settings *s = r->e->settings;
    bool any = false;
    for (size_t i = 0; i < s->fail_count; i++) {
        for (size_t j = 0; j < r->comparison_count; j++) {
            struct ratio ratio = summary_ratio_for_checks(r->e, &r->comparisons[j], s->fail_rules[i].metric,
                                                          s->fail_count * r->comparison_count);
            r->fails[i] = r->fails[i] || fail_rule_holds(&s->fail_rules[i], ratio.low, ratio.high);
        }
        any = any || r->fails[i];
    }
    return any;
}

/* Reports what is known. Returns the exit code. */
static int report(struct experiment *e)
{
    const struct settings *s = e->settings;
    struct results r = {.e = e, .is_interrupted = e->runner.interrupted_by != 0};
    bool fails = false;
    joule_error error;
    if (!s->command) {
        r.comparisons = summary_compare(e, &r.comparison_count);
        if (!r.comparisons) {
            complain(s->subject, "cannot compare: out of memory");
            return EXIT_OWN_FAILURE;
        }
        fails = check_conditions(&r);
    }
    bool done = is_stdout(s->json) || is_stdout(s->csv) || page_print(s->subject, print_text, &r) == 0;
    done = write_report(&r, s->json, print_json) && done;
    done = write_report(&r, s->csv, print_csv) && done;
    if (s->plot && plot_results(&r, s->plot, &error) != JOULE_OK) {
        complain(s->subject, "%s", error.message);
        done = false;
    }
    free(r.comparisons);
    return !done ? EXIT_OWN_FAILURE : fails ? EXIT_CONDITION : 0;
}

int measure_main(int argc, char **argv)
{
    static struct settings settings;
    static struct experiment experiment;
    int code;
    if (!settings_read(argv[0], argc, argv, &settings, &code))
        return code;
    code = experiment_open(&experiment, &settings);
    if (code)
        return code;
    experiment_run(&experiment);
    experiment_finish(&experiment);
    if (experiment.block_count > 0 || experiment.failed_code == 0)
        code = report(&experiment);
    if (experiment.failed_code)
        code = experiment.failed_code;
    if (experiment.runner.interrupted_by)
        code = 128 + experiment.runner.interrupted_by;
    experiment_close(&experiment);
    return code;
}
