/* infer/model/hugging_face_names.c - maps the names of tensors of Hugging Face to those of GGUF files. */
#include "forge/infer/model/hugging_face.h"

#include <string.h>
#include "base/string.h"

struct pair {
    const char *hf, *gguf; /* gguf NULL: the tensor is ignored */
};

/* The architectures llama, qwen2 and qwen3. */
static const struct pair rotary_model[] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
};
static const struct pair rotary_layer[] = {
    {"input_layernorm.weight", "attn_norm.weight"},    {"self_attn.q_proj.weight", "attn_q.weight"},
    {"self_attn.k_proj.weight", "attn_k.weight"},      {"self_attn.v_proj.weight", "attn_v.weight"},
    {"self_attn.q_proj.bias", "attn_q.bias"},          {"self_attn.k_proj.bias", "attn_k.bias"},
    {"self_attn.v_proj.bias", "attn_v.bias"},          {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"}, {"self_attn.o_proj.weight", "attn_output.weight"},
    {"self_attn.rotary_emb.inv_freq", NULL},           {"post_attention_layernorm.weight", "ffn_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},       {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
};

/* The architecture GPT-2. Some files have the prefix "transformer." before these names. */
static const struct pair gpt2_model[] = {
    {"wte.weight", "token_embd.weight"},
    {"wpe.weight", "position_embd.weight"},
    {"ln_f.weight", "output_norm.weight"},
    {"ln_f.bias", "output_norm.bias"},
};
static const struct pair gpt2_layer[] = {
    {"ln_1.weight", "attn_norm.weight"},
    {"ln_1.bias", "attn_norm.bias"},
    {"attn.c_attn.weight", "attn_qkv.weight"},
    {"attn.c_attn.bias", "attn_qkv.bias"},
    {"attn.c_proj.weight", "attn_output.weight"},
    {"attn.c_proj.bias", "attn_output.bias"},
    {"attn.bias", NULL}, /* the causal mask */
    {"attn.masked_bias", NULL},
    {"ln_2.weight", "ffn_norm.weight"},
    {"ln_2.bias", "ffn_norm.bias"},
    {"mlp.c_fc.weight", "ffn_up.weight"},
    {"mlp.c_fc.bias", "ffn_up.bias"},
    {"mlp.c_proj.weight", "ffn_down.weight"},
    {"mlp.c_proj.bias", "ffn_down.bias"},
};

#define PAIRS(list) list, sizeof(list) / sizeof *(list)

/* If the list contains `hf`, writes `prefix` and GGUF's name to name[0..size). */
static enum hf_use find(const struct pair *pairs, size_t count, const char *hf, const char *prefix,
                        char *name, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].hf, hf) == 0) {
            string_print(name, size, "%s%s", prefix, pairs[i].gguf ? pairs[i].gguf : "");
            return pairs[i].gguf ? HF_KEPT : HF_IGNORED;
        }
    return HF_UNKNOWN;
}

/* Copies the digits of a layer's number to `prefix`. Returns the rest of the name after the '.' that follows,
 * or NULL if the name has no such number. */
static const char *scan_layer(const char *name, char *prefix, size_t size)
{
    size_t digits = strspn(name, "0123456789");
    if (digits == 0 || digits > 5 || name[digits] != '.')
        return NULL;
    string_print(prefix, size, "blk.%.*s.", (int)digits, name);
    return name + digits + 1;
}

static bool is_conv1d(const char *name)
{
    return string_ends(name, "c_attn.weight") || string_ends(name, "c_proj.weight") ||
           string_ends(name, "c_fc.weight");
}

enum hf_use hf_name(enum architecture architecture, bool is_tied, const char *hf, char *name, size_t size)
{
    char prefix[20] = "";
    bool is_gpt2 = architecture == ARCHITECTURE_GPT2;
    if (strcmp(hf, "lm_head.weight") == 0) {
        string_copy(name, size, "output.weight");
        return is_tied ? HF_IGNORED : HF_KEPT;
    }
    if (is_gpt2 && string_starts(hf, "transformer."))
        hf += strlen("transformer.");
    const char *layers = is_gpt2 ? "h." : "model.layers.";
    if (!string_starts(hf, layers))
        return is_gpt2 ? find(PAIRS(gpt2_model), hf, prefix, name, size)
                       : find(PAIRS(rotary_model), hf, prefix, name, size);
    hf = scan_layer(hf + strlen(layers), prefix, sizeof prefix);
    if (!hf)
        return HF_UNKNOWN;
    if (!is_gpt2)
        return find(PAIRS(rotary_layer), hf, prefix, name, size);
    enum hf_use use = find(PAIRS(gpt2_layer), hf, prefix, name, size);
    return use == HF_KEPT && is_conv1d(hf) ? HF_TRANSPOSED : use;
}
