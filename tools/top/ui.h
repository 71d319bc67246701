/* tools/top/ui.h - the state of the view: selection, scrolling, order, filter, pause; and the actions of
 * keys.
 *
 * Note: a selection follows its device or process while rows move.
 */
#ifndef TOP_UI_H
#define TOP_UI_H

#include "model.h"

enum ui_key { /* lower values are characters */
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

enum ui_action { UI_STAY, UI_QUIT, UI_RECORD, UI_DETAIL /* the device of the detail view has changed */ };

/* A scrolling list. */
struct ui_list {
    size_t selected, top; /* index of the selected row, and of the first visible row */
};

struct ui {
    enum { FOCUS_PROCESSES, FOCUS_DEVICES, FOCUS_NOTHING } focus;
    struct ui_list devices, processes;
    char device[16]; /* the selected device */
    int pid;         /* id of the selected process; 0: the selection stays in its row */
    enum sort_key sort;
    bool is_reversed, is_paused, has_help, is_editing;
    char filter[48];
    char old_filter[48]; /* the filter before it is edited */
    char message[256];   /* shown until the next key */
    bool is_recording;
    size_t *shown; /* indices of the matching processes */
    size_t shown_count, shown_capacity;
    int page_rows; /* number of rows of the list in focus when it was last drawn */
};

/* Handles one key. Returns the action that the caller must perform. */
enum ui_action ui_press(struct ui *ui, struct model *model, int key);
/* Updates order, filter and selection after the model has changed. Returns false if out of memory. */
bool ui_refresh(struct ui *ui, struct model *model);
/* Scrolls a list of `count` rows so that the selected row is visible on a page of `rows`. */
void ui_scroll(struct ui_list *list, size_t count, int rows);
void ui_free(struct ui *ui);

#endif
