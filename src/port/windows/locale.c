/* port/windows/locale.c - replaces base/locale.c. */
#include "base/locale.h"

#include <locale.h>
#include <stdio.h>

static _locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = _create_locale(LC_ALL, "C");
}

static _locale_t get_c_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

int locale_print(char *buffer, size_t size, const char *format, va_list arguments)
{
    return __stdio_common_vsprintf(_CRT_INTERNAL_LOCAL_PRINTF_OPTIONS |
                                       _CRT_INTERNAL_PRINTF_STANDARD_SNPRINTF_BEHAVIOR,
                                   buffer, size, format, get_c_locale(), arguments);
}

double locale_scan(const char *string)
{
    return _strtod_l(string, NULL, get_c_locale());
}
