/* base/locale.c - see locale.h. Note: uselocale() affects only the calling thread, and the old locale is
 * restored. */
#include "base/locale.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Written once by make_c_locale; read through get_c_locale. */
static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object of libc, so it cannot fail */
}

static locale_t get_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

int locale_print(char *buffer, size_t size, const char *format, va_list arguments)
{
    locale_t previous = uselocale(get_c_locale());
    int length = vsnprintf(buffer, size, format, arguments);
    uselocale(previous);
    return length;
}

double locale_scan(const char *string)
{
    return strtod_l(string, NULL, get_c_locale());
}
