/* forge/nn.h - layers and models of neural networks.
 *
 * A layer is a function from values to a value. It opens a scope with its name, makes its parameters there,
 * and adds its nodes. Parameters are state slots named after their scope ("fc1.weight"). A layer that is
 * called again with the same name in the same scope shares its parameters.
 */
#ifndef FORGE_NN_H
#define FORGE_NN_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the value of the trainable slot NAME in the current scope. The slot's name is "SCOPE.NAME", with
 * '.' between scopes. */
FORGE_API forge_value forge_parameter(forge_builder *builder, const char *name, forge_dtype dtype,
                                      forge_shape shape, forge_init init);
/* Returns the number of trainable slots made so far. */
FORGE_API size_t forge_parameter_count(const forge_builder *builder);
/* Returns trainable slot `i`, in the order of creation. */
FORGE_API forge_slot forge_parameter_slot(const forge_builder *builder, size_t i);

/* Returns x weight^T + bias. x: [..., in], float; weight: [out, in]; bias: [out]; result: [..., out]. `in`
 * must be a number. Parameters are initialised uniformly within +-1/sqrt(in), as in PyTorch's Linear. */
FORGE_API forge_value forge_linear(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_features, bool has_bias);

/* Returns a convolution (forge_conv) over 1 to 3 spatial dimensions. x: [n, in, spatial...]; kernel: one
 * size for each spatial dimension; options: may be NULL. Parameters as in PyTorch's Conv and ConvTranspose:
 * weight [out, in / groups, kernel...], or transposed [in, out / groups, kernel...]; bias [out]. They are
 * initialised uniformly within +-1/sqrt(elements of weight / its first dimension). */
FORGE_API forge_value forge_conv_layer(forge_builder *builder, const char *name, forge_value x,
                                       int64_t out_channels, const int64_t *kernel,
                                       const forge_conv_options *options, bool has_bias);
/* Returns a convolution (forge_conv_layer) over two spatial dimensions, with kernel, stride and padding
 * equal in both. x: [n, in, height, width]. stride 0: 1. */
FORGE_API forge_value forge_conv2d(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_channels, int64_t kernel, uint32_t stride, uint32_t padding,
                                   bool has_bias);

/* --- normalisations: (x - mean) / sqrt(variance + epsilon) * weight + bias --- */

/* Variances are means of squared distances from the mean, computed in two passes, in f32 for narrower floats.
 * Each layer is a composite with the function's name. Initial weights are 1, initial biases 0. Results have
 * the shape of x. */

/* Normalises each channel of x [n, channels, ...], as PyTorch's BatchNorm (defaults: momentum 0.1, epsilon
 * 1e-5). In training, uses mean and variance of the batch, and updates the slots running_mean and running_var
 * (unbiased): running = (1 - momentum) running + momentum of_batch; num_batches_tracked (i64) counts batches.
 * Otherwise uses the values of these slots. A graph can have one training layer of each name. */
FORGE_API forge_value forge_batch_norm(forge_builder *builder, const char *name, forge_value x,
                                       double momentum, double epsilon, bool is_training);
/* Normalises over the last `dims` dimensions; weight and bias have these dimensions. */
FORGE_API forge_value forge_layer_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                       double epsilon, bool has_bias);
/* Returns x / sqrt(mean of squares + epsilon) * weight, over the last `dims` dimensions. */
FORGE_API forge_value forge_rms_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                     double epsilon);
/* Normalises each example of x [n, channels, ...] over groups of channels. weight, bias: [channels]. */
FORGE_API forge_value forge_group_norm(forge_builder *builder, const char *name, forge_value x,
                                       uint32_t groups, double epsilon);
/* Normalises each example and channel of x [n, channels, ...]. has_weight: with weight and bias
 * [channels]. */
FORGE_API forge_value forge_instance_norm(forge_builder *builder, const char *name, forge_value x,
                                          double epsilon, bool has_weight);

/* In training, sets each element to 0 with probability `rate` (below 1), and divides the others by 1 - rate.
 * Otherwise returns x. An element is set to 0 if forge_random_uniform gives less than `rate`. Its key is the
 * slot "random.key" (u64, from the seed of the states), its step the slot "random.step" (u32), which counts
 * the runs of a graph with dropout, and its stream the hash of `name`. */
