/* tools/forge/step_page.c - see step_page.h. */
#include "step_page.h"

#include <forge/energy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/error.h"
#include "common/output.h"
#include "common/page.h"
#include "energy_table.h"

#define PHASES 4
#define NONE   SIZE_MAX

/* Time and energy per run. */
struct share {
    double phase_s[PHASES], seconds, joules; /* joules: NaN if unknown */
};

/* A module of the network: one level of the launches' scopes. Modules and rows refer to each other by
 * index; NONE: none. */
struct module {
    const char *name; /* one part of a launch's scope */
    size_t name_length;
    struct share share; /* includes all modules inside it */
    size_t first_child, last_child, next;
    size_t first_launch, last_launch;
};

/* One launch. */
struct row {
    forge_launch_facts facts;
    double joules; /* per run */
    size_t next;   /* next row of the same module */
};

struct step_page {
    const char *title;
    joule_quantity step; /* all joules per run */
    const char *basis;
    double runs;
    double between_s, between_joules, unattributed_joules; /* per run */
    struct module *modules;                                /* [0]: the whole step */
    size_t module_count, module_capacity;
    struct row *rows;
    size_t row_count, row_capacity;
};

/* --- gathering ------------------------------------------------------------------------------------------ */

static size_t add_module(struct step_page *page, const char *name, size_t length)
{
    if (!ARRAY_ROOM(page->modules, page->module_capacity, page->module_count))
        return NONE;
    page->modules[page->module_count] = (struct module){.name = name,
                                                        .name_length = length,
                                                        .first_child = NONE,
                                                        .last_child = NONE,
                                                        .next = NONE,
                                                        .first_launch = NONE,
                                                        .last_launch = NONE};
    return page->module_count++;
}

/* Returns the index of the parent's module of that name, adding it if needed. NONE: out of memory. */
static size_t child_of(struct step_page *page, size_t parent, const char *name, size_t length)
{
    for (size_t i = page->modules[parent].first_child; i != NONE; i = page->modules[i].next)
        if (page->modules[i].name_length == length && memcmp(page->modules[i].name, name, length) == 0)
            return i;
    size_t child = add_module(page, name, length);
    if (child == NONE)
        return NONE;
    struct module *module = &page->modules[parent];
    if (module->last_child == NONE)
        module->first_child = child;
    else
        page->modules[module->last_child].next = child;
    module->last_child = child;
    return child;
}

static void add_share(struct share *share, const struct row *row, double runs)
{
    double seconds = row->facts.seconds / runs;
    share->seconds += seconds;
    share->phase_s[row->facts.phase % PHASES] += seconds;
    share->joules += row->joules;
}

static void append(struct step_page *page, size_t module, size_t row)
{
    struct module *m = &page->modules[module];
    if (m->last_launch == NONE)
        m->first_launch = row;
    else
        page->rows[m->last_launch].next = row;
    m->last_launch = row;
}

/* Adds the row to the module that its scope names, and its time and energy to all enclosing modules. Returns
 * false if out of memory. */
static bool place(struct step_page *page, size_t row)
{
    size_t module = 0;
    add_share(&page->modules[0].share, &page->rows[row], page->runs);
    for (const char *at = page->rows[row].facts.scope; *at;) {
        size_t length = strcspn(at, "/");
        module = child_of(page, module, at, length);
        if (module == NONE)
            return false;
        add_share(&page->modules[module].share, &page->rows[row], page->runs);
        at += length + (at[length] == '/');
    }
    append(page, module, row);
    return true;
}

