/* backends/cpu/direct.c - see direct.h. */
#include "forge/backends/cpu/direct.h"

#include <string.h>
#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"

enum {
    BAND_BYTES = 512 << 10, /* bytes of x that a piece reads, if the rows are not larger */
    RUN = 112,              /* pixels in a row of a convolution that has no rows of its own */
    MIN_PIECES = 8,         /* with fewer pieces, panels are divided among pieces */
};
#define MIN_THREAD_WORK 4e6       /* minimum work per thread, in FLOP */
#define PACK_GRAIN      (1 << 16) /* minimum number of weights that a thread packs */

_Static_assert(DIRECT_COPY_BYTES + 2 * DIRECT_SPARE_BYTES <= KERNEL_SCRATCH_BYTES,
               "the scratch memory holds both");

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* --- sizes ---------------------------------------------------------------------------------------------- */

/* A transposed convolution of stride 1 is a convolution with other padding, whose weight has its channels
 * exchanged and its taps reversed. */
static void transpose(const struct launch *launch, struct direct *d)
{
    const forge_dim *weight = launch->inputs[d->weight_input].shape.dims;
    d->is_flipped = true;
    d->in = d->groups ? weight[0] / d->groups : 0;
    d->out = weight[1];
    d->weight_in = d->weight_out;
    d->weight_out = d->taps[0] * d->taps[1];
    for (int i = 0; i < 2; i++)
        d->before[i] = (d->taps[i] - 1) * d->dilation[i] - d->before[i];
}

static void set_sizes(const struct launch *launch, const struct conv_attributes *conv, struct direct *d)
{
    const forge_dim *x = launch->inputs[d->x_input].shape.dims,
                    *weight = launch->inputs[d->weight_input].shape.dims,
                    *out = launch->outputs[0].shape.dims;
    int x_row = d->from == LAYOUT_LAST ? 1 : 2, row = d->to == LAYOUT_LAST ? 1 : 2;
    d->images = x[0];
    d->groups = conv->groups;
    d->in = weight[1];
    d->out = d->groups ? weight[0] / d->groups : 0;
    d->is_flipped = false;
    d->x_rows = x[x_row];
    d->x_columns = x[x_row + 1];
    d->rows = out[row];
    d->columns = out[row + 1];
    for (int i = 0; i < 2; i++) {
        d->taps[i] = weight[2 + i];
        d->stride[i] = conv->stride[i];
        d->dilation[i] = conv->dilation[i];
        d->before[i] = conv->before[i];
    }
    d->places = d->rows * d->columns;
    d->weight_in = d->taps[0] * d->taps[1];
    d->weight_out = d->in * d->weight_in;
    if (conv->flags & CONV_TRANSPOSED)
        transpose(launch, d);
    d->in_blocks = layout_blocks(d->in);
    d->lanes = d->to == LAYOUT_PACKED ? d->out : layout_blocks(d->out) * LAYOUT_LANES;
}

/* Sets the distances in x or in its copy. */
static void set_distances(struct direct *d)
{
    int64_t size = d->x_rows * d->x_columns;
    bool is_inside = d->before[0] == 0 && d->before[1] == 0 &&
                     d->rows - 1 + (d->taps[0] - 1) * d->dilation[0] < d->x_rows &&
                     d->columns - 1 + (d->taps[1] - 1) * d->dilation[1] < d->x_columns;
    d->next_pixel = d->from == LAYOUT_PACKED ? 1 : LAYOUT_LANES;
    d->is_copied = d->from == LAYOUT_LAST || d->stride[0] != 1 || d->stride[1] != 1 || !is_inside;
    d->phases = d->taps[1] == 1 ? 1 : d->stride[1];
    d->copy_phase = (d->columns + (d->taps[1] - 1) * d->dilation[1] / d->stride[1]) * d->next_pixel;
    d->copy_row = d->is_copied ? d->copy_phase * d->phases : d->x_columns * d->next_pixel;
    d->next_row = d->copy_row * (d->taps[0] == 1 ? 1 : d->stride[0]);
    for (int64_t t = 0; t < d->taps[0] * d->taps[1]; t++) {
        int64_t y = t / d->taps[1] * d->dilation[0], x = t % d->taps[1] * d->dilation[1];
        d->offsets[t] = y * d->copy_row;
        d->offsets[t] += d->is_copied ? x % d->stride[1] * d->copy_phase + x / d->stride[1] * d->next_pixel
                                      : x * d->next_pixel;
    }
    d->next_channel =
        d->from == LAYOUT_PACKED ? size : 1; /* for a copy, direct_run sets this and next_block */
    d->next_block = size * LAYOUT_LANES;
    bool has_all_pixels = d->rows == d->x_rows && d->columns == d->x_columns;
    if (!d->is_copied && has_all_pixels && d->taps[0] * d->taps[1] == 1) { /* all rows are one */
        d->columns = min(d->places, RUN);
        d->rows = quotient_up(d->places, d->columns);
        d->next_row = d->columns * d->next_pixel;
    }
}

