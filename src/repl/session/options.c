/* options - the command line: one table, read completely before anything is run.
 * Source: interaction 2. */
#include "repl/session/options.h"

#include <stddef.h>
#include <stdlib.h>

#include "repl/out/out.h"

typedef enum Kind { FLAG, TEXT, NUMBER, SIZE, SHOW, COLOR, NO_COLOR, CHUNK } Kind;

typedef struct Option {
    const char *name; /* long form, or NULL */
    char letter;      /* short form, or 0 */
    Kind kind;
    size_t field; /* offset in ml_Options */
    const char *arg, *help;
} Option;

#define AT(f) offsetof(ml_Options, f)
static const Option OPTIONS[] = {
    {NULL, 'e', CHUNK, 0, "CODE",
     "run CODE (Lua; a leading : makes it a command); repeatable"},
    {NULL, 'l', CHUNK, 0, "NAME", "require NAME into a global"},
    {NULL, 'i', FLAG, AT(interactive), NULL,
     "prompt after FILE or -e, also without a terminal"},
    {"batch", 'b', FLAG, AT(batch), NULL, "never prompt or page; stop at the first error"},
    {"keep-going", 0, FLAG, AT(keep_going), NULL,
     "in session text, continue after an error"},
    {"transcript", 0, FLAG, AT(transcript), NULL,
     "replay the transcripts FILE… and compare"},
    {"update", 0, FLAG, AT(update), NULL, "with --transcript: rewrite what differs"},
    {"color", 0, COLOR, AT(color), "WHEN", "auto, always or never"},
    {"no-color", 0, NO_COLOR, AT(color), NULL, "no colour"},
    {"ascii", 0, FLAG, AT(ascii), NULL, "no characters outside ASCII"},
    {"width", 0, NUMBER, AT(width), "N", "columns of a line"},
    {"json", 0, FLAG, AT(json), NULL, "commands print one JSON object per line"},
    {"target", 0, TEXT, AT(target), "T", "target of new schedules"},
    {"threads", 0, TEXT, AT(threads), "N", "threads of generated code"},
    {"seed", 0, TEXT, AT(seed), "N", "seed of new schedules; random: from the system"},
    {"memory-limit", 0, TEXT, AT(memory_limit), "MIB",
     "MiB that the programs of the session may take"},
    {"no-init", 0, FLAG, AT(no_init), NULL, "skip the init file"},
    {"init", 0, TEXT, AT(init), "FILE", "another init file"},
    {"no-history", 0, FLAG, AT(no_history), NULL, "keep no history"},
    {"private", 0, FLAG, AT(private_), NULL, "keep nothing of this session"},
    {"safe", 0, FLAG, AT(safe), NULL, "for scripts one does not trust: see below"},
    {"help", 'h', SHOW, 0, NULL, "this text"},
    {"help-all", 0, SHOW, 0, NULL, "the manual: every primitive, setting and error code"},
    {"manual", 0, TEXT, AT(manual), "KIND",
     "write the manual: man, html; completions: bash, zsh, fish"},
    {"version", 'v', SHOW, 0, NULL, "one line"},
    {"features", 0, SHOW, 0, NULL, "the libraries found, name=value"},
    {"codes", 0, SHOW, 0, NULL, "every error code with its sentence"},
    {"view", 0, FLAG, AT(view), NULL, "start in the visualiser"},
    {"keys", 0, TEXT, AT(keys), "FILE",
     "with --view: keys from FILE, no terminal; compares screens (--update: writes them)"},
    {"size", 0, SIZE, AT(size), "WxH", "with --keys: the size of the screen (80x24)"},
    {"worker", 0, SHOW, 0, NULL, NULL}, /* main looks for these two first */
    {"job", 0, SHOW, 0, NULL, NULL},
};

static const Option *find(const char *name, size_t n)
{
    for (size_t k = 0; k < ML_COUNT(OPTIONS); k++)
        if (OPTIONS[k].name && strlen(OPTIONS[k].name) == n &&
            strncmp(OPTIONS[k].name, name, n) == 0)
            return &OPTIONS[k];
    return NULL;
}

static const Option *find_letter(char c)
{
    for (size_t k = 0; k < ML_COUNT(OPTIONS); k++)
        if (OPTIONS[k].letter == c)
            return &OPTIONS[k];
    return NULL;
}

static bool wants_value(const Option *d)
{
    switch (d->kind) {
    case TEXT:
    case NUMBER:
    case SIZE:
    case COLOR:
    case CHUNK: return true;
    case FLAG:
    case SHOW:
    case NO_COLOR: break;
    }
    return false;
}

static bool read_size(const char *p, int size[2])
{
    for (int k = 0; k < 2; k++) {
        char *end;
        long n = strtol(p, &end, 10);

        if (end == p || *end != (k ? '\0' : 'x') || n < 1 || n > 4096)
            return false;
        size[k] = (int)n;
        p = end + 1;
    }
    return true;
}

