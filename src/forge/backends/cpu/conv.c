/* backends/cpu/conv.c - see conv.h. */
#include "forge/backends/cpu/conv.h"

#include <string.h>
#include "forge/backends/cpu/kernel.h"

enum { X = CONV_AXES - 1 };

_Static_assert(GEMM_SCRATCH_BYTES + CONV_READS * sizeof(struct conv_read) + CONV_PANEL * sizeof(float) <=
                   KERNEL_SCRATCH_BYTES,
               "a panel and its reads fit into the scratch memory");

static size_t min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool takes(const struct launch *launch, forge_dtype dtype, forge_dtype accumulate)
{
    const struct conv_attributes *attributes = launch->attributes;
    return launch->inputs[0].dtype == dtype && launch->inputs[1].dtype == dtype &&
           launch->outputs[0].dtype == dtype && attributes->accumulate == accumulate;
}

bool conv_takes_f32(const struct launch *launch)
{
    return takes(launch, FORGE_F32, FORGE_F32);
}

bool conv_takes_f64(const struct launch *launch)
{
    return takes(launch, FORGE_F64, FORGE_F64);
}

bool conv_takes_bf16(const struct launch *launch)
{
    return takes(launch, FORGE_BF16, FORGE_F32);
}

bool conv_takes_f16(const struct launch *launch)
{
    return takes(launch, FORGE_F16, FORGE_F32);
}

/* --- input offsets -------------------------------------------------------------------------------------- */

struct conv_depth conv_depth_of(const struct conv *c, size_t k)
{
    struct conv_depth depth;
    int64_t rest = (int64_t)k;
    for (int i = X; i >= 0; i--) {
        depth.tap[i] = rest % c->axes[i].taps;
        rest /= c->axes[i].taps;
    }
    depth.channel = rest;
    return depth;
}

void conv_depth_add(const struct conv *c, struct conv_depth *depth, int64_t count)
{
    depth->tap[X] += count;
    if (depth->tap[X] < c->axes[X].taps)
        return;
    depth->tap[X] = 0;
    for (int i = X - 1; i >= 0; i--) {
        if (++depth->tap[i] < c->axes[i].taps)
            return;
        depth->tap[i] = 0;
    }
    depth->channel++;
}

int64_t conv_weights_at(const struct conv_images *images, size_t k, size_t k_count, size_t *out_count)
{
    const struct conv *c = images->conv;
    struct conv_depth depth = conv_depth_of(c, k);
    *out_count = min(k_count, images->weight_run - k % images->weight_run);
    return depth.channel * images->weight_channel + depth.tap[0] * c->w[0] + depth.tap[1] * c->w[1] +
           depth.tap[2] * c->w[2];
}

/* A position in the output, and the index of its image. */
struct place {
    int64_t image, at[CONV_AXES];
};

static struct place place_of(const struct conv *c, size_t line)
{
    struct place place;
    int64_t rest = (int64_t)line;
    for (int i = X; i >= 0; i--) {
        place.at[i] = rest % c->out[i];
        rest /= c->out[i];
    }
    place.image = rest;
    return place;
}

/* Advances by `count` positions, at most to the start of the next line of the output. */
static void place_add(const struct conv *c, struct place *place, int64_t count)
{
    place->at[X] += count;
    if (place->at[X] < c->out[X])
        return;
    place->at[X] = 0;
    for (int i = X - 1; i >= 0; i--) {
        if (++place->at[i] < c->out[i])
            return;
        place->at[i] = 0;
    }
    place->image++;
}

/* Computes the offset of the line of x that a tap of an output position reads. Returns false if this line is
 * padding. */
static bool find_line(const struct conv *c, const struct place *place, const struct conv_depth *depth,
                      int64_t *out_from)
{
    int64_t z = slide_input(&c->axes[0], place->at[0], depth->tap[0]),
            y = slide_input(&c->axes[1], place->at[1], depth->tap[1]);
    *out_from = place->image * c->x_batch + z * c->x[0] + y * c->x[1];
    return z >= 0 && y >= 0;
}

