/* tools/forge/forge_inspect.c - `forge inspect`: shows the contents of a graph, program, checkpoint or file
 * of tensors.
 *
 * Note: a name in a file may contain any bytes. It is printed as in the text of a graph: quoted unless it is
 * a plain word.
 */
#include <forge/checkpoint.h>
#include <forge/energy.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "prediction.h"
#include "files.h"
#include "fused_source.h"
#include "forge/ir/text.h"
#include "forge/serialize/safetensors.h"
#include "inspect_graph.h"
#include "measured_run.h"
#include "step_page.h"

#define LAST_DTYPE FORGE_Q6_K

/* --- tensors and checkpoints ---------------------------------------------------------------------------- */

struct tensors_page {
    const forge_safetensors *file;
    const forge_checkpoint *checkpoint; /* NULL: the file is no checkpoint */
    size_t name_width;
};

static void print_entry(struct text *out, const struct entry *entry, size_t name_width)
{
    char shape[200];
    size_t begin = out->length;
    text_add(out, "  ");
    text_add_path(out, entry->name);
    size_t width = out->length - begin;
    forge_shape_format(&entry->shape, shape, sizeof shape);
    text_printf(out, "%*s  %-8s %-20s %12llu\n", (int)(width < name_width ? name_width - width : 0), "",
                forge_dtype_name(entry->dtype), shape, (unsigned long long)(entry->end - entry->begin));
}

static void print_types(struct text *out, const forge_safetensors *file)
{
    for (int dtype = 0; dtype <= LAST_DTYPE; dtype++) {
        size_t tensors = 0, elements = 0;
        double bytes = 0;
        char text[BYTES_TEXT];
        for (size_t i = 0; i < file->entry_count; i++)
            if (file->entries[i].dtype == (forge_dtype)dtype) {
                tensors++;
                elements += forge_shape_elements(&file->entries[i].shape);
                bytes += (double)(file->entries[i].end - file->entries[i].begin);
            }
        if (tensors)
            text_printf(out, "%s: %zu elements in %zu tensors, %s\n", forge_dtype_name((forge_dtype)dtype),
                        elements, tensors, bytes_text(bytes, text));
    }
}

static void print_checkpoint(struct text *out, const forge_checkpoint *c)
{
    char joules[32];
    text_printf(out, "step %llu, epoch %llu, batch %llu, seed %llu\n", (unsigned long long)c->step,
                (unsigned long long)c->cursor.epoch, (unsigned long long)c->cursor.batch,
                (unsigned long long)c->seed);
    joule_format(c->energy.value, JOULE_DIMENSION_ENERGY, 3, joules, sizeof joules);
    text_printf(out, "energy so far %s", joules);
    if (!isnan(c->energy.value)) {
        char low[32], high[32];
        joule_format(c->energy.low, JOULE_DIMENSION_ENERGY, 2, low, sizeof low);
        joule_format(c->energy.high, JOULE_DIMENSION_ENERGY, 2, high, sizeof high);
        text_printf(out, " (%s to %s, %s)", low, high, joule_class_name(c->energy.cls));
    }
    text_add(out, "\n");
}

static void print_tensors(const void *context, struct text *out)
{
    const struct tensors_page *page = context;
    const forge_safetensors *file = page->file;
    char bytes[BYTES_TEXT];
    text_printf(out, "%s: %s, %zu tensors, %s\n", file->path, page->checkpoint ? "checkpoint" : "safetensors",
                file->entry_count, bytes_text((double)file->data_size, bytes));
    if (page->checkpoint)
        print_checkpoint(out, page->checkpoint);
    print_types(out, file);
    text_add(out, file->metadata_count ? "\nmetadata:\n" : "");
    for (size_t i = 0; i < file->metadata_count; i++) {
        text_add(out, "  ");
        text_add_path(out, file->metadata[i].key);
        text_add(out, " = ");
        text_add_quoted(out, file->metadata[i].text);
        text_add(out, "\n");
    }
    text_printf(out, "\n  %-*s  %-8s %-20s %12s\n", (int)(page->name_width - 2), "name", "type", "shape",
                "bytes");
    for (size_t i = 0; i < file->entry_count; i++)
        print_entry(out, &file->entries[i], page->name_width);
}

static size_t name_width(const forge_safetensors *file)
{
    enum { MIN_WIDTH = 26, MAX_WIDTH = 62 };
    size_t max = MIN_WIDTH;
    for (size_t i = 0; i < file->entry_count; i++) {
        size_t width = strlen(file->entries[i].name) + 2;
        max = width > max && width <= MAX_WIDTH ? width : max;
    }
    return max;
}

