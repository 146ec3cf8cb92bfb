/*
 * act_impl - what the files of the requests share: what is open, and the helpers.
 *
 * At most one thing is open: a prompt line, a menu, or a choice among nodes. It
 * lives in `cx`, which is dropped when it closes; what outlives it is in ml_Act itself.
 */
#ifndef ML_REPL_VIEW_ACT_ACT_IMPL_H
#define ML_REPL_VIEW_ACT_ACT_IMPL_H

#include "primitives/schedule/schedule_impl.h"
#include "repl/line/trial.h"
#include "repl/view/act/act.h"

typedef enum ml_ActOpen {
    ML_ACT_NONE,
    ML_ACT_PROMPT,
    ML_ACT_MENU,
    ML_ACT_CHOICE, /* the cursor goes over candidates, Enter takes one */
    ML_ACT_ORDER,  /* several are marked one after the other */
    ML_ACT_DRAG,   /* a node is being dragged onto another */
} ml_ActOpen;

/* ---- a line that is completed and edited */
typedef struct ml_ActAsk {
    const char *label;        /* "split k[1024] into: " */
    const char *head, *tail;  /* of the line that is run: split("k", { and }) */
    const char *text;         /* what stands there at first */
    const char *hint;         /* shown while the line is empty */
    const ml_Primitive *prim; /* the tail of whose call it is, or NULL */
    const char *const *notes; /* beside proposals */
    const char *const
        *proposals; /* whole texts for Tab, while they are what stands there */
    size_t n_proposals;
    bool factors; /* one number alone stands for {auto, it} */
    bool free;    /* a line of the prompt: commands too, history of the session */
    bool may_be_empty;
} ml_ActAsk;

enum { ML_ACT_HISTORY = 100 };
typedef struct ml_ActPast { /* what was entered at one request's prompt, oldest first */
    char *v[ML_ACT_HISTORY];
    size_t n;
} ml_ActPast;

/* ---- a menu */
typedef struct ml_ActItem ml_ActItem;
typedef void ml_ActPick(ml_View *v, const ml_ActItem *it);
struct ml_ActItem {
    const char *text, *note;
    const char *key;          /* another word that the filter finds it by, or NULL */
    const char *line;         /* run when it is taken; NULL: pick does it */
    ml_ActPick *pick;         /* what else happens then; NULL: nothing */
    const ml_Primitive *prim; /* whether and how it could be called here is looked for */
    uint8_t rank;             /* smaller ones come first; illegal ones last */
    uint8_t state;            /* an ml_TrialKind: WORKS, FAILS (dimmed), NONE: not known */
    bool tried;
};

/* ---- a choice: nodes that could be taken */
typedef struct ml_ActNode {
    ml_Uid uid;
    uint8_t state; /* an ml_TrialKind */
    bool tried;
    uint8_t place; /* when it is taken: 1 for the first */
} ml_ActNode;

typedef struct ml_ActCase { /* whether one request applies: known by now? */
    uint8_t state;          /* an ml_TrialKind */
    bool known;
    char *why;
} ml_ActCase;
typedef struct ml_ActFacts { /* of one node of one version */
    const ml_Schedule *s;
    const ml_Module *program; /* another schedule may come to lie where one was */
    int version;
    ml_Uid node;
    unsigned used; /* when it was asked for last */
    ml_ActCase of[ML_N_REQUESTS];
} ml_ActFacts;
enum { ML_ACT_FACTS = 16 };

struct ml_Act {
    ml_ActOpen open;
    ml_Request req; /* that opened it */
    ml_Ctx *cx;     /* of what is open; NULL: nothing is */
    ml_Uid node;    /* selected when it was opened */
    int version;    /* of the focus then */
    int count;
    bool patient; /* nothing is given up because of its time */

    /* the live check of `line` */
    ml_Text line;
    ml_Trial trial;
    bool tried;
    ml_Text preview; /* the program after it, when it works; printed at once: a trial's
                      * result must be gone before the focus is used again */
    ml_Rows rows;    /* the same as rows, once somebody asked */
    ml_Text now;     /* the program before it, printed once for all that is typed */
    const ml_Schedule *now_s;    /* whose that is: of a schedule, */
    const ml_Module *now_module; /* a program, */
    int now_version;             /* a version; now_s NULL: nobody's */
    bool now_auto;

    /* a prompt */
    ml_ActAsk ask;
    ml_Text text, kept; /* edited; as it was before history was looked at */
    size_t at;          /* the cursor, in bytes */
    size_t past_at;     /* entry of the history that is shown; its count: none */
    ml_ActPast past[ML_N_REQUESTS];
    ML_VEC(const char *) offers; /* of Tab, in cx */
    ML_VEC(const char *) offer_notes;
    size_t offer_at, offer_from, offer_to; /* the one that is in; the bytes it took */
    char offer_after;
    bool offering;

