#!/usr/bin/env python3
"""One rival of bench_kernels_table.lua: PyTorch, oneDNN or OpenBLAS, in a process of its own.

    rival.py torch|onednn|openblas THREADS [prepack]

It reads one request a line and answers each with one line, the second and later words of which are the answer:
    row JSON              makes ready to run a row; JSON: id, family, args (sizes by name), inputs ([name, .npy])
                          and out (.npy, what it computed)   ->  ready FORM | absent WHY
    turn N SECONDS WARM   N samples of at least SECONDS each, after WARM seconds   ->  samples S S S ...
    version                                                  ->  version TEXT
A row may have several forms (calls that compute the same): the fastest runs. Inputs come in the layouts of the
row, the result leaves in them; what a rival packs or reorders for itself it does in the timed call, but with
`prepack` its constant operand beforehand. An answer is given when the threads of the process sleep again.
"""
import gc
import importlib
import json
import os
import sys
import time
from itertools import repeat

STEADY = {  # memory is kept between calls, in large pages: what is timed is the kernel
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def start_again(which, threads):
    """The process anew, with what libraries read from the environment when they are loaded."""
    if os.environ.get("ML_RIVAL") == which:
        return
    env = dict(os.environ, ML_RIVAL=which, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads), **STEADY)
    if which == "onednn":  # its own libraries lie beside it
        lib = os.path.join(sys.prefix, "lib")
        env["LD_LIBRARY_PATH"] = lib + ":" + env.get("LD_LIBRARY_PATH", "")
    os.execve(sys.executable, [sys.executable] + sys.argv, env)


def batch(call, n):
    begin = time.perf_counter()
    for _ in repeat(None, n):
        call()
    return time.perf_counter() - begin


def calls_for(call, seconds):
    """Calls that take so long together."""
    n, t = 1, batch(call, 1)
    while t < seconds:
        n = int(max(n + 1, min(10 * n, 1.1 * seconds / max(t, 1e-9) * n)))
        t = batch(call, n)
    return n


def empty():
    return None


def samples(call, n, seconds, warm):
    begin = time.perf_counter()
    calls = calls_for(call, min(seconds, 0.001))
    while time.perf_counter() - begin < warm:
        batch(call, calls)
    calls = calls_for(call, seconds)
    own = min(batch(empty, 10000) for _ in range(3)) / 10000
    return [max(batch(call, calls) / calls - own, 1e-9) for _ in range(n)]


def sleep_deep():
    """Returns when no thread of the process is at work: those of a pool spin for a while."""
    for _ in range(400):
        before = time.process_time()
        time.sleep(0.004)
        if time.process_time() - before < 0.0005:
            return


class Contender:
    def __init__(self, which, threads, prepack):
        self.module = importlib.import_module("of_" + which)
        self.module.begin(threads)
        self.prepack = prepack
        self.call = self.kept = None

    def row(self, row):
        import numpy

        self.call = self.kept = None
        gc.collect()
        maker = self.module.FAMILIES.get(row["family"])
        if maker is None:
            return "absent it has no such operator"
        row["arrays"] = {name: numpy.load(path) for name, path in row["inputs"]}
        row["prepack"] = self.prepack
        best, why = None, "no form of it runs"
        for name, call, result in maker(row):
            try:
                call()
                t = min(samples(call, 3, 0.002, 0.01))
            except Exception as e:  # a form that this version does not have
                why = " ".join(str(e).split())[:120]
                continue
            if best is None or t < best[0]:
                best = (t, name, call, result)
        if best is None:
            return "absent " + why
        self.call, self.kept = best[2], (row, best)  # addresses are all that some forms keep
        if row.get("out"):
            out = numpy.ascontiguousarray(best[3](self.call()))
            numpy.save(row["out"], out)
        return "ready " + best[1]

    def answer(self, line):
        word, _, rest = line.strip().partition(" ")
        if word == "row":
            return self.row(json.loads(rest))
        if word == "turn":
            n, seconds, warm = rest.split()
            v = samples(self.call, int(n), float(seconds), float(warm))
            return "samples " + " ".join("%.9g" % s for s in v)
        if word == "version":
            return "version " + self.module.version()
        return "absent unknown request " + word


def main():
    which, threads = sys.argv[1], int(sys.argv[2])
    start_again(which, threads)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    try:
        c = Contender(which, threads, "prepack" in sys.argv[3:])
    except Exception as e:
        print("absent", " ".join(str(e).split())[:200], flush=True)
        return
    print("here", flush=True)
    gc.disable()
    for line in sys.stdin:
        try:
            said = c.answer(line)
        except Exception as e:
            said = "absent " + " ".join((type(e).__name__ + ": " + str(e)).split())[:200]
        sleep_deep()
        print(said, flush=True)


main()
