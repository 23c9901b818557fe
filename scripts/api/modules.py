"""One source file, read and never run: the names it binds, its classes and functions, its lazy structure."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from api.callables import ClassRead, dotted, last, read_class, strings, truth, words_of_function


@dataclass
class Binding:
    """What a name stands for: something of this file, or a dotted name elsewhere."""

    target: str = ""
    sure: bool = True


@dataclass
class Structure:
    """A dictionary of submodules and their names that a lazy module is made of."""

    names: dict[str, list[str]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)  # of define_import_structure; "" is the module's own


@dataclass
class ModuleRead:
    """A file as it is written."""

    bindings: dict[str, Binding] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    public: list[str] | None = None  # __all__
    open: bool = False  # makes names on demand
    classes: dict[str, ClassRead] = field(default_factory=dict)
    functions: dict[str, list[str]] = field(default_factory=dict)
    lazy: Structure | None = None
    required: list[str] = field(default_factory=list)  # what `@requires` decorates
    instances: dict[str, str] = field(default_factory=dict)  # `api = HfApi()`: the class of each


class Reader:
    """Reads the statements of a file in order."""

    def __init__(self, module: str, is_package: bool) -> None:
        self.module, self.is_package = module, is_package
        self.read = ModuleRead()
        self.structures: dict[str, Structure] = {}

    def block(self, body: Iterable[ast.stmt], sure: bool = True) -> None:
        """Reads statements that run, or may run."""
        for statement in body:
            self.statement(statement, sure)

    def bind(self, name: str, sure: bool, target: str = "") -> None:
        known = self.read.bindings.get(name)
        self.read.bindings[name] = Binding(target, sure or bool(known and known.sure))

    def statement(self, node: ast.stmt, sure: bool) -> None:
        match node:
            case ast.ClassDef():
                self.bind(node.name, sure)
                self.read.classes[node.name] = read_class(node)
                if any(last(decorator) == "requires" for decorator in node.decorator_list):
                    self.read.required.append(node.name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.function(node, sure)
            case ast.Import():
                for alias in node.names:
                    name = alias.asname or alias.name.partition(".")[0]
                    self.bind(name, sure, alias.name if alias.asname else name)
            case ast.ImportFrom():
                self.import_from(node, sure)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self.assignment(node, sure)
            case ast.If():
                self.condition(node, sure)
            case ast.Try():
                self.attempt(node, sure)
            case ast.With():
                self.block(node.body, sure)
            case ast.For() | ast.While():
                for own in ast.walk(node.target) if isinstance(node, ast.For) else ():
                    if isinstance(own, ast.Name):
                        self.bind(own.id, False)
                self.block(node.body, False)
            case ast.Expr():
                self.expression(node.value)
            case ast.Delete():
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self.read.bindings.pop(target.id, None)

    def function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, sure: bool) -> None:
        if any(last(decorator) == "overload" for decorator in node.decorator_list):
            return
        if node.name == "__getattr__":
            self.on_demand(node)
            return
        self.bind(node.name, sure)
        self.read.functions[node.name] = words_of_function(node)
        if any(last(decorator) == "requires" for decorator in node.decorator_list):
            self.read.required.append(node.name)

    def on_demand(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """A module's `__getattr__`: the names that it plainly knows, and others perhaps."""
        self.read.open = True
        for item in ast.walk(node):
            if isinstance(item, ast.Compare) and isinstance(item.ops[0], ast.Eq | ast.In):
                known = item.comparators[0]
                for name in strings(known) or strings(ast.List(elts=[known])):
                    self.bind(name, True)
        self.attach_structure(self.structures.get("_SUBMOD_ATTRS", Structure()))

    def import_from(self, node: ast.ImportFrom, sure: bool) -> None:
        source = self.absolute(node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                self.read.stars.append(source)
            else:
                self.bind(alias.asname or alias.name, sure, f"{source}.{alias.name}")

    def absolute(self, module: str, level: int) -> str:
        """The full name of a relative module."""
        if not level:
            return module
        parts = self.module.split(".")
        parts = parts[: len(parts) - level + (1 if self.is_package else 0)]
        return ".".join([*parts, module] if module else parts)

    def condition(self, node: ast.If, sure: bool) -> None:
        known = truth(node.test)
        if known is None:
            both = bound(node.body) & bound(node.orelse)
            self.block(node.body, False)
            self.block(node.orelse, False)
            for name in both & set(self.read.bindings) if sure else ():
                self.read.bindings[name].sure = True
            return
        taken, other = (node.body, node.orelse) if known else (node.orelse, node.body)
        if last(node.test) != "TYPE_CHECKING":
            self.block([own for own in other if not isinstance(own, ast.Raise)], False)
        self.block(taken, sure)

    def attempt(self, node: ast.Try, sure: bool) -> None:
        optional = any("OptionalDependencyNotAvailable" in ast.dump(own) for own in node.handlers if own.type)
        if optional:  # `if not is_x_available(): raise`: the dependency counts as installed
            self.block([own for own in node.body if not isinstance(own, ast.If)], sure)
            self.block(node.orelse, sure)
            return
        names = [bound(handler.body) for handler in node.handlers if not ends(handler.body)]
        self.block(node.body, False)
        for handler in node.handlers:
            self.block(handler.body, False)
        self.block(node.orelse, sure)
        self.block(node.finalbody, sure)
        everywhere = bound(node.body).intersection(*names) if names else bound(node.body)
        for name in everywhere & set(self.read.bindings) if sure else ():
            self.read.bindings[name].sure = True

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, sure: bool) -> None:
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            for item in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
                self.assign(item, node.value, sure, isinstance(node, ast.AugAssign))

    def assign(self, target: ast.expr, value: ast.expr | None, sure: bool, added: bool) -> None:
        name = dotted(target)
        if isinstance(target, ast.Subscript):
            self.assign_item(name, target, value, added)
        elif isinstance(target, ast.Name) and value is not None:
            if name == "__getattr__":
                self.attach(value)
                return
            other = dotted(value) if isinstance(value, ast.Name | ast.Attribute) else ""
            self.bind(name, sure, f"{self.module}.{other}" if other not in ("", name) else "")
            if isinstance(value, ast.Call) and not value.args and not value.keywords:
                self.read.instances[name] = dotted(value)
            if name == "__all__":
                self.read.public = (self.read.public or [] if added else []) + strings(value)
            self.structure(name, value)

    def structure(self, name: str, value: ast.expr) -> None:
        """Remembers a dictionary of lists of strings, or what is made from one."""
        if isinstance(value, ast.Dict):
            found = Structure()
            for key, item in zip(value.keys, value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    found.names[key.value] = strings(item)
            self.structures[name] = found
        elif isinstance(value, ast.Call) and last(value) == "define_import_structure":
            prefix = next((own.value for own in value.keywords if own.arg == "prefix"), None)
            folder = prefix.value if isinstance(prefix, ast.Constant) else ""
            self.structures[name] = Structure(folders=[str(folder)])

    def assign_item(self, name: str, target: ast.Subscript, value: ast.expr | None, added: bool) -> None:
        key = target.slice
        if name in self.structures and isinstance(key, ast.Constant) and isinstance(key.value, str):
            names = self.structures[name].names
            names[key.value] = (names.get(key.value, []) if added else []) + strings(value)
        elif name in ("globals", "vars", "locals"):
            self.read.open = True
        elif name == "sys.modules" and ast.unparse(key) == "__name__":
            self.replace_module(value)

    def replace_module(self, value: ast.expr | None) -> None:
        """`sys.modules[__name__] = ...`: a lazy module whose structure is known, or anything."""
        if not isinstance(value, ast.Call) or not last(value).endswith("_LazyModule") or len(value.args) < 3:
            self.read.open = True
            return
        lazy = self.structure_of(value.args[2])
        if lazy is None:
            self.read.open = True
            return
        for keyword in value.keywords:
            if keyword.arg == "extra_objects" and isinstance(keyword.value, ast.Dict):
                own = [key.value for key in keyword.value.keys if isinstance(key, ast.Constant)]
                lazy.names.setdefault("", []).extend(str(name) for name in own)
            if keyword.arg == "explicit_import_shortcut" and isinstance(keyword.value, ast.Dict):
                for item in keyword.value.values:
                    lazy.names.setdefault("", []).extend(strings(item))
        self.read.lazy = lazy

    def structure_of(self, value: ast.expr) -> Structure | None:
        if isinstance(value, ast.Call) and last(value) == "define_import_structure":
            return Structure(folders=[""])
        return self.structures.get(dotted(value))

    def attach(self, value: ast.expr) -> None:
        """`__getattr__, __dir__ = _attach(__name__, submod_attrs=...)`."""
        keywords = value.keywords if isinstance(value, ast.Call) else []
        structure = next((own.value for own in keywords if own.arg == "submod_attrs"), None)
        lazy = self.structures.get(dotted(structure))
        if lazy is None:
            self.read.open = True
            return
        self.attach_structure(lazy)

    def attach_structure(self, structure: Structure) -> None:
        """Names that are looked up in submodules, or in modules by their full names."""
        for module, names in structure.names.items():
            absolute = module.startswith(self.module.partition(".")[0] + ".")
            home = module if absolute else f"{self.module}.{module}"
            for name in names:
                self.bind(name, True, f"{home}.{name}")

    def expression(self, value: ast.expr) -> None:
        """Calls that change what the module holds: `structure["x"].append(...)`, `globals().update(...)`."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            self.read.open = self.read.open or last(value) in ("exec", "setattr")
            return
        owner, verb = value.func.value, value.func.attr
        name = dotted(owner)
        if name in ("globals", "vars", "locals") and verb == "update":
            self.read.open = True
        elif name == "__all__" and verb in ("extend", "append"):
            self.read.public = (self.read.public or []) + added_by(value)
        elif verb == "update" and name in self.structures:
            other = self.structure_of(value.args[0]) if value.args else None
            self.structures[name].names.update(other.names if other else {})
        elif name in self.structures:
            self.grow(self.structures[name].names, owner, verb, value)

    def grow(self, names: dict[str, list[str]], owner: ast.expr, verb: str, value: ast.Call) -> None:
        """`structure.setdefault("x", [...])`, `structure["x"].extend([...])`, `.append("X")`."""
        keys = (
            value.args if verb == "setdefault" else [owner.slice] if isinstance(owner, ast.Subscript) else []
        )
        key = next((own.value for own in keys[:1] if isinstance(own, ast.Constant)), None)
        if isinstance(key, str):
            extra = strings(value.args[1]) if verb == "setdefault" and len(value.args) > 1 else []
            names.setdefault(key, extra)
            names[key] += added_by(value) if verb in ("extend", "append", "update", "add") else []


def added_by(value: ast.Call) -> list[str]:
    """The strings that an `append` or `extend` adds."""
    return [
        text
        for own in value.args
        for text in (
            strings(own)
            or ([own.value] if isinstance(own, ast.Constant) and isinstance(own.value, str) else [])
        )
    ]


def bound(body: Iterable[ast.stmt]) -> set[str]:
    """The names that statements surely bind."""
    reader = Reader("", False)
    reader.block(body)
    return {name for name, binding in reader.read.bindings.items() if binding.sure}


def ends(body: list[ast.stmt]) -> bool:
    """Do these statements end in an exception?"""
    return bool(body) and isinstance(body[-1], ast.Raise)


def read_module(text: str, module: str, is_package: bool) -> ModuleRead:
    """A file as it is written. Raises SyntaxError, or ValueError for NUL bytes."""
    reader = Reader(module, is_package)
    reader.block(ast.parse(text).body)
    return reader.read
