/* tools/forge/training_json.c - prints the report of a training as JSON; docs/forge-train.schema.json
 * describes it.
 *
 * Note: every key is always present; null means unknown or not applicable.
 */
#include <forge/energy.h>
#include <joule/base.h>
#include <math.h>
#include <string.h>
#include "base/clock.h"
#include "base/json_writer.h"
#include "energy_table.h"
#include "precision_option.h"
#include "task.h"
#include "training.h"

#define SCHEMA "forge-train-1"

static void add_energy(struct json *json, joule_quantity q, const char *value, const char *interval,
                       const char *cls)
{
    json_double(json, value, q.value);
    if (isnan(q.value)) {
        json_null(json, interval);
    } else {
        json_open(json, interval, '[');
        json_double(json, NULL, q.low);
        json_double(json, NULL, q.high);
        json_close(json, ']');
    }
    json_string(json, cls, joule_class_name(isnan(q.value) ? JOULE_CLASS_NONE : q.cls));
}

static void add_joules(struct json *json, joule_quantity q)
{
    add_energy(json, q, "energy_joules", "interval_joules", "class");
}

/* Adds a count; null for 0. */
static void add_count(struct json *json, const char *key, uint64_t count)
{
    if (count)
        json_integer(json, key, (int64_t)count);
    else
        json_null(json, key);
}

/* Adds a number; null for 0 or less. */
static void add_positive(struct json *json, const char *key, double number)
{
    json_double(json, key, number > 0 ? number : NAN);
}

/* Adds the options of text models. */
static void add_text_options(struct json *json, const struct training *training)
{
    const struct training_options *o = &training->options;
    const struct trainee_options *t = &o->trainee;
    bool is_text = training->trainee.model->task->is_text;
    add_count(json, "layers", t->layers);
    add_count(json, "width", t->width);
    add_count(json, "heads", t->heads);
    add_count(json, "context", t->context);
    json_double(json, "dropout", t->dropout);
    json_string(json, "tokens", !is_text ? NULL : t->takes_bytes ? "bytes" : "characters");
    add_count(json, "sample", o->sample);
    json_double(json, "temperature", o->temperature);
}

static void add_options(struct json *json, const struct training *training)
{
    const struct training_options *o = &training->options;
    const struct trainee_options *t = &o->trainee;
    json_open(json, "options", '{');
    json_string(json, "model", t->model);
    json_string(json, "data", t->data);
    json_string(json, "device", t->device);
    json_integer(json, "epochs", t->epochs);
    json_integer(json, "batch", t->batch_size);
    json_string(json, "optimiser", t->is_adamw ? "adamw" : "sgd");
    json_double(json, "learning_rate", t->learning_rate);
    json_string(json, "schedule", t->schedule == FORGE_SCHEDULE_COSINE ? "cosine" : "constant");
    json_integer(json, "warmup_steps", t->warm_up_steps);
    json_double(json, "momentum", t->is_adamw ? NAN : t->momentum);
    json_double(json, "weight_decay", t->weight_decay);
    add_positive(json, "clip", t->max_norm);
    json_integer(json, "seed", (int64_t)t->seed);
    add_count(json, "threads", t->threads);
    json_string(json, "checkpoint", o->checkpoint);
    add_positive(json, "budget_joules", o->budget_joules);
    json_bool(json, "recompute", t->checkpoint_activations);
    json_string(json, "precision", precision_name(t->precision));
    add_text_options(json, training);
    json_close(json, '}');
}