static bool apply(ml_Options *o, const Option *d, const char *value, ml_Text *why)
{
    char *field = (char *)o + d->field, *end;
    long n;

    switch (d->kind) {
    case FLAG: *(bool *)(void *)field = true; return true;
    case TEXT: *(const char **)(void *)field = value; return true;
    case NUMBER:
        n = strtol(value, &end, 10);
        if (end == value || *end || n < ML_LEAST_WIDTH || n > 10000) {
            ml_text_fmt(why, "--%s takes a number from %d to 10000, not %s", d->name,
                        ML_LEAST_WIDTH, value);
            return false;
        }
        *(int *)(void *)field = (int)n;
        return true;
    case SIZE:
        if (!read_size(value, o->size)) {
            ml_text_fmt(why, "--%s is columns x rows, like 80x24, not %s", d->name, value);
            return false;
        }
        return true;
    case SHOW: o->show = d->name; return true;
    case COLOR:
        o->color = ml_streq(value, "always") ? 1 : ml_streq(value, "never") ? 0 : -1;
        if (o->color < 0 && !ml_streq(value, "auto")) {
            ml_text_fmt(why, "--color is auto, always or never, not %s", value);
            return false;
        }
        return true;
    case NO_COLOR: o->color = 0; return true;
    case CHUNK:
        if (o->n_chunks == ML_MAX_CHUNKS) {
            ml_text_fmt(why, "more than %d of -e and -l", ML_MAX_CHUNKS);
            return false;
        }
        o->chunks[o->n_chunks++] = (ml_Chunk){d->letter, value};
        return true;
    }
    return true;
}

bool ml_options_read(ml_Options *o, int argc, char **argv, ml_Text *why)
{
    int k = 1;

    *o = (ml_Options){.color = -1};
    for (; k < argc; k++) {
        const char *a = argv[k], *value = NULL;
        const Option *d;

        if (ml_streq(a, "--")) {
            k++;
            break;
        }
        if (a[0] != '-' || a[1] == '\0')
            break;
        if (a[1] == '-') {
            size_t n = strcspn(a + 2, "=");

            d = find(a + 2, n);
            if (a[2 + n] == '=')
                value = a + 2 + n + 1;
            if (d && value && !wants_value(d)) {
                ml_text_fmt(why, "--%s takes no value", d->name);
                return false;
            }
        } else {
            d = find_letter(a[1]);
            if (d && a[2]) {
                if (wants_value(d))
                    value = a + 2;
                else
                    d = NULL; /* letters are not bundled */
            }
        }
        if (!d) {
            ml_text_fmt(why, "unknown option %s; see moonloop --help", a);
            return false;
        }
        if (wants_value(d) && !value) {
            if (k + 1 == argc) {
                ml_text_fmt(why, "option %s needs a value; see moonloop --help", a);
                return false;
            }
            value = argv[++k];
        }
        if (!apply(o, d, value, why))
            return false;
        if (o->transcript && k + 1 < argc && argv[k + 1][0] != '-') {
            k++;
            break;
        }
    }
    if ((o->keys || o->size[0]) && !o->view) {
        ml_text_fmt(why, "--%s goes with --view", o->keys ? "keys" : "size");
        return false;
    }
    if (o->size[0] && !o->keys) {
        ml_text_add(why, "--size goes with --keys: a terminal has a size of its own");
        return false;
    }
    if (o->transcript && o->safe) {
        ml_text_add(why, "--transcript runs commands of the system: it does not go with "
                         "--safe");
        return false;
    }
    if (!o->transcript && k < argc)
        o->file = argv[k++];
    o->args = argv + k;
    o->n_args = argc - k;
    /* --update may stand behind the files of --transcript */
    while (o->transcript && o->n_args > 0 && ml_streq(o->args[o->n_args - 1], "--update")) {
        o->update = true;
        o->n_args--;
    }
    if (o->transcript && o->n_args == 0) {
        ml_text_add(why, "--transcript needs at least one file");
        return false;
    }
    return true;
}

void ml_options_each(ml_OptionFn *fn, void *user)
{
    for (size_t k = 0; k < ML_COUNT(OPTIONS); k++) {
        const Option *d = &OPTIONS[k];

        if (d->help)
            fn(d->name, d->letter, d->arg, d->help, user);
    }
}

void ml_options_help(ml_Text *t)
{
    ml_text_add(t,
                "usage: moonloop [options] [FILE [ARGS…]]\n\n"
                "FILE by its suffix: .lua a script; .py .tir .tvm a program, opened; .json "
                "a saved\n"
                "schedule; .txt .mls session text; - a Lua chunk from standard input.\n\n");
    for (size_t k = 0; k < ML_COUNT(OPTIONS); k++) {
        const Option *d = &OPTIONS[k];
        size_t at = t->n;

        if (!d->help)
            continue;
        ml_text_add(t, "  ");
        if (d->letter)
            ml_text_fmt(t, "-%c%s", d->letter, d->name ? ", " : "");
        if (d->name)
            ml_text_fmt(t, "--%s", d->name);
        if (d->arg)
            ml_text_fmt(t, "%s%s", d->name ? "=" : " ", d->arg);
        ml_text_repeat(t, ' ', t->n - at < 24 ? 24 - (t->n - at) : 1);
        ml_text_fmt(t, " %s\n", d->help);
    }
    ml_text_add(
        t,
        "\n--safe: what Lua and commands read are FILE, ARGS that are files and what lies "
        "below\n"
        "their folders, by real path. They write no file, start no command, load no C "
        "module and\n"
        "run no compiled code inside the session; io, debug, os.execute and their like are "
        "gone.\n"
        "Compiled programs run in a process that can only compute (seccomp). 2048 MiB of "
        "memory\n"
        "unless --memory-limit or the init file says otherwise; :db and :tune work in "
        "memory. Not\n"
        "held back: processor time, what is printed, and the compiler that makes the "
        "code.\n");
    ml_text_add(
        t,
        "\nStandard input that is no terminal is read as session text. Exit status: 0 "
        "fine, 1 a\n"
        "step or check failed, 2 wrong usage, 3 something is absent, 4 internal error.\n");
}
