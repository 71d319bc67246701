/* tools/top/screen.h - the terminal, by ncurses: styles, keys, size.
 *
 * Restores the terminal whatever happens, also if a vendor's library crashes or exits in one of the meter's
 * threads.
 *
 * Note: only this file uses ncurses. It handles only signals of crashes; main.c handles the others.
 */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include <joule/base.h>
#include "frame.h"

/* Takes over the terminal of standard input and output. Returns JOULE_UNSUPPORTED with a message if there
 * is no terminal, or if the terminal cannot place a cursor. */
joule_status screen_open(joule_error *out_error);
/* Returns true if the locale allows more than ASCII. May be called before screen_open. */
bool screen_has_utf8(void);
/* Returns the width for a page without a screen: that of the terminal, else 100. */
int screen_once_width(void);
void screen_size(int *out_width, int *out_height);
/* Shows a frame; only differences are sent to the terminal. */
void screen_show(const struct frame *frame);
/* Returns the next pressed key, as in ui.h; 0: none. */
int screen_key(void);
/* screen_resized: call after the terminal's size has changed. screen_leave gives the terminal back for a
 * while, and screen_return takes it again. */
void screen_resized(void);
void screen_leave(void);
void screen_return(void);
void screen_close(void);

#endif