static void set_result(const struct launch *launch, struct direct *d)
{
    d->result_image = d->places * direct_lanes(&launch->outputs[0], d->to);
    if (d->to == LAYOUT_PACKED) {
        d->result_pixel = 1;
        d->result_channel = d->places;
        d->result_block = d->places * LAYOUT_LANES;
        return;
    }
    d->result_pixel = d->to == LAYOUT_BLOCKS ? LAYOUT_LANES : launch->outputs[0].shape.dims[3];
    d->result_channel = 1;
    d->result_block = d->to == LAYOUT_BLOCKS ? d->places * LAYOUT_LANES : LAYOUT_LANES;
}

/* Returns the bytes of x that `rows` rows of the result read. */
static int64_t band_bytes(const struct direct *d, int64_t rows)
{
    int64_t planes = d->in_blocks * (d->next_pixel == 1 ? LAYOUT_LANES : 1);
    int64_t row = d->is_copied || d->taps[0] * d->taps[1] > 1 ? d->copy_row : d->next_row;
    return planes * direct_copy_rows(d, rows) * row * (int64_t)sizeof(float);
}

/* Returns true unless the convolution is transposed and has a stride, which needs several convolutions. */
static bool is_one_convolution(const struct conv_attributes *conv)
{
    return !(conv->flags & CONV_TRANSPOSED) || (conv->stride[0] == 1 && conv->stride[1] == 1);
}

static bool is_f32_packed(const struct view *view)
{
    return view->dtype == FORGE_F32 && view_is_packed(view) && forge_shape_elements(&view->shape) > 0;
}

/* Returns true if the kernel supports the types and the shapes of the operands. */
static bool takes_operands(const struct launch *launch, const struct conv_attributes *conv,
                           const struct direct *d)
{
    const struct view *x = &launch->inputs[d->x_input], *weight = &launch->inputs[d->weight_input];
    const forge_dim *taps = weight->shape.dims + 2;
    return is_f32_packed(x) && is_f32_packed(weight) && launch->outputs[0].dtype == FORGE_F32 &&
           weight->shape.rank == 4 && x->shape.rank == (d->from == LAYOUT_BLOCKS ? 5 : 4) &&
           taps[0] <= DIRECT_TAPS && taps[1] <= DIRECT_TAPS && taps[0] * taps[1] <= DIRECT_TAPS &&
           is_one_convolution(conv);
}

/* Returns true if there is memory for the copied rows. */
static bool fits(const struct direct *d)
{
    return !d->is_copied || band_bytes(d, 1) <= DIRECT_COPY_BYTES;
}

bool direct_takes(const struct launch *launch)
{
    struct direct d;
    struct fused fused;
    if (!direct_read(launch, &fused, &d) || !takes_operands(launch, &fused.conv, &d) ||
        fused.conv.groups == 0)
        return false;
    set_sizes(launch, &fused.conv, &d);
    if ((d.groups > 1 || d.to == LAYOUT_LAST) && d.out % LAYOUT_LANES)
        return false;
    if (d.groups > 1 && d.in % LAYOUT_LANES)
        return false;
    set_distances(&d);
    return fits(&d);
}

/* Returns true if this way is faster than a product of packed windows (conv.h): the tiles are nearly full,
 * and the sums are long enough that it does not matter that they are transposed at the end. */
static bool is_worth(const struct direct *d)
{
    enum { MIN_DEPTH = 128, MIN_PIXELS = 7, PANEL = 32 };
    return d->in * d->taps[0] * d->taps[1] >= MIN_DEPTH && d->columns >= MIN_PIXELS &&
           5 * d->out >= 4 * quotient_up(d->out, PANEL) * PANEL;
}

/* Returns true if the kernel supports a convolution of packed images, and is faster than others. */
static bool takes_packed(const struct launch *launch, const struct conv_attributes *conv, struct direct *d)
{
    d->from = d->to = LAYOUT_PACKED;
    if (conv->groups != 1 || !takes_operands(launch, conv, d))
        return false;
    set_sizes(launch, conv, d);
    if (d->before[0] < 0 || d->before[1] < 0)
        return false;
    set_distances(d);
    return is_worth(d) && fits(d);
}

bool direct_takes_conv(const struct launch *launch)
{
    const struct conv_attributes *conv = launch->attributes;
    struct direct d = {.weight_input = 1};
    return conv->accumulate == FORGE_F32 && takes_packed(launch, conv, &d);
}

