/*
 * table - numbers about the loops of a program, in columns: one unit a column, decimal
 * points below each other. Columns that the width has no room for go on in a table below.
 * Source: interaction 5, 8.
 */
#ifndef ML_REPL_SHOW_TABLE_H
#define ML_REPL_SHOW_TABLE_H

#include "repl/show/footprint.h"

typedef struct ml_Table ml_Table;

/* In cx, as all that is put into it. title: stands above the heads, beside the names of
 * groups; NULL: no line for these. head: of the labels. names: of sizes; may be NULL. */
ml_Table *ml_table_new(ml_Ctx *cx, const char *title, const char *head,
                       const ml_Names *names, bool ascii);
/* The columns of a group have one unit, which stands in its name: FLOP, kFLOP. Its name is
 * the head of its only column, which it then has, or stands above those that are put there.
 */
size_t ml_table_group(ml_Table *t, const char *name, ml_Unit unit, bool one);
/* Begins a row; loop: it has numbers, else the line is as it is. */
void ml_table_row(ml_Table *t, const char *label, bool loop);
/* Into the row; head: of a column of the group, by which it is found; NULL: its only one. */
void ml_table_put(ml_Table *t, size_t group, const char *head, ml_Number n);
void ml_table_put_text(ml_Table *t, size_t group, const char *head, const char *text);
/* So many columns were not put in because they have no room: counted with what is left out. */
void ml_table_leave_out(ml_Table *t, size_t columns);
/* No line with numbers is wider than width, if it can be; long heads are shortened. all: what
 * does not fit stands below; else it is left out, `…` says so, and a line how many columns
 * that are and where they are told (rest, ":counts has all"). */
void ml_table_print(ml_Table *t, size_t width, bool all, const char *rest, ml_Text *out);

#endif