static joule_status inspect_tensors(const char *path, int *out_code, joule_error *error)
{
    forge_safetensors *file = NULL;
    forge_checkpoint checkpoint = {.struct_size = sizeof checkpoint};
    joule_status status = forge_safetensors_open(path, &file, error);
    bool is_checkpoint = status == JOULE_OK && forge_safetensors_metadata(file, "forge.checkpoint");
    if (is_checkpoint)
        status = forge_checkpoint_query(path, &checkpoint, error);
    if (status == JOULE_OK)
        *out_code =
            page_print("inspect", print_tensors,
                       &(struct tensors_page){file, is_checkpoint ? &checkpoint : NULL, name_width(file)});
    forge_safetensors_close(file);
    return status;
}

static joule_status inspect_npy(const char *path, int *out_code, joule_error *error)
{
    forge_tensor tensor;
    char shape[200], bytes[BYTES_TEXT];
    joule_status status = forge_npy_read(path, &tensor, error);
    if (status != JOULE_OK)
        return status;
    forge_shape_format(&tensor.shape, shape, sizeof shape);
    printf("%s: array, %s%s, %s\n", path, forge_dtype_name(tensor.dtype), shape,
           bytes_text((double)forge_buffer_size_bytes(tensor.buffer), bytes));
    forge_buffer_release(tensor.buffer);
    *out_code = 0;
    return JOULE_OK;
}

/* --- a step --------------------------------------------------------------------------------------------- */

/* The options for running a step. NULL or 0: not given. */
struct step_request {
    const char *device, *html;
    unsigned threads;
};

/* Runs the program for about a second and prints the table of its launches. Frees the program, also after
 * an error. */
static joule_status measure(const char *path, forge_program *program, const struct step_request *request,
                            joule_error *error)
{
    struct measured_run r;
    joule_status status = measured_run_open(&r, "inspect", program, request->device ? request->device : "cpu",
                                            request->threads, false, 1, error);
    if (status == JOULE_OK)
        status = forge_instance_set_zeros(r.instance, NULL, error);
    if (status == JOULE_OK)
        status = measured_run_for_second(&r, error);
    if (status == JOULE_OK) {
        measured_run_end(&r);
        measured_run_print(&r);
        status = request->html ? step_page_write(request->html, r.instance, path, error) : JOULE_OK;
    }
    measured_run_close(&r);
    return status;
}

static joule_status compile(const char *path, const char *device_name, forge_program **out_program,
                            joule_error *error)
{
    forge_graph *graph = NULL;
    forge_device *device = NULL;
    joule_status status = graph_read(path, &graph, error);
    if (status == JOULE_OK)
        status = forge_device_open(device_name ? device_name : "cpu", &device, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, out_program, error);
    forge_device_close(device);
    forge_graph_free(graph);
    return status;
}

/* Reads a program, or compiles a graph. The caller frees *out_program. */
static joule_status open_program(const char *path, const char *device, forge_program **out_program,
                                 joule_error *error)
{
    enum file_kind kind = FILE_UNKNOWN;
    joule_status status = file_kind(path, &kind, error);
    if (status == JOULE_OK && kind != FILE_GRAPH && kind != FILE_PROGRAM)
        return error_set(error, JOULE_UNSUPPORTED, "cannot run a step of %s: not a graph or a program", path);
    if (status != JOULE_OK)
        return status;
    return kind == FILE_GRAPH ? compile(path, device, out_program, error)
                              : forge_program_read(path, out_program, error);
}

static joule_status inspect_step(const char *path, const struct step_request *request, int *out_code,
                                 joule_error *error)
{
    const char *const paths[] = {path, request->html};
    forge_program *program = NULL;
    joule_status status = output_check_apart(paths, 1, 2, error);
    if (status == JOULE_OK && request->html)
        status = output_check(request->html, error);
    if (status == JOULE_OK)
        status = open_program(path, request->device, &program, error);
    if (status == JOULE_OK)
        status = measure(path, program, request, error);
    if (status == JOULE_OK)
        *out_code = 0;
    return status;
}

static joule_status inspect_source(const char *path, const char *device, const char *dialect, int *out_code,
                                   joule_error *error)
{
    forge_program *program = NULL;
    joule_status status = open_program(path, device, &program, error);
    if (status == JOULE_OK)
        status = fused_source_print(program, dialect, error);
    forge_program_free(program);
    if (status == JOULE_OK)
        *out_code = 0;
    return status;
}

/* --- programs and graphs -------------------------------------------------------------------------------- */

/* Prints the time and energy of the program that a device predicts. device_name NULL: prints nothing.
 * Returns JOULE_UNSUPPORTED if the device runs programs instead of estimating them. */
static joule_status print_expected(const forge_program *program, const char *device_name, joule_error *error)
{
    forge_device *device = NULL;
    if (!device_name)
        return JOULE_OK;
    joule_status status = forge_device_open(device_name, &device, error);
    if (status == JOULE_OK && !device_is_estimate_only(device))
        status = error_set(error, JOULE_UNSUPPORTED,
                           "cannot estimate for the device %s: it runs programs; use forge run", device_name);
    if (status == JOULE_OK)
        status = expected_print(program, device, error);
    forge_device_close(device);
    return status;
}

