/* forge/nn.h - layers.
 *
 * Owns parameters and the layers made of them. A layer is a function from values to a value: it opens a scope of its name,
 * makes its parameters there, and adds its nodes.
 * Newcomers: parameters are state slots named after their scope ("fc1.weight"). The same layer called again with the same
 * name in the same scope shares its parameters.
 */
#ifndef FORGE_NN_H
#define FORGE_NN_H

#include <forge/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of the trainable slot NAME in the current scope: "SCOPE.NAME", with '.' between the scopes. */
FORGE_API forge_value forge_parameter(forge_builder *builder, const char *name, forge_dtype dtype,
                                      forge_shape shape, forge_init init);
/* The trainable slots made so far, in the order in which they were made. */
FORGE_API size_t forge_parameter_count(const forge_builder *builder);
FORGE_API forge_slot forge_parameter_slot(const forge_builder *builder, size_t i);

/* x weight^T + bias: x [..., in] float, weight [out, in], bias [out], both uniform within +-1/sqrt(in) at first, as
 * PyTorch's Linear is. `in` must be a number. */
FORGE_API forge_value forge_linear(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_features, bool has_bias);

/* A convolution (forge_conv) with 1 to 3 spatial dimensions and a kernel of these sizes. Parameters as PyTorch's Conv and
 * ConvTranspose have them: weight [out, in / groups, kernel...], or transposed [in, out / groups, kernel...], and bias [out],
 * both uniform within +-1/sqrt(weight's elements / its first dimension). options: NULL for none. */
FORGE_API forge_value forge_conv_layer(forge_builder *builder, const char *name, forge_value x,
                                       int64_t out_channels, const int64_t *kernel,
                                       const forge_conv_options *options, bool has_bias);
/* The same along two dimensions alike. stride 0: 1. */
FORGE_API forge_value forge_conv2d(forge_builder *builder, const char *name, forge_value x,
                                   int64_t out_channels, int64_t kernel, uint32_t stride, uint32_t padding,
                                   bool has_bias);

/* --- normalisations: (x - mean) / sqrt(variance + epsilon) * weight + bias ---------------------------------- */

/* Variances are means of squared distances from the mean, computed in two passes, in f32 for narrower floats. Each is a
 * composite of this name. Weights are 1 and biases 0 at first. */

/* For each channel of x [n, channels, ...]. In training by the batch's mean and variance, which also move the slots
 * running_mean and running_var (unbiased): running = (1 - momentum) running + momentum of_batch; num_batches_tracked (i64)
 * counts. Otherwise by these slots. As PyTorch's BatchNorm, with momentum 0.1 and epsilon 1e-5 for its defaults. A graph can
 * have one training layer of each name. */
FORGE_API forge_value forge_batch_norm(forge_builder *builder, const char *name, forge_value x,
                                       double momentum, double epsilon, bool is_training);
/* Over the last `dims` dimensions, which weight and bias have. */
FORGE_API forge_value forge_layer_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                       double epsilon, bool has_bias);
/* x / sqrt(mean of squares + epsilon) * weight over the last `dims` dimensions. */
FORGE_API forge_value forge_rms_norm(forge_builder *builder, const char *name, forge_value x, uint32_t dims,
                                     double epsilon);
/* For each example of x [n, channels, ...] over groups of channels; weight and bias are by channel. */
FORGE_API forge_value forge_group_norm(forge_builder *builder, const char *name, forge_value x,
                                       uint32_t groups, double epsilon);
/* For each example and channel; has_weight: with weight and bias by channel. */
FORGE_API forge_value forge_instance_norm(forge_builder *builder, const char *name, forge_value x,
                                          double epsilon, bool has_weight);

/* In training each element is 0 with this probability (below 1), and otherwise divided by what is left of 1. Which ones: those
 * for which forge_random_uniform is below `rate`, with the key in slot "random.key" (u64, made of the states' seed), the step
 * in slot "random.step" (u32), which each run of a graph with dropout counts, and the name's hash as stream. */