/* Returns the read that one tap needs for `count` neighbouring output positions, from position `place` on.
 * The read stays in one line of x. line: offset of this line. bit: vector lane of the first position. */
static struct conv_read read_line(const struct conv *c, int64_t line, int64_t place, int64_t tap, size_t bit,
                                  size_t count, bool is_plain)
{
    const struct slide *slide = &c->axes[X];
    struct conv_read read = {line, 0};
    int64_t at = slide->is_transposed ? place + slide->before - tap * slide->dilation
                                      : place * slide->stride - slide->before + tap * slide->dilation;
    read.which = conv_which(at, slide->stride, slide->in, count) << bit;
    if (is_plain)
        at -= (int64_t)bit;
    else if (read.which)
        at += (__builtin_ctz(read.which) - (int64_t)bit) * slide->stride;
    read.from += at * c->x[X];
    return read;
}

/* Neighbouring output positions that are in the same line of the output and in the same vector of a panel. */
struct stretch {
    struct place place;
    size_t bit;   /* vector lane of the first position */
    size_t count; /* number of positions */
    size_t index; /* index of the reads within a group */
};

/* Sets the reads of a stretch in all groups of a panel; there is one group for each k. depth: channel and tap
 * of the first group. */
static void read_stretch(const struct conv *c, const struct stretch *stretch, struct conv_depth depth,
                         const struct conv_panel *panel, struct conv_read *reads)
{
    size_t reads_of_group = panel->vectors * panel->each;
    int64_t line = 0;
    bool is_there = false;
    reads += stretch->index;
    for (size_t i = 0; i < panel->groups; i++, reads += reads_of_group, conv_depth_add(c, &depth, 1)) {
        if (i == 0 || depth.tap[X] == 0)
            is_there = find_line(c, &stretch->place, &depth, &line);
        if (!is_there)
            continue;
        *reads = read_line(c, line, stretch->place.at[X], depth.tap[X], stretch->bit, stretch->count,
                           panel->is_plain);
        reads->from += depth.channel * c->x_channel;
    }
}

/* Divides columns `line` to line + lines - 1 into stretches, and returns the number of stretches. *out_each:
 * maximum number of stretches in one vector. */
static size_t find_stretches(const struct conv *c, size_t line, size_t lines, size_t lanes,
                             struct stretch *stretches, size_t *out_each)
{
    struct place place = place_of(c, line);
    size_t count = 0, each = 0;
    *out_each = 0;
    for (size_t at = 0, some; at < lines; at += some, count++) {
        size_t bit = at % lanes, to_end = (size_t)(c->out[X] - place.at[X]);
        some = min(min(to_end, lines - at), lanes - bit);
        each = bit ? each + 1 : 1;
        *out_each = each > *out_each ? each : *out_each;
        stretches[count] = (struct stretch){place, bit, some, each - 1};
        place_add(c, &place, (int64_t)some);
    }
    for (size_t s = 0, vector = 0; s < count; s++) {
        vector += s && stretches[s].bit == 0;
        stretches[s].index += vector * *out_each;
    }
    return count;
}

struct conv_panel conv_panel_of(const struct conv_images *images, size_t line, size_t lines, size_t k,
                                size_t k_count, size_t width, size_t lanes)
{
    const struct conv *c = images->conv;
    const struct slide *slide = &c->axes[X];
    size_t taps = (size_t)(c->axes[0].taps * c->axes[1].taps * slide->taps);
    struct stretch stretches[GEMM_TILE_COLUMNS];
    struct conv_panel panel = {.vectors = width / lanes,
                               .groups = min(taps, k_count),
                               .reads = images->reads,
                               .is_plain = slide->stride == 1 && c->x[X] == 1,
                               .step = c->x[X] * slide->stride};
    size_t count = find_stretches(c, line, lines, lanes, stretches, &panel.each);
    struct conv_depth depth = conv_depth_of(c, k);
    memset(images->reads, 0, panel.groups * panel.vectors * panel.each * sizeof *images->reads);
    for (size_t s = 0; s < count; s++)
        read_stretch(c, &stretches[s], depth, &panel, images->reads);
    return panel;
}

