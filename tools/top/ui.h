/* tools/top/ui.h - where the reader is, and what keys do.
 *
 * Owns the state of the view: what is selected, how far it is scrolled, order, filter, pause, which view is open. It draws
 * nothing and asks no meter. Newcomers: selections follow what they are on, not the row, while rows move.
 */
#ifndef TOP_UI_H
#define TOP_UI_H

#include "model.h"

enum ui_key { /* beside characters, which are themselves */
              UI_UP = 0x110000,
              UI_DOWN,
              UI_PAGE_UP,
              UI_PAGE_DOWN,
              UI_HOME,
              UI_END,
              UI_ENTER,
              UI_ESCAPE,
              UI_BACKSPACE,
              UI_TAB,
              UI_HELP,
              UI_NOTHING
};

enum ui_action { UI_STAY, UI_QUIT, UI_RECORD, UI_DETAIL /* another device: its domains are wanted */ };

/* A list that scrolls. */
struct ui_list {
    size_t selected, top; /* index of a row, and of the first on the page */
};

struct ui {
    enum { FOCUS_PROCESSES, FOCUS_DEVICES, FOCUS_NOTHING } focus;
    struct ui_list devices, processes;
    char device[16]; /* the selected ones */
    int pid;         /* 0: the first, whoever it is */
    enum sort_key sort;
    bool is_reversed, is_paused, has_help, is_editing;
    char filter[48];
    char before[48];   /* the filter, before it was edited */
    char message[256]; /* until the next key */
    bool is_recording;
    size_t *shown; /* indices of the processes that match */
    size_t shown_count, shown_capacity;
    int page_rows; /* of the list in focus, as last drawn */
};

/* One key. */
enum ui_action ui_press(struct ui *ui, struct model *model, int key);
/* After the model has changed: sorts, filters, and finds what was selected. False when memory is used up. */
bool ui_refresh(struct ui *ui, struct model *model);
/* Scrolls a list of `count` so that what is selected shows on a page of `rows`. */
void ui_scroll(struct ui_list *list, size_t count, int rows);
void ui_free(struct ui *ui);

#endif