FORGE_API forge_value forge_dropout(forge_builder *builder, const char *name, forge_value x, double rate,
                                    bool is_training);

/* --- transformers -------------------------------------------------------------------------------------------- */

/* Rows of a table: ids of any integer type and shape, result [ids' dimensions, width]. Its `count` vectors are the parameter
 * weight [count, width], normal with mean 0 and this sd at first: PyTorch's Embedding has 1, GPT-2 0.02. As forge_gather, a
 * negative id counts from the end, and one beyond the table gives NaN. */
FORGE_API forge_value forge_embedding(forge_builder *builder, const char *name, forge_value ids,
                                      forge_dtype dtype, int64_t count, int64_t width, double sd);

/* Rotary positions (Su et al., 2021): of x [..., t, d] the pair of numbers i of d / 2 is turned by the angle position *
 * base^(-2 i / d). A pair is x[2 i] and x[2 i + 1] where it is interleaved, as in the paper and GPT-J; else x[i] and
 * x[i + d / 2], as in GPT-NeoX and in Llama's files of Hugging Face. positions: integers that broadcast to [..., t]; base:
 * usually 10000. Angles are computed in f64, products in f32 for narrower floats. A composite "rope". */
FORGE_API forge_value forge_rope(forge_builder *builder, forge_value x, forge_value positions, double base,
                                 bool is_interleaved);

/* softmax(scale q k^T) v for each head: q [b, heads, t, d], k [b, kv_heads, s, d], v [b, kv_heads, s, e], result
 * [b, heads, t, e]. heads is a multiple of kv_heads: heads i n to i n + n - 1 look at head i of k and v, n = heads / kv_heads.
 * Causal: query i sees keys 0 to i + s - t, so that the last one sees all. scale 0: 1 / sqrt(d). Narrower floats are widened
 * to f32 for all of it and narrowed once. A composite "attention". */
FORGE_API forge_value forge_attention(forge_builder *builder, forge_value q, forge_value k, forge_value v,
                                      double scale, bool is_causal);

/* What GPT-2 and its parts are made like. */
typedef struct forge_gpt_options {
    uint32_t struct_size; /* sizeof(forge_gpt_options) */
    uint32_t layers; /* blocks; weights of what is added to the stream start with sd 0.02 / sqrt(2 layers) */
    uint32_t heads;  /* the width is a multiple of it */
    uint32_t kv_heads;  /* heads of keys and values, a divisor of heads; 0: as many */
    int64_t vocabulary; /* tokens there are; the model only, as the next two */
    int64_t context;    /* tokens at once, at most */
    int64_t width;      /* numbers that stand for a token */
    forge_dtype dtype;  /* of parameters; 0: f32 */
    bool is_training;   /* with dropout */
    bool sees_all;      /* not causal: each token sees those behind it, too */
    bool has_own_head;  /* logits by the parameter lm_head.weight; else by wte.weight again */
    /* each block of the model is computed again on the way back: see forge_recompute_begin */
    bool recomputes;
    double dropout; /* of embeddings, and of what each half of a block adds; not of attention's weights */
} forge_gpt_options;

/* x [b, t, width] to [b, t, width]: queries, keys and values by one linear layer (c_attn: [width, (heads + 2 kv_heads) d]
 * with d = width / heads, in this order), attention, and a linear layer (c_proj). Weights are [in, out], as in files of
 * GPT-2, and normal with sd 0.02 at first; biases 0. */
FORGE_API forge_value forge_multi_head_attention(forge_builder *builder, const char *name, forge_value x,
                                                 const forge_gpt_options *options);
/* x + attn(ln_1(x)), and then x + mlp(ln_2(x)) with mlp = c_proj(gelu_tanh(c_fc(x))), four times as wide inside. Layer norms
 * have epsilon 1e-5. */