bool direct_takes_fused(const struct launch *launch)
{
    struct direct d = {0};
    struct fused fused;
    return direct_read(launch, &fused, &d) && takes_packed(launch, &fused.conv, &d) &&
           d.out % LAYOUT_LANES == 0; /* operands are read in whole vectors of channels */
}

void direct_of(const struct launch *launch, struct direct *out)
{
    struct fused fused = {0};
    memset(out, 0, sizeof *out);
    out->weight_input = 1;
    if (launch->op == OP_CONV)
        fused.conv = *(const struct conv_attributes *)launch->attributes;
    else if (!direct_read(launch, &fused, out))
        return;
    set_sizes(launch, &fused.conv, out);
    set_distances(out);
    set_result(launch, out);
}

/* --- pieces --------------------------------------------------------------------------------------------- */

/* The division of a launch into pieces: bands of rows of each image, and parts of the panels. The panels of a
 * band are neighbouring pieces, so that a thread copies the band once. */
struct direct_cut {
    int64_t band;               /* rows of the result in a band */
    size_t bands;               /* of all images */
    size_t panels, parts, part; /* panels of all groups, parts of them, panels in a part */
    size_t panels_of_group;
};

static struct direct_cut cut_of(const struct direct_code *code, const struct direct *d)
{
    struct direct_cut cut = {.band = d->rows};
    while (cut.band > 1 && band_bytes(d, cut.band) > BAND_BYTES)
        cut.band = (cut.band + 1) / 2;
    cut.bands = (size_t)(d->images * quotient_up(d->rows, cut.band));
    cut.panels_of_group = ((size_t)d->lanes + code->width - 1) / code->width;
    cut.panels = cut.panels_of_group * (size_t)d->groups;
    size_t wanted = cut.bands && cut.bands < MIN_PIECES ? (MIN_PIECES - 1) / cut.bands + 1 : 1;
    cut.part = cut.panels > wanted ? (cut.panels + wanted - 1) / wanted : 1;
    cut.parts = (cut.panels + cut.part - 1) / cut.part;
    return cut;
}

static size_t depth_of(const struct direct *d)
{
    return (size_t)(d->in * d->taps[0] * d->taps[1]);
}

size_t direct_pieces(const struct direct_code *code, const struct launch *launch, size_t *out_grain)
{
    struct direct d;
    direct_of(launch, &d);
    struct direct_cut cut = cut_of(code, &d);
    double flop =
        2. * (double)depth_of(&d) * (double)(cut.band * d.columns) * (double)(cut.part * code->width);
    *out_grain = 1 + (size_t)(MIN_THREAD_WORK / (flop + 1));
    return cut.bands * cut.parts;
}

/* Returns true if the packed weights depend only on the weights, as a repacked copy must. */
static bool has_common_panels(const struct direct *d)
{
    return d->groups == 1 && !d->is_flipped;
}

const void *direct_repacked(const struct launch *launch)
{
    struct direct d;
    direct_of(launch, &d);
    return has_common_panels(&d) ? launch->inputs[d.weight_input].repacked : NULL;
}

size_t direct_panels(const struct direct_code *code, const struct launch *launch, size_t *out_grain)
{
    struct direct d;
    direct_of(launch, &d);
    *out_grain = 1 + PACK_GRAIN / (depth_of(&d) * code->width + 1);
    return direct_repacked(launch) ? 0 : cut_of(code, &d).panels;
}

size_t direct_bytes(const struct direct_code *code, const struct launch *launch)
{
    struct direct d;
    direct_of(launch, &d);
    return cut_of(code, &d).panels * depth_of(&d) * code->width * sizeof(float);
}

size_t direct_repacked_bytes(const struct direct_code *code, const struct launch *launch)
{
    struct direct d;
    direct_of(launch, &d);
    return has_common_panels(&d) && d.weight_input == 1 ? direct_bytes(code, launch) : 0;
}

void direct_pack(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                 float *packed)
{
    struct direct d;
    direct_of(launch, &d);
    struct direct_cut cut = cut_of(code, &d);
    size_t depth = depth_of(&d), out = (size_t)d.out;
    for (size_t i = first; i < end; i++) {
        size_t group = i / cut.panels_of_group, channel = i % cut.panels_of_group * code->width;
        size_t there = out > channel ? out - channel : 0;
        const float *weight = (const float *)launch->inputs[d.weight_input].data + group * out * depth;
        code->pack(&d, weight + (there ? (int64_t)channel * d.weight_out : 0),
                   there < code->width ? there : code->width, packed + i * depth * code->width);
    }
}

void direct_repack(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                   float *packed)
{
    struct direct d;
    direct_of(launch, &d);
    struct direct_cut cut = cut_of(code, &d);
    size_t pieces = cut.bands * cut.parts;
    if (pieces)
        direct_pack(code, launch, first * cut.panels / pieces, end * cut.panels / pieces, packed);
}

