@T.prim_func
def strings(A: T.Buffer((1,), "float32")):
    """a docstring"""
    T.func_attr({"k": "line\n\t\"quoted\" \\ \x07", "u": "äöü", "l": [1, 2.5, True, None, "s"], "d": {"x": {"y": 1}}})
    T.evaluate(T.call_extern("int32", "a\"b", 'single', r"raw\d"))
