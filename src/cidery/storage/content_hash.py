"""Hashes of content: values, files, and the code of functions with everything that it uses.

Equal hashes mean equal results, in another process too. Code of installed packages counts by the
package's version, other code by its bytecode.
"""

from __future__ import annotations

import copyreg
import enum
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from cidery import _native

_CHUNK = 1 << 20
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
_DEVELOPMENT = re.compile(r"extra == .(check|coverage|docs|test|server|lab|plots|report)")
"""Requirements that no score depends on."""
_PLAIN = (type(None), type(...), bool, int, float, complex, str, bytes)
_DERIVED = frozenset(
    (
        *("__abstractmethods__", "__annotations__", "__dict__", "__doc__", "__firstlineno__"),
        *("__hash__", "__match_args__", "__module__", "__orig_bases__", "__parameters__"),
        *("__slotnames__", "__static_attributes__", "__weakref__", "_abc_impl"),
        *("__dataclass_fields__", "__dataclass_params__"),
    )
)
"""Attributes of a class that follow from others."""


class UnknownContentError(TypeError):
    """The content of a value cannot be determined."""


def hash_content(value: object) -> str:
    """Return the SHA-256 of a value's content; UnknownContentError names a value without one.

    ```python
    hash_content({"n": 4}) == hash_content({"n": 4})   # True
    ```
    """
    return _Hasher().hash(value).hex()


