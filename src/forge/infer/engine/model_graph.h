/* infer/engine/model_graph.h - the graph that computes the logits of one step of a language model.
 *
 * The rows of a step are tokens of any sequences, one after the other. Inputs: "tokens", "positions",
 * "sequences" and "places" [t] in i32, "tables" [sequences, pages] in i32 and "output_rows" [outputs] in i32.
 * Output: "logits" [outputs, vocabulary] in f32. State: one slot for each weight, with the name of the
 * tensor, and two for each layer's cache (model_graph_cache_name). The sizes t, sequences and outputs are
 * symbols. */
#ifndef FORGE_INFER_MODEL_GRAPH_H
#define FORGE_INFER_MODEL_GRAPH_H

#include <forge/graph.h>
#include "forge/infer/model/model_file.h"

/* The sizes of the steps that the graph must be able to compute. */
struct model_graph_sizes {
    int64_t max_rows, max_sequences, max_outputs; /* per step */
    int64_t page_size, sequence_pages, pages; /* tokens per page, pages per sequence, pages of the cache */
    forge_dtype cache_dtype;
    /* Do not round the inputs of products with weights in bf16. */
    bool keeps_f32;
};

/* Builds the graph. The caller owns it (forge_graph_free). JOULE_INVALID: a tensor is missing or has another
 * shape; the message names it. */
joule_status model_graph_build(const struct model_file *file, const struct model_graph_sizes *sizes,
                               forge_graph **out_graph, joule_error *out_error);
/* Writes the name of the slot with the keys or values of a layer: "cache.0.keys". */
void model_graph_cache_name(int64_t layer, bool is_value, char out_name[32]);
/* Computes the frequencies of the rotary embedding: the angle of pair i at position p is p * out[i] radians.
 * out: [rope_dims / 2]. Returns the factor of cosine and sine (1 except for YaRN). Formulas: Su et al., 2021;
 * Llama 3.1's model card; Peng et al., 2023 (YaRN). */
double model_rope_frequencies(const struct model_config *config, double *out);

#endif
