/* tools/top/screen.c - see screen.h. */
#include "screen.h"
#include "ui.h" /* before term.h, which defines common words as macros */

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>
#include "base/error.h"

#define ONCE_WIDTH 100 /* width of a page that is not for a terminal */

static struct {
    bool is_open;
    struct termios saved;
    char restore[256]; /* escape sequences that restore the terminal after a crash */
    size_t restore_length;
    attr_t attributes[STYLE_COUNT];
    short pairs[STYLE_COUNT];
    SCREEN *screen;
} terminal;

bool screen_has_utf8(void)
{
    static bool is_set;
    if (!is_set)
        setlocale(LC_CTYPE, ""); /* number formats stay those of the C locale */
    is_set = true;
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* --- restoring after a crash ---------------------------------------------------------------------------- */

static void add_restore(const char *capability)
{
    const char *text = tigetstr(capability);
    if (!text || text == (char *)-1 || strlen(text) > sizeof terminal.restore - terminal.restore_length)
        return;
    memcpy(terminal.restore + terminal.restore_length, text, strlen(text));
    terminal.restore_length += strlen(text);
}

/* Restores the terminal after a crash in any thread, and then lets the signal have its default action. Only
 * async-signal-safe calls are allowed. */
static void on_crash(int signal)
{
    ssize_t written = write(STDOUT_FILENO, terminal.restore, terminal.restore_length);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &terminal.saved);
    raise(signal);
}

static void watch_for_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    static const char *const restoring[] = {"sgr0", "rmkx", "cnorm", "rmcup"};
    static char stack[64 * 1024]; /* separate, because the crash may be a stack overflow */
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    for (size_t i = 0; i < sizeof restoring / sizeof *restoring; i++)
        add_restore(restoring[i]);
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_RESETHAND | SA_ONSTACK | SA_NODEFER};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        sigaction(crashes[i], &action, NULL);
}

/* --- styles --------------------------------------------------------------------------------------------- */

static bool may_colour(void)
{
    const char *no_colour = getenv("NO_COLOR");
    return !(no_colour && *no_colour) && has_colors();
}

static void make_styles(void)
{
    static const struct {
        enum style style;
        attr_t attributes;
        short colour;
    } styles[] = {{STYLE_DIM, A_DIM, -1},
                  {STYLE_STRONG, A_BOLD, -1},
                  {STYLE_TITLE, A_BOLD, COLOR_GREEN},
                  {STYLE_HEADING, A_REVERSE, -1},
                  {STYLE_SELECTED, A_REVERSE | A_BOLD, -1},
                  {STYLE_KEY, A_BOLD, COLOR_CYAN},
                  {STYLE_GRAPH, A_NORMAL, COLOR_CYAN},
                  {STYLE_WARNING, A_BOLD, COLOR_YELLOW},
                  {STYLE_MEASURED, A_NORMAL, COLOR_GREEN},
                  {STYLE_DERIVED, A_NORMAL, COLOR_CYAN},
                  {STYLE_MODELLED, A_NORMAL, COLOR_YELLOW},
                  {STYLE_ASSUMED, A_NORMAL, COLOR_MAGENTA}};
    bool has_colour = may_colour();
    if (has_colour) {
        start_color();
        use_default_colors();
    }
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++) {
        enum style style = styles[i].style;
        terminal.attributes[style] = styles[i].attributes;
        if (has_colour && styles[i].colour >= 0 && init_pair((short)(i + 1), styles[i].colour, -1) == OK)
            terminal.pairs[style] = (short)(i + 1);
    }
}

/* Returns true if the terminal can place a cursor. Call it before newterm, which would exit for an unknown
 * terminal. */
static bool can_place_cursor(void)
{
    int found = 0;
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return false;
    const char *place = tigetstr("cup");
    bool can = place && place != (char *)-1;
    del_curterm(cur_term);
    return can;
}

/* --- open and close ------------------------------------------------------------------------------------- */

joule_status screen_open(joule_error *out_error)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "standard input and output must be a terminal; --once needs none");
    if (!can_place_cursor())
        return error_set(out_error, JOULE_UNSUPPORTED,
                         "the terminal (TERM=%s) cannot place a cursor; correct TERM, or use --once",
                         term ? term : "");
    tcgetattr(STDIN_FILENO, &terminal.saved);
    screen_has_utf8();
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen)
        return error_set(out_error, JOULE_FAILED, "the terminal (TERM=%s) cannot be used", term ? term : "");
    terminal.is_open = true;
    atexit(screen_leave); /* vendors' libraries may call exit */
    watch_for_crashes();
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    typeahead(-1); /* draws whole pages, even if keys are pending */
    curs_set(0);
    make_styles();
    return JOULE_OK;
}

void screen_leave(void)
{
    if (terminal.is_open && !isendwin())
        endwin();
}

void screen_return(void)
{
    refresh();
    clearok(stdscr, TRUE);
}

void screen_close(void)
{
    if (!terminal.is_open)
        return;
    screen_leave();
    terminal.is_open = false;
    delscreen(terminal.screen);
}

/* --- size and keys -------------------------------------------------------------------------------------- */

int screen_once_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return ONCE_WIDTH;
}

void screen_size(int *out_width, int *out_height)
{
    getmaxyx(stdscr, *out_height, *out_width);
}

void screen_resized(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        resizeterm(size.ws_row, size.ws_col);
    clearok(stdscr, TRUE);
}

int screen_key(void)
{
    static const struct {
        int curses, ui;
    } keys[] = {{KEY_UP, UI_UP},
                {KEY_DOWN, UI_DOWN},
                {KEY_PPAGE, UI_PAGE_UP},
                {KEY_NPAGE, UI_PAGE_DOWN},
                {KEY_HOME, UI_HOME},
                {KEY_END, UI_END},
                {KEY_ENTER, UI_ENTER},
                {'\r', UI_ENTER},
                {'\n', UI_ENTER},
                {27, UI_ESCAPE},
                {KEY_LEFT, UI_ESCAPE},
                {KEY_RIGHT, UI_ENTER},
                {KEY_BACKSPACE, UI_BACKSPACE},
                {127, UI_BACKSPACE},
                {8, UI_BACKSPACE},
                {'\t', UI_TAB},
                {KEY_BTAB, UI_TAB},
                {KEY_F(1), UI_HELP}};
    int key = getch();
    if (key == ERR)
        return 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].curses == key)
            return keys[i].ui;
    return key > 0 && key < 0x100 ? key : UI_NOTHING;
}

/* --- drawing -------------------------------------------------------------------------------------------- */

void screen_show(const struct frame *frame)
{
    erase(); /* clears only curses' copy; curses sends the differences */
    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++) {
            const struct cell *cell = &frame->cells[y * frame->width + x];
            wchar_t text[2] = {(wchar_t)cell->character, 0};
            cchar_t shown;
            if (cell->character == ' ' && cell->style == STYLE_PLAIN)
                continue;
            setcchar(&shown, text, terminal.attributes[cell->style], terminal.pairs[cell->style], NULL);
            mvadd_wch(y, x, &shown);
        }
    refresh();
}
