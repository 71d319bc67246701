/* forge/nn.h - layers and models of neural networks.
 *
 * A layer is a function from values to a value. It opens a scope with the layer's name, and adds its
 * parameters and nodes there. Parameters are state slots named after their scope ("fc1.weight"). Two layers
 * with the same name in the same scope share their parameters. The argument `name` of each function is the
 * layer's name.
 */
#ifndef FORGE_NN_H
#define FORGE_NN_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the value of the trainable slot `name` in the current scope; the first call creates the slot. The
 * slot's full name is "SCOPE.NAME", with '.' between scopes. */
FORGE_API forge_value forge_parameter(forge_builder *builder, const char *name, forge_dtype dtype,
                                      forge_shape shape, forge_init init);
/* Returns the number of trainable slots that the builder has so far. */
FORGE_API size_t forge_parameter_count(const forge_builder *builder);
/* Returns trainable slot `i`, in the order of creation. */
FORGE_API forge_slot forge_parameter_slot(const forge_builder *builder, size_t i);

/* Returns x weight^T + bias. x: [..., in], float; weight: [out, in]; bias: [out]; result: [..., out]. `in`
 * must be a number, not a symbol; `out` is out_features. Parameters are initialised uniformly within
 * +-1/sqrt(in), as in PyTorch's Linear. */
FORGE_API forge_value forge_linear(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_features, bool has_bias);

/* Returns a convolution (forge_conv) over 1 to 3 spatial dimensions. x: [n, in, spatial...]; kernel: one size
 * for each spatial dimension; options: may be NULL. Parameters are those of PyTorch's Conv and ConvTranspose:
 * weight [out, in / groups, kernel...], or transposed [in, out / groups, kernel...]; bias [out]. The initial
 * values are uniform within +-1/sqrt(k), where k is the number of elements of weight divided by its first
 * dimension. */
FORGE_API forge_value forge_conv_layer(forge_builder *builder, const char *name, forge_value x,
                                       int64_t out_channels, const int64_t *kernel,
                                       const forge_conv_options *options, bool has_bias);
/* Returns a convolution (forge_conv_layer) over two spatial dimensions, with the same kernel, stride and
 * padding in both. x: [n, in, height, width]. stride: 0 means 1. */
FORGE_API forge_value forge_conv2d(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_channels, int64_t kernel, uint32_t stride, uint32_t padding,
                                   bool has_bias);

/* --- normalisations: (x - mean) / sqrt(variance + epsilon) * weight + bias --- */

/* A variance is the mean of the squared distances from the mean, computed in two passes, in f32 for narrower
 * floats. Each layer is a composite named after the function ("layer_norm"). Initial weights are 1, and
 * initial biases are 0. Results have the shape of x. */

/* Normalises each channel of x [n, channels, ...], as PyTorch's BatchNorm (defaults: momentum 0.1, epsilon
 * 1e-5). is_training true: uses mean and variance of the batch, and updates the slots running_mean and
 * running_var (unbiased): running = (1 - momentum) running + momentum of_batch. The slot num_batches_tracked
 * (i64) counts batches. is_training false: uses the values of these slots. A graph can contain only one
 * training layer with the same name and scope. */
FORGE_API forge_value forge_batch_norm(forge_builder *builder, const char *name, forge_value x,
                                       double momentum, double epsilon, bool is_training);
/* Normalises over the last `dims` dimensions of x. weight and bias have the shape of these dimensions. */
FORGE_API forge_value forge_layer_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                       double epsilon, bool has_bias);
/* Returns x / sqrt(mean of squares + epsilon) * weight. The mean is over the last `dims` dimensions, which
 * are the shape of weight. */
FORGE_API forge_value forge_rms_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                     double epsilon);
/* Normalises each example of x [n, channels, ...] over each of `groups` equal groups of channels. weight,
 * bias: [channels]. */
FORGE_API forge_value forge_group_norm(forge_builder *builder, const char *name, forge_value x,
                                       uint32_t groups, double epsilon);
/* Normalises each example and channel of x [n, channels, ...]. has_weight: the layer has weight and bias,
 * [channels]. */