FORGE_API forge_value forge_dropout(forge_builder *builder, const char *name, forge_value x, double rate,
                                    bool is_training);

/* --- transformers --------------------------------------------------------------------------------------- */

/* Looks up rows of a table. ids: integers of any shape; result: [shape of ids, width]. The parameter weight
 * [count, width] is initialised with mean 0 and standard deviation `sd`: PyTorch's Embedding has 1, GPT-2
 * 0.02. As in forge_gather, a negative id counts from the end, and an id out of range gives NaN. */
FORGE_API forge_value forge_embedding(forge_builder *builder, const char *name, forge_value ids,
                                      forge_dtype dtype, int64_t count, int64_t width, double sd);

/* Returns x with rotary position embeddings (Su et al., 2021). x: [..., t, d]. positions: integers that
 * broadcast to [..., t]. Pair i of the d / 2 pairs is rotated by the angle position * base^(-2 i / d); base
 * is usually 10000. is_interleaved: pairs are x[2 i], x[2 i + 1], as in the paper and GPT-J. Otherwise pairs
 * are x[i], x[i + d / 2], as in GPT-NeoX and in Hugging Face's files of Llama. Angles are computed in f64,
 * products in f32 for narrower floats. Adds a composite "rope". */
FORGE_API forge_value forge_rope(forge_builder *builder, forge_value x, forge_value positions, double base,
                                 bool is_interleaved);

/* Returns softmax(scale q k^T) v for each head. q: [b, heads, t, d]; k: [b, kv_heads, s, d]; v:
 * [b, kv_heads, s, e]; result: [b, heads, t, e]. heads is a multiple of kv_heads: with n = heads / kv_heads,
 * heads i * n to i * n + n - 1 use head i of k and v. is_causal: query i attends to keys 0 to i + s - t, so
 * the last query attends to all keys. scale 0: 1 / sqrt(d). Narrower floats are widened to f32 once and
 * rounded once. Adds a composite "attention". */
FORGE_API forge_value forge_attention(forge_builder *builder, forge_value q, forge_value k, forge_value v,
                                      double scale, bool is_causal);

/* Options of GPT-2 and its parts. */
typedef struct forge_gpt_options {
    uint32_t struct_size; /* sizeof(forge_gpt_options) */
    uint32_t layers;      /* blocks; weights of residual projections start with sd 0.02 / sqrt(2 layers) */
    uint32_t heads;       /* number of attention heads; a divisor of width */
    uint32_t kv_heads;    /* heads of keys and values, a divisor of heads; 0: heads */
    int64_t vocabulary;   /* number of different tokens; vocabulary, context and width: for the model only */
    int64_t context;      /* maximum number of tokens of an example */
    int64_t width;        /* size of the vector of a token */
    forge_dtype dtype;    /* type of parameters; 0: f32 */
    bool is_training;     /* apply dropout */
    bool non_causal;      /* each token also attends to later tokens */
    bool untied_lm_head;  /* logits use the parameter lm_head.weight; else wte.weight (tied) */
    /* Activation checkpointing for each block of the model: see forge_recompute_begin. */
    bool checkpoint_activations;
    double
        dropout; /* rate for embeddings and the output of each half of a block, not for attention weights */
} forge_gpt_options;

/* Returns attention of several heads, with its projections. x and result: [b, t, width]. One linear layer
 * c_attn [width, (heads + 2 kv_heads) d], with d = width / heads, gives queries, keys and values, in this
 * order; attention and a linear layer c_proj follow. Weights are [in, out], as in files of GPT-2, initially
 * normal with sd 0.02; biases are initially 0. */
FORGE_API forge_value forge_multi_head_attention(forge_builder *builder, const char *name, forge_value x,
                                                 const forge_gpt_options *options);
/* Returns y = x + attn(ln_1(x)), then y + mlp(ln_2(y)), with mlp = c_proj(gelu_tanh(c_fc(x))) and 4 width
 * inner features. x and result: [b, t, width]. The layer norms have epsilon 1e-5. */
FORGE_API forge_value forge_transformer_block(forge_builder *builder, const char *name, forge_value x,
                                              const forge_gpt_options *options);

