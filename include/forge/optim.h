/* forge/optim.h - optimisers.
 *
 * Declares optimisers and learning rate schedules. An optimiser adds nodes of phase "optimiser" in each
 * parameter's scope, and in-place writes of every parameter and of its own slots.
 * Note: there is no optimiser object. An optimiser's state is in slots ("fc1.weight.momentum",
 * "optimiser.step"), saved with the other slots. A program may have several optimisers, each with parameters
 * of its own.
 */
#ifndef FORGE_OPTIM_H
#define FORGE_OPTIM_H

#include <forge/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters that are treated in a way of their own. The first group that a parameter fits decides; one that fits none is
 * treated as the options say. Its layout is final. */
typedef struct forge_parameter_group {
    const char *prefix; /* of the slot's name; NULL: any */
    const char *suffix; /* ".bias"; NULL: any */
    uint32_t ranks;     /* bit r: only parameters of rank r; 0: all. 1 << 1: biases, and weights of norms */
    bool is_frozen;     /* never changed; there is no gradient for it, and nothing remembered */
    bool has_no_decay;
    double rate_factor; /* on the learning rate; 0 counts as 1 */
} forge_parameter_group;

/* Parameters of types narrower than f32 are updated in f32 and rounded once; what is remembered of them is f32.
 *
 * Each optimiser makes one step on all parameters, for a loss of one element. learning_rate is a value of one float, such
 * as an input. Returned is the norm of all gradients together before clipping, f64 of rank 0, for those who want to see it:
 * where nobody uses it, it is not computed. */

/* A parameter and the value to use as its gradient: a float value of the same shape. The layout of this
 * struct is final. */
typedef struct forge_gradient {
    forge_slot parameter;
    forge_value value;
} forge_gradient;

/* Lists the parameters that no group freezes, in the order of their creation, each with its gradient of the
 * loss. out_gradients: room for forge_parameter_count(builder) entries. Returns their number; 0 after a
 * mistake. Before a *_step function the caller may clip gradients, accumulate them, sum them over processes
 * by forge_collective, or leave some out. */
FORGE_API size_t forge_parameter_gradients(forge_builder *builder, forge_value loss,
                                           const forge_parameter_group *groups, size_t group_count,
                                           forge_gradient *out_gradients);

/* Sums the gradients of several runs, for a batch that is computed in parts. A program for all parts but the
 * last (`is_last` false) adds them in place to slots NAME.gradient and returns the sums. The program for the
 * last part adds its own gradients, divides the sums by `parts`, and sets the slots to 0; an optimiser's step
 * follows. Both programs run on the same states. Slots are f32, or f64 for f64 parameters. */
FORGE_API void forge_accumulate_gradients(forge_builder *builder, forge_gradient *gradients, size_t count,
                                          uint32_t parts, bool is_last);

typedef struct forge_sgd_options {
    uint32_t struct_size; /* sizeof(forge_sgd_options) */
    bool nesterov;        /* needs momentum */
    double momentum;      /* 0: none */
    double weight_decay;  /* added to the gradient, times the parameter */
    double max_norm;      /* of all gradients together: see forge_clip_gradients; 0: not clipped */
    const forge_parameter_group *groups;
    size_t group_count;
} forge_sgd_options;

/* Stochastic gradient descent, as PyTorch's SGD: velocity = momentum * velocity + gradient, which starts at 0 in the slot
 * NAME.momentum. */
FORGE_API forge_value forge_sgd(forge_builder *builder, forge_value loss, forge_value learning_rate,
                                const forge_sgd_options *options);
/* As forge_sgd with the caller's gradients: one step on these parameters alone. Groups set rates and decay;
 * frozen parameters do not change; max_norm clips these gradients together. Mistakes: a gradient of no
 * parameter, a parameter given twice, a gradient that is not a float of the parameter's shape. */
FORGE_API forge_value forge_sgd_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                                     forge_value learning_rate, const forge_sgd_options *options);

typedef struct forge_adamw_options {
    uint32_t struct_size; /* sizeof(forge_adamw_options) */
    uint32_t reserved;    /* 0 */
    double beta1, beta2;  /* 0 to below 1 */
    double epsilon;       /* above 0 */
    double weight_decay;  /* each step takes learning_rate * weight_decay of the parameter away */
    double max_norm;      /* as above */
    const forge_parameter_group *groups;
    size_t group_count;
    const char *name; /* prefix of the slot NAME.step; NULL: "optimiser". Each optimiser needs its own */
} forge_adamw_options;

/* What is usual. */
#ifdef __cplusplus
#define FORGE_ADAMW_OPTIONS                                                                                  \
    (forge_adamw_options{sizeof(forge_adamw_options), 0, 0.9, 0.999, 1e-8, 0.01, 0, nullptr, 0, nullptr})
#else
#define FORGE_ADAMW_OPTIONS                                                                                  \
    ((forge_adamw_options){.struct_size = sizeof(forge_adamw_options),                                       \
                           .beta1 = 0.9,                                                                     \
                           .beta2 = 0.999,                                                                   \
                           .epsilon = 1e-8,                                                                  \
                           .weight_decay = 0.01})
#endif

/* Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as PyTorch's AdamW; moments in the slots NAME.exp_avg and
 * NAME.exp_avg_sq, steps done in "optimiser.step" (i64). What depends on the step alone is computed in f64 and rounded
 * once. The update of a parameter is a composite "adamw" with three values: parameter, exp_avg, exp_avg_sq. */
FORGE_API forge_value forge_adamw(forge_builder *builder, forge_value loss, forge_value learning_rate,
                                  const forge_adamw_options *options);
/* As forge_sgd_step. */
FORGE_API forge_value forge_adamw_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                                       forge_value learning_rate, const forge_adamw_options *options);

/* Replaces the gradients by scaled ones, if their norm together is above max_norm, so that it is max_norm (less a
 * millionth): by min(1, max_norm / (norm + 1e-6)), as PyTorch's clip_grad_norm_. Infinity only measures. Returns the norm
 * before, f64 of rank 0. */
FORGE_API forge_value forge_clip_gradients(forge_builder *builder, forge_value *gradients, size_t count,
                                           double max_norm);

/* --- how the learning rate goes ------------------------------------------------------------------------------ */

typedef enum forge_schedule_kind {
    FORGE_SCHEDULE_CONSTANT = 0,
    FORGE_SCHEDULE_LINEAR = 1,      /* straight down to last_rate */
    FORGE_SCHEDULE_COSINE = 2,      /* half a cosine down to last_rate */
    FORGE_SCHEDULE_STEP = 3,        /* times `factor` after every period */
    FORGE_SCHEDULE_EXPONENTIAL = 4, /* the same, smoothly: factor ^ (steps / period) */
} forge_schedule_kind;

typedef struct forge_schedule {
    uint32_t struct_size; /* sizeof(forge_schedule) */
    forge_schedule_kind kind;
    double rate;            /* after the warm-up */
    double last_rate;       /* linear, cosine: from `steps` on */
    double factor;          /* step, exponential */
    uint64_t warm_up_steps; /* the rate grows in equal parts: rate / warm_up_steps in step 0, and so on */
    uint64_t steps;         /* linear, cosine: in all, the warm-up included */
    uint64_t period_steps;  /* step, exponential: 0 counts as 1 */
} forge_schedule;

/* The learning rate of a step, which count from 0. NaN for a structure or a kind that there is not. A pure function; any
 * thread. */
FORGE_API double forge_schedule_rate(const forge_schedule *schedule, uint64_t step);

#ifdef __cplusplus
}
#endif
#endif
