/*
 * act_impl - what the files of the requests share: what is open, and the helpers.
 *
 * At most one thing is open: a prompt line, a menu, or a choice among nodes. It
 * lives in `cx`, which is dropped when it closes; what outlives it is in ml_Act itself.
 */
#ifndef ML_REPL_VIEW_ACT_ACT_IMPL_H
#define ML_REPL_VIEW_ACT_ACT_IMPL_H

#include "moonloop/primitives/schedule/schedule_impl.h"
#include "repl/line/trial.h"
#include "repl/out/loop.h"
#include "repl/show/diff.h"
#include "repl/view/act/act.h"

typedef enum ml_ActOpen {
    ML_ACT_NONE,
    ML_ACT_PROMPT,
    ML_ACT_MENU,
    ML_ACT_CHOICE, /* the cursor goes over candidates, Enter takes one */
    ML_ACT_ORDER,  /* several are marked one after the other */
    ML_ACT_DRAG,   /* a node is being dragged onto another */
} ml_ActOpen;

/* ---- a call: a primitive, its arguments, nodes among them */
typedef struct ml_ActArg {
    ml_Uid node;     /* a loop or block, which is printed by its name; 0: none */
    uint8_t want;    /* an ml_HandleKind: what is asked for there */
    bool braced;     /* a list of it alone */
    const char *lua; /* without a node: as it is written */
} ml_ActArg;
typedef struct ml_ActCall {
    const char *prim; /* NULL: there is none */
    ML_VEC(ml_ActArg) args;
} ml_ActCall;

/* ---- a line that is completed and edited */
typedef struct ml_ActAsk {
    const char *label;        /* "split k[1024] into: " */
    ml_ActCall call;          /* what is known of it: split("k" */
    const char *open, *tail;  /* around what is typed: { and }) */
    const char *head;         /* all that stands before it; of a command: its begin */
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

/* ---- what can be taken: an item of a menu, a node of a choice */
typedef struct ml_ActItem ml_ActItem;
typedef void ml_ActPick(ml_View *v, const ml_ActItem *it);
struct ml_ActItem {
    const char *text, *note;
    const char *key;          /* another word that the filter finds it by, or NULL */
    ml_ActCall call;          /* run when it is taken, */
    const char *line;         /* and its line, or a command; NULL: pick does it */
    ml_ActCall also;          /* tried when that does not work */
    ml_ActPick *pick;         /* what else happens then; NULL: nothing */
    const ml_Primitive *prim; /* whether and how it could be called here is looked for */
    uint8_t rank;             /* smaller ones come first; illegal ones last */
    uint8_t state;            /* an ml_TrialKind: WORKS, FAILS (dimmed), NONE: not known */
    bool tried;
    ml_Uid uid;    /* of a choice */
    uint8_t place; /* in an order, when it is taken: 1 for the first; 0: it is not */
};

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
    ml_Ctx *tmp;    /* of the key at work */
    ml_Ctx *gone;   /* of what it closed */
    ml_Text why;    /* the same: why something is not done */
    int depth;      /* of keys that lead on to requests */
    ml_Uid node;    /* selected when it was opened */

    /* the live check of `line` */
    ml_Text line;
    ml_Trial trial;
    bool tried;
    ml_Text preview;      /* the program after it, when it works; printed at once: a trial's
                      * result must be gone before the focus is used again */
    ml_Rows rows;         /* the same as rows, once somebody asked, */
    ml_DiffStats changes; /* and what it changes */
    ml_Text now;          /* the program before it, printed once for all that is typed */
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
    size_t offer_at, offer_from, offer_to; /* of items; the bytes that it took */
    bool offering;

    /* a menu; a choice, an order, a drag */
    const char *title;
    ML_VEC(ml_ActItem) items;
    ml_Text filter;
    size_t item; /* among those that pass the filter */
    uint8_t n_taken;
    ml_Uid onto; /* drag: the node below the pointer */

    /* repeat */
    ml_Request last;
    int last_count;
    ml_Ctx *last_cx; /* NULL: the request is begun anew */
    ml_ActCall last_call;
    const char *last_line;
    size_t last_at;  /* the argument that stands for the node, */
    bool last_block; /* and whether that is a block */

    /* split by the next tiling */
    ml_Uid tiled, tiled_node; /* the loop, and what was selected when it was split */
    int tiled_from, tiled_to; /* the version before, the version that it made */
    size_t tiling;

    ml_ActFacts facts[ML_ACT_FACTS];
    unsigned clock;
    char *clip; /* text that waits for the clipboard */
};

/* ---- act.c */
/* Around a key, a click, some idle time: what they make in tmp is gone with the last of
 * them, but for what opens then: it keeps its arena. What closes goes then, too. */
ml_Act *ml_act_enter(ml_View *v);
void ml_act_leave(ml_View *v);
/* Opens it, in the arena of the key at work; what was open closes. */
void ml_act_start(ml_View *v, ml_ActOpen what, ml_Request r);
void ml_act_close(ml_View *v);
/* Runs a command, or Lua that somebody wrote, as if typed. The selection follows. */
bool ml_act_run(ml_View *v, const char *line);
/* Applies a call, which tells its line. */
bool ml_act_do(ml_View *v, const ml_ActCall *c);
/* Applies a call about a node, told as `line`, which `.` repeats at others. */
bool ml_act_run_at(ml_View *v, ml_Request r, const char *line, const ml_ActCall *c,
                   ml_Uid node);