    /* a menu */
    const char *menu_label;
    ML_VEC(ml_ActItem) items;
    ml_Text filter;
    size_t item; /* among those that pass the filter */

    /* a choice, an order, a drag */
    const char *choice_label;
    ML_VEC(ml_ActNode) nodes;
    const char *(*choice_line)(ml_View *v, ml_Uid node); /* the call, in cx */
    uint8_t n_taken;
    ml_Uid onto; /* drag: the node below the pointer */

    /* repeat */
    ml_Request last;
    int last_count;
    char *last_line, *last_name; /* the line and the name in it that stands for the node */
    bool last_is_block;

    /* split by the next tiling */
    ml_Uid tiled, tiled_node; /* the loop, and what was selected when it was split */
    int tiled_from, tiled_to; /* the version before, the version that it made */
    size_t tiling;

    ml_ActFacts facts[ML_ACT_FACTS];
    unsigned clock;
    char *clip; /* text that waits for the clipboard */
};

/* ---- act.c */
/* The arena of what is open; begun by ml_act_start. */
void ml_act_start(ml_View *v, ml_ActOpen what, ml_Request r);
/* The same in an arena that holds things of it already. */
void ml_act_start_in(ml_View *v, ml_ActOpen what, ml_Request r, ml_Ctx *cx);
void ml_act_close(ml_View *v);
/* Runs a line of Lua or a command as if typed. The selection follows. */
bool ml_act_run(ml_View *v, const char *line);
/* The same, which `.` repeats at other nodes. */
bool ml_act_run_at(ml_View *v, ml_Request r, const char *line, ml_Uid node);

/* ---- act_do.c: what the table of requests calls */
void ml_act_parallel(ml_View *v, int count);
void ml_act_vectorize(ml_View *v, int count);
void ml_act_unroll(ml_View *v, int count);
void ml_act_fuse(ml_View *v, int count);
void ml_act_move_down(ml_View *v, int count);
void ml_act_move_up(ml_View *v, int count);
void ml_act_split(ml_View *v, int count);
void ml_act_split_next(ml_View *v, int count);
void ml_act_compute_inline(ml_View *v, int count);
void ml_act_reverse_inline(ml_View *v, int count);
void ml_act_blockize(ml_View *v, int count);
void ml_act_layout(ml_View *v, int count);
void ml_act_undo(ml_View *v, int count);
void ml_act_redo(ml_View *v, int count);
void ml_act_mark(ml_View *v, int count);
void ml_act_time_it(ml_View *v, int count);
void ml_act_check(ml_View *v, int count);
void ml_act_command(ml_View *v, int count);
void ml_act_tune(ml_View *v, int count);
void ml_act_tune_subtree(ml_View *v, int count);
void ml_act_picture(ml_View *v, int count);
void ml_act_explain(ml_View *v, int count);

/* ---- act_node.c: the program around the selected node */
ml_Program ml_act_program(const ml_View *v);
const ml_Stmt *ml_act_stmt(const ml_View *v, ml_Uid uid);   /* NULL: not in this version */
const ml_For *ml_act_for(const ml_View *v, ml_Uid uid);     /* NULL: no loop */
const ml_Block *ml_act_block(const ml_View *v, ml_Uid uid); /* NULL: no block */
/* Whether no function holds a block, and the sentence that says so. */
bool ml_act_no_blocks(const ml_View *v, ml_Text *why);
/* Whether names mean what is in its function; false: *why says which function they mean. */
bool ml_act_in_reach(const ml_View *v, ml_Uid uid, ml_Text *why);
/* The block itself, or the only one below the loop; NULL: *why says. */
const ml_Block *ml_act_block_here(const ml_View *v, ml_Uid uid, ml_Text *why);
/* The loop that is all there is in the loop's body; NULL: *why (may be NULL) says what is.
 */
const ml_For *ml_act_inner(const ml_View *v, const ml_For *f, ml_Text *why);
/* The loop of which this one is all there is. */
const ml_For *ml_act_outer(const ml_View *v, const ml_For *f, ml_Text *why);
/* The loops that nest perfectly with it, itself included, outermost first. */
void ml_act_chain(const ml_View *v, ml_Ctx *cx, const ml_For *f, ml_UidVec *out);
/* The name as a Lua string that means this node where `want` is asked for; in cx. NULL: it
 * cannot be said by a name. */
const char *ml_act_name(const ml_View *v, ml_Ctx *cx, ml_Uid uid, ml_HandleKind want);
/* "k[1024]", "C". */
const char *ml_act_shown(const ml_View *v, ml_Ctx *cx, ml_Uid uid);
int64_t ml_act_extent(const ml_For *f); /* -1: not a literal */
/* Loops and blocks of the function in the order of the text. */
void ml_act_all_nodes(const ml_View *v, ml_Ctx *cx, bool loops, bool blocks,
                      ml_UidVec *out);