static joule_status inspect_program(const char *path, const char *device, int *out_code, joule_error *error)
{
    forge_program *program = NULL;
    char *page = NULL, flop[BYTES_TEXT], state[BYTES_TEXT];
    forge_program_facts facts = {.struct_size = sizeof facts};
    joule_status status = forge_program_read(path, &program, error);
    if (status == JOULE_OK)
        status = forge_program_print(program, &page, error);
    if (status == JOULE_OK)
        status = forge_program_query(program, &facts);
    if (status == JOULE_OK) {
        printf("%s: program, %zu launches, %s%s, state %s\n%s", path, facts.launches,
               flop_text(facts.flop, flop), facts.symbols ? " at the largest sizes" : "",
               bytes_text((double)facts.state_bytes, state), page);
        status = print_expected(program, device, error);
    }
    if (status == JOULE_OK)
        *out_code = 0;
    free(page);
    forge_program_free(program);
    return status;
}

/* Compiles the graph for the device and prints the time and energy that the device predicts. device_name
 * NULL: prints nothing. */
static joule_status print_expected_graph(const forge_graph *graph, const char *device_name,
                                         joule_error *error)
{
    forge_device *device = NULL;
    forge_program *program = NULL;
    if (!device_name)
        return JOULE_OK;
    joule_status status = forge_device_open(device_name, &device, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, &program, error);
    if (status == JOULE_OK)
        status = print_expected(program, device_name, error);
    forge_program_free(program);
    forge_device_close(device);
    return status;
}

static joule_status inspect_graph(const char *path, const char *device, int *out_code, joule_error *error)
{
    forge_graph *graph = NULL;
    struct graph_page page;
    joule_status status = graph_read(path, &graph, error);
    if (status == JOULE_OK) {
        status = graph_page_make(&page, path, graph, error);
        if (status == JOULE_OK)
            *out_code = page_print("inspect", graph_page_print, &page);
        if (status == JOULE_OK && *out_code == 0)
            status = print_expected_graph(graph, device, error);
        graph_page_free(&page);
    }
    forge_graph_free(graph);
    return status;
}

static joule_status inspect(const char *path, const char *device, int *out_code, joule_error *error)
{
    enum file_kind kind;
    joule_status status = file_kind(path, &kind, error);
    if (status != JOULE_OK)
        return status;
    switch (kind) {
    case FILE_GRAPH:
        return inspect_graph(path, device, out_code, error);
    case FILE_PROGRAM:
        return inspect_program(path, device, out_code, error);
    case FILE_SAFETENSORS:
        return inspect_tensors(path, out_code, error);
    case FILE_NPY:
        return inspect_npy(path, out_code, error);
    case FILE_UNKNOWN:
        break;
    }
    return error_set(error, JOULE_UNSUPPORTED,
                     "cannot inspect %s: not a graph, program, checkpoint, safetensors or .npy file", path);
}

int inspect_main(int argc, char **argv)
{
    const char *path;
    const char *dialect = NULL;
    struct step_request request = {0};
    bool steps = false;
    const struct option table[] = {
        {"device", 'd', OPTION_TEXT, &request.device, "NAME",
         "estimated: print the expected time and energy; with --step, the device to run on (default: cpu)"},
        {"step", 's', OPTION_FLAG, &steps, NULL,
         "run a graph or program for a second on zeros, and print the time and energy of each launch"},
        {"html", 0, OPTION_TEXT, &request.html, "FILE", "write the step as an HTML page"},
        {"threads", 't', OPTION_COUNT, &request.threads, "N",
         "threads for --step (default: all CPUs allowed to the process)"},
        {"source", 0, OPTION_TEXT, &dialect, "DIALECT",
         "print the fused operations of a graph or program as source: c, opencl, cuda, hip or metal"},
        {NULL},
    };
    const struct command_text text = {
        "forge inspect FILE [OPTIONS]",
        "Shows the contents of a graph's text, a program, a checkpoint, a safetensors or a .npy file.", NULL};
    int read = options_read_operand(table, &text, "FILE", argc, argv, &path), code = EXIT_OWN_FAILURE;
    if (read <= OPTIONS_HELP)
        return read == OPTIONS_HELP ? 0 : EXIT_USAGE;
    joule_error error = {0};
    joule_status status = dialect ? inspect_source(path, request.device, dialect, &code, &error)
                          : steps || request.html ? inspect_step(path, &request, &code, &error)
                                                  : inspect(path, request.device, &code, &error);
    if (status == JOULE_OK)
        return code;
    complain("inspect", "%s", error.message);
    return EXIT_OWN_FAILURE;
}
