/* tools/forge/forge_train.c - `forge train`: reads and checks its options; training.c does the work.
 *
 * Note: an option that was not given is NaN, 0 or NULL, because its default depends on the model or the
 * optimiser.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/string.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "compiled_code.h"
#include "precision_option.h"
#include "task.h"
#include "training.h"

#define SEEDS 9007199254740992.0 /* 2^53: a double represents every integer below it */

/* Options that are converted after all options were parsed. */
struct raw {
    const char *optimiser, *schedule, *precision;
    double seed, sample;
};

static int read_table(struct training_options *o, struct raw *raw, int argc, char **argv)
{
    struct trainee_options *t = &o->trainee;
    const struct option table[] = {
        {"model", 'm', OPTION_TEXT, &t->model, "NAME",
         "mlp (two linear layers; default), cnn, resnet18, or gpt (a transformer that writes text)"},
        {"data", 'd', OPTION_TEXT, &t->data, "PATH",
         "folder with the MNIST files (train-*, t10k-*; .gz or not); for gpt a text file"},
        {"device", 0, OPTION_TEXT, &t->device, "NAME",
         "device to train on (default: cpu); estimated: train nothing, print the expected time and energy"},
        {"epochs", 'e', OPTION_COUNT, &t->epochs, "N",
         "passes over the training examples (default: 3; gpt: 8)"},
        {"batch", 'b', OPTION_COUNT, &t->batch_size, "N", "examples per step (default: 128; gpt: 32)"},
        {"optimiser", 'o', OPTION_TEXT, &raw->optimiser, "NAME", "sgd (default) or adamw (default for gpt)"},
        {"learning-rate", 'l', OPTION_NUMBER, &t->learning_rate, "X",
         "learning rate (default: sgd 0.05; adamw 0.001; gpt 0.002)"},
        {"schedule", 0, OPTION_TEXT, &raw->schedule, "NAME",
         "learning rate over time: constant (default) or cosine (default for gpt)"},
        {"warmup", 0, OPTION_COUNT, &t->warm_up_steps, "N",
         "steps in which the learning rate rises linearly (default: 0; gpt: 100)"},
        {"momentum", 0, OPTION_NUMBER, &t->momentum, "X", "momentum of sgd (default: 0.9)"},
        {"weight-decay", 0, OPTION_NUMBER, &t->weight_decay, "X",
         "weight decay (default: sgd 0; adamw 0.01; gpt 0.1)"},
        {"clip", 0, OPTION_NUMBER, &t->max_norm, "X",
         "maximum norm of all gradients together; 0: no clipping (default: 0; gpt: 1)"},
        {"layers", 0, OPTION_COUNT, &t->layers, "N", "number of gpt's blocks (default: 4)"},
        {"width", 0, OPTION_COUNT, &t->width, "N",
         "numbers per token of gpt (default: 128), or first channels of resnet18 (default: 64)"},
        {"heads", 0, OPTION_COUNT, &t->heads, "N", "attention heads of gpt (default: 4)"},
        {"context", 0, OPTION_COUNT, &t->context, "N", "tokens that gpt sees at once (default: 64)"},
        {"dropout", 0, OPTION_NUMBER, &t->dropout, "X",
         "fraction of gpt's values that are set to 0 at random (default: 0)"},
        {"bytes", 0, OPTION_FLAG, &t->takes_bytes, NULL, "use bytes as gpt's tokens, not UTF-8 characters"},
        {"recompute", 0, OPTION_FLAG, &t->checkpoint_activations, NULL,
         "recompute the blocks of gpt or resnet18 in the backward pass: less memory, same bits"},
        {"sample", 0, OPTION_NUMBER, &raw->sample, "N", "tokens that gpt writes at the end (default: 300)"},
        {"temperature", 0, OPTION_NUMBER, &o->temperature, "X",
         "randomness of the sample; 0 takes the likeliest token (default: 0.8)"},
        {"precision", 0, OPTION_TEXT, &raw->precision, "NAME", PRECISION_HELP},
        {"seed", 's', OPTION_NUMBER, &raw->seed, "N",
         "seed of weights and order; the same seed gives the same bits (default: 1)"},
        {"threads", 't', OPTION_COUNT, &t->threads, "N",
         "number of threads; does not change the result (default: all CPUs allowed to the process)"},
        COMPILED_OPTION(&t->is_compiled),
        {"checkpoint", 'c', OPTION_TEXT, &o->checkpoint, "FILE",
         "write a checkpoint after each epoch and at the end"},
        {"resume", 'r', OPTION_FLAG, &o->resumes, NULL, "continue from the checkpoint if it exists"},
        {"budget", 0, OPTION_ENERGY, &o->budget_joules, "JOULES",
         "stop when this energy is spent, such as 50kJ or 10Wh"},
        {"html", 0, OPTION_TEXT, &o->html, "FILE",
         "write an HTML page with the time and energy of a step, by module and launch"},
        {"json", 'j', OPTION_TEXT, &o->json, "FILE",
         "write the report as JSON; -: to standard output, without the table"},
        {NULL},
    };
    const struct command_text text = {"forge train [OPTIONS] --data PATH",
                                      "Trains a network on the CPU and prints the energy of each operation.",
                                      NULL};
    return options_read(table, &text, argc, argv);
}

