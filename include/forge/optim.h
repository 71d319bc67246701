/* forge/optim.h - optimisers and learning rate schedules.
 *
 * An optimiser adds nodes of phase "optimiser" in each parameter's scope. These nodes write the parameters
 * and the optimiser's slots in place. There is no optimiser object: the state of an optimiser is in slots
 * ("fc1.weight.momentum", "optimiser.step"), which are saved with all other slots. A program may have several
 * optimisers, each for different parameters.
 */
#ifndef FORGE_OPTIM_H
#define FORGE_OPTIM_H

#include <forge/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Selects parameters, and changes the optimiser's settings for them. The first group that matches a parameter
 * applies; if no group matches, the settings of the options apply. Its layout is final. */
typedef struct forge_parameter_group {
    const char *prefix; /* beginning of the slot's name; NULL: any */
    const char *suffix; /* ".bias"; NULL: any */
    uint32_t ranks;     /* bit r selects parameters of rank r (norms and biases: 1); 0 selects all */
    bool is_frozen;     /* these parameters never change, and have no gradient and no optimiser state */
    bool has_no_decay;
    double rate_factor; /* multiplies the learning rate; 0 means 1 */
} forge_parameter_group;

/* Rules for all optimisers. A call adds one step on all parameters. loss: one element. learning_rate: a value
 * with one float, for example an input. Returns the norm of the vector of all gradients before clipping (f64,
 * rank 0). The norm is computed only if the caller uses this value or max_norm is set. Parameters of types
 * narrower than f32 are updated in f32 and rounded once; their optimiser state is f32. With a loss scale, the
 * norm is that of the gradients before scaling, and it is not finite if the step is skipped. */

/* A parameter and the value to use as its gradient, a float value of the same shape. Its layout is final. */
typedef struct forge_gradient {
    forge_slot parameter;
    forge_value value;
} forge_gradient;

/* Fills out_gradients with the parameters that no group freezes, in order of creation, and the gradients of
 * the loss with respect to them. Returns the number of entries; 0 after an error. out_gradients: an array of
 * at least forge_parameter_count(builder) entries. Before the caller passes the gradients to a *_step
 * function, it may clip or accumulate them, sum them over processes with forge_collective, or remove
 * entries. */
FORGE_API size_t forge_parameter_gradients(forge_builder *builder, forge_value loss,
                                           const forge_parameter_group *groups, size_t group_count,
                                           forge_gradient *out_gradients);

/* Accumulates the gradients of several runs, for a batch that is divided into `parts` runs. The values in
 * `gradients` are replaced by the sums. is_last false, for the program that runs all parts except the last:
 * adds the gradients in place to the slots NAME.gradient. is_last true, for the program that runs the last
 * part: adds the gradients of this part, divides the sums by `parts`, and sets the slots to 0. An optimiser's
 * *_step function follows. Both programs run on the same states. Slots are f32, or f64 for f64 parameters. */
FORGE_API void forge_accumulate_gradients(forge_builder *builder, forge_gradient *gradients, size_t count,
                                          uint32_t parts, bool is_last);

/* --- loss scaling --------------------------------------------------------------------------------------- */

/* Options of a dynamic loss scale. In f16, small gradients become 0. So the loss is multiplied by a scale,
 * which multiplies all gradients, and the optimiser divides them again, in f32. If a gradient is not
 * finite, for example because the scale is too large for f16, the optimiser skips the step: parameters and
 * all slots of the optimiser keep their bits, and the scale is multiplied by `backoff`. After growth_steps
 * other steps in succession it is multiplied by `growth`. It stays from 2^-96 to 2^96. All this is part of
 * the graph. Slots: NAME.scale (f32), NAME.good_steps and NAME.skipped_steps (i64). */
typedef struct forge_loss_scale_options {
    uint32_t struct_size;  /* sizeof(forge_loss_scale_options) */
    uint32_t growth_steps; /* at least 1 */
    double initial;        /* 2^-96 to 2^96; powers of two scale without rounding */
    double growth;         /* above 1, below 1e6 */
    double backoff;        /* above 0, below 1 */
    const char *name;      /* NAME; NULL: "loss_scale"; unique for each optimiser */
} forge_loss_scale_options;

/* The options of PyTorch's GradScaler. */
#ifdef __cplusplus
#define FORGE_LOSS_SCALE_OPTIONS                                                                             \
    (forge_loss_scale_options{sizeof(forge_loss_scale_options), 2000, 65536, 2, 0.5, nullptr})
#else
#define FORGE_LOSS_SCALE_OPTIONS                                                                             \
    ((forge_loss_scale_options){.struct_size = sizeof(forge_loss_scale_options),                             \
                                .growth_steps = 2000,                                                        \
                                .initial = 65536,                                                            \
                                .growth = 2,                                                                 \
                                .backoff = 0.5})
#endif

/* Returns the loss multiplied by the scale. forge_sgd and forge_adamw do this themselves if their options
 * have a loss_scale. Before forge_sgd_step or forge_adamw_step with the same options, the caller computes
 * the gradients of this value. */
FORGE_API forge_value forge_scale_loss(forge_builder *builder, forge_value loss,
                                       const forge_loss_scale_options *options);

