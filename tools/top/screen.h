/* tools/top/screen.h - the terminal.
 *
 * Owns ncurses, how styles look, keys as numbers, and giving the terminal back as it was, whatever happens: also when a
 * vendor's library crashes or exits in one of the meter's threads.
 * Newcomers: only here is ncurses known. Signals are main.c's; this file handles only those that mean a crash.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <joule/base.h>
#include "frame.h"

/* Takes the terminal of standard input and output. UNSUPPORTED, with a message, where there is none or it cannot place a
 * cursor. */
joule_status screen_open(joule_error *out_error);
/* Whether what is drawn may be more than ASCII. By the locale; before screen_open, too. */
bool screen_has_utf8(void);
/* Returns the width for a page without a screen: that of the terminal, else 100. */
int screen_once_width(void);
void screen_size(int *out_width, int *out_height);
/* Shows a frame: what differs from what is shown. */
void screen_show(const struct frame *frame);
/* The next key that was pressed, as ui.h has them; 0: none. */
int screen_key(void);
/* After the terminal's size has changed; and after it was given back for a while. */
void screen_resized(void);
void screen_leave(void);
void screen_return(void);
void screen_close(void);

#endif