/* Texts for split: "auto, 4", best first; notes (may be NULL) name the intrinsics of whose
 * tile a factor is. */
size_t ml_act_tilings(const ml_View *v, ml_Ctx *cx, const ml_For *f,
                      const char *const **out, const char *const **notes);
/* Tilings of loops of this extent in the fastest records of the database, at most n. */
size_t ml_act_seen(const ml_View *v, ml_Ctx *cx, int64_t extent, const char **out,
                   size_t n);
bool ml_act_is(const ml_Key *k, const char *name); /* a named key, or a character */

/* ---- act_prompt.c, and act_tilings.c */
void ml_act_ask(ml_View *v, ml_Request r, const ml_ActAsk *ask);
void ml_act_prompt_key(ml_View *v, const ml_Key *k);
void ml_act_prompt_line(ml_View *v, ml_Rows *r, int *cursor);
void ml_act_prompt_offers(ml_View *v, ml_Rows *r, int *at);
void ml_act_prompt_free(ml_Act *a);

/* ---- act_menu.c */
void ml_act_menu_begin(ml_View *v, ml_Request r, const char *label);
ml_ActItem *ml_act_menu_add(ml_View *v, const char *text, const char *note);
/* Shows it: legal ones first; a menu of nothing says so and closes. */
void ml_act_menu_show(ml_View *v, const char *nothing);
void ml_act_menu_key(ml_View *v, const ml_Key *k);
void ml_act_menu_line(ml_View *v, ml_Rows *r, int *cursor);
void ml_act_menu_rows(ml_View *v, ml_Rows *r, int *at);
bool ml_act_menu_idle(ml_View *v, int64_t end);

/* ---- act_menus.c: what is in them */
void ml_act_bind(ml_View *v, int count);
void ml_act_annotate(ml_View *v, int count);
void ml_act_cache(ml_View *v, bool write);
void ml_act_tensorize(ml_View *v, int count);
void ml_act_all(ml_View *v, int count);
void ml_act_goto_mark(ml_View *v, int count);
void ml_act_copy(ml_View *v, int count);

/* ---- act_choice.c */
void ml_act_choose(ml_View *v, ml_Request r, const char *label,
                   const char *(*line)(ml_View *v, ml_Uid node));
void ml_act_choose_add(ml_View *v, ml_Uid node);
void ml_act_choose_show(ml_View *v, const char *nothing);
void ml_act_order(ml_View *v, int count);
void ml_act_compute_at(ml_View *v, bool reverse);
void ml_act_decompose(ml_View *v, int count);
void ml_act_rfactor(ml_View *v, int count);
void ml_act_choice_key(ml_View *v, const ml_Key *k);
void ml_act_choice_line(ml_View *v, ml_Rows *r, int *cursor);
bool ml_act_choice_idle(ml_View *v, int64_t end);

/* ---- act_applicable.c */
/* Whether some call of the primitive at the node works; *call (in cx; may be NULL): the
 * first that does, or NULL. NONE: nothing to try was found, or not within the time that is
 * left for it. */
ml_TrialKind ml_act_probe(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx,
                          const char **call, ml_Text *why);
/* The primitive's arguments at the node, as far as they go without a choice: the text to
 * begin with. In cx. */
const char *ml_act_template(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx);
/* Whether the selected node is of a kind that the request works on. */
bool ml_act_suits(ml_View *v, ml_Request r, ml_Text *why);
const char *ml_act_primitive_of(ml_Request r); /* NULL: it has none */
bool ml_act_asks(ml_Request r);                /* opens something; else it runs at once */
ml_Request ml_act_request_of(const char *primitive);
void ml_act_facts_free(ml_Act *a);

/* ---- act_page.c */
/* Runs a command (no colon) and shows what it prints. */
void ml_act_page(ml_View *v, const char *command, const char *title);
int ml_act_ms(const ml_View *v, int ms); /* the time allowed: these, or patience */

/* ---- act_preview.c */
/* Tries the line (a->line is it afterwards), for the check and the preview. */
void ml_act_try(ml_View *v, const char *line);
void ml_act_forget_trial(ml_Act *a);

/* ---- act_line.c: the prompt row */
typedef struct ml_ActLine {
    ml_Rows *r;
    int w, used; /* columns */
} ml_ActLine;
ml_ActLine ml_act_line_begin(const ml_View *v, ml_Rows *r);
/* At most so many columns, cut with … to what is left of the row. */
void ml_act_put(ml_ActLine *l, ml_CellRole role, const char *z, int most);
void ml_act_pad(ml_ActLine *l, int column); /* blanks up to there */
/* ✓ makes …, or ✗ why not; at the column when that is free. */
void ml_act_put_check(ml_View *v, ml_ActLine *l, int column);
void ml_act_line_end(ml_ActLine *l, const char *keys);
#endif