void conv_columns_of(const struct conv *c, size_t line, size_t lines, struct conv_columns *out)
{
    struct place place = place_of(c, line);
    *out = (struct conv_columns){.count = lines, .are_inside = true};
    for (size_t l = 0; l < lines; l++, place_add(c, &place, 1)) {
        out->from[l] = place.image * c->x_batch;
        for (int i = 0; i < CONV_AXES; i++) {
            const struct slide *slide = &c->axes[i];
            int64_t first = place.at[i] * slide->stride - slide->before;
            out->first[i][l] = first;
            out->from[l] += first * c->x[i];
            out->are_inside &= first >= 0 && first + (slide->taps - 1) * slide->dilation < slide->in;
        }
    }
}

/* --- products ------------------------------------------------------------------------------------------- */

static size_t places_of(const struct conv *c)
{
    return (size_t)(c->out[0] * c->out[1] * c->out[2]);
}

static size_t depth_size(const struct conv *c)
{
    return (size_t)(c->in_channels * c->axes[0].taps * c->axes[1].taps * c->axes[2].taps);
}

/* Returns the division of the product into pieces. Each piece computes a part of every phase, so the division
 * uses the size of the first phase, which is the largest. The depth of the division is the depth of the whole
 * convolution, because all phases together read each weight once. */
static struct gemm_cut cut_of(const struct launch *launch, const struct conv *c)
{
    struct conv_phase first = conv_phase_of(c, 0);
    size_t columns = (size_t)launch->outputs[0].shape.dims[0] * places_of(&first.conv);
    return gemm_cut((size_t)c->out_channels, columns, depth_size(c));
}

size_t conv_pieces(const struct launch *launch, size_t *out_grain)
{
    struct conv c = conv_of(launch);
    struct gemm_cut cut = cut_of(launch, &c);
    size_t groups = c.out_channels ? (size_t)(c.channels / c.out_channels) : 0;
    *out_grain = gemm_grain(&cut, depth_size(&c));
    return groups * cut.row_pieces * cut.column_pieces;
}

bool conv_is_one_product(const struct launch *launch)
{
    struct conv c = conv_of(launch);
    return conv_phases(&c) == 1;
}

static struct conv_images images_of(const struct launch *launch, const struct conv_phase *phase,
                                    int64_t group, int64_t element_bytes)
{
    const struct conv *c = &phase->conv;
    const char *x = launch->inputs[0].data, *weight = launch->inputs[1].data;
    /* Size of the first dimension of one group's weights. */
    int64_t channels = c->is_transposed ? c->in_channels : c->out_channels;
    struct conv_images images = {.conv = c,
                                 .phase = phase,
                                 .x = x + group * c->in_channels * c->x_channel * element_bytes,
                                 .weight =
                                     weight + (group * channels * c->w_first + phase->weight) * element_bytes,
                                 .weight_row = c->w_first,
                                 .weight_channel = c->w_second};
    if (c->is_transposed) {
        images.weight_row = c->w_second;
        images.weight_channel = c->w_first;
    }
    return images;
}

/* Sets weight_run and weight_step. A run begins as the taps of one line. It is extended to all lines of the
 * kernel and then to all input channels, as long as the distance between consecutive weights is constant. */
