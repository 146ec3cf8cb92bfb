/* journal - a schedule written down while it grows, piece by piece, and built again from
 * the pieces: all versions with branches, marks and results, and the state it was in.
 *
 * A piece is one JSON object. Instructions stand in the order of their making, as in
 * traces; their variables have numbers of the whole journal. Source: interaction 6
 * (autosave). */
#ifndef ML_PRIMITIVES_JOURNAL_H
#define ML_PRIMITIVES_JOURNAL_H

#include "moonloop/core/json/json.h"
#include "moonloop/primitives/trace.h"

/* A string as JSON, NULL as null; bytes that are no UTF-8 (a mark may have them) become
 * `?`.
 */
void ml_journal_string(ml_Text *out, const char *z);

/* What of one schedule has been written. */
typedef struct ml_Journal ml_Journal;
ML_GIVES ml_Journal *ml_journal_new(void);
void ml_journal_free(ml_Journal *j);
/* {"program", "func", "name", "target", "check"}: what a schedule is made from. */
void ml_journal_start(ml_Journal *j, ml_Schedule *s, ml_Text *out);
/* Appends what came since the last call as one object; false: nothing did. */
bool ml_journal_news(ml_Journal *j, ml_Schedule *s, ml_Text *out);
/* A state as a piece of JSON, and back (b: what rebuilt the schedule). */
void ml_journal_state(const ml_Journal *j, ml_State st, ml_Text *out);

typedef struct ml_Rebuild ml_Rebuild;
/* s: fresh, made from what ml_journal_start gave; not counted. */
ML_GIVES ml_Rebuild *ml_rebuild_new(ml_Schedule *s);
void ml_rebuild_free(ml_Rebuild *b);
/* Adds one piece; false: *why says what does not fit, and s is as far as it went. */
bool ml_rebuild_add(ml_Rebuild *b, const ml_Json *piece, ml_Text *why);
bool ml_rebuild_state(const ml_Rebuild *b, const ml_Json *j, ml_State *out);

#endif