/* Adds the joules that belong to no launch, so that the rows of the page add up to all joules of the step. */
static void gather_rest(struct step_page *page, forge_instance *instance)
{
    forge_energy_sum sum = {.struct_size = sizeof sum};
    forge_energy_facts between = {.struct_size = sizeof between};
    size_t count = forge_energy_count(instance);
    double runs = page->runs;
    page->step = (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    if (count == 0 || !(runs > 0) || forge_energy_total(instance, &sum) == JOULE_ABSENT)
        return;
    page->step = (joule_quantity){sum.all_joules.value / runs, sum.all_joules.low / runs,
                                  sum.all_joules.high / runs, sum.all_joules.cls, 0};
    page->basis = basis_text(sum.basis);
    page->unattributed_joules = sum.unattributed_joules.value / runs;
    if (forge_energy_get(instance, count - 1, &between) != JOULE_OK)
        return;
    page->between_s = between.seconds / runs;
    page->between_joules = between.joules.value / runs;
    page->modules[0].share.seconds += page->between_s;
    page->modules[0].share.joules += page->between_joules + page->unattributed_joules;
}

static bool gather(struct step_page *page, forge_instance *instance)
{
    struct row row = {.facts = {.struct_size = sizeof row.facts}, .next = NONE};
    joule_quantity joules;
    if (add_module(page, "", 0) == NONE)
        return false;
    for (size_t i = 0; forge_instance_launch(instance, i, &row.facts) == JOULE_OK; i++) {
        if (!ARRAY_ROOM(page->rows, page->row_capacity, page->row_count))
            return false;
        page->runs = (double)row.facts.runs;
        row.joules = forge_launch_energy(instance, i, &joules) == JOULE_OK ? joules.value / page->runs : NAN;
        page->rows[page->row_count++] = row;
        if (page->runs == 0 || !place(page, i))
            return page->runs == 0;
    }
    gather_rest(page, instance);
    return true;
}

/* --- printing ------------------------------------------------------------------------------------------- */

static void add_amount(struct text *out, double value, joule_dimension dimension)
{
    char text[32];
    if (isnan(value))
        text_add(out, "<span class=u>unknown</span>");
    else if (joule_format(value, dimension, 3, text, sizeof text))
        text_add(out, text);
}

/* Adds a bar whose length is the share of the step, in the colours of the phases. */
static void add_bar(struct text *out, const struct share *share, double all_s)
{
    text_add(out, "<span class=bar>");
    for (int phase = 0; phase < PHASES; phase++)
        if (share->phase_s[phase] > 0)
            text_printf(out, "<i class=p%d style=\"width:%.2f%%\"></i>", phase,
                        100 * share->phase_s[phase] / all_s);
    text_add(out, "</span>");
}

static void print_row(const struct step_page *page, const struct row *row, struct text *out)
{
    const forge_launch_facts *f = &row->facts;
    double seconds = f->seconds / page->runs;
    char shape[200];
    forge_shape_format(&f->shape, shape, sizeof shape);
    text_printf(out, "<tr><td><i class=\"dot p%d\"></i>%s<td>", (int)f->phase % PHASES,
                forge_phase_name(f->phase));
    text_add_markup(out, f->op, strlen(f->op));
    text_printf(out, "<td>%s%s<td>", forge_dtype_name(f->dtype), shape);
    text_add_markup(out, f->kernel, strlen(f->kernel));
    text_add(out, "<td>");
    add_amount(out, seconds, JOULE_DIMENSION_TIME);
    if (f->flop > 0 && seconds > 0)
        text_printf(out, "<td>%.3g", f->flop / seconds * 1e-9);
    else
        text_add(out, "<td>");
    text_add(out, "<td>");
    add_amount(out, row->joules, JOULE_DIMENSION_ENERGY);
    text_add(out, "\n");
}

/* Prints the launches of a module. If the module also contains modules, the launches are in a closed
 * <details> element. */
static void print_rows(const struct step_page *page, const struct module *module, struct text *out)
{
    bool is_closed = module->first_child != NONE;
    if (module->first_launch == NONE)
        return;
    if (is_closed)
        text_add(out, "<details><summary>launches outside these modules</summary>\n");
    text_add(out, "<table><tr><th>phase<th>operation<th>result<th>kernel<th>time<th>GFLOP/s<th>energy\n");
    for (size_t i = module->first_launch; i != NONE; i = page->rows[i].next)
        print_row(page, &page->rows[i], out);
    text_add(out, is_closed ? "</table></details>\n" : "</table>\n");
}

static void print_rest(const char *name, double seconds, double joules, double all_s, struct text *out)
{
    text_printf(out, "<details class=rest><summary><b>%s</b><span class=bar></span>", name);
    if (isnan(seconds)) {
        text_add(out, "<span></span><span></span><span>");
    } else {
        text_printf(out, "<span>%.1f&nbsp;%%</span><span>", 100 * seconds / all_s);
        add_amount(out, seconds, JOULE_DIMENSION_TIME);
        text_add(out, "</span><span>");
    }
    add_amount(out, joules, JOULE_DIMENSION_ENERGY);
    text_add(out, "</span></summary></details>\n");
}

static void print_rests(const struct step_page *page, struct text *out)
{
    double all_s = page->modules[0].share.seconds;
    if (page->between_s > 0)
        print_rest("between operations", page->between_s, page->between_joules, all_s, out);
    if (page->unattributed_joules > 0)
        print_rest("unattributed", NAN, page->unattributed_joules, all_s, out);
}

/* Prints a module and, recursively, the modules inside it. The depth of recursion is that of the graph's
 * scopes. */
static void print_module(const struct step_page *page, size_t number, bool is_open, struct text *out)
{
    const struct module *module = &page->modules[number];
    double all_s = page->modules[0].share.seconds;
    text_printf(out, "<details%s><summary><b>", is_open ? " open" : "");
    if (module->name_length)
        text_add_markup(out, module->name, module->name_length);
    else
        text_add(out, "step");
    text_add(out, "</b>");
    add_bar(out, &module->share, all_s);
    text_printf(out, "<span>%.1f&nbsp;%%</span><span>", 100 * module->share.seconds / all_s);
    add_amount(out, module->share.seconds, JOULE_DIMENSION_TIME);
    text_add(out, "</span><span>");
    add_amount(out, module->share.joules, JOULE_DIMENSION_ENERGY);
    text_add(out, "</span></summary>\n");
    for (size_t i = module->first_child; i != NONE; i = page->modules[i].next)
        print_module(page, i, false, out);
    print_rows(page, module, out);
    if (number == 0)
        print_rests(page, out);
    text_add(out, "</details>\n");
}

static const char head[] =
    "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\n"
    "<style>\n"
    ":root{color-scheme:light dark;--line:#8884;--p0:#3d7fd1;--p1:#e08a2e;--p2:#4a9d5f;--p3:#8a6fc9}\n"
    "body{font:14px/1.45 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;"
    "font-variant-numeric:tabular-nums}\n"
    "h1{font-size:1.3rem;margin:0 0 .2rem}p{margin:.2rem 0 1rem}.u{opacity:.55}\n"
    "details details,table{margin-left:1.2rem}details{border-top:1px solid var(--line)}\n"
    "summary{display:grid;grid-template-columns:minmax(8rem,1fr) 2fr 4rem 6rem 6.5rem;gap:.8rem;"
    "align-items:center;padding:.25rem 0;cursor:pointer}\n"
    "summary span:not(.bar){text-align:right}.bar{display:flex;height:.8rem;background:var(--line)}\n"
    "i{display:block}.p0{background:var(--p0)}.p1{background:var(--p1)}.p2{background:var(--p2)}"
    ".p3{background:var(--p3)}\n"
    ".dot{display:inline-block;width:.7em;height:.7em;margin-right:.4em}\n"
    "table{border-collapse:collapse;margin-bottom:.6rem;width:calc(100% - 1.2rem)}"
    "th,td{padding:.1rem .5rem;text-align:left;border-bottom:1px solid var(--line)}\n"
    "td:nth-child(n+5),th:nth-child(n+5){text-align:right}th{font-weight:600;opacity:.7}\n"
    "@media(max-width:40rem){summary{grid-template-columns:1fr 4rem 6rem}summary .bar,"
    "summary span:nth-of-type(2){display:none}table{display:block;overflow-x:auto}}\n"
    "</style>\n";

static void print_legend(const struct step_page *page, struct text *out)
{
    const struct share *all = &page->modules[0].share;
    text_add(out, "<p>");
    for (int phase = 0; phase < PHASES; phase++) {
        if (!(all->phase_s[phase] > 0))
            continue;
        text_printf(out, "<i class=\"dot p%d\"></i>%s ", phase, forge_phase_name((forge_phase)phase));
        add_amount(out, all->phase_s[phase], JOULE_DIMENSION_TIME);
        text_add(out, " &emsp;");
    }
    text_add(out, "</p>\n");
}

static void print_page(const void *context, struct text *out)
{
    const struct step_page *page = context;
    text_add(out, head);
    text_add(out, "<title>");
    text_add_markup(out, page->title, strlen(page->title));
    text_add(out, "</title><h1>");
    text_add_markup(out, page->title, strlen(page->title));
    text_printf(out, "</h1><p>%zu launches, ", page->row_count);
    add_amount(out, page->modules[0].share.seconds, JOULE_DIMENSION_TIME);
    text_add(out, " and ");
    add_amount(out, page->step.value, JOULE_DIMENSION_ENERGY);
    if (!isnan(page->step.value)) {
        text_add(out, " (");
        add_amount(out, page->step.low, JOULE_DIMENSION_ENERGY);
        text_add(out, " to ");
        add_amount(out, page->step.high, JOULE_DIMENSION_ENERGY);
        text_printf(out, ", %s, %s)", joule_class_name(page->step.cls), page->basis);
    }
    text_printf(
        out,
        " per step, on average over %.0f steps. The energies of the modules, the energy between operations "
        "and the unattributed energy add up to the energy of the step.</p>\n",
        page->runs);
    print_legend(page, out);
    print_module(page, 0, true, out);
}

joule_status step_page_write(const char *path, forge_instance *instance, const char *title,
                             joule_error *out_error)
{
    struct step_page page = {.title = title};
    joule_status status = JOULE_OK;
    size_t length = 0;
    char *text = NULL;
    if (!gather(&page, instance))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot create an HTML page: out of memory");
    else if (!(page.runs > 0))
        status = error_set(out_error, JOULE_INVALID, "cannot create an HTML page: no step was run");
    if (status == JOULE_OK) {
        text = page_make("html", print_page, &page, &length);
        status = text ? output_write(path, text, length, out_error)
                      : error_set(out_error, JOULE_NO_MEMORY, "cannot create an HTML page: out of memory");
    }
    free(text);
    free(page.modules);
    free(page.rows);
    return status;
}