/* Options of stochastic gradient descent. */
typedef struct forge_sgd_options {
    uint32_t struct_size; /* sizeof(forge_sgd_options) */
    bool nesterov;        /* use Nesterov's momentum; `momentum` must be above 0 */
    double momentum;      /* factor of the old velocity; 0: no momentum */
    double weight_decay;  /* weight_decay * parameter is added to the gradient */
    /* limit of the norm of the vector of all gradients, see forge_clip_gradients; 0: no clipping */
    double max_norm;
    const forge_parameter_group *groups;
    size_t group_count;
    const forge_loss_scale_options *loss_scale; /* NULL: the gradients are not scaled */
} forge_sgd_options;

/* Adds a step of stochastic gradient descent, with the formula of PyTorch's SGD: velocity = momentum *
 * velocity + gradient. The velocity is in the slot NAME.momentum, initially 0; NAME is the parameter's
 * name. */
FORGE_API forge_value forge_sgd(forge_builder *builder, forge_value loss, forge_value learning_rate,
                                const forge_sgd_options *options);
/* Adds a step of forge_sgd with the caller's gradients. Only the parameters in `gradients` are updated,
 * except frozen ones. max_norm limits the norm of the vector of these gradients. The builder fails if an
 * entry of `gradients` names no parameter, or if two entries name the same parameter. It also fails if a
 * gradient is not a float value of the parameter's shape. */
FORGE_API forge_value forge_sgd_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                                     forge_value learning_rate, const forge_sgd_options *options);

/* Options of AdamW. */
typedef struct forge_adamw_options {
    uint32_t struct_size; /* sizeof(forge_adamw_options) */
    uint32_t reserved;    /* 0 */
    double beta1, beta2;  /* 0 to below 1 */
    double epsilon;       /* above 0 */
    double weight_decay;  /* each step subtracts learning_rate * weight_decay * parameter */
    double max_norm;      /* see forge_sgd_options */
    const forge_parameter_group *groups;
    size_t group_count;
    const char *name; /* prefix of the slot "name.step"; NULL: "optimiser"; unique for each optimiser */
    const forge_loss_scale_options *loss_scale; /* see forge_sgd_options */
} forge_adamw_options;

/* The usual options. */
#ifdef __cplusplus
#define FORGE_ADAMW_OPTIONS                                                                                  \
    (forge_adamw_options{sizeof(forge_adamw_options), 0, 0.9, 0.999, 1e-8, 0.01, 0, nullptr, 0, nullptr,     \
                         nullptr})
#else
#define FORGE_ADAMW_OPTIONS                                                                                  \
    ((forge_adamw_options){.struct_size = sizeof(forge_adamw_options),                                       \
                           .beta1 = 0.9,                                                                     \
                           .beta2 = 0.999,                                                                   \
                           .epsilon = 1e-8,                                                                  \
                           .weight_decay = 0.01})
#endif

/* Adds a step of Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as PyTorch's AdamW does. The
 * moments of parameter NAME are in the slots NAME.exp_avg and NAME.exp_avg_sq, and the number of steps is in
 * "optimiser.step" (i64). Factors that depend only on the number of steps are computed in f64 and rounded
 * once. The update is a composite "adamw" with three values: parameter, exp_avg, exp_avg_sq. */
FORGE_API forge_value forge_adamw(forge_builder *builder, forge_value loss, forge_value learning_rate,
                                  const forge_adamw_options *options);
/* Adds a step of forge_adamw with the caller's gradients. The rules for `gradients` are those of
 * forge_sgd_step. */
FORGE_API forge_value forge_adamw_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                                       forge_value learning_rate, const forge_adamw_options *options);

/* Multiplies the gradients by min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_ does. The norm
 * is that of the vector of all gradients. `gradients` is replaced by the scaled values. Returns the norm
 * before scaling (f64, rank 0). With max_norm infinity, only the norm is computed. */
FORGE_API forge_value forge_clip_gradients(forge_builder *builder, forge_value *gradients, size_t count,
                                           double max_norm);

/* --- learning rate schedules ---------------------------------------------------------------------------- */

/* The shape of a schedule after the warm-up. */
typedef enum forge_schedule_kind {
    FORGE_SCHEDULE_CONSTANT = 0,
    FORGE_SCHEDULE_LINEAR = 1,      /* linear to last_rate */
    FORGE_SCHEDULE_COSINE = 2,      /* half a cosine to last_rate */
    FORGE_SCHEDULE_STEP = 3,        /* multiplied by `factor` after every period_steps steps */
    FORGE_SCHEDULE_EXPONENTIAL = 4, /* multiplied by factor^(steps / period_steps) */
} forge_schedule_kind;

/* A learning rate schedule. */
typedef struct forge_schedule {
    uint32_t struct_size; /* sizeof(forge_schedule) */
    forge_schedule_kind kind;
    double rate;            /* learning rate after the warm-up */
    double last_rate;       /* linear, cosine: learning rate from step `steps` on */
    double factor;          /* step, exponential */
    uint64_t warm_up_steps; /* length of a linear rise from rate / warm_up_steps in step 0 to `rate` */
    uint64_t steps;         /* linear, cosine: total number of steps, including the warm-up */
    uint64_t period_steps;  /* step, exponential; 0 means 1 */
} forge_schedule;

/* Returns the learning rate of a step; the first step is 0. Returns NaN if struct_size is wrong or the kind
 * is unknown. This is a pure function. Any thread. */
FORGE_API double forge_schedule_rate(const forge_schedule *schedule, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
