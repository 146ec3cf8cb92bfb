/*
 * value_text - constants as text in the notation of another language.
 *
 * One walk for all of them: what differs between JSON, Lua and Python is data (words,
 * brackets) or the form of one number, string or key. Source: primitives 12.2, 12.3.
 */
#include "moonloop/core/json/value_text.h"

void ml_text_string(ml_Text *out, const char *z, ml_Escape how)
{
    ml_text_char(out, '"');
    for (; *z; z++) {
        unsigned char c = (unsigned char)*z;

        if (c == '"' || c == '\\')
            ml_text_fmt(out, "\\%c", c);
        else if (c == '\n')
            ml_text_add(out, "\\n");
        else if (c >= ' ' && !(c == 127 && how == ML_ESCAPE_LUA))
            ml_text_char(out, (char)c);
        else
            switch (how) {
            case ML_ESCAPE_JSON: ml_text_fmt(out, "\\u%04x", c); break;
            case ML_ESCAPE_LUA: ml_text_fmt(out, "\\%03u", c); break;
            case ML_ESCAPE_PYTHON: ml_text_fmt(out, "\\x%02x", c); break;
            }
    }
    ml_text_char(out, '"');
}

static void add_items(ml_Text *out, const ml_Value *v, const ml_Notation *how)
{
    bool dict = v->kind == ML_VAL_DICT;
    const char *brackets = dict ? how->dict : how->list;

    ml_text_char(out, brackets[0]);
    for (uint32_t k = 0; k < v->n; k++) {
        if (k)
            ml_text_add(out, ", ");
        if (dict)
            how->key(out, v->keys[k]);
        ml_value_text(out, v->as.list[k], how);
    }
    ml_text_char(out, brackets[1]);
}

void ml_value_text(ml_Text *out, const ml_Value *v, const ml_Notation *how)
{
    switch ((ml_ValueKind)v->kind) {
    case ML_VAL_NONE: ml_text_add(out, how->none); return;
    case ML_VAL_BOOL: ml_text_add(out, v->as.i ? how->yes : how->no); return;
    case ML_VAL_INT: how->integer(out, v->as.i); return;
    case ML_VAL_FLOAT: how->real(out, v->as.f); return;
    case ML_VAL_STRING: how->string(out, v->as.s); return;
    case ML_VAL_LIST:
    case ML_VAL_DICT: add_items(out, v, how); return;
    case ML_VAL_EXPR:
    case ML_VAL_BUFFER:
    case ML_VAL_VAR:
    case ML_VAL_MAP:
    case ML_VAL_TARGET:
    case ML_VAL_REDUCER: ml_text_add(out, how->object); return;
    }
}
