/* tools/forge/train.c - `forge train`: trains a network and says what it cost.
 *
 * Owns the options, the line that lives while it trains, and the tables at its end. Newcomers: an interrupt ends the
 * training after its step, and what was learned and used up to then is told all the same.
 */
#include <forge/energy.h>
#include <joule/joule.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "commands.h"
#include "common/options.h"
#include "ledger.h"
#include "trainee.h"

#define LINE_PERIOD_NS   (NS_PER_S / 10)
#define COLLECT_STEPS    16
#define METER_PERIOD_S   0.02 /* short, as the windows of time are whose joules are shared out */
#define EXIT_INTERRUPTED (128 + SIGINT)

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

struct training {
    struct trainee trainee;
    joule_meter *meter;
    int64_t begin_ns, shown_ns;
    double loss;  /* smoothed over about 50 steps */
    bool is_live; /* stderr is a terminal */
};

/* --- the line ------------------------------------------------------------------------------------------------ */

static void show(struct training *t, const char *end)
{
    const struct trainee *n = &t->trainee;
    uint64_t all = n->steps_per_epoch * n->options.epochs;
    double seconds = clock_seconds(clock_now_ns() - t->begin_ns),
           of_step = n->steps ? seconds / (double)n->steps : 0;
    double left_s = of_step * (double)(all - n->steps);
    joule_quantity watts;
    char power[32] = "? W", of_a_step[32] = "? J";
    if (joule_power_watts(t->meter, JOULE_TOTAL, &watts) == JOULE_OK) {
        joule_format(watts.value, JOULE_DIMENSION_POWER, 2, power, sizeof power);
        joule_format(watts.value * of_step, JOULE_DIMENSION_ENERGY, 2, of_a_step, sizeof of_a_step);
    }
    fprintf(stderr,
            "%sepoch %llu/%u  step %llu/%llu  loss %.4f  %.2f ms/step  %.0f samples/s  %s/step  %s  %d:%02d "
            "left%s",
            t->is_live ? "\r\033[K" : "",
            (unsigned long long)((n->steps ? n->steps - 1 : 0) / n->steps_per_epoch + 1), n->options.epochs,
            (unsigned long long)n->steps, (unsigned long long)all, t->loss, of_step * 1e3,
            of_step > 0 ? n->options.batch_size / of_step : 0, of_a_step, power, (int)left_s / 60,
            (int)left_s % 60, end);
}

static void show_now_and_then(struct training *t)
{
    int64_t now_ns = clock_now_ns();
    if (!t->is_live || now_ns - t->shown_ns < LINE_PERIOD_NS)
        return;
    t->shown_ns = now_ns;
    show(t, "");
}

/* --- the work ------------------------------------------------------------------------------------------------ */

static joule_status train_epoch(struct training *t, joule_error *error)
{
    for (uint64_t i = 0; i < t->trainee.steps_per_epoch && !is_interrupted; i++) {
        double loss;
        joule_status status = trainee_step(&t->trainee, &loss, error);
        if (status != JOULE_OK)
            return status;
        t->loss = t->trainee.steps == 1 ? loss : t->loss + (loss - t->loss) / 50;
        if (t->trainee.steps % COLLECT_STEPS == 0)
            forge_energy_collect(t->trainee.instance);
        show_now_and_then(t);
    }
    double accuracy;
    show(t, "\n");
    joule_status status = trainee_test(&t->trainee, &accuracy, error);
    if (status == JOULE_OK)
        fprintf(stderr, "  found %.2f %% of %zu test examples\n", accuracy * 100,
                forge_dataset_examples(t->trainee.test));
    return status;
}

static int train(struct training *t, const struct trainee_options *options)
{
    joule_error error = {0};
    joule_status status = trainee_open(&t->trainee, options, &error);
    if (status == JOULE_OK)
        status =
            joule_open(&(joule_options){.struct_size = sizeof(joule_options), .period_s = METER_PERIOD_S},
                       &t->meter, &error);
    if (status == JOULE_OK)
        status = forge_energy_start(t->trainee.instance, t->meter, JOULE_TOTAL, &error);
    t->begin_ns = clock_now_ns();
    for (unsigned epoch = 0; status == JOULE_OK && epoch < options->epochs && !is_interrupted; epoch++)
        status = train_epoch(t, &error);
    if (status == JOULE_OK) {
        joule_sample_now(t->meter);
        forge_energy_collect(t->trainee.instance);
        ledger_print(t->trainee.instance, options->batch_size, stdout);
    } else {
        complain("train", "%s", error.message);
    }
    trainee_close(&t->trainee);
    joule_close(t->meter);
    return status != JOULE_OK ? EXIT_OWN_FAILURE : is_interrupted ? EXIT_INTERRUPTED : 0;
}

int train_main(int argc, char **argv)
{
    struct trainee_options options = {
        .model = "mlp", .batch_size = 128, .epochs = 3, .learning_rate = 0.05, .momentum = 0.9};
    double seed = 1;
    const struct option table[] = {
        {"model", 'm', OPTION_TEXT, &options.model, "NAME", "mlp (two linear layers; the default) or cnn"},
        {"data", 'd', OPTION_TEXT, &options.data, "FOLDER",
         "with the files of MNIST (train-*, t10k-*; .gz or not)"},
        {"epochs", 'e', OPTION_COUNT, &options.epochs, "N", "times through the training examples (3)"},
        {"batch", 'b', OPTION_COUNT, &options.batch_size, "N", "examples in a step (128)"},
        {"learning-rate", 'l', OPTION_NUMBER, &options.learning_rate, "X", "of the optimiser, SGD (0.05)"},
        {"momentum", 0, OPTION_NUMBER, &options.momentum, "X", "of the optimiser (0.9)"},
        {"seed", 's', OPTION_NUMBER, &seed, "N", "of weights and order: the same gives the same bits (1)"},
        {"threads", 't', OPTION_COUNT, &options.threads, "N",
         "all CPUs allowed to us; the result does not depend on it"},
        {NULL},
    };
    const struct command_text text = {
        "forge train [OPTIONS] --data FOLDER",
        "Trains a network on the CPU and says what each operation cost in joules.", NULL};
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc || !options.data) {
        complain("train", options.data ? "what is '%s'? See forge train --help" : "--data FOLDER is missing",
                 argv[argc - 1]);
        return EXIT_USAGE;
    }
    size_t known = 0;
    while (known < trainee_models() && strcmp(trainee_model(known, NULL), options.model) != 0)
        known++;
    if (known == trainee_models()) {
        complain("train", "there is no model '%s'; there are: mlp, cnn", options.model);
        return EXIT_USAGE;
    }
    options.seed = (uint64_t)seed;
    struct training training = {.is_live = isatty(STDERR_FILENO)};
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND | SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    return train(&training, &options);
}
