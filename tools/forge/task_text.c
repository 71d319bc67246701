/* tools/forge/task_text.c - the task of predicting the next token of a text, and its model; see task.h.
 *
 * Note: an example has context + 1 tokens, because the label of each token is its successor.
 */
#include "task.h"

#include <forge/nn.h>
#include <math.h>

static joule_status open_text(struct trainee *t, joule_error *error)
{
    const struct trainee_options *o = &t->options;
    joule_status status =
        forge_text_read(o->data, o->takes_bytes ? FORGE_TEXT_BYTES : FORGE_TEXT_CHARACTERS, &t->text, error);
    if (status == JOULE_OK)
        status = forge_dataset_text(t->text, false, o->context, &t->train, error);
    if (status == JOULE_OK)
        status = forge_dataset_text(t->text, true, o->context, &t->test, error);
    if (status != JOULE_OK)
        return status;
    t->stride = t->units = o->context;
    t->classes = (int64_t)forge_text_vocabulary(t->text);
    return JOULE_OK;
}

static struct prediction predict(const struct trainee *t, forge_builder *b, int64_t examples,
                                 bool is_training)
{
    int64_t context = t->options.context;
    forge_dtype dtype = forge_text_tokens(t->text).dtype;
    forge_value tokens = forge_input(b, "tokens", dtype, forge_shape_of(examples, context + 1));
    forge_value seen = forge_slice_along(b, tokens, 1, 0, context);
    forge_value next = forge_slice_along(b, tokens, 1, 1, context + 1);
    forge_value logits = t->model->build(&t->options, t->classes, b, seen, is_training);
    return (struct prediction){forge_reshape(b, logits, forge_shape_of(examples * context, t->classes)),
                               forge_reshape(b, next, forge_shape_of(examples * context))};
}

/* Returns the sum of the losses of all tokens. */
static forge_value measure(forge_builder *b, struct prediction p)
{
    forge_dim rows = forge_value_shape(b, p.labels).dims[0];
    forge_value mean = forge_cast(b, FORGE_F64, forge_cross_entropy(b, p.logits, p.labels));
    return forge_mul(b, mean, forge_scalar(b, FORGE_F64, (double)rows));
}

static void print_score(double score, uint64_t units, FILE *to)
{
    fprintf(to, "  validation loss %.4f nats (perplexity %.2f) over %llu tokens\n", score, exp(score),
            (unsigned long long)units);
}

const struct task task_text = {.unit = "tokens",
                               .score = "validation_loss",
                               .inputs = {"tokens"},
                               .input_count = 1,
                               .is_text = true,
                               .test_batch = 32,
                               .adamw_beta2 =
                                   /* a step contains each token only a few times, so 0.999 would adapt too
                                    * slowly */
                               0.99,
                               .ranks_without_decay = 1 << 1,
                               .defaults = {.batch_size = 32,
                                            .epochs = 8,
                                            .warm_up_steps = 100,
                                            .is_adamw = true,
                                            .schedule = FORGE_SCHEDULE_COSINE,
                                            .max_norm = 1,
                                            .adamw_rate = 0.002,
                                            .adamw_decay = 0.1},
                               .open = open_text,
                               .predict = predict,
                               .measure = measure,
                               .print_score = print_score};

forge_value model_gpt(const struct trainee_options *options, int64_t classes, forge_builder *b,
                      forge_value tokens, bool is_training)
{
    forge_gpt_options gpt = {.struct_size = sizeof gpt,
                             .layers = options->layers,
                             .heads = options->heads,
                             .vocabulary = classes,
                             .context = options->context,
                             .width = options->width,
                             .dropout = options->dropout,
                             .is_training = is_training,
                             .checkpoint_activations = options->checkpoint_activations};
    return forge_gpt(b, NULL, tokens, &gpt);
}
