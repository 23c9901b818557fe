"""What the interpreter takes for known is what Python computes."""

from __future__ import annotations

from textwrap import dedent

import pytest

from doctor.static.outcomes import Failed
from tests.static.packages import bare, outcome

PROGRAMS = {
    "arithmetic": "x = [(1 + 2 * 3 - 4) // 2, 7 % 3, 'a' * 3, [1] + [2], (1,) + (2,), -5, not [], 'a' 'b']",
    "comparisons": "x = [1 < 2 < 3, 1 < 2 > 3, 'a' in 'abc', 2 not in [1], None is None, 1 != 1.0]",
    "logic": "x = [0 or 'a', 1 and 'b', '' or None, not 0, 'a' if [] else 'b', [] and 1]",
    "texts": "x = [f'{1 + 1}-{\"a\"}', 'a.b'.split('.'), 'Ab'.lower(), ' a '.strip(), '{x}'.format(x=2)]",
    "slices": "y = list(range(6)); x = [y[1:3], y[-1], y[::2], 'abc'[:-1]]",
    "unpacking": """
        a, (b, c) = 1, (2, 3)
        d = e = [a]
        d.append(b)
        x = [a, b, c, e, [*e, 9], {**{"k": 1}, "l": 2}]
    """,
    "dicts": """
        d = dict(a=1)
        d["b"] = 2
        d.update(c=3)
        d.setdefault("a", 9)
        p = d.pop("b", 0)
        e = {}
        e.setdefault("a", []).append(1)
        e["a"] += [2]
        x = [d, p, list(d.items()), e, e.get("b"), e.get("b", 3), "a" in e, dict.fromkeys("ab", 1)]
    """,
    "sets": "s = {1, 2} | {3}; s.add(4); x = [sorted(s), len(s), s - {1}, frozenset([1]) == {1}]",
    "comprehensions": """
        x = [[i * j for i in range(3) if i for j in (1, 2)], {k: v for k, v in zip("ab", (1, 2))},
             any(i > 1 for i in [1, 2])]
    """,
    "loops": """
        x = []
        for i in range(5):
            if i == 1:
                continue
            if i == 3:
                break
            x.append(i)
        else:
            x.append("never")
        for i in []:
            pass
        else:
            x.append("ended")
    """,
    "functions": """
        def f(a, b=2, *rest, c, d=4, **more):
            return [a, b, rest, c, d, sorted(more)]
        x = [f(1, c=3), f(1, 2, 3, 4, c=5, e=6), (lambda y, z=1: y + z)(1)]
    """,
    "closures": """
        def outer():
            kept = []
            def inner(y):
                kept.append(y)
                return len(kept)
            return inner
        inner = outer()
        inner("a")
        x = [inner("b")]
    """,
    "globals": """
        count = 0
        def up():
            global count
            count += 1
        up(); up()
        x = [count, "up" in globals()]
    """,
    "recursion": """
        def f(n):
            return 1 if n == 0 else n * f(n - 1)
        x = [f(2)]
    """,
    "classes": """
        class A:
            kind = "a"
            names = [n for n in ("p", "q")]
            def __init__(self, v): self.v = v
            def who(self): return f"{self.kind}{self.v}"
            @property
            def twice(self): return self.v * 2
            @classmethod
            def make(cls): return cls(7)
            @staticmethod
            def plain(y): return y
        class B(A):
            kind = "b"
            def who(self): return "B" + super().who()
        b = B.make()
        x = [b.who(), b.twice, A.plain(3), B.kind, isinstance(b, A), issubclass(B, A), hasattr(b, "v"),
             hasattr(b, "w"), getattr(b, "w", 5), type(b).__name__, B.names, b.__class__ is B]
    """,
    "shared state": """
        class State:
            _shared = {}
            def __init__(self):
                self.__dict__ = self._shared
                if not self.initialized:
                    self.kind = "no"
            @property
            def initialized(self): return "kind" in self._shared
        a, b = State(), State()
        b.kind = "yes"
        x = [a.kind, State._shared]
    """,
    "a dictionary that is the object": """
        from dataclasses import dataclass
        @dataclass
        class Config:
            split: bool = False
            state: bool = True
            def take(self, key):
                return self.__dict__.pop(key)
        c = Config()
        x = [c.take("state"), sorted(c.__dict__), hasattr(c, "split")]
    """,
    "attributes by name": """
        class A: pass
        a = A()
        setattr(a, "b", 1)
        x = [a.b, vars(a), getattr(a, "b")]
    """,
    "getattr hook": """
        class A:
            def __getattr__(self, name):
                if name.startswith("_"):
                    raise AttributeError(name)
                return name.upper()
        a = A()
        x = [a.b, hasattr(a, "_c"), getattr(a, "_c", 2)]
    """,
    "exceptions": """
        x = []
        class Mine(KeyError): pass
        def f(e):
            try:
                raise e
            except (ValueError, KeyError) as caught:
                x.append(type(e).__name__ if False else "caught")
            except Exception:
                x.append("other")
            else:
                x.append("none")
            finally:
                x.append("end")
        f(ValueError("v")); f(Mine()); f(TypeError())
        try:
            {}["a"]
        except LookupError:
            x.append("lookup")
        import contextlib
        with contextlib.suppress(ImportError):
            import certainly.not_there
        x.append("after")
    """,
    "dataclass": """
        from dataclasses import dataclass, field
        @dataclass
        class A:
            a: int
            b: list = field(default_factory=list)
        @dataclass
        class B(A):
            c: str = "c"
            def __post_init__(self):
                self.b.append(self.c)
        one, two = B(1), B(2, ["z"], c="d")
        x = [one.a, one.b, two.b, two.c]
    """,
    "standard library": """
        import copy, functools, itertools, json, operator, os.path, re
        d = {"a": 1}
        e = copy.deepcopy(d); e["a"] = 2
        x = [re.sub("a+", "b", "caat"), json.loads('{"k": [1]}'), operator.lt(1, 2), d, e,
             functools.partial(lambda y, z: [y, z], 1)(z=2), list(itertools.chain([1], [2])),
             os.path.join("a", "b"), os.path.basename("a/b.py"), sorted({"b", "a"}), max(1, 2), sum([1, 2]),
             list(enumerate("ab")), bool([]), next(iter([4])), all([]), tuple([1]), abs(-1)]
    """,
    "walrus": "x = [(y := 3) + 1, y]",
    "tuples are true": "x = [bool((False, None)), bool(())]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_known_is_what_python_computes(name: str) -> None:
    program = dedent(PROGRAMS[name])
    truth: dict[str, list[object]] = {}
    exec(program, truth)
    for index, value in enumerate(truth["x"]):
        ends = (
            f"{program}\nif x[{index}] == {value!r}: raise ImportError('right')\nraise ImportError('wrong')"
        )
        found = outcome(ends, deep=True)
        # Where it is not known, the first ``raise`` is not believed and the second is.
        assert isinstance(found, Failed) and found.event.message == "right", (index, value)


@pytest.mark.parametrize(
    "expression",
    [
        "torch.x",
        "torch.f()",
        "torch.x + 1",
        "[torch.x][0]",
        "{'a': torch.x}['a']",
        "torch.x if torch.y else 1",
        "len(torch.x)",
        "[i for i in torch.x]",
        "str(torch.x)",
        "isinstance(torch.x, int)",
        "hasattr(torch.x, 'a')",
        "1 in torch.x",
        "torch.x is None",
        "torch.x == 1",
        "f'{torch.x}' in torch.y",
        "(lambda: torch.x)()",
        "sorted(torch.x)",
        "not torch.x",
        "torch.x and True",
        "getattr(torch, torch.x)",
        "max(1, torch.x)",
        "dict(torch.x)",
        "{**torch.x} == {}",
        "'a' in {**torch.x}",
        "torch.x[0]",
        "[*torch.x] == []",
    ],
)
def test_what_is_not_known_decides_nothing(expression: str) -> None:
    for test in (expression, f"not ({expression})"):
        assert not isinstance(
            outcome(f"import torch\nif {test}: import gone", bare("torch"), deep=True), Failed
        )