FORGE_API forge_value forge_instance_norm(forge_builder *builder, const char *name, forge_value x,
                                          double epsilon, bool has_weight);

/* is_training true: sets each element to 0 with probability `rate` (0 to below 1), and divides the other
 * elements by 1 - rate. is_training false: returns x. Element i is set to 0 if number i of
 * forge_random_uniform is less than `rate`. The key of the random numbers is the slot "random.key" (u64, from
 * the seed of the states). The step is the slot "random.step" (u32), which counts the runs of a graph with
 * dropout. The stream is a hash of `name`. */
FORGE_API forge_value forge_dropout(forge_builder *builder, const char *name, forge_value x, double rate,
                                    bool is_training);

/* --- transformers --------------------------------------------------------------------------------------- */

/* Looks up rows of a table. ids: integers of any shape; result: [shape of ids, width]. The parameter weight
 * [count, width] has normal initial values with mean 0 and standard deviation `sd`. PyTorch's Embedding uses
 * 1, GPT-2 uses 0.02. As in forge_gather, a negative id counts from the end, and the row of an id out of
 * range is NaN. */
FORGE_API forge_value forge_embedding(forge_builder *builder, const char *name, forge_value ids,
                                      forge_dtype dtype, int64_t count, int64_t width, double sd);

/* Returns x with rotary position embeddings (Su et al., 2021). x: [..., t, d]. positions: integers that
 * broadcast to [..., t]. Pair i of the d / 2 pairs is rotated by the angle position * base^(-2 i / d), in
 * radians; base is usually 10000. is_interleaved true: pairs are x[2 i], x[2 i + 1], as in the paper and
 * GPT-J; false: x[i], x[i + d / 2], as in GPT-NeoX and in Hugging Face's files of Llama. Angles are computed
 * in f64, products in f32 for narrower floats. Adds a composite "rope". */
FORGE_API forge_value forge_rope(forge_builder *builder, forge_value x, forge_value positions, double base,
                                 bool is_interleaved);

/* Returns softmax(scale q k^T) v for each head. q: [b, heads, t, d]; k: [b, kv_heads, s, d]; v:
 * [b, kv_heads, s, e]; result: [b, heads, t, e]. heads must be a multiple of kv_heads; head i of k and v
 * serves n = heads / kv_heads heads of q, from i * n on. is_causal: query i attends to keys 0 to i + s - t,
 * so the last query attends to all keys. scale: 0 means 1 / sqrt(d). Floats narrower than f32 are converted
 * to f32 once, and the result is rounded once. Adds a composite "attention". */
FORGE_API forge_value forge_attention(forge_builder *builder, forge_value q, forge_value k, forge_value v,
                                      double scale, bool is_causal);

/* Options of GPT-2 and its parts. */
typedef struct forge_gpt_options {
    uint32_t struct_size; /* sizeof(forge_gpt_options) */
    uint32_t layers;      /* number of blocks; see forge_multi_head_attention */
    uint32_t heads;       /* number of attention heads; a divisor of width */
    uint32_t kv_heads;    /* heads of keys and values, a divisor of heads; 0: heads */
    int64_t vocabulary;   /* number of different tokens; forge_gpt only */
    int64_t context;      /* maximum number of tokens of an example; forge_gpt only */
    int64_t width;        /* size of the vector of a token; forge_gpt only */
    forge_dtype dtype;    /* type of parameters; 0: f32 */
    bool is_training;     /* apply dropout */
    bool non_causal;      /* each token also attends to later tokens */
    bool untied_lm_head;  /* logits use the parameter lm_head.weight; else wte.weight (tied) */
    /* Activation checkpointing for each block of the model: see forge_recompute_begin. */
    bool checkpoint_activations;
    double
        /* rate, 0 to below 1, for embeddings and for the outputs of attention and mlp, not for attention
         * weights */
        dropout;
} forge_gpt_options;

/* Returns multi-head attention with its linear projections. x and result: [b, t, width]. The linear layer
 * c_attn [width, (heads + 2 kv_heads) d] computes queries, keys and values, in this order, with d = width /
 * heads. forge_attention and the linear layer c_proj follow. Weights are [in, out], as in files of GPT-2.
 * Initial weights are normal with sd 0.02, those of c_proj with sd 0.02 / sqrt(2 layers). Initial biases are
 * 0. */