static void add_epochs(struct json *json, const struct training *t)
{
    static const char *const scores[] = {"accuracy", "validation_loss"};
    const char *score = t->trainee.model->task->score;
    json_open(json, "epochs", '[');
    for (size_t i = 0; i < t->epoch_count; i++) {
        const struct epoch *e = &t->epochs[i];
        json_open(json, NULL, '{');
        json_integer(json, "epoch", (int64_t)e->number);
        json_integer(json, "steps", (int64_t)e->steps);
        json_double(json, "loss", e->loss);
        for (size_t k = 0; k < sizeof scores / sizeof *scores; k++)
            json_double(json, scores[k], strcmp(scores[k], score) == 0 ? e->score : NAN);
        json_double(json, "seconds", clock_seconds(e->end_ns - e->begin_ns));
        add_joules(json, e->energy);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void add_operation(struct json *json, const forge_energy_facts *f)
{
    json_open(json, NULL, '{');
    json_text(json, "layer", f->scope);
    json_text(json, "phase", *f->op ? forge_phase_name(f->phase) : NULL);
    json_text(json, "operation", f->op);
    json_integer(json, "launches_per_step", (int64_t)f->launches);
    json_double(json, "flop_per_step", f->flop);
    json_double(json, "seconds", f->seconds);
    add_joules(json, f->joules);
    json_integer(json, "group", (int64_t)f->group);
    add_energy(json, f->group_joules, "group_energy_joules", "group_interval_joules", "group_class");
    json_close(json, '}');
}

static void add_operations(struct json *json, const struct training *t)
{
    forge_energy_facts facts = {.struct_size = sizeof facts};
    bool has_run = t->trainee.steps > t->first_step;
    size_t count = has_run ? forge_energy_count(t->trainee.instance) : 0;
    json_open(json, "operations", '[');
    for (size_t i = 0; i < count; i++)
        if (forge_energy_get(t->trainee.instance, i, &facts) != JOULE_INVALID)
            add_operation(json, &facts);
    json_close(json, ']');
}

static void add_program(struct json *json, const forge_program *program)
{
    forge_program_facts facts = {.struct_size = sizeof facts};
    forge_program_query(program, &facts);
    json_open(json, "arena", '{');
    json_integer(json, "planned_bytes", (int64_t)facts.arena_bytes);
    json_integer(json, "bound_bytes", (int64_t)facts.arena_bound_bytes);
    json_close(json, '}');
    json_double(json, "flop_per_step", facts.flop);
}

static void add_loss_scale(struct json *json, const struct trainee *trainee)
{
    double scale;
    uint64_t skipped;
    if (trainee_loss_scale(trainee, &scale, &skipped)) {
        json_double(json, "loss_scale", scale);
        json_integer(json, "skipped_steps", (int64_t)skipped);
    } else {
        json_null(json, "loss_scale");
        json_null(json, "skipped_steps");
    }
}

/* Adds the energy of this run: the joules of `operations` and the unattributed joules add up to
 * run_energy_joules. */
static void add_sum(struct json *json, const forge_energy_sum *sum)
{
    json_string(json, "energy_of", basis_name(sum->basis));
    add_energy(json, sum->all_joules, "run_energy_joules", "run_interval_joules", "run_class");
    json_double(json, "unattributed_joules", sum->unattributed_joules.value);
}

void training_json(const void *context, struct text *out)
{
    static const char *const ends[] = {[TRAINING_DONE] = "done",
                                       [TRAINING_INTERRUPTED] = "interrupted",
                                       [TRAINING_OVER_BUDGET] = "over_budget",
                                       [TRAINING_ESTIMATED] = "estimated"};
    const struct training *t = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_string(&json, "end", ends[t->end]);
    add_options(&json, t);
    json_integer(&json, "parameters", (int64_t)t->trainee.parameters);
    add_program(&json, t->trainee.program);
    json_integer(&json, "steps_per_epoch", (int64_t)t->trainee.steps_per_epoch);
    json_string(&json, "unit", t->trainee.model->task->unit);
    json_integer(&json, "units_per_step", (int64_t)t->options.trainee.batch_size * (int64_t)t->trainee.units);
    json_integer(&json, "steps_before", (int64_t)t->first_step);
    json_integer(&json, "steps", (int64_t)t->trainee.steps);
    add_loss_scale(&json, &t->trainee);
    add_joules(&json, t->energy);
    add_sum(&json, &t->sum);
    json_double(&json, "after_checkpoint_joules", t->after_checkpoint_joules);
    add_epochs(&json, t);
    add_operations(&json, t);
    json_string(&json, "sample", t->sample);
    json_close(&json, '}');
    text_add(out, "\n");
}