/* Sets *out_place to the index of `word` in a NULL-terminated list. `word` NULL: leaves *out_place unchanged.
 * Returns false after a message if the list does not contain `word`. */
static bool choose(const char *option, const char *word, const char *const *words, size_t *out_place)
{
    char known[80] = "";
    for (size_t i = 0, length = 0; word && words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            *out_place = i;
            return true;
        }
        length += (size_t)snprintf(known + length, sizeof known - length, "%s%s", i ? ", " : "", words[i]);
    }
    if (word)
        complain("train", "unknown %s '%s'; expected one of: %s", option, word, known);
    return !word;
}

static const struct model *parse_words(struct trainee_options *t, const struct raw *raw)
{
    static const char *const optimisers[] = {"sgd", "adamw", NULL};
    static const char *const schedules[] = {"constant", "cosine", NULL};
    static const forge_schedule_kind kinds[] = {FORGE_SCHEDULE_CONSTANT, FORGE_SCHEDULE_COSINE};
    const char *models[8] = {NULL};
    for (size_t i = 0; i + 1 < sizeof models / sizeof *models; i++)
        models[i] = model_name(i);
    size_t model = 0;
    if (!choose("model", t->model, models, &model))
        return NULL;
    t->model = models[model];
    const struct model *chosen = model_find(t->model);
    const struct task_defaults *defaults = &chosen->task->defaults;
    size_t optimiser = defaults->is_adamw, schedule = defaults->schedule == FORGE_SCHEDULE_COSINE;
    if (!choose("optimiser", raw->optimiser, optimisers, &optimiser) ||
        !choose("schedule", raw->schedule, schedules, &schedule) ||
        !precision_read(&t->precision, "train", raw->precision))
        return NULL;
    t->is_adamw = optimiser == 1;
    t->schedule = kinds[schedule];
    return chosen;
}

static bool is_whole(const char *option, double number, double limit)
{
    if (number < limit && number == floor(number))
        return true;
    complain("train", "--%s takes a whole number below %.0f", option, limit);
    return false;
}

static void fill(unsigned *count, unsigned value)
{
    *count = *count ? *count : value;
}

static void fill_number(double *number, double value)
{
    *number = isnan(*number) ? value : *number;
}

static void set_defaults(struct training_options *o, const struct model *model)
{
    struct trainee_options *t = &o->trainee;
    const struct task *task = model->task;
    const struct task_defaults *defaults = &task->defaults;
    fill(&t->batch_size, defaults->batch_size);
    fill(&t->epochs, defaults->epochs);
    fill(&t->warm_up_steps, defaults->warm_up_steps);
    fill_number(&t->learning_rate, t->is_adamw ? defaults->adamw_rate : 0.05);
    fill_number(&t->weight_decay, t->is_adamw ? defaults->adamw_decay : 0);
    fill_number(&t->momentum, t->is_adamw ? 0 : 0.9);
    fill_number(&t->max_norm, defaults->max_norm);
    fill(&t->width, model->width);
    if (!task->is_text)
        return;
    fill(&t->layers, 4);
    fill(&t->heads, 4);
    fill(&t->context, 64);
    fill_number(&t->dropout, 0);
    fill_number(&o->temperature, 0.8);
}

