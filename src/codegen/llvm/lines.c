/*
 * lines - from an address in the code to the line of the program.
 *
 * The functions are compiled once more, with line tables, which changes no instruction; of
 * the object's DWARF only the line program is read (versions 2 to 5: what precedes it is
 * skipped by its length). LLVM's C interface reads no DWARF. Source: lowering-and-codegen
 * 7.1; DWARF 5, section 6.2.
 */
#include "moonloop/codegen/llvm/emit.h"

#include <elf.h>
#include <stdlib.h>

typedef struct Object { /* a relocatable ELF file, 64 bits, little endian */
    const uint8_t *v;
    size_t n;
    const Elf64_Shdr *sections;
    size_t n_sections;
    const char *names;
    size_t n_names;
} Object;

static bool within(size_t n, uint64_t from, uint64_t len)
{
    return from <= n && len <= n - from;
}

static bool open_object(const ml_Bytes *b, Object *o)
{
    Elf64_Ehdr h;
    const Elf64_Shdr *names;

    *o = (Object){.v = b->v, .n = b->n};
    if (b->n < sizeof h)
        return false;
    memcpy(&h, b->v, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(Elf64_Shdr) ||
        h.e_shoff % 8 != 0 ||
        !within(b->n, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)) ||
        h.e_shstrndx >= h.e_shnum)
        return false;
    o->sections = (const Elf64_Shdr *)(const void *)(b->v + h.e_shoff);
    o->n_sections = h.e_shnum;
    for (size_t k = 0; k < o->n_sections; k++)
        if (o->sections[k].sh_type != SHT_NOBITS &&
            !within(b->n, o->sections[k].sh_offset, o->sections[k].sh_size))
            return false;
    names = &o->sections[h.e_shstrndx];
    o->names = (const char *)b->v + names->sh_offset;
    o->n_names = names->sh_size;
    return o->n_names > 0 && o->names[o->n_names - 1] == '\0';
}

static const Elf64_Shdr *section(const Object *o, const char *name)
{
    for (size_t k = 0; k < o->n_sections; k++)
        if (o->sections[k].sh_name < o->n_names &&
            ml_streq(o->names + o->sections[k].sh_name, name))
            return &o->sections[k];
    return NULL;
}

static size_t n_symbols(const Object *o, const Elf64_Shdr **table)
{
    *table = section(o, ".symtab");
    return *table ? (*table)->sh_size / sizeof(Elf64_Sym) : 0;
}

static Elf64_Sym symbol_at(const Object *o, const Elf64_Shdr *table, size_t k)
{
    Elf64_Sym s;

    memcpy(&s, o->v + table->sh_offset + k * sizeof s, sizeof s);
    return s;
}

