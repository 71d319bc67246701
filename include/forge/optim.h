/* forge/optim.h - optimisers.
 *
 * Owns the rules by which gradients change parameters. An optimiser adds nodes of phase "optimiser" and in-place writes of
 * every parameter and of its own slots ("fc1.weight.momentum").
 * Newcomers: there is no optimiser object. What it remembers are state slots, saved with the rest.
 */
#ifndef FORGE_OPTIM_H
#define FORGE_OPTIM_H

#include <forge/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forge_sgd_options {
    uint32_t struct_size; /* sizeof(forge_sgd_options) */
    bool nesterov;        /* needs momentum */
    double momentum;      /* 0: none */
    double weight_decay;  /* added to the gradient, times the parameter */
} forge_sgd_options;

/* One step of stochastic gradient descent on all parameters, for a loss of one element. learning_rate is a value of one
 * float, such as an input. As PyTorch's SGD: velocity = momentum * velocity + gradient, which starts at 0. */
FORGE_API void forge_sgd(forge_builder *builder, forge_value loss, forge_value learning_rate,
                         const forge_sgd_options *options);

#ifdef __cplusplus
}
#endif
#endif