FORGE_API forge_value forge_transformer_block(forge_builder *builder, const char *name, forge_value x,
                                              const forge_gpt_options *options);

/* What residual networks and their blocks are made like (He et al., 2016), with the names, shapes and first values of
 * torchvision: convolutions without bias, normal with sd sqrt(2 / (out channels * kernel's elements)). */
typedef struct forge_resnet_options {
    uint32_t struct_size; /* sizeof(forge_resnet_options) */
    /* 18 or 34, of basic blocks; 50, 101 or 152, of bottlenecks; the model only, as the next three */
    uint32_t depth;
    int64_t classes;
    int64_t width;            /* channels after the first convolution; 0: 64 */
    bool is_for_small_images; /* a first convolution of 3 x 3 with stride 1, and no pool after it */
    bool is_training;         /* with the statistics of the batch */
    /* each block's last norm has weight 0 at first, so that the block gives what it gets */
    bool starts_as_identity;
    /* each block of the model is computed again on the way back: see forge_recompute_begin */
    bool recomputes;
} forge_resnet_options;

/* relu(x + bn2(conv2(relu(bn1(conv1(x)))))) with convolutions of 3 x 3 to `channels`, the first with this stride. Where x has
 * another shape than what is added to it, downsample stands for it: a 1 x 1 convolution (downsample.0) and a norm
 * (downsample.1). */
FORGE_API forge_value forge_basic_block(forge_builder *builder, const char *name, forge_value x,
                                        int64_t channels, uint32_t stride,
                                        const forge_resnet_options *options);
/* The same with three convolutions: 1 x 1 to `channels`, 3 x 3 with this stride, and 1 x 1 to 4 * channels. */
FORGE_API forge_value forge_bottleneck(forge_builder *builder, const char *name, forge_value x,
                                       int64_t channels, uint32_t stride,
                                       const forge_resnet_options *options);

/* --- models. name NULL: no scope of their own ---------------------------------------------------------------- */

/* Linear layers with relu between them: sizes[0 .. count-1] are the widths after each. */
FORGE_API forge_value forge_mlp(forge_builder *builder, const char *name, forge_value x, const int64_t *sizes,
                                size_t count);
/* x [n, channels, height, width]: twice a 3 x 3 convolution without padding, relu, and a maximum over 2 x 2 (conv1, conv2);
 * then two linear layers with relu between them (fc1, fc2). sizes: channels and widths after each of the four. */
FORGE_API forge_value forge_cnn(forge_builder *builder, const char *name, forge_value x,
                                const int64_t sizes[4]);
/* x [n, channels, height, width]: three 3 x 3 convolutions with relu (8, 16 and 24 channels: conv1 to conv3), batch norm
 * (norm1), linear to 32 with relu (fc1), dropout of 0.3 (dropout1), linear to `classes` (fc2), batch norm (norm2). */
FORGE_API forge_value forge_norm_cnn(forge_builder *builder, const char *name, forge_value x, int64_t classes,
                                     bool is_training);
/* x [n, channels, height, width] to logits [n, classes]. Parameters are named as in torchvision: conv1.weight, bn1.weight,
 * layer1.0.conv1.weight, layer2.0.downsample.0.weight ... fc.bias. */
FORGE_API forge_value forge_resnet(forge_builder *builder, const char *name, forge_value x,
                                   const forge_resnet_options *options);
/* GPT-2 (Radford et al., 2019): tokens [b, t] of an integer type, t at most the context, to logits [b, t, vocabulary].
 * Parameters are named and lie as in files of GPT-2: wte.weight, wpe.weight, h.0.ln_1.weight, h.0.attn.c_attn.weight ...
 * ln_f.bias. Its smallest is {12 layers, 12 heads, vocabulary 50257, context 1024, width 768}. */
FORGE_API forge_value forge_gpt(forge_builder *builder, const char *name, forge_value tokens,
                                const forge_gpt_options *options);

#ifdef __cplusplus
}
#endif
#endif