/* Returns false after a message if options of text models are given for a model of images. */
static bool check_text_options(const struct training_options *o, const struct raw *raw)
{
    const struct trainee_options *t = &o->trainee;
    bool is_given = t->layers || t->heads || t->context || t->takes_bytes || !isnan(t->dropout) ||
                    !isnan(raw->sample) || !isnan(o->temperature);
    if (is_given)
        complain("train",
                 "--layers, --heads, --context, --dropout, --bytes, --sample and --temperature are for "
                 "gpt, not %s",
                 t->model);
    return !is_given;
}

/* Returns false after a message if a layer would reject these sizes. The message of the layer would not name
 * the option. */
static bool check_shape(const struct trainee_options *t, bool is_text)
{
    if (is_text && t->width % t->heads != 0)
        complain("train", "--width %u is not a multiple of --heads %u", t->width, t->heads);
    else if (is_text && t->dropout >= 1)
        complain("train", "--dropout takes a share below 1, not %g", t->dropout);
    else
        return true;
    return false;
}

static bool parse_numbers(struct training_options *o, struct raw *raw, const struct model *model)
{
    struct trainee_options *t = &o->trainee;
    const struct task *task = model->task;
    if (!task->is_text && !check_text_options(o, raw))
        return false;
    if (t->width && !model->width) {
        complain("train", "--width is for gpt and resnet18, not %s", model->name);
        return false;
    }
    if (t->checkpoint_activations && !model->has_blocks) {
        complain("train", "--recompute is for gpt and resnet18, not %s", model->name);
        return false;
    }
    fill_number(&raw->sample, task->is_text ? 300 : 0);
    if (!is_whole("seed", raw->seed, SEEDS) || !is_whole("sample", raw->sample, 1e6))
        return false;
    if (t->is_adamw && !isnan(t->momentum)) {
        complain("train", "--momentum is for sgd; adamw has none");
        return false;
    }
    t->seed = (uint64_t)raw->seed;
    o->sample = (unsigned)raw->sample;
    set_defaults(o, model);
    return check_shape(t, task->is_text);
}

static bool check_files(const struct training_options *o)
{
    char joules[PATH_MAX];
    string_print(joules, sizeof joules, "%s.joules", o->checkpoint ? o->checkpoint : "");
    const char *const paths[] = {o->trainee.data, o->checkpoint, o->checkpoint ? joules : NULL, o->json,
                                 o->html};
    joule_error error = {0};
    if (o->resumes && !o->checkpoint) {
        complain("train", "--resume needs --checkpoint FILE");
        return false;
    }
    bool is_fine = output_check_apart(paths, 1, sizeof paths / sizeof *paths, &error) == JOULE_OK &&
                   (!o->checkpoint || output_check_file(o->checkpoint, &error) == JOULE_OK) &&
                   (!o->checkpoint || output_check_file(joules, &error) == JOULE_OK) &&
                   (!o->json || output_check(o->json, &error) == JOULE_OK) &&
                   (!o->html || output_check(o->html, &error) == JOULE_OK);
    if (!is_fine)
        complain("train", "%s", error.message);
    if (!is_fine || !o->checkpoint || o->resumes || access(o->checkpoint, F_OK) != 0)
        return is_fine;
    complain("train", "%s already exists; --resume continues from it", o->checkpoint);
    return false;
}

int train_main(int argc, char **argv)
{
    struct training_options options = {.trainee = {.device = "cpu",
                                                   .learning_rate = NAN,
                                                   .momentum = NAN,
                                                   .weight_decay = NAN,
                                                   .max_norm = NAN,
                                                   .dropout = NAN},
                                       .temperature = NAN};
    struct raw raw = {.seed = 1, .sample = NAN};
    int first = read_table(&options, &raw, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc || !options.trainee.data) {
        if (first < argc)
            complain("train", "unexpected argument '%s'; see forge train --help", argv[first]);
        else
            complain("train", "--data PATH is missing; see forge train --help");
        return EXIT_USAGE;
    }
    const struct model *model = parse_words(&options.trainee, &raw);
    if (!model || !parse_numbers(&options, &raw, model) || !check_files(&options))
        return EXIT_USAGE;
    return training_run(&options);
}
