/* tools/joulec/clang_options.c - see clang_options.h. */
#include "clang_options.h"

#include <string.h>
#include "base/string.h"

bool clang_option_takes_next(const char *word)
{
    /* options of clang 14 and 19, except those that clang_options_shorten replaces */
    static const char options[] =
        " -o -I -D -U -include -isystem -iquote -x -MF -MT -MQ -MJ -L -l -Xclang -Xlinker -Xassembler"
        " -Xpreprocessor -Xanalyzer -Xopenmp-target -Xoffload-linker -Xarch_host -Xarch_device -Xcuda-ptxas"
        " -Xcuda-fatbinary -target -arch -arch_only -idirafter -imacros -isysroot -include-pch -iprefix"
        " -iwithprefix -iwithprefixbefore -iwithsysroot -isystem-after -cxx-isystem -stdlib++-isystem"
        " -iframework -iframeworkwithsysroot -imultilib -ivfsoverlay -vfsoverlay -iapinotes-modules -T -u"
        " -z -e -b -A -B -F -mllvm -mmlir -meabi -mthread-model -resource-dir -working-directory"
        " -dependency-file -dependency-dot -module-dependency-dir -dumpdir -serialize-diagnostics"
        " -gen-cdb-fragment-path -fmodules-user-build-path -rpath -init -filelist -framework"
        " -weak_framework -weak_library -lazy_library -force_load -install_name -current_version"
        " -compatibility_version -bundle_loader -exported_symbols_list -unexported_symbols_list"
        " -ccc-gcc-name -ccc-install-dir --analyzer-output --assert --config --dyld-prefix"
        " --encoding --for-linker --imacros --include-directory-after"
        " --include-with-prefix --include-with-prefix-after --include-with-prefix-before"
        " --param --prefix --rtlib --serialize-diagnostics --std --stdlib --sysroot ";
    if (string_starts(word, "-Xarch_") || string_starts(word, "-Xopenmp-target="))
        return true; /* the name of a machine follows, for example -Xarch_x86_64 */
    size_t length = strlen(word);
    const char *at = word[0] == '-' ? strstr(options, word) : NULL;
    while (at && !(at[-1] == ' ' && at[length] == ' '))
        at = strstr(at + length, word);
    return at;
}

const char *clang_option_language(const char *word, const char *next)
{
    return !string_starts(word, "-x") ? NULL : word[2] ? word + 2 : next;
}

/* Returns the short form of a long option; NULL: none. Sets *out_value to the text after '='; NULL: none. */
static const char *short_form(const char *word, const char **out_value)
{
    static const struct {
        const char *name, *option;
    } forms[] = {
        {"--output", "-o"},
        {"--compile", "-c"},
        {"--assemble", "-S"},
        {"--preprocess", "-E"},
        {"--dependencies", "-M"},
        {"--user-dependencies", "-MM"},
        {"--write-dependencies", "-MD"},
        {"--write-user-dependencies", "-MMD"},
        {"--language", "-x"},
        {"--include", "-include"},
        {"--include-directory", "-I"},
        {"--library-directory", "-L"},
        {"--define-macro", "-D"},
        {"--undefine-macro", "-U"},
        {"--static", "-static"},
    };
    size_t length = strcspn(word, "=");
    *out_value = word[length] ? word + length + 1 : NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i].name) == length && memcmp(forms[i].name, word, length) == 0)
            return clang_option_takes_next(forms[i].option) || !*out_value ? forms[i].option : NULL;
    return NULL;
}

const char **clang_options_shorten(struct arena *arena, const char **given, size_t *count)
{
    const char **words = arena_alloc(arena, (2 * *count + 1) * sizeof *words);
    size_t kept = 0;
    bool is_file = false; /* every argument after "--" is a file */
    for (; *given && words; given++) {
        const char *value, *option = is_file ? NULL : short_form(*given, &value);
        is_file = is_file || strcmp(*given, "--") == 0;
        words[kept++] = option ? option : *given;
        if (option && value)
            words[kept++] = value;
        else if (!is_file && clang_option_takes_next(words[kept - 1]) && given[1])
            words[kept++] = *++given;
    }
    *count = kept;
    return words;
}
