/* architectures_expected.h - log-probabilities of small models, computed by transformers 5.24.0 with
 * torch 2.15.0. Written by make_architectures.py; do not edit. */
/* clang-format off */
static const int32_t prompt[] = {
    12, 74, 65, 42, 89, 8, 39, 34, 29, 50, 19, 4, 41, 18, 12, 40, 49, 34, 36, 92, 4, 74, 12, 93, 59, 85, 7,
    93, 90, 75, 69, 33, 83, 3, 19, 42, 15, 29, 35, 35, 8, 25, 20, 75, 80, 44, 78, 21, 12, 89};

static const struct expected expected[] = {
    {"llama",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 16, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}, "
     "\"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {84, 63, 91, 75, 86, 6, 65, 30, 3, 46, 56, 20, 13, 82, 40, 66, 40, 66, 65, 30},
     {-7.995723, -7.934371, -8.499982, -5.015209, -12.401555, -7.536419, -4.295286, -11.502227, -5.820415,
     -3.370608, -5.984316, -7.731069, -5.673942, -6.076612, -5.833136, -8.109729, -7.962502, -4.719157,
     -11.340770, -5.671167, -7.781519, -4.713463, -3.671432, -8.673442, -4.619590, -8.801571, -8.286206,
     -6.129821, -8.367334, -7.221332, -7.090560, -4.790197, -7.146598, -11.780771, -5.503639, -7.600640,
     -4.778158, -8.835232, -9.418865, -6.795313, -4.046200, -7.697761, -3.823511, -5.335534, -7.148003,
     -7.217294, -11.063284, -7.659365, -6.845974, -1.892056, -1.705390, -1.413741, -1.343343, -1.871529,
     -2.130943, -0.778162, -1.748147, -2.467845, -0.679340, -0.949377, -1.657111, -0.673489, -1.184685,
     -0.552317, -0.828062, -1.688676, -1.743121, -1.435879, -1.652577}},
    {"llama_with_the_scaling_llama3",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 16, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 8.0, \"high_freq_factor\": 4.0, \"low_freq_factor\": 1.0, "
     "\"original_max_position_embeddings\": 32, \"rope_theta\": 10000.0, \"rope_type\": \"llama3\"}, "
     "\"tie_word_embeddings\": true, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"model.embed_tokens.weight", {96, 64}}, {"model.layers.0.input_layernorm.weight", {64}},
         {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39, 39},
     {-6.469131, -9.797075, -5.826474, -6.252878, -6.537082, -7.634253, -8.941599, -10.797914, -8.067749,
     -5.282789, -5.078127, -10.740118, -4.335432, -9.420650, -8.614105, -5.666729, -8.479140, -5.704341,
     -3.946704, -8.909019, -12.310829, -6.715865, -8.225680, -11.689370, -7.180051, -9.917359, -4.124587,
     -4.796410, -5.846919, -9.222523, -7.336321, -6.346255, -6.003343, -4.699995, -6.779335, -6.314231,
     -8.318149, -6.720660, -6.873033, -2.555826, -8.283800, -6.790420, -7.199863, -4.689463, -8.943063,
     -5.352333, -6.321887, -8.861530, -6.454669, -0.162696, -1.270850, -1.424920, -0.523469, -0.560646,
     -0.309469, -0.177530, -0.321246, -0.359163, -0.267675, -0.506353, -0.477948, -0.148721, -0.153614,
     -0.138174, -0.198598, -0.469588, -0.529364, -0.270196, -0.226471}},
    {"llama_with_the_scaling_linear",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 24, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 2.5, \"rope_theta\": 10000.0, \"rope_type\": \"linear\"}, "
     "\"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {48, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 96}},
         {"model.layers.0.self_attn.q_proj.weight", {96, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {48, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {48, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 96}},
         {"model.layers.1.self_attn.q_proj.weight", {96, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {48, 64}}, {"model.norm.weight", {64}}
     },
     {82, 64, 57, 31, 47, 0, 68, 1, 92, 6, 39, 89, 80, 37, 10, 64, 3, 28, 10, 64},
     {-8.488175, -5.421944, -5.950609, -7.317956, -6.080901, -6.407898, -6.578305, -6.601837, -7.096755,
     -6.975523, -5.594885, -8.480538, -4.618058, -6.446629, -6.971675, -6.502961, -8.355888, -6.237871,
     -9.461555, -5.877392, -5.983007, -5.795457, -5.258242, -5.372311, -12.361679, -7.120114, -10.216891,
     -7.615122, -11.315209, -4.607363, -9.113474, -8.050556, -6.441365, -7.711443, -5.107024, -9.614950,
     -2.694029, -7.262414, -10.325587, -7.962422, -7.505856, -7.460286, -9.927739, -7.723929, -6.652083,
     -5.888012, -7.739584, -6.721018, -5.228241, -2.074960, -1.645732, -1.400650, -0.732328, -0.306514,
     -0.790420, -1.216750, -1.549779, -1.383396, -1.257613, -0.958278, -0.401502, -1.766184, -1.531518,
     -1.736833, -0.117847, -0.382566, -1.725623, -1.043025, -0.416327}},
    {"llama_with_the_scaling_yarn",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 16, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 4.0, \"original_max_position_embeddings\": 32, "
     "\"rope_theta\": 10000.0, \"rope_type\": \"yarn\"}, \"tie_word_embeddings\": false, "
     "\"transformers_version\": \"5.24.0\", \"use_cache\": true, \"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {92, 82, 40, 46, 91, 69, 70, 2, 34, 40, 12, 3, 1, 85, 27, 24, 12, 59, 46, 19},
     {-7.995723, -7.940420, -8.117687, -5.105763, -12.119195, -7.975133, -3.430012, -11.391061, -5.595126,
     -5.010362, -5.646829, -7.726338, -4.474475, -5.141049, -8.007320, -7.600330, -6.939375, -4.352413,
     -11.482755, -6.469772, -8.707192, -5.356358, -4.279526, -4.582420, -6.978563, -6.899813, -8.062902,
     -7.108278, -10.330911, -7.468850, -10.456476, -3.223320, -6.818180, -10.069661, -7.758998, -7.434872,
     -4.766721, -9.175339, -10.936226, -7.831254, -6.578504, -7.098648, -6.268317, -6.685228, -7.994080,
     -7.976001, -9.771794, -7.898969, -7.503992, -0.829426, -2.327670, -1.518999, -1.785203, -1.264329,
     -1.642211, -1.223674, -1.899353, -1.275407, -1.807759, -1.125461, -1.383726, -1.683636, -1.509522,
     -1.318143, -1.972041, -1.666476, -1.389788, -1.111412, -1.159078}},
    {"llama_with_an_attention_factor",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 32, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"attention_factor\": 0.8, \"beta_fast\": 16.0, \"beta_slow\": 2.0, "
     "\"factor\": 4.0, \"original_max_position_embeddings\": 32, \"rope_theta\": 10000.0, "
     "\"rope_type\": \"yarn\"}, \"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", "
     "\"use_cache\": true, \"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 128}},
         {"model.layers.0.self_attn.q_proj.weight", {128, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {64, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 128}},
         {"model.layers.1.self_attn.q_proj.weight", {128, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {64, 64}}, {"model.norm.weight", {64}}
     },
     {37, 34, 40, 30, 30, 30, 30, 30, 70, 67, 38, 3, 28, 51, 70, 6, 32, 33, 50, 79},
     {-6.498700, -10.058558, -6.891700, -5.236061, -6.394965, -7.081507, -5.000028, -7.921758, -8.294186,
     -4.840862, -9.692885, -6.032151, -11.251420, -9.663982, -2.637075, -6.147779, -7.126923, -7.647020,
     -5.425390, -6.972330, -4.245805, -5.658314, -6.588058, -8.361596, -5.821339, -10.566615, -9.902915,
     -4.550007, -9.707888, -10.090973, -6.779501, -9.745227, -2.969777, -1.484230, -2.843322, -9.512428,
     -5.480709, -7.115911, -2.178245, -7.253860, -11.430277, -6.625890, -5.611404, -9.119754, -8.500312,
     -11.800752, -8.556873, -10.345724, -6.983652, -1.426184, -1.180345, -1.103878, -1.634671, -1.062679,
     -0.951415, -1.205337, -1.760750, -1.981436, -2.444222, -2.022718, -0.596113, -1.569751, -2.213770,
     -1.370854, -2.169729, -0.943194, -0.613974, -1.173447, -1.815914}},
    {"llama_with_both_scales_of_yarn",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 16, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 4.0, \"mscale\": 1.0, \"mscale_all_dim\": 0.5, "
     "\"original_max_position_embeddings\": 32, \"rope_theta\": 10000.0, \"rope_type\": \"yarn\"}, "
     "\"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {92, 76, 20, 4, 45, 1, 66, 65, 91, 61, 84, 63, 82, 2, 34, 34, 34, 70, 91, 75},
     {-7.995723, -7.969934, -8.282502, -5.095315, -12.341910, -7.895313, -4.082475, -11.352513, -5.690814,
     -4.584590, -5.482671, -7.290464, -4.795956, -5.597601, -7.329472, -7.641755, -7.146479, -4.197455,
     -11.316503, -6.856904, -8.472650, -5.370722, -3.551394, -5.258798, -7.064754, -7.104337, -8.257217,
     -7.318174, -8.902631, -7.044208, -10.406733, -3.097258, -6.818314, -10.763055, -7.516547, -7.538979,
     -4.810744, -8.994064, -10.770817, -7.816742, -6.601909, -7.198972, -6.018959, -5.787709, -7.905609,
     -7.922025, -10.383495, -8.130466, -6.913675, -0.984733, -2.254117, -1.371824, -0.973341, -1.718054,
     -0.999242, -1.803348, -0.470676, -1.439483, -1.381617, -1.889267, -1.274238, -2.183706, -1.976047,
     -1.544506, -1.090115, -1.285156, -2.050596, -1.888143, -1.245870}},
    {"llama_with_a_ramp_that_is_not_truncated",
     "{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 16, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"max_position_embeddings\": 128, \"mlp_bias\": false, "
     "\"model_type\": \"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"pretraining_tp\": 1, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 4.0, \"original_max_position_embeddings\": 32, "
     "\"rope_theta\": 10000.0, \"rope_type\": \"yarn\", \"truncate\": false}, "
     "\"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {92, 65, 91, 46, 91, 69, 13, 36, 46, 91, 80, 70, 71, 91, 80, 70, 71, 56, 46, 91},
     {-7.995723, -7.937625, -8.126046, -5.087034, -12.207410, -7.857123, -3.782475, -11.252859, -5.415498,
     -4.504482, -5.297393, -7.462242, -4.471821, -4.927391, -8.066886, -7.581310, -6.329578, -4.428467,
     -11.242451, -7.776554, -8.790682, -5.481270, -3.256466, -2.988002, -7.964498, -6.667899, -7.317226,
     -8.218199, -7.472595, -8.035674, -10.763219, -4.000986, -5.358609, -11.876307, -6.910827, -6.950960,
     -3.762930, -9.741774, -12.239340, -8.684480, -6.140425, -7.916436, -5.899428, -6.825662, -7.411804,
     -8.242062, -9.279144, -4.937170, -9.325324, -0.736002, -1.784514, -1.470256, -1.504388, -1.417246,
     -1.860900, -0.732872, -0.892753, -1.006555, -1.212729, -1.015515, -0.718916, -1.587313, -0.592333,
     -0.491489, -1.769047, -0.977749, -1.902609, -0.934371, -1.655275}},
    {"mistral",
     "{\"architectures\": [\"MistralForCausalLM\"], \"attention_dropout\": 0.0, \"bos_token_id\": null, "
     "\"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 24, \"hidden_act\": \"silu\", "
     "\"hidden_size\": 64, \"initializer_range\": 0.02, \"intermediate_size\": 96, "
     "\"max_position_embeddings\": 128, \"model_type\": \"mistral\", \"num_attention_heads\": 4, "
     "\"num_hidden_layers\": 2, \"num_key_value_heads\": 2, \"pad_token_id\": null, "
     "\"rms_norm_eps\": 1e-05, \"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}, "
     "\"sliding_window\": null, \"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", "
     "\"use_cache\": true, \"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.weight", {48, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 96}},
         {"model.layers.0.self_attn.q_proj.weight", {96, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {48, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.weight", {48, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 96}},
         {"model.layers.1.self_attn.q_proj.weight", {96, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {48, 64}}, {"model.norm.weight", {64}}
     },
     {80, 7, 86, 47, 64, 86, 31, 20, 64, 1, 67, 95, 12, 64, 31, 31, 67, 64, 61, 8},
     {-8.488096, -5.498320, -5.785148, -6.599493, -5.662903, -6.530895, -6.439944, -7.455718, -6.876932,
     -10.481444, -7.312818, -8.501650, -4.813468, -5.967789, -5.181791, -6.133923, -3.995928, -2.214907,
     -7.972371, -7.152362, -5.134492, -6.624985, -2.661396, -7.824470, -9.562417, -6.823128, -9.488680,
     -5.786554, -8.878263, -6.594921, -10.960809, -6.215146, -3.554466, -7.182851, -7.425760, -11.369890,
     -3.041721, -5.824089, -13.646301, -7.867539, -8.289946, -6.450957, -9.823527, -6.912962, -5.636571,
     -4.768010, -7.416521, -6.094402, -8.383404, -1.957578, -1.642789, -1.731085, -0.558427, -0.769420,
     -1.481221, -1.548661, -1.665516, -0.611482, -1.238079, -0.768725, -1.455400, -1.128824, -0.541686,
     -0.901555, -1.649384, -2.127326, -1.242178, -1.977759, -0.888189}},
    {"qwen2",
     "{\"architectures\": [\"Qwen2ForCausalLM\"], \"attention_dropout\": 0.0, \"bos_token_id\": null, "
     "\"dtype\": \"float32\", \"eos_token_id\": null, \"hidden_act\": \"silu\", \"hidden_size\": 64, "
     "\"initializer_range\": 0.02, \"intermediate_size\": 96, \"layer_types\": [\"full_attention\", "
     "\"full_attention\"], \"max_position_embeddings\": 128, \"max_window_layers\": 28, "
     "\"model_type\": \"qwen2\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"rope_theta\": 10000.0, \"rope_type\": \"default\"}, \"sliding_window\": null, "
     "\"tie_word_embeddings\": true, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"use_sliding_window\": false, \"vocab_size\": 96}",
     {
         {"model.embed_tokens.weight", {96, 64}}, {"model.layers.0.input_layernorm.weight", {64}},
         {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.bias", {32}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.bias", {64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.bias", {32}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.bias", {32}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.bias", {64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.bias", {32}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37, 37},
     {-5.998368, -11.321533, -2.790763, -5.802484, -5.490858, -9.780213, -9.332490, -8.889787, -5.574265,
     -11.421520, -9.070611, -12.023083, -7.481715, -8.060229, -6.742406, -3.593811, -6.837131, -4.880216,
     -6.839584, -8.462480, -7.549220, -7.260201, -5.453436, -6.966921, -10.140681, -11.952395, -4.852561,
     -6.469722, -9.608194, -9.637076, -4.993659, -8.218210, -3.926868, -10.534478, -5.138088, -7.957166,
     -12.875619, -5.883866, -8.125043, -1.991259, -5.408806, -5.240353, -2.430700, -4.929000, -11.322333,
     -8.016211, -6.602701, -5.684871, -8.103417, -0.964509, -0.435970, -0.419904, -0.289933, -0.203908,
     -0.151768, -0.200896, -0.383710, -0.570199, -0.301564, -0.203064, -0.137505, -0.103975, -0.188821,
     -0.391654, -0.495760, -0.303037, -0.175590, -0.149447, -0.355224}},
    {"qwen2_with_the_scaling_yarn",
     "{\"architectures\": [\"Qwen2ForCausalLM\"], \"attention_dropout\": 0.0, \"bos_token_id\": null, "
     "\"dtype\": \"float32\", \"eos_token_id\": null, \"hidden_act\": \"silu\", \"hidden_size\": 64, "
     "\"initializer_range\": 0.02, \"intermediate_size\": 96, \"layer_types\": [\"full_attention\", "
     "\"full_attention\"], \"max_position_embeddings\": 128, \"max_window_layers\": 28, "
     "\"model_type\": \"qwen2\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "
     "\"num_key_value_heads\": 2, \"pad_token_id\": null, \"rms_norm_eps\": 1e-06, "
     "\"rope_parameters\": {\"factor\": 4.0, \"original_max_position_embeddings\": 32, "
     "\"rope_theta\": 10000.0, \"rope_type\": \"yarn\"}, \"sliding_window\": null, "
     "\"tie_word_embeddings\": false, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"use_sliding_window\": false, \"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_proj.bias", {32}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.q_proj.bias", {64}},
         {"model.layers.0.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.0.self_attn.v_proj.bias", {32}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_proj.bias", {32}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.q_proj.bias", {64}},
         {"model.layers.1.self_attn.q_proj.weight", {64, 64}},
         {"model.layers.1.self_attn.v_proj.bias", {32}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {39, 27, 94, 66, 25, 10, 1, 55, 27, 59, 25, 3, 66, 7, 77, 11, 83, 15, 66, 83},
     {-9.392405, -6.438318, -7.443889, -2.510929, -12.782633, -7.761932, -5.918300, -14.173811, -5.500280,
     -6.026764, -7.746616, -5.357920, -5.366105, -4.943575, -9.276007, -8.824913, -6.143799, -3.515706,
     -7.692234, -9.326297, -9.860310, -3.869156, -5.633390, -6.175934, -6.242457, -6.898326, -5.719718,
     -3.854662, -6.894818, -8.186878, -8.975938, -4.317178, -7.093535, -8.861299, -8.973735, -9.291389,
     -5.150998, -9.969993, -10.300169, -8.329937, -5.617335, -8.683052, -5.579111, -5.670373, -7.342084,
     -7.823793, -10.056460, -8.688566, -7.924766, -0.618474, -0.956527, -1.797171, -0.695178, -2.061893,
     -0.597557, -0.990331, -0.930389, -1.704921, -2.185489, -1.446499, -1.121448, -2.106414, -1.068755,
     -0.646983, -1.312103, -1.705876, -0.942233, -1.697545, -0.890052}},
    {"qwen3",
     "{\"architectures\": [\"Qwen3ForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 40, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"layer_types\": [\"full_attention\", \"full_attention\"], "
     "\"max_position_embeddings\": 128, \"max_window_layers\": 28, \"model_type\": \"qwen3\", "
     "\"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_key_value_heads\": 2, "
     "\"pad_token_id\": null, \"rms_norm_eps\": 1e-06, \"rope_parameters\": {\"rope_theta\": 10000.0, "
     "\"rope_type\": \"default\"}, \"sliding_window\": null, \"tie_word_embeddings\": true, "
     "\"transformers_version\": \"5.24.0\", \"use_cache\": true, \"use_sliding_window\": false, "
     "\"vocab_size\": 96}",
     {
         {"model.embed_tokens.weight", {96, 64}}, {"model.layers.0.input_layernorm.weight", {64}},
         {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_norm.weight", {40}},
         {"model.layers.0.self_attn.k_proj.weight", {80, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 160}},
         {"model.layers.0.self_attn.q_norm.weight", {40}},
         {"model.layers.0.self_attn.q_proj.weight", {160, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {80, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_norm.weight", {40}},
         {"model.layers.1.self_attn.k_proj.weight", {80, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 160}},
         {"model.layers.1.self_attn.q_norm.weight", {40}},
         {"model.layers.1.self_attn.q_proj.weight", {160, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {80, 64}}, {"model.norm.weight", {64}}
     },
     {34, 72, 37, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32, 32},
     {-7.786955, -9.525866, -4.896778, -11.994547, -7.678599, -2.200433, -6.313517, -8.429199, -3.959656,
     -3.302134, -6.927575, -8.750799, -3.303679, -9.220578, -8.006894, -13.694240, -6.294847, -3.313036,
     -5.945728, -3.149494, -5.302855, -9.073525, -3.817437, -3.053709, -7.879386, -4.231608, -9.619997,
     -7.786870, -7.185878, -6.461294, -6.899303, -7.260738, -8.283386, -3.697619, -6.402760, -9.608769,
     -12.137371, -9.711148, -3.469980, -6.761833, -5.463006, -5.877029, -8.277109, -1.831203, -9.978597,
     -7.866510, -6.647528, -6.885543, -8.782939, -1.858319, -1.506922, -1.030616, -1.089524, -1.093223,
     -1.125012, -1.085615, -1.057906, -1.146001, -1.149033, -1.107292, -1.035064, -0.880160, -0.743223,
     -0.918325, -1.372789, -1.412783, -1.028838, -0.802407, -0.777087}},
    {"qwen3_with_one_head_of_keys",
     "{\"architectures\": [\"Qwen3ForCausalLM\"], \"attention_bias\": false, \"attention_dropout\": 0.0, "
     "\"bos_token_id\": null, \"dtype\": \"float32\", \"eos_token_id\": null, \"head_dim\": 32, "
     "\"hidden_act\": \"silu\", \"hidden_size\": 64, \"initializer_range\": 0.02, "
     "\"intermediate_size\": 96, \"layer_types\": [\"full_attention\", \"full_attention\"], "
     "\"max_position_embeddings\": 128, \"max_window_layers\": 28, \"model_type\": \"qwen3\", "
     "\"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_key_value_heads\": 1, "
     "\"pad_token_id\": null, \"rms_norm_eps\": 1e-06, \"rope_parameters\": {\"rope_theta\": 10000.0, "
     "\"rope_type\": \"default\"}, \"sliding_window\": null, \"tie_word_embeddings\": false, "
     "\"transformers_version\": \"5.24.0\", \"use_cache\": true, \"use_sliding_window\": false, "
     "\"vocab_size\": 96}",
     {
         {"lm_head.weight", {96, 64}}, {"model.embed_tokens.weight", {96, 64}},
         {"model.layers.0.input_layernorm.weight", {64}}, {"model.layers.0.mlp.down_proj.weight", {64, 96}},
         {"model.layers.0.mlp.gate_proj.weight", {96, 64}}, {"model.layers.0.mlp.up_proj.weight", {96, 64}},
         {"model.layers.0.post_attention_layernorm.weight", {64}},
         {"model.layers.0.self_attn.k_norm.weight", {32}},
         {"model.layers.0.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.0.self_attn.o_proj.weight", {64, 128}},
         {"model.layers.0.self_attn.q_norm.weight", {32}},
         {"model.layers.0.self_attn.q_proj.weight", {128, 64}},
         {"model.layers.0.self_attn.v_proj.weight", {32, 64}},
         {"model.layers.1.input_layernorm.weight", {64}}, {"model.layers.1.mlp.down_proj.weight", {64, 96}},
         {"model.layers.1.mlp.gate_proj.weight", {96, 64}}, {"model.layers.1.mlp.up_proj.weight", {96, 64}},
         {"model.layers.1.post_attention_layernorm.weight", {64}},
         {"model.layers.1.self_attn.k_norm.weight", {32}},
         {"model.layers.1.self_attn.k_proj.weight", {32, 64}},
         {"model.layers.1.self_attn.o_proj.weight", {64, 128}},
         {"model.layers.1.self_attn.q_norm.weight", {32}},
         {"model.layers.1.self_attn.q_proj.weight", {128, 64}},
         {"model.layers.1.self_attn.v_proj.weight", {32, 64}}, {"model.norm.weight", {64}}
     },
     {79, 38, 3, 74, 30, 80, 63, 70, 83, 3, 83, 65, 79, 38, 92, 39, 3, 92, 39, 61},
     {-4.002333, -7.984373, -7.733136, -7.805804, -8.307757, -1.676255, -4.138250, -7.489066, -8.793608,
     -8.981167, -9.521783, -4.868726, -10.195847, -8.804987, -4.246856, -10.011146, -6.815037, -9.038369,
     -11.729674, -7.896798, -7.639610, -7.223498, -4.170036, -5.731916, -4.749812, -9.689182, -9.543415,
     -6.619399, -8.226440, -7.044575, -9.890926, -3.645427, -1.399690, -6.463270, -4.224267, -7.309416,
     -3.881939, -7.368389, -5.046439, -6.950608, -8.589041, -7.308686, -10.605694, -5.320812, -6.435604,
     -10.501739, -6.936922, -8.482005, -8.917828, -1.598172, -1.115342, -1.180294, -1.263593, -0.986774,
     -1.709640, -1.788095, -1.734394, -1.207724, -1.081606, -1.692171, -1.887225, -1.781719, -0.690132,
     -0.908238, -0.378810, -1.182377, -1.079300, -0.962731, -2.082959}},
    {"gpt2",
     "{\"activation_function\": \"gelu_new\", \"add_cross_attention\": false, "
     "\"architectures\": [\"GPT2LMHeadModel\"], \"attn_pdrop\": 0.1, \"bos_token_id\": null, "
     "\"dtype\": \"float32\", \"embd_pdrop\": 0.1, \"eos_token_id\": null, \"initializer_range\": 0.02, "
     "\"layer_norm_epsilon\": 1e-05, \"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, "
     "\"n_inner\": null, \"n_layer\": 2, \"n_positions\": 128, \"pad_token_id\": null, "
     "\"reorder_and_upcast_attn\": false, \"resid_pdrop\": 0.1, \"scale_attn_by_inverse_layer_idx\": false, "
     "\"scale_attn_weights\": true, \"summary_activation\": null, \"summary_first_dropout\": 0.1, "
     "\"summary_proj_to_labels\": true, \"summary_type\": \"cls_index\", \"summary_use_proj\": true, "
     "\"tie_word_embeddings\": true, \"transformers_version\": \"5.24.0\", \"use_cache\": true, "
     "\"vocab_size\": 96}",
     {
         {"transformer.h.0.attn.c_attn.bias", {192}}, {"transformer.h.0.attn.c_attn.weight", {64, 192}},
         {"transformer.h.0.attn.c_proj.bias", {64}}, {"transformer.h.0.attn.c_proj.weight", {64, 64}},
         {"transformer.h.0.ln_1.bias", {64}}, {"transformer.h.0.ln_1.weight", {64}},
         {"transformer.h.0.ln_2.bias", {64}}, {"transformer.h.0.ln_2.weight", {64}},
         {"transformer.h.0.mlp.c_fc.bias", {256}}, {"transformer.h.0.mlp.c_fc.weight", {64, 256}},
         {"transformer.h.0.mlp.c_proj.bias", {64}}, {"transformer.h.0.mlp.c_proj.weight", {256, 64}},
         {"transformer.h.1.attn.c_attn.bias", {192}}, {"transformer.h.1.attn.c_attn.weight", {64, 192}},
         {"transformer.h.1.attn.c_proj.bias", {64}}, {"transformer.h.1.attn.c_proj.weight", {64, 64}},
         {"transformer.h.1.ln_1.bias", {64}}, {"transformer.h.1.ln_1.weight", {64}},
         {"transformer.h.1.ln_2.bias", {64}}, {"transformer.h.1.ln_2.weight", {64}},
         {"transformer.h.1.mlp.c_fc.bias", {256}}, {"transformer.h.1.mlp.c_fc.weight", {64, 256}},
         {"transformer.h.1.mlp.c_proj.bias", {64}}, {"transformer.h.1.mlp.c_proj.weight", {256, 64}},
         {"transformer.ln_f.bias", {64}}, {"transformer.ln_f.weight", {64}},
         {"transformer.wpe.weight", {128, 64}}, {"transformer.wte.weight", {96, 64}}
     },
     {81, 80, 38, 38, 38, 38, 38, 38, 38, 38, 38, 65, 65, 65, 65, 65, 65, 65, 65, 65},
     {-6.647628, -4.101190, -4.545789, -11.100147, -7.635220, -11.055268, -6.218843, -6.825412, -5.616327,
     -6.753382, -8.256444, -6.156651, -6.678800, -5.754411, -10.335742, -7.983598, -7.914109, -8.860247,
     -6.033807, -8.370324, -10.062678, -12.416279, -3.911338, -5.711733, -1.631367, -6.366814, -6.091960,
     -5.772640, -10.021312, -6.518441, -7.046011, -9.059635, -6.775447, -5.811636, -1.004160, -5.522076,
     -7.033882, -6.783583, -3.859226, -8.356168, -2.386916, -14.086058, -10.315244, -3.364263, -10.763974,
     -8.401715, -12.113920, -12.058426, -8.767955, -1.876422, -1.218656, -1.245110, -0.419929, -0.179472,
     -1.331595, -0.236793, -0.695267, -1.534731, -0.182202, -0.725321, -1.316725, -0.986989, -0.289181,
     -1.033464, -0.440906, -1.017399, -0.669159, -0.652664, -0.411252}},
};
/* clang-format on */
