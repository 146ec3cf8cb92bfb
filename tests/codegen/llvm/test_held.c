/*
 * test_held - what is known of memory from one statement to the next: elements of local
 * buffers, and values read from memory that was not written since.
 */
#include "run_llvm.h"

#define MAIN_OF(params) "@T.prim_func\ndef main(" params "):\n"
#define INTS(name, n)   name ": T.Buffer((" #n ",), \"int32\")"
#define LOCAL(name, n)                                                                     \
    "    " name " = T.decl_buffer((" #n ",), \"int32\", scope=\"local\")\n"

static int count(const char *text, const char *what)
{
    int n = 0;

    for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
        n++;
    return n;
}

static char *text_of(Fix *x, const char *program)
{
    const ml_Func *f = parse_func(x, program);
    ml_Text out = {0};

    if (!ml_code_text(rig.ll, x->cx, &f, 1, &(ml_CodeOpts){0}, "llvm", &out))
        fail_msg("%s", error_text(x));
    return out.p;
}

static void a_sum_of_straight_code_is_stored_once(void **state)
{
    char *t;

    NEED_LLVM();
    LLVM_ONLY();
    t = text_of(*state,
                MAIN_OF(INTS("A", 64) ", " INTS("B", 64))
                    LOCAL("S", 2) "    S[0] = 0\n"
                                  "    S[1] = 0\n"
                                  "    for i in range(16):\n"
                                  "        S[0] = S[0] + A[i * 4] * A[i * 4 + 1]\n"
                                  "        S[1] = S[1] + A[i * 4] * A[i * 4 + 2]\n"
                                  "        S[0] = S[0] + A[i * 4 + 1] * A[i * 4 + 3]\n"
                                  "        S[1] = S[1] + A[i * 4 + 2] * A[i * 4 + 3]\n"
                                  "    B[0] = S[0]\n"
                                  "    B[1] = S[1]\n");
    /* of S before the loop, in it and of B */
    assert_int_equal(count(t, "store i32"), 2 + 2 + 2);
    /* of A once each, of S in the loop and behind it */
    assert_int_equal(count(t, "= load i32"), 4 + 2 + 2);
    free(t);
}