/* --- running -------------------------------------------------------------------------------------------- */

/* A piece: some rows of an image and some panels of a group. */
struct band {
    const struct direct_code *code;
    const struct launch *launch;
    struct direct *direct;
    int64_t image, group, row, rows;
    const float *x; /* the first pixel that the first row reads */
    float *spare, *side;
};

/* Sets the addresses of operands for a tile. offset: of the tile's first sum in the result. channel: its
 * first channel of all groups. */
static void set_operands(const struct band *b, int64_t offset, int64_t channel, struct direct_tile *tile)
{
    for (size_t i = 0; i < b->direct->step_count; i++) {
        const struct direct_step *step = &b->direct->steps[i];
        if (step->kind == DIRECT_UNARY || step->extent == DIRECT_SIDE)
            continue;
        int64_t at = step->extent == DIRECT_EACH       ? offset
                     : step->extent == DIRECT_CHANNELS ? b->image * step->next_image + channel
                                                       : 0;
        tile->operands[i] = (const float *)b->launch->inputs[step->operand].data + at;
    }
}

/* Computes all tiles of a band for one panel. channel: its first channel within the group. */
static void run_panel(const struct band *b, int64_t channel, const float *weights)
{
    const struct direct *d = b->direct;
    int64_t lane = b->group * d->out + channel, pixels, width = (int64_t)b->code->rows;
    int64_t first = b->image * d->result_image + lane / LAYOUT_LANES * d->result_block +
                    lane % LAYOUT_LANES * d->result_channel;
    struct direct_tile tile = {.direct = d,
                               .weights = weights,
                               .lanes = (size_t)(d->lanes - channel),
                               .spare = b->spare,
                               .side = b->side};
    for (int64_t i = 0; i < b->rows; i++) {
        int64_t place = (b->row + i) * d->columns, columns = min(d->columns, d->places - place);
        /* All tiles get nearly the same number of pixels, because few pixels use few registers. */
        int64_t even = quotient_up(columns, quotient_up(columns, width));
        for (int64_t column = 0; column < columns; column += pixels) {
            pixels = min(even, columns - column);
            int64_t offset = first + (place + column) * d->result_pixel;
            tile.x = b->x + i * d->next_row + column * d->next_pixel;
            tile.out = (float *)b->launch->outputs[0].data + offset;
            set_operands(b, offset, lane, &tile);
            b->code->tiles[d->next_pixel == 1][pixels - 1](&tile);
        }
    }
}

/* Sets b->x: copies the band if necessary. */
static void find_x(struct band *b, float *copy)
{
    struct direct *d = b->direct;
    const float *x = b->launch->inputs[d->x_input].data;
    if (!d->is_copied) {
        b->x = direct_row(d, x, b->image, b->group, 0, 0) + b->row * d->next_row;
        return;
    }
    int64_t plane = direct_copy_rows(d, b->rows) * d->copy_row;
    d->next_channel = d->next_pixel == 1 ? plane : 1;
    d->next_block = d->next_pixel == 1 ? plane * LAYOUT_LANES : plane;
    direct_copy_band(b->code, d, x, b->image, b->group, b->row, b->rows, copy);
    b->x = copy;
}

void direct_run(const struct direct_code *code, const struct launch *launch, size_t first, size_t end,
                const float *packed, void *scratch)
{
    struct direct d;
    direct_of(launch, &d);
    struct direct_cut cut = cut_of(code, &d);
    struct band b = {.code = code,
                     .launch = launch,
                     .direct = &d,
                     .group = -1,
                     .spare = (float *)(void *)((char *)scratch + DIRECT_COPY_BYTES),
                     .side = (float *)(void *)((char *)scratch + DIRECT_COPY_BYTES + DIRECT_SPARE_BYTES)};
    size_t bands = (size_t)quotient_up(d.rows, cut.band), last = SIZE_MAX;
    for (size_t i = first; i < end; i++) {
        size_t band = i / cut.parts, panel = i % cut.parts * cut.part;
        b.image = (int64_t)(band / bands);
        b.row = (int64_t)(band % bands) * cut.band;
        b.rows = min(cut.band, d.rows - b.row);
        for (size_t k = 0; k < cut.part && panel < cut.panels; k++, panel++) {
            int64_t group = (int64_t)(panel / cut.panels_of_group);
            if (band != last || group != b.group) {
                b.group = group;
                find_x(&b, scratch);
            }
            last = band;
            run_panel(&b, (int64_t)(panel % cut.panels_of_group * code->width),
                      packed + panel * depth_of(&d) * code->width);
        }
    }
}
