/* tools/top/ui.c - see ui.h. */
#include "ui.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/string.h"

/* --- selections ----------------------------------------------------------------------------------------- */

static size_t device_index(const struct ui *ui, const struct model *model)
{
    for (size_t i = 0; i < model->device_count; i++)
        if (strcmp(model->devices[i].name, ui->device) == 0)
            return i;
    return 0;
}

static void find_process(struct ui *ui, const struct model *model)
{
    for (size_t i = 0; i < ui->shown_count && ui->pid; i++)
        if (model->processes[ui->shown[i]].pid == ui->pid) {
            ui->processes.selected = i;
            return;
        }
    if (ui->processes.selected >= ui->shown_count)
        ui->processes.selected = ui->shown_count ? ui->shown_count - 1 : 0;
    ui->pid = 0; /* the process has ended: keep the row */
}

static void note_selected(struct ui *ui, const struct model *model)
{
    if (ui->focus == FOCUS_DEVICES && ui->devices.selected < model->device_count)
        string_copy(ui->device, sizeof ui->device, model->devices[ui->devices.selected].name);
    if (ui->focus == FOCUS_PROCESSES && ui->processes.selected < ui->shown_count)
        ui->pid = ui->processes.selected ? model->processes[ui->shown[ui->processes.selected]].pid : 0;
}

bool ui_refresh(struct ui *ui, struct model *model)
{
    model_sort(model, ui->sort, ui->is_reversed);
    if (!array_reserve((void **)&ui->shown, &ui->shown_capacity, model->process_count, sizeof *ui->shown))
        return false;
    ui->shown_count = model_filter(model, ui->filter, ui->shown);
    ui->devices.selected = device_index(ui, model);
    find_process(ui, model);
    return true;
}

void ui_scroll(struct ui_list *list, size_t count, int rows)
{
    size_t page = rows > 0 ? (size_t)rows : 1;
    if (list->selected < list->top)
        list->top = list->selected;
    if (list->selected >= list->top + page)
        list->top = list->selected - page + 1;
    if (list->top + page > count)
        list->top = count > page ? count - page : 0;
}

/* --- keys ----------------------------------------------------------------------------------------------- */

static bool move(struct ui *ui, const struct model *model, int key)
{
    bool on_devices = ui->focus == FOCUS_DEVICES;
    struct ui_list *list = on_devices ? &ui->devices : &ui->processes;
    size_t count = on_devices ? model->device_count : ui->shown_count;
    size_t last = count ? count - 1 : 0, page = ui->page_rows > 1 ? (size_t)ui->page_rows - 1 : 1;
    size_t at = list->selected;
    switch (key) {
    case UI_UP:
    case 'k':
        at -= at > 0;
        break;
    case UI_DOWN:
    case 'j':
        at += at < last;
        break;
    case UI_PAGE_UP:
        at = at > page ? at - page : 0;
        break;
    case UI_PAGE_DOWN:
        at = at + page < last ? at + page : last;
        break;
    case UI_HOME:
        at = 0;
        break;
    case UI_END:
        at = last;
        break;
    default:
        return false;
    }
    list->selected = at;
    note_selected(ui, model);
    return true;
}

/* Edits the filter, which applies at once. */
static void edit(struct ui *ui, struct model *model, int key)
{
    size_t length = strlen(ui->filter);
    if (key == UI_ENTER) {
        ui->is_editing = false;
    } else if (key == UI_ESCAPE) {
        ui->is_editing = false;
        string_copy(ui->filter, sizeof ui->filter, ui->old_filter);
    } else if (key == UI_BACKSPACE && length) {
        while (length && ((unsigned char)ui->filter[--length] & 0xc0) == 0x80)
            ; /* removes all bytes of a UTF-8 character */
        ui->filter[length] = '\0';
    } else if (key >= ' ' && key < 0x100 && key != 0x7f && length + 1 < sizeof ui->filter) {
        ui->filter[length] = (char)key;
        ui->filter[length + 1] = '\0';
    }
    ui_refresh(ui, model);
}

static enum ui_action open_detail(struct ui *ui, struct model *model, const char *name)
{
    string_copy(model->detail, sizeof model->detail, name);
    model->domain_count = 0;
    ui->focus = FOCUS_PROCESSES;
    ui->processes = (struct ui_list){0};
    ui->pid = 0;
    return UI_DETAIL;
}

static enum ui_action close_detail(struct ui *ui, struct model *model)
{
    ui->focus = FOCUS_DEVICES;
    string_copy(ui->device, sizeof ui->device, model->detail);
    model->detail[0] = '\0';
    return UI_DETAIL;
}

static void sort_by(struct ui *ui, struct model *model, int step)
{
    ui->sort = (enum sort_key)(((int)ui->sort + SORT_KEYS + step) % SORT_KEYS);
    ui->pid = 0;
    ui->processes = (struct ui_list){0};
    ui_refresh(ui, model);
    string_print(ui->message, sizeof ui->message, "sorted by %s%s", sort_key_name(ui->sort),
                 ui->is_reversed ? ", reversed" : "");
}

static enum ui_action escape(struct ui *ui, struct model *model)
{
    if (ui->filter[0]) {
        ui->filter[0] = '\0';
        ui_refresh(ui, model);
    } else if (model->detail[0]) {
        return close_detail(ui, model);
    }
    return UI_STAY;
}

static enum ui_action command(struct ui *ui, struct model *model, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
        return UI_QUIT;
    case '?':
    case 'h':
    case UI_HELP:
        ui->has_help = true;
        break;
    case '/':
        ui->is_editing = true;
        string_copy(ui->old_filter, sizeof ui->old_filter, ui->filter);
        break;
    case 's':
    case '>':
        sort_by(ui, model, 1);
        break;
    case 'S':
    case '<':
        sort_by(ui, model, -1);
        break;
    case 'r':
        ui->is_reversed = !ui->is_reversed;
        sort_by(ui, model, 0);
        break;
    case 'p':
    case ' ':
        ui->is_paused = !ui->is_paused;
        break;
    case 'R':
        return UI_RECORD;
    case UI_TAB:
        if (!model->detail[0])
            ui->focus = ui->focus == FOCUS_DEVICES ? FOCUS_PROCESSES : FOCUS_DEVICES;
        note_selected(ui, model);
        break;
    case UI_ENTER:
        if (ui->focus == FOCUS_DEVICES && !model->detail[0] && ui->devices.selected < model->device_count)
            return open_detail(ui, model, model->devices[ui->devices.selected].name);
        break;
    case UI_ESCAPE:
        return escape(ui, model);
    default:
        break;
    }
    return UI_STAY;
}

enum ui_action ui_press(struct ui *ui, struct model *model, int key)
{
    ui->message[0] = '\0';
    if (ui->has_help) {
        ui->has_help = false;
        return key == 'q' || key == 'Q' ? UI_QUIT : UI_STAY;
    }
    if (ui->is_editing) {
        edit(ui, model, key);
        return UI_STAY;
    }
    return move(ui, model, key) ? UI_STAY : command(ui, model, key);
}

void ui_free(struct ui *ui)
{
    free(ui->shown);
    ui->shown = NULL;
}