FORGE_API forge_value forge_multi_head_attention(forge_builder *builder, const char *name, forge_value x,
                                                 const forge_gpt_options *options);
/* Returns y + mlp(ln_2(y)), where y = x + attn(ln_1(x)) and mlp(z) = c_proj(gelu_tanh(c_fc(z))). x and
 * result: [b, t, width]. c_fc has 4 * width outputs. The layer norms have epsilon 1e-5. Initial weights are
 * those of forge_multi_head_attention. */
FORGE_API forge_value forge_transformer_block(forge_builder *builder, const char *name, forge_value x,
                                              const forge_gpt_options *options);

/* Options of residual networks and their blocks (He et al., 2016). Names, shapes and initial values are those
 * of torchvision: convolutions without bias, normal with sd sqrt(2 / (out channels * elements of the
 * kernel)). */
typedef struct forge_resnet_options {
    uint32_t struct_size; /* sizeof(forge_resnet_options) */
    /* 18 or 34 with basic blocks; 50, 101 or 152 with bottlenecks. Only forge_resnet uses depth, classes,
     * width and is_for_small_images. */
    uint32_t depth;
    int64_t classes;
    int64_t width;            /* channels after the first convolution; 0: 64 */
    bool is_for_small_images; /* the first convolution is 3 x 3 with stride 1, without pooling after it */
    bool is_training;         /* batch norms use the statistics of the batch */
    /* The last batch norm of each block has the initial weight 0, so that the block is initially the
     * identity. */
    bool zero_init_residual;
    /* Activation checkpointing for each block of the model: see forge_recompute_begin. */
    bool checkpoint_activations;
} forge_resnet_options;

/* Returns relu(x + bn2(conv2(relu(bn1(conv1(x)))))). x: [n, in, height, width]. The convolutions are 3 x 3
 * with `channels` outputs; conv1 has the stride `stride`. If x and the output of bn2 differ in shape,
 * downsample.0 (a 1 x 1 convolution) and downsample.1 (a batch norm) are applied to x. */
FORGE_API forge_value forge_basic_block(forge_builder *builder, const char *name, forge_value x,
                                        int64_t channels, uint32_t stride,
                                        const forge_resnet_options *options);
/* Like forge_basic_block, but with three convolutions: 1 x 1 with `channels` outputs, 3 x 3 with the stride
 * `stride`, and 1 x 1 with 4 * channels outputs. */
FORGE_API forge_value forge_bottleneck(forge_builder *builder, const char *name, forge_value x,
                                       int64_t channels, uint32_t stride,
                                       const forge_resnet_options *options);

/* --- models; if name is NULL, the model has no scope ---------------------------------------------------- */

/* Returns the result of `count` linear layers with relu between them. x: [..., in]; result: [..., sizes[count
 * - 1]]. sizes: an array of `count` widths, one after each layer. */
FORGE_API forge_value forge_mlp(forge_builder *builder, const char *name, forge_value x, const int64_t *sizes,
                                size_t count);
/* Returns logits of a small convolutional network. x: [n, channels, height, width]; result: [n, sizes[3]].
 * sizes: channels or width after conv1, conv2, fc1 and fc2. conv1 and conv2 are 3 x 3 convolutions without
 * padding, each followed by relu and 2 x 2 maximum pooling. The linear layers fc1 and fc2 follow, with relu
 * between them. */
FORGE_API forge_value forge_cnn(forge_builder *builder, const char *name, forge_value x,
                                const int64_t sizes[4]);
/* Returns logits of a network with batch norm and dropout. x: [n, channels, height, width]; result:
 * [n, classes]. The layers are three 3 x 3 convolutions with relu (conv1 to conv3; 8, 16 and 24 channels) and
 * a batch norm (norm1). Then follow a linear layer with 32 outputs and relu (fc1) and dropout of 0.3
 * (dropout1). The last layers are linear with `classes` outputs (fc2) and a batch norm (norm2). */
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