/* Section and offset of a symbol. */
static bool find_symbol(const Object *o, const char *name, uint16_t *in, uint64_t *at)
{
    const Elf64_Shdr *table, *strings = section(o, ".strtab");
    size_t n = n_symbols(o, &table);

    for (size_t k = 0; k < n && strings; k++) {
        Elf64_Sym s = symbol_at(o, table, k);
        const char *z = (const char *)o->v + strings->sh_offset;

        if (s.st_name >= strings->sh_size || s.st_shndx == SHN_UNDEF)
            continue;
        if (strncmp(z + s.st_name, name, strings->sh_size - s.st_name) == 0) {
            *in = s.st_shndx;
            *at = s.st_value;
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- the line program */

typedef struct Reader {
    const uint8_t *v;
    size_t n, at;
    bool bad;
} Reader;

static uint64_t fixed(Reader *r, size_t bytes)
{
    uint64_t x = 0;

    if (!within(r->n, r->at, bytes)) {
        r->bad = true;
        return 0;
    }
    memcpy(&x, r->v + r->at, bytes);
    r->at += bytes;
    return x;
}

static uint64_t unsigned_leb(Reader *r)
{
    uint64_t x = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t b = fixed(r, 1);

        x |= (b & 0x7f) << shift;
        if (!(b & 0x80))
            return x;
    }
    r->bad = true;
    return 0;
}

static int64_t signed_leb(Reader *r)
{
    uint64_t x = 0;
    unsigned shift = 0;

    while (shift < 64) {
        uint64_t b = fixed(r, 1);

        x |= (b & 0x7f) << shift;
        shift += 7;
        if (!(b & 0x80)) {
            if ((b & 0x40) && shift < 64)
                x |= ~(uint64_t)0 << shift;
            return (int64_t)x;
        }
    }
    r->bad = true;
    return 0;
}

typedef struct Table {
    const Object *o;
    const Elf64_Shdr *rela; /* of .debug_line */
    uint16_t in;            /* section of the code */
    uint64_t want;          /* offset in it */
    uint32_t line;          /* found */
    uint64_t nearest;       /* start of the row that covers it */
    bool found;
} Table;

/* An address in the line program is a relocation: where does it point? */
static bool relocated(const Table *t, uint64_t at, uint16_t *in, uint64_t *addr)
{
    const Elf64_Shdr *symbols;
    size_t n = n_symbols(t->o, &symbols);

    for (size_t k = 0; t->rela && k < t->rela->sh_size / sizeof(Elf64_Rela); k++) {
        Elf64_Rela r;
        Elf64_Sym s;

        memcpy(&r, t->o->v + t->rela->sh_offset + k * sizeof r, sizeof r);
        if (r.r_offset != at || ELF64_R_SYM(r.r_info) >= n)
            continue;
        s = symbol_at(t->o, symbols, ELF64_R_SYM(r.r_info));
        *in = s.st_shndx;
        *addr = s.st_value + (uint64_t)r.r_addend;
        return true;
    }
    return false;
}

typedef struct Row {
    uint16_t in;
    uint64_t addr;
    uint32_t line;
    bool valid;
} Row;

static void row(Table *t, Row *last, uint16_t in, uint64_t addr, int64_t line, bool end)
{
    if (last->valid && last->in == t->in && t->want >= last->addr && t->want < addr &&
        in == last->in && (!t->found || last->addr >= t->nearest) && last->line) {
        t->line = last->line;
        t->nearest = last->addr;
        t->found = true;
    }
    *last = (Row){in, addr, line > 0 && line < UINT32_MAX ? (uint32_t)line : 0, !end};
}

typedef struct Program {
    uint8_t min_inst, line_range, opcode_base;
    int8_t line_base;
    uint8_t lengths[256];
} Program;

static void run(Table *t, Reader *r, const Program *p)
{
    uint64_t addr = 0;
    uint16_t in = 0;
    int64_t line = 1;
    Row last = {0};

    while (r->at < r->n && !r->bad) {
        uint8_t op = (uint8_t)fixed(r, 1);

        if (op >= p->opcode_base) {
            uint8_t adjusted = (uint8_t)(op - p->opcode_base);

            addr += (uint64_t)(adjusted / p->line_range) * p->min_inst;
            line += p->line_base + adjusted % p->line_range;
            row(t, &last, in, addr, line, false);
            continue;
        }
        switch (op) {
        case 0: { /* extended */
            uint64_t len = unsigned_leb(r);
            size_t next = r->at + (size_t)len;
            uint8_t sub = len ? (uint8_t)fixed(r, 1) : 0;

            if (!within(r->n, r->at - (len ? 1 : 0), len))
                return;
            if (sub == 1) { /* end of the sequence */
                row(t, &last, in, addr, line, true);
                addr = 0;
                line = 1;
            } else if (sub == 2 && !relocated(t, r->at, &in, &addr)) {
                addr = fixed(r, 8);
            }
            r->at = next;
            break;
        }
        case 1: row(t, &last, in, addr, line, false); break;
        case 2: addr += unsigned_leb(r) * p->min_inst; break;
        case 3: line += signed_leb(r); break;
        case 8: /* the address advance of special opcode 255 */
            addr += (uint64_t)((255 - p->opcode_base) / p->line_range) * p->min_inst;
            break;
        case 9: addr += fixed(r, 2); break;
        default: /* its operands are LEB numbers */
            for (uint8_t k = 0; k < p->lengths[op]; k++)
                unsigned_leb(r);
        }
    }
}

/* One unit; r->at is moved behind it. */
static void unit(Table *t, Reader *all)
{
    uint64_t length = fixed(all, 4);
    Reader r = *all;
    uint16_t version;
    uint64_t header, start;
    Program p = {0};

    if (length >= 0xfffffff0 || !within(all->n, all->at, length)) {
        all->bad = true;
        return;
    }
    all->at += (size_t)length;
    r.n = all->at;
    version = (uint16_t)fixed(&r, 2);
    if (version >= 5)
        fixed(&r, 2); /* sizes of addresses and selectors */
    header = fixed(&r, 4);
    start = r.at + header;
    p.min_inst = (uint8_t)fixed(&r, 1);
    if (version >= 4)
        fixed(&r, 1);
    fixed(&r, 1);
    p.line_base = (int8_t)fixed(&r, 1);
    p.line_range = (uint8_t)fixed(&r, 1);
    p.opcode_base = (uint8_t)fixed(&r, 1);
    for (unsigned k = 1; k < p.opcode_base; k++)
        p.lengths[k] = (uint8_t)fixed(&r, 1);
    if (r.bad || version < 2 || version > 5 || p.line_range == 0 || p.opcode_base == 0 ||
        start > r.n)
        return;
    r.at = (size_t)start;
    run(t, &r, &p);
}

uint32_t ml_llvm_line_at(ml_Codegen *c, ml_Ctx *cx, const ml_Func *const *fs, size_t n,
                         const ml_CodeOpts *o, const char *symbol, int64_t offset)
{
    ml_CodeOpts with = *o;
    ml_Bytes object = {0};
    Object ob;
    Table t = {.o = &ob};
    uint64_t at = 0;
    const Elf64_Shdr *lines;

    with.lines = true;
    if (!ml_llvm_object(c, cx, fs, n, &with, &object))
        return 0;
    if (open_object(&object, &ob) && find_symbol(&ob, symbol, &t.in, &at) &&
        (lines = section(&ob, ".debug_line")) != NULL) {
        Reader r = {ob.v + lines->sh_offset, lines->sh_size, 0, false};

        t.want = at + (uint64_t)offset;
        t.rela = section(&ob, ".rela.debug_line");
        while (r.at < r.n && !r.bad)
            unit(&t, &r);
    }
    free(object.v);
    return t.found ? t.line : 0;
}