/* Options of residual networks and their blocks (He et al., 2016). Names, shapes and initial values are those
 * of torchvision: convolutions without bias, normal with sd sqrt(2 / (out channels * elements of the
 * kernel)). */
typedef struct forge_resnet_options {
    uint32_t struct_size; /* sizeof(forge_resnet_options) */
    /* 18 or 34 with basic blocks; 50, 101 or 152 with bottlenecks. depth, classes, width and
     * is_for_small_images are for the model only. */
    uint32_t depth;
    int64_t classes;
    int64_t width;            /* channels after the first convolution; 0: 64 */
    bool is_for_small_images; /* first convolution 3 x 3 with stride 1, without pooling after it */
    bool is_training;         /* norms use the statistics of the batch */
    /* The last norm of each block has the initial weight 0, so that the block is initially the identity. */
    bool zero_init_residual;
    /* Activation checkpointing for each block of the model: see forge_recompute_begin. */
    bool checkpoint_activations;
} forge_resnet_options;

/* Returns relu(x + bn2(conv2(relu(bn1(conv1(x)))))). x: [n, in, height, width]. The convolutions are 3 x 3 to
 * `channels`, the first with this stride. If x and the output of bn2 differ in shape, a 1 x 1 convolution
 * (downsample.0) and a norm (downsample.1) are applied to x before the sum. */
FORGE_API forge_value forge_basic_block(forge_builder *builder, const char *name, forge_value x,
                                        int64_t channels, uint32_t stride,
                                        const forge_resnet_options *options);
/* Like forge_basic_block, but with three convolutions: 1 x 1 to `channels`, 3 x 3 with this stride, and 1 x 1
 * to 4 * channels. */
FORGE_API forge_value forge_bottleneck(forge_builder *builder, const char *name, forge_value x,
                                       int64_t channels, uint32_t stride,
                                       const forge_resnet_options *options);

/* --- models. name NULL: no scope for the model ---------------------------------------------------------- */

/* Returns the result of linear layers with relu between them. x: [..., in]; result: [..., sizes[count - 1]].
 * sizes: the width after each layer. */
FORGE_API forge_value forge_mlp(forge_builder *builder, const char *name, forge_value x, const int64_t *sizes,
                                size_t count);
/* Returns logits of two blocks (conv1, conv2) of 3 x 3 convolution without padding, relu and 2 x 2 maximum;
 * then two linear layers (fc1, fc2) with relu between them. x: [n, channels, height, width]; result: [n,
 * sizes[3]]. sizes: channels or width after each of the four layers. */
FORGE_API forge_value forge_cnn(forge_builder *builder, const char *name, forge_value x,
                                const int64_t sizes[4]);
/* Returns logits of a network with batch norm and dropout. x: [n, channels, height, width]; result:
 * [n, classes]. Three 3 x 3 convolutions with relu (8, 16 and 24 channels: conv1 to conv3), batch norm
 * (norm1), linear to 32 with relu (fc1), dropout of 0.3 (dropout1), linear to `classes` (fc2), batch norm
 * (norm2). */
FORGE_API forge_value forge_norm_cnn(forge_builder *builder, const char *name, forge_value x, int64_t classes,
                                     bool is_training);
/* Returns logits of a residual network. x: [n, channels, height, width]; result: [n, classes]. Parameters
 * have torchvision's names: conv1.weight, bn1.weight, layer1.0.conv1.weight, layer2.0.downsample.0.weight
 * ... fc.bias. */
FORGE_API forge_value forge_resnet(forge_builder *builder, const char *name, forge_value x,
                                   const forge_resnet_options *options);
/* Returns logits of GPT-2 (Radford et al., 2019). tokens: [b, t], integers, t at most `context`; result:
 * [b, t, vocabulary]. Parameters have the names and layout of GPT-2's files: wte.weight, wpe.weight,
 * h.0.ln_1.weight, h.0.attn.c_attn.weight ... ln_f.bias. The smallest GPT-2 is {12 layers, 12 heads,
 * vocabulary 50257, context 1024, width 768}. */
FORGE_API forge_value forge_gpt(forge_builder *builder, const char *name, forge_value tokens,
                                const forge_gpt_options *options);

#ifdef __cplusplus
}
#endif
#endif