static void stores_in_between_are_seen(void **state)
{
    static const char *const programs[] = {
        /* a store to what was read, at the same place or at one that may be */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64)) "    B[63] = A[0] + 1\n"
                                                  "    for i in range(20):\n"
                                                  "        B[i + 40] = A[0]\n"
                                                  "        A[0] = i + A[3]\n"
                                                  "    for i in range(20):\n"
                                                  "        B[0] = A[i] + A[i + 1]\n"
                                                  "        A[i + 1] = B[0] * 3\n"
                                                  "        B[i + 2] = A[i] + A[i + 1]\n"
                                                  "        A[B[1] % 8] = i\n"
                                                  "        B[i + 24] = A[i] + A[i + 1]\n",
        /* elements of one local buffer by literals, by variables, in branches */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64))
            LOCAL("S", 8) "    for i in range(8):\n"
                          "        S[i] = A[i]\n"
                          "    for i in range(20):\n"
                          "        S[0] = S[0] + A[i]\n"
                          "        S[1] = S[0] * 3\n"
                          "        S[i % 4] = S[i % 3] + 1\n"
                          "        S[2] = S[0] + S[1]\n"
                          "        if A[i] % 2 == 0:\n"
                          "            S[0] = S[2] + 5\n"
                          "            S[3] = S[0]\n"
                          "        else:\n"
                          "            S[1] = S[3] - S[0]\n"
                          "        S[0] = S[0] + S[1] + S[3]\n"
                          "        B[i] = S[0] + S[i % 8]\n"
                          "    for i in range(8):\n"
                          "        B[i + 32] = S[i]\n",
        /* jumps take along what was stored */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64))
            LOCAL("S", 2) "    S[0] = 0\n"
                          "    S[1] = 7\n"
                          "    for i in range(40):\n"
                          "        S[0] = S[0] + 1\n"
                          "        if A[i] % 3 == 0:\n"
                          "            S[1] = S[1] + S[0]\n"
                          "            continue\n"
                          "        S[1] = S[1] + 2\n"
                          "        if A[i] % 11 == 5:\n"
                          "            S[0] = S[0] * 2\n"
                          "            break\n"
                          "        S[0] = S[0] + S[1] % 5\n"
                          "    for k in range(1):\n"
                          "        S[0] = S[0] + 3\n"
                          "        if A[2] % 2 == 0:\n"
                          "            continue\n"
                          "        S[0] = S[0] + 9\n"
                          "    B[0] = S[0]\n"
                          "    B[1] = S[1]\n"
                          "    while S[1] < 1000000:\n"
                          "        S[1] = S[1] * 2 + 1\n"
                          "        S[0] = S[0] + 1\n"
                          "    B[2] = S[0]\n"
                          "    B[3] = S[1]\n",
        /* vectors, parts of them, and parts of both */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64)) LOCAL(
            "S",
            32) "    for i in range(3):\n"
                "        S[T.Ramp(0, 1, 16)] = A[T.Ramp(i * 16, 1, 16)]\n"
                "        S[T.Ramp(16, 1, 16)] = S[T.Ramp(0, 1, 16)] * T.Broadcast(3, 16)\n"
                "        S[5] = S[20] + S[6]\n"
                "        S[T.Ramp(8, 1, 16)] = S[T.Ramp(4, 1, 16)] + S[T.Ramp(8, 1, 16)]\n"
                "        S[T.Ramp(15, -1, 16)] = S[T.Ramp(0, 1, 16)]\n"
                "        S[9] = S[9] + S[8]\n"
                "        B[T.Ramp(0, 1, 16)] = S[T.Ramp(0, 1, 16)] + B[T.Ramp(0, 1, 16)]\n"
                "        B[T.Ramp(16, 1, 16)] = S[T.Ramp(0, 2, 16)] + B[T.Ramp(16, 1, "
                "16)]\n"
                "        S[T.Ramp(1, 2, 8)] = A[T.Ramp(i, 3, 8)]\n"
                "        B[T.Ramp(32, 1, 16)] = S[T.Ramp(0, 1, 16)] + S[T.Ramp(16, 1, "
                "16)]\n",
        /* lanes gathered from what was stored one by one, and put there */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64)) LOCAL(
            "S",
            8) "    for i in range(8):\n"
               "        S[i] = 0\n"
               "    for i in range(3):\n"
               "        S[0] = A[i]\n"
               "        S[3] = A[i + 1] * 7\n"
               "        B[T.Ramp(i * 16, 1, 16)] = S[A[T.Ramp(i, 1, 16)] % T.Broadcast(8, "
               "16)]\n"
               "        S[1] = S[0] + 1\n"
               "        S[A[T.Ramp(i, 1, 4)] % T.Broadcast(8, 4)] = B[T.Ramp(0, 1, 4)]\n"
               "        B[48 + i] = S[0] + S[1] + S[3]\n",
        /* an arm of an expression writes for itself alone */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64)) LOCAL(
            "S", 8) "    for i in range(8):\n"
                    "        S[i] = i * 5\n"
                    "    for i in range(20):\n"
                    "        S[0] = A[i]\n"
                    "        S[1] = A[i + 1]\n"
                    "        B[i] = T.if_then_else(A[i] % 2 == 0, S[i % 8] + A[S[2] % 9], "
                    "S[(i + 1) % 8])\n"
                    "        B[i + 20] = S[i % 3] + S[1]\n"
                    "        S[1] = S[0] + B[i]\n"
                    "        S.vstore([T.Ramp(0, 1, 8)], S[T.Ramp(0, 1, 8)] + A[T.Ramp(i, "
                    "1, 8)], "
                    "T.Ramp(0, 1, 8) < T.Broadcast(A[i] % 8, 8))\n"
                    "        B[i + 40] = S[0] + S[1] + S[7]\n",
        /* the rows of a parallel loop, and what is read around it */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64))
            LOCAL("N", 1) "    B[0] = A[1]\n"
                          "    N[0] = B[0] % 4 + 4\n"
                          "    for i in T.parallel(8):\n"
                          "        B[i] = A[1] * N[0] + i\n"
                          "    N[0] = B[0] + A[1]\n"
                          "    B[20] = B[0] + N[0]\n",
        /* another view of the same memory */
        MAIN_OF(INTS("A", 64) ", " INTS("B", 64)) LOCAL(
            "S",
            8) "    V = T.decl_buffer((8,), \"float32\", data=S.data, scope=\"local\")\n"
               "    for i in range(8):\n"
               "        S[i] = i\n"
               "    for i in range(20):\n"
               "        S[0] = A[i] % 100 + 1000\n"
               "        V[1] = T.Cast(\"float32\", S[0])\n"
               "        B[i] = S[1]\n"
               "        S[1] = S[0] * 8\n"
               "        B[i + 20] = T.Cast(\"int32\", T.min(V[1] * T.float32(1e30), "
               "T.float32(9)))\n",
    };
    Fix *x = *state;

    NEED_LLVM();
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
        same_text(x, programs[k], EXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sum_of_straight_code_is_stored_once),
        TEST(stores_in_between_are_seen),
    };

    return MAIN_TWICE(tests);
}