/* Whether the selected node is of a kind that the request works on. */
bool ml_act_suits(ml_View *v, ml_Request r, ml_Text *why);
ml_Request ml_act_request_of(const ml_View *v, const char *primitive);
int ml_act_ms(const ml_View *v, int ms); /* the time allowed: these, or patience */

/* ---- call.c */
/* The primitive on the node, so far; in cx. */
ml_ActCall ml_act_call(ml_Ctx *cx, const char *prim, ml_Uid node, ml_HandleKind want);
void ml_act_arg_node(ml_Ctx *cx, ml_ActCall *c, ml_Uid node, ml_HandleKind want);
void ml_act_arg(ml_Ctx *cx, ml_ActCall *c, const char *lua);
void ml_act_arg_text(ml_Ctx *cx, ml_ActCall *c, const char *z); /* in quotes */
/* The arguments that somebody wrote, one by one; those that mean the node, or the block that
 * a request about it is about, are it. */
void ml_act_arg_typed(const ml_View *v, ml_Ctx *cx, ml_ActCall *c, const char *text,
                      ml_Uid node);
/* split("k", {auto, 4}); in cx. NULL: a node of it cannot be said by a name. */
const char *ml_act_print(const ml_View *v, ml_Ctx *cx, const ml_ActCall *c);
/* The call as it is applied, in cx. false: an argument is more than literals and lists of
 * them, so that the line must be read by Lua; or it is wrong, which that tells. */
bool ml_act_read(const ml_View *v, ml_Ctx *cx, const ml_ActCall *c, ml_RunCall *out);
/* The bytes of the argument that a text begins with. */
size_t ml_act_arg_length(const char *text);

/* ---- node.c: the program around the selected node */
ml_Program ml_act_program(const ml_View *v);
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
/* ---- tilings.c */
/* Texts for split: "auto, 4", best first; notes (may be NULL) name the intrinsics of whose
 * tile a factor is. */
size_t ml_act_tilings(const ml_View *v, ml_Ctx *cx, const ml_For *f,
                      const char *const **out, const char *const **notes);
/* ---- seen.c: tilings of loops of this extent in the fastest records of the database, at most n. */
size_t ml_act_seen(ml_Ctx *cx, int64_t extent, const char **out, size_t n);

/* ---- prompt.c */
void ml_act_ask(ml_View *v, ml_Request r, const ml_ActAsk *ask);
void ml_act_prompt_key(ml_View *v, const ml_Key *k);
void ml_act_prompt_line(ml_View *v, ml_Rows *r, int *cursor);
void ml_act_prompt_offers(ml_View *v, ml_Rows *r, int *at);
void ml_act_prompt_free(ml_Act *a);

/* ---- menu.c */
void ml_act_menu_begin(ml_View *v, ml_Request r, const char *label);
/* Of what can be taken, one more; in the arena of what is open. */
ml_ActItem *ml_act_menu_add(ml_View *v, const char *text, const char *note);
/* Gives it a call, and with it its line. */
void ml_act_item_call(ml_View *v, ml_ActItem *it, ml_ActCall call);
/* Shows it: legal ones first; a menu of nothing says so and closes. */
void ml_act_menu_show(ml_View *v, const char *nothing);
void ml_act_menu_key(ml_View *v, const ml_Key *k);
void ml_act_menu_line(ml_View *v, ml_Rows *r, int *cursor);
void ml_act_menu_rows(ml_View *v, ml_Rows *r, int *at);
/* A row with a note at a column; fails: dimmed. */
void ml_act_put_item(ml_Rows *r, const char *text, const char *note, int column,
                     bool fails);
/* Tries what was not yet, until the time is over; true: there is more. */
bool ml_act_try_items(ml_View *v, int64_t end);
void ml_act_try_item(ml_View *v, ml_ActItem *it);

/* ---- choice.c */
void ml_act_choice_key(ml_View *v, const ml_Key *k);
void ml_act_choice_line(ml_View *v, ml_Rows *r);

/* ---- probe.c */
/* Whether some call of the primitive at the node works; *call (in cx; may be NULL): the
 * first that does, or none. NONE: nothing to try was found, or not within the time that is
 * left for it. */
ml_TrialKind ml_act_probe(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx,
                          ml_ActCall *call, ml_Text *why);
/* The primitive's arguments at the node, as far as they go without a choice: the text to
 * begin with. In cx. */
const char *ml_act_template(ml_View *v, const ml_Primitive *p, ml_Uid node, ml_Ctx *cx);

/* ---- applicable.c */
bool ml_act_find_out(ml_View *v, int64_t end); /* true: there is more */
void ml_act_facts_free(ml_Act *a);

/* ---- preview.c */
/* Tries the line (a->line is it afterwards), for the check and the preview. */
void ml_act_try(ml_View *v, const char *line);
void ml_act_forget_trial(ml_Act *a);

/* ---- line.c: the prompt row */
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
