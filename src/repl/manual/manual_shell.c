/* manual_shell - completions of the command line for shells, from the table of options. */
#include "repl/manual/manual.h"

#include "repl/session/options.h"

/* The words that an option's value is one of; NULL: something else. */
static const char *words_of(const char *name)
{
    static const struct {
        const char *name, *words;
    } WORDS[] = {
        {"color", "auto always never"},
        {"manual", "man html bash zsh fish"},
        {"seed", "random"},
        {"target", "llvm cuda"},
    };

    for (size_t k = 0; name && k < ML_COUNT(WORDS); k++)
        if (ml_streq(WORDS[k].name, name))
            return WORDS[k].words;
    return NULL;
}

static bool takes_file(const char *arg)
{
    return arg && strstr(arg, "FILE") != NULL;
}

/* Quotes of the shell inside a text between single ones. */
static void add_quoted(ml_Text *t, const char *z, const char *more)
{
    for (; *z; z++) {
        if (*z == '\'')
            ml_text_add(t, "'\\''");
        else if (strchr(more, *z))
            ml_text_fmt(t, "\\%c", *z);
        else
            ml_text_char(t, *z);
    }
}

static void bash_option(const char *name, char letter, const char *arg, const char *help,
                        void *user)
{
    (void)help;
    if (letter)
        ml_text_fmt(user, " -%c", letter);
    if (name)
        ml_text_fmt(user, " --%s%s", name, arg ? "=" : "");
}

static void bash_value(const char *name, char letter, const char *arg, const char *help,
                       void *user)
{
    (void)help;
    (void)letter;
    if (words_of(name))
        ml_text_fmt(user, "    --%s) words='%s' ;;\n", name, words_of(name));
    else if (name && arg && !takes_file(arg))
        ml_text_fmt(user, "    --%s) return ;;\n", name);
}

static void add_bash(ml_Text *t)
{
    ml_text_add(
        t, "# bash completion for moonloop; written by moonloop --manual=bash\n"
           "_moonloop() {\n"
           "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
           "    local words='' opt=''\n"
           "    COMPREPLY=()\n"
           "    if [[ $cur == = ]]; then opt=$before cur=''\n"
           "    elif [[ $before == = ]]; then opt=${COMP_WORDS[COMP_CWORD-2]}\n"
           "    elif [[ $before == -[el] ]]; then return\n"
           "    elif [[ $before == --* ]]; then opt=$before\n"
           "    fi\n"
           "    case $opt in\n");
    ml_options_each(bash_value, t);
    ml_text_add(t, "    esac\n"
                   "    if [[ -n $words ]]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                   "    elif [[ $cur == -* ]]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -W '");
    ml_options_each(bash_option, t);
    ml_text_add(t, "' -- \"$cur\")\n"
                   "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
                   "    else\n"
                   "        compopt -o filenames\n"
                   "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                   "    fi\n"
                   "}\n"
                   "complete -F _moonloop moonloop\n");
}

static void zsh_option(const char *name, char letter, const char *arg, const char *help,
                       void *user)
{
    ml_Text *t = user, value = {0};
    const char *words = words_of(name);

    if (arg)
        ml_text_fmt(&value, ":%s:%s%s%s", arg,
                    words             ? "("
                    : takes_file(arg) ? "_files"
                                      : " ",
                    words ? words : "", words ? ")" : "");
    for (int k = 0; k < 2; k++) {
        if (k == 0 ? !letter : !name)
            continue;
        ml_text_add(t, "  '*");
        if (k == 0)
            ml_text_fmt(t, "-%c[", letter);
        else
            ml_text_fmt(t, "--%s%s[", name, arg ? "=" : "");
        add_quoted(t, help, "[]:");
        ml_text_char(t, ']');
        add_quoted(t, ml_text_z(&value), "");
        ml_text_add(t, "' \\\n");
    }
    ml_text_free(&value);
}

static void add_zsh(ml_Text *t)
{
    ml_text_add(t,
                "#compdef moonloop\n# written by moonloop --manual=zsh\n_arguments \\\n");
    ml_options_each(zsh_option, t);
    ml_text_add(t, "  '1:file:_files' \\\n  '*:argument:_files'\n");
}

static void fish_option(const char *name, char letter, const char *arg, const char *help,
                        void *user)
{
    ml_Text *t = user;

    ml_text_add(t, "complete -c moonloop");
    if (letter)
        ml_text_fmt(t, " -s %c", letter);
    if (name)
        ml_text_fmt(t, " -l %s", name);
    if (arg)
        ml_text_add(t, takes_file(arg) ? " -r -F" : " -x");
    if (words_of(name))
        ml_text_fmt(t, " -a '%s'", words_of(name));
    ml_text_add(t, " -d '");
    for (const char *z = help; *z; z++)
        ml_text_fmt(t, "%s%c", *z == '\'' || *z == '\\' ? "\\" : "", *z);
    ml_text_add(t, "'\n");
}

static void add_fish(ml_Text *t)
{
    ml_text_add(t, "# written by moonloop --manual=fish\n");
    ml_options_each(fish_option, t);
}

void ml_manual_shell(const char *kind, ml_Text *out)
{
    if (ml_streq(kind, "bash"))
        add_bash(out);
    else if (ml_streq(kind, "zsh"))
        add_zsh(out);
    else
        add_fish(out);
}