def hash_path(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a file, or of all files in a folder with their names.

    Images count by size and time: reading a folder of them would take too long.
    """
    path = Path(path)
    digest = hashlib.sha256()
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            name, status = file.relative_to(path).as_posix(), file.stat()
            digest.update(f"{name}:{status.st_size}:".encode("utf-8", "surrogateescape"))
            if file.suffix.lower() in _IMAGES:
                digest.update(f"{status.st_mtime_ns}:".encode())
                continue
            with file.open("rb") as opened:
                while chunk := opened.read(_CHUNK):
                    digest.update(chunk)
    return digest.hexdigest()


@lru_cache(maxsize=1)
def hash_library() -> str:
    """Return the SHA-256 of cidery's own code and data; an editable install has two folders."""
    native = hash_path(str(_native.__file__))
    return _digest(hash_path(Path(__file__).parents[1]), native).hex()


@lru_cache(maxsize=1)
def list_dependencies() -> dict[str, str]:
    """Return the versions of Python and of cidery's installed dependencies, by name."""
    from importlib.metadata import PackageNotFoundError, requires, version

    versions = {"Python": sys.version.partition(" ")[0]}
    try:
        required = [line for line in requires("cidery") or () if not _DEVELOPMENT.search(line)]
    except PackageNotFoundError:  # not installed, but on the path
        required = ["numpy"]
    for name in sorted({re.split(r"[^A-Za-z0-9_.-]", line)[0] for line in required}):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


@lru_cache(maxsize=1)
def _find_distributions() -> dict[str, list[str]]:
    from importlib.metadata import packages_distributions

    return dict(packages_distributions())


@lru_cache(maxsize=512)
def _find_package(module: str) -> str | None:
    """Return the package of a module with its version; None for code that is not installed."""
    from importlib.metadata import version

    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None if top == "__main__" else f"Python-{sys.version_info[0]}.{sys.version_info[1]}"
    if top == __name__.partition(".")[0]:
        return top  # by `hash_library`
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    if not {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    names = sorted(set(_find_distributions().get(top, ())))
    return "+".join(f"{name}-{version(name)}" for name in names) or None


class _Hasher:
    """Hashes values; each once, as functions may use one another."""

    def __init__(self) -> None:
        self.done: dict[int, bytes] = {}
        self.open: list[int] = []
        self.values: list[object] = []  # keeps ids unique

    def hash(self, value: Any) -> bytes:
        if type(value) in _PLAIN:
            return _digest(type(value).__name__, repr(value))
        key = id(value)
        if key in self.done:
            return self.done[key]
        if key in self.open:  # a function that calls itself, a list in itself
            return _digest("cycle", str(len(self.open) - self.open.index(key)))
        self.open.append(key)
        self.values.append(value)
        found = self.done[key] = _digest(*self.describe(value))
        self.open.pop()
        return found

    def describe(self, value: Any) -> Iterator[str | bytes]:
        """Yield the parts of a value."""
        for kinds, describe in self.kinds:
            if isinstance(value, kinds):
                yield describe.__name__
                yield from describe(value)
                return
        yield from self.describe_object(value)

    @cached_property
    def kinds(self) -> list[tuple[Any, Callable[[Any], Iterator[str | bytes]]]]:
        return [
            (type, self.describe_class),
            (FunctionType, self.describe_function),
            (MethodType, self.describe_method),
            (BuiltinFunctionType, self.describe_builtin),
            (ModuleType, self.describe_module),
            (CodeType, self.describe_code),
            (os.PathLike, self.describe_path),
            (np.ndarray, self.describe_array),
            (dict, self.describe_dict),
            ((list, tuple), self.describe_sequence),
            ((set, frozenset), self.describe_set),
            (enum.Enum, self.describe_enum),
            ((property, classmethod, staticmethod, cached_property), self.describe_descriptor),
        ]

    def describe_class(self, value: type) -> Iterator[str | bytes]:
        yield f"{value.__module__}.{value.__qualname__}"
        package = _find_package(value.__module__)
        if package is not None:
            yield package
            return
        yield from map(self.hash, value.__bases__)
        for name, attribute in sorted(vars(value).items()):
            if name in _DERIVED or isinstance(
                attribute, GetSetDescriptorType | MemberDescriptorType
            ):
                continue
            yield name
            yield self.named(name, attribute)

    def describe_function(self, value: FunctionType) -> Iterator[str | bytes]:
        package = _find_package(value.__module__)
        if package is not None:
            yield f"{package}:{value.__module__}.{value.__qualname__}"
        yield self.hash(value.__code__)
        if package is not None and value.__closure__ is None:
            return
        yield self.hash((value.__defaults__, value.__kwdefaults__))
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            yield name
            yield self.named(name, cell.cell_contents)
        if package is None:
            for name in sorted(_list_names(value.__code__) & value.__globals__.keys()):
                yield name
                yield self.named(name, value.__globals__[name])

    def describe_method(self, value: MethodType) -> Iterator[str | bytes]:
        yield self.hash(value.__func__)
        yield self.hash(value.__self__)

    def describe_builtin(self, value: BuiltinFunctionType) -> Iterator[str | bytes]:
        yield value.__qualname__
        yield self.hash(value.__self__)

    def describe_module(self, value: ModuleType) -> Iterator[str | bytes]:
        yield value.__name__
        package = _find_package(value.__name__)
        if package is not None:
            yield package
            return
        file = getattr(value, "__file__", None)
        if file is None:
            raise UnknownContentError(f"the module {value.__name__}")
        yield hash_path(file)
        used = {found for one in vars(value).values() if (found := _find_module(one))}
        for name in sorted(name for name in used if name in sys.modules):
            if name != value.__name__ and _find_package(name) is None:
                yield self.hash(sys.modules[name])

    def describe_code(self, value: CodeType) -> Iterator[str | bytes]:
        yield value.co_code
        numbers = (value.co_argcount, value.co_posonlyargcount, value.co_kwonlyargcount)
        names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
        yield self.hash((value.co_consts, numbers, names, value.co_flags))

    def describe_path(self, value: os.PathLike[str]) -> Iterator[str | bytes]:
        yield hash_path(value)

    def describe_array(self, value: np.ndarray) -> Iterator[str | bytes]:
        if value.dtype.hasobject:
            yield self.hash(value.tolist())
        else:
            yield f"{value.dtype.str}{value.shape}"
            yield np.ascontiguousarray(value).tobytes()

    def describe_dict(self, value: dict[Any, Any]) -> Iterator[str | bytes]:
        yield f"{type(value).__qualname__}"
        for key, item in value.items():
            yield self.hash(key)
            yield self.named(str(key), item)

    def describe_sequence(self, value: Iterable[Any]) -> Iterator[str | bytes]:
        yield f"{type(value).__qualname__}"
        yield from map(self.hash, value)

    def describe_set(self, value: Iterable[Any]) -> Iterator[str | bytes]:
        yield from sorted(map(self.hash, value))

    def describe_enum(self, value: enum.Enum) -> Iterator[str | bytes]:
        yield self.hash(type(value))
        yield value.name

    def describe_descriptor(self, value: Any) -> Iterator[str | bytes]:
        for name in ("fget", "fset", "fdel", "__func__", "func"):
            yield self.hash(getattr(value, name, None))

    def describe_object(self, value: Any) -> Iterator[str | bytes]:
        """Yield the fields of a dataclass, or the state that pickle would save."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:  # functools.lru_cache and the like
            yield self.hash(wrapped)
            return
        yield self.hash(type(value))
        if is_dataclass(value):
            for field in fields(value):
                yield field.name
                yield self.named(field.name, getattr(value, field.name))
            return
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reducer is None else reducer(value)
        except Exception:
            raise UnknownContentError(f"an object of type {type(value).__qualname__}") from None
        parts = (reduced,) if isinstance(reduced, str) else reduced
        for part in parts:
            yield self.hash(list(part) if isinstance(part, Iterator) else part)

    def named(self, name: str, value: object) -> bytes:
        """Return the hash of a value; an error contains its name."""
        try:
            return self.hash(value)
        except UnknownContentError as error:
            problem = str(error)
            raise UnknownContentError(
                problem if problem.startswith("`") else f"`{name}` ({problem})"
            ) from None


def _list_names(code: CodeType) -> set[str]:
    """Return the names that a function and the functions inside it use."""
    inner = (const for const in code.co_consts if isinstance(const, CodeType))
    return set(code.co_names).union(*map(_list_names, inner))


def _find_module(value: object) -> str | None:
    if isinstance(value, ModuleType):
        return value.__name__
    return getattr(value, "__module__", None) if callable(value) else None


def _digest(*parts: str | bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()