static void find_run_of_weights(struct conv_images *images)
{
    const struct conv *c = images->conv;
    const int64_t sizes[] = {c->axes[2].taps, c->axes[1].taps, c->axes[0].taps, c->in_channels},
                  steps[] = {c->w[2], c->w[1], c->w[0], images->weight_channel};
    int64_t run = 1, step = 1;
    for (size_t i = 0; i < 4; i++) {
        if (sizes[i] == 1)
            continue;
        if (run > 1 && steps[i] != run * step)
            break;
        step = run > 1 ? step : steps[i];
        run *= sizes[i];
    }
    images->weight_run = (size_t)run;
    images->weight_step = step;
}

static void find_columns(const struct gemm_side *side, size_t column, size_t count, int64_t *out_offsets)
{
    const struct conv_images *images = side->data;
    const struct conv_phase *phase = images->phase;
    struct place place = place_of(images->conv, column);
    for (size_t i = 0; i < count; i++, place_add(images->conv, &place, 1)) {
        out_offsets[i] = phase->from + place.image * phase->conv.channels * phase->next_channel;
        for (int axis = 0; axis < CONV_AXES; axis++)
            out_offsets[i] += place.at[axis] * phase->steps[axis];
    }
}

/* The arguments of run_phase: a piece of the product of one group. */
struct part {
    const struct conv_code *code;
    const struct launch *launch;
    const struct gemm_cut *cut;
    size_t group, piece;
    size_t wanted; /* number of pieces, from this piece on, that the thread must compute */
    const struct gemm_finish *finish;
    void *scratch;
};

/* Computes one phase of a piece. Returns the number of computed pieces, which is the same for each phase.
 * is_apart: the outputs of a phase are not contiguous. */
static size_t run_phase(const struct part *part, const struct conv_phase *phase, bool is_apart)
{
    const struct conv *c = &phase->conv;
    const struct view *out = &part->launch->outputs[0];
    const struct gemm_elements *elements = part->code->elements;
    size_t bytes = elements->bytes, step = elements->depth_step ? elements->depth_step : 1;
    size_t c_bytes = gemm_c_bytes(part->finish, elements->narrow, bytes);
    size_t places = places_of(c), rows = (size_t)c->out_channels;
    bool is_wide = !c->is_transposed && c->axes[X].taps > c->out[X];
    struct conv_images images = images_of(part->launch, phase, (int64_t)part->group, (int64_t)bytes);
    images.reads = (void *)((char *)part->scratch + GEMM_SCRATCH_BYTES);
    images.panel = (void *)(images.reads + CONV_READS);
    find_run_of_weights(&images);
    struct gemm gemm = {.rows = rows,
                        .columns = (size_t)out->shape.dims[0] * places,
                        .depth = (phase->depth + step - 1) / step,
                        .a = {.data = &images, .pack = part->code->weights, .depth = phase->depth},
                        .b = {.data = &images,
                              .pack = is_wide ? part->code->wide_places : part->code->places,
                              .depth = phase->depth},
                        .c = (char *)out->data + part->group * rows * (size_t)phase->next_channel * c_bytes,
                        .next_row = phase->next_channel,
                        .run = places,
                        .next_run = phase->next_channel * c->channels,
                        .find_columns = is_apart ? find_columns : NULL,
                        .narrow = elements->narrow,
                        .finish = part->finish};
    return gemm_run_piece(elements->code, &gemm, part->cut, part->piece, part->wanted, part->scratch);
}

void conv_run(const struct conv_code *code, const struct launch *launch, size_t first, size_t end,
              const struct gemm_finish *finish, void *scratch)
{
    struct conv c = conv_of(launch);
    struct gemm_cut cut = cut_of(launch, &c);
    size_t pieces = cut.row_pieces * cut.column_pieces, phases = conv_phases(&c);
    for (size_t i = first, done = 0; i < end; i += done) {
        struct part part = {code, launch, &cut, i / pieces, i % pieces, end - i, finish, scratch};
        for (size_t k = 0; k < phases; k++) {
            struct conv_phase phase = conv_phase_of(&c, k);
            done = run_phase(&part, &phase, phases > 1);
        }
    }
}
