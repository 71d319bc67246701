/* tools/forge/train.c - `forge train`: its options.
 *
 * Owns reading them and refusing what cannot be meant, before any work is done; the work is training.c's. Newcomers: NaN
 * stands for an option that was not given, where the default is the optimiser's.
 */
#include <math.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"
#include "common/options.h"
#include "common/output.h"
#include "training.h"

#define SEEDS 9007199254740992.0 /* from here on a double skips whole numbers */

/* What is read as text or number and becomes something else. */
struct raw {
    const char *optimiser, *schedule;
    double seed;
};

static int read_table(struct training_options *o, struct raw *raw, int argc, char **argv)
{
    struct trainee_options *t = &o->trainee;
    const struct option table[] = {
        {"model", 'm', OPTION_TEXT, &t->model, "NAME", "mlp (two linear layers; the default) or cnn"},
        {"data", 'd', OPTION_TEXT, &t->data, "FOLDER",
         "with the files of MNIST (train-*, t10k-*; .gz or not)"},
        {"device", 0, OPTION_TEXT, &t->device, "NAME",
         "what it runs on (cpu); estimated: nothing is trained, and it is said what it would take"},
        {"epochs", 'e', OPTION_COUNT, &t->epochs, "N", "times through the training examples (3)"},
        {"batch", 'b', OPTION_COUNT, &t->batch_size, "N", "examples in a step (128)"},
        {"optimiser", 'o', OPTION_TEXT, &raw->optimiser, "NAME", "sgd (the default) or adamw"},
        {"learning-rate", 'l', OPTION_NUMBER, &t->learning_rate, "X", "(sgd: 0.05; adamw: 0.001)"},
        {"schedule", 0, OPTION_TEXT, &raw->schedule, "NAME",
         "of the learning rate: constant (the default) or cosine"},
        {"warmup", 0, OPTION_COUNT, &t->warm_up_steps, "N", "steps in which the learning rate grows (0)"},
        {"momentum", 0, OPTION_NUMBER, &t->momentum, "X", "of sgd (0.9)"},
        {"weight-decay", 0, OPTION_NUMBER, &t->weight_decay, "X", "(sgd: 0; adamw: 0.01)"},
        {"clip", 0, OPTION_NUMBER, &t->max_norm, "X", "gradients to this norm, all together (0: not)"},
        {"seed", 's', OPTION_NUMBER, &raw->seed, "N",
         "of weights and order: the same gives the same bits (1)"},
        {"threads", 't', OPTION_COUNT, &t->threads, "N",
         "all CPUs allowed to us; the result does not depend on it"},
        {"checkpoint", 'c', OPTION_TEXT, &o->checkpoint, "FILE", "written after each epoch and at the end"},
        {"resume", 'r', OPTION_FLAG, &o->resumes, NULL, "go on from the checkpoint, if it is there"},
        {"budget", 0, OPTION_ENERGY, &o->budget_joules, "JOULES", "end when these are spent (50kJ, 10Wh)"},
        {"json", 'j', OPTION_TEXT, &o->json, "FILE",
         "write the report; -: to standard output, without table"},
        {NULL},
    };
    const struct command_text text = {
        "forge train [OPTIONS] --data FOLDER",
        "Trains a network on the CPU and says what each operation cost in joules.", NULL};
    return options_read(table, &text, argc, argv);
}

/* The place of a word; after a message `count`. */
static size_t choose(const char *option, const char *word, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(words[i], word) != 0)
        i++;
    if (i == count)
        complain("train", "there is no %s '%s'; there are: %s, %s", option, word, words[0], words[1]);
    return i;
}

static bool take_words(struct trainee_options *t, const struct raw *raw)
{
    static const char *const optimisers[] = {"sgd", "adamw"}, *const schedules[] = {"constant", "cosine"};
    const char *models[] = {trainee_model(0, NULL), trainee_model(1, NULL)};
    size_t optimiser = choose("optimiser", raw->optimiser, optimisers, 2);
    size_t schedule = choose("schedule", raw->schedule, schedules, 2);
    t->is_adamw = optimiser == 1;
    t->schedule = schedule ? FORGE_SCHEDULE_COSINE : FORGE_SCHEDULE_CONSTANT;
    return choose("model", t->model, models, 2) < 2 && optimiser < 2 && schedule < 2;
}

static bool take_numbers(struct trainee_options *t, const struct raw *raw)
{
    if (raw->seed >= SEEDS || raw->seed != floor(raw->seed)) {
        complain("train", "--seed takes a whole number below 2^53");
        return false;
    }
    if (t->is_adamw && !isnan(t->momentum)) {
        complain("train", "--momentum is for sgd; adamw has none");
        return false;
    }
    t->seed = (uint64_t)raw->seed;
    if (isnan(t->learning_rate))
        t->learning_rate = t->is_adamw ? 0.001 : 0.05;
    if (isnan(t->weight_decay))
        t->weight_decay = t->is_adamw ? 0.01 : 0;
    if (isnan(t->momentum))
        t->momentum = t->is_adamw ? 0 : 0.9;
    return true;
}

static bool check_files(const struct training_options *o)
{
    const char *const paths[] = {o->checkpoint, o->json};
    joule_error error = {0};
    if (o->resumes && !o->checkpoint) {
        complain("train", "--resume needs --checkpoint FILE");
        return false;
    }
    if (o->checkpoint && !o->resumes && access(o->checkpoint, F_OK) == 0) {
        complain("train", "%s is there already; --resume goes on from it", o->checkpoint);
        return false;
    }
    bool is_fine = output_check_apart(paths, 2, &error) == JOULE_OK &&
                   (!o->checkpoint || output_check(o->checkpoint, &error) == JOULE_OK) &&
                   (!o->json || output_check(o->json, &error) == JOULE_OK);
    if (!is_fine)
        complain("train", "%s", error.message);
    return is_fine;
}

int train_main(int argc, char **argv)
{
    struct training_options options = {.trainee = {.model = "mlp",
                                                   .device = "cpu",
                                                   .batch_size = 128,
                                                   .epochs = 3,
                                                   .learning_rate = NAN,
                                                   .momentum = NAN,
                                                   .weight_decay = NAN}};
    struct raw raw = {.optimiser = "sgd", .schedule = "constant", .seed = 1};
    int first = read_table(&options, &raw, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc || !options.trainee.data) {
        complain("train",
                 options.trainee.data ? "what is '%s'? See forge train --help" : "--data FOLDER is missing",
                 argv[argc - 1]);
        return EXIT_USAGE;
    }
    if (!take_words(&options.trainee, &raw) || !take_numbers(&options.trainee, &raw) ||
        !check_files(&options))
        return EXIT_USAGE;
    return training_run(&options);
}
