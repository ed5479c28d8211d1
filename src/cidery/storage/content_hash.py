"""Hashes of content: values, files, and the code of functions with everything that it uses.

Equal hashes mean equal results, in another process too. Code of installed packages counts by the
versions of the package and of those that it requires, other code by its bytecode. What code opens
or imports under a name that it computes is not known: files by their path as text, for example.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec, resolve_name
from pathlib import Path, PurePath
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
from cidery.storage.file_hash import hash_file

_CACHED_FUNCTION = type(lru_cache(lambda: None))
VENDORED = "_vendor"
"""Folder of packages that setuptools adds to Python's path when it is imported."""
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

    Images count by size and times: reading a folder of them would take too long.
    """
    path = Path(path)
    digest = hashlib.sha256()
    files = _list_files(path) if path.is_dir() else [path]
    for file in files:
        if file.is_file():
            name, status = file.relative_to(path).as_posix(), file.stat()
            digest.update(f"{name}:{status.st_size}:".encode("utf-8", "surrogateescape"))
            if file.suffix.lower() in _IMAGES:
                digest.update(f"{status.st_mtime_ns}:{status.st_ctime_ns}:".encode())
            else:
                digest.update(hash_file(file).encode())
    return digest.hexdigest()


def _list_files(folder: Path) -> list[Path]:
    """Return the files in a folder and in folders that it links to."""
    files = []
    seen = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        known = os.path.realpath(place)
        if known in seen:  # a link to a folder that contains it
            folders.clear()
            continue
        seen.add(known)
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        files += [Path(place, name) for name in names]
    return sorted(files)


@lru_cache(maxsize=1)
def hash_library() -> str:
    """Return the SHA-256 of cidery's own code and data; an editable install has two folders."""
    native = hash_path(str(_native.__file__))
    return _digest(hash_path(Path(__file__).parents[1]), native).hex()


@lru_cache(maxsize=1)
def list_dependencies() -> dict[str, str]:
    """Return the versions of Python and of cidery's installed dependencies, by name.

    They include what the dependencies require, such as thinc, which computes for spaCy.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        required = [line for line in requires("cidery") or () if not _DEVELOPMENT.search(line)]
    except PackageNotFoundError:  # not installed, but on the path
        required = ["numpy"]
    names = {_read_name(line) for line in required} - {"cidery"}
    return {"Python": sys.version.partition(" ")[0], **list_versions(sorted(names))}


def _read_name(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9_.-]", requirement)[0]


def list_versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages that are installed, and of all that they require."""
    versions: dict[str, str] = {}
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        if name in versions or (found := _read_metadata(name)) is None:
            continue
        versions[name], required = found
        waiting += required
    return dict(sorted(versions.items()))


@lru_cache(maxsize=1024)
def _read_metadata(package: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the version of a package and what it requires; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = distribution(package)
    except PackageNotFoundError:
        return None
    if VENDORED in Path(str(found.locate_file(""))).parts:
        return None
    required = [line for line in found.requires or () if "extra ==" not in line]
    return found.version, tuple(sorted({_read_name(line) for line in required}))


@lru_cache(maxsize=1)
def _find_distributions() -> dict[str, list[str]]:
    from importlib.metadata import packages_distributions

    return dict(packages_distributions())


@lru_cache(maxsize=512)
def _find_package(module: str) -> str | None:
    """Return the package of a module and what it requires, with versions.

    None for code that is not installed.
    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return None if top == "__main__" else f"Python-{sys.version_info[0]}.{sys.version_info[1]}"
    if top == __name__.partition(".")[0]:
        return top  # by `hash_library`
    file = getattr(sys.modules.get(module), "__file__", None) or _find_file(top)
    if not {"site-packages", "dist-packages"} & set(Path(file).parts):
        return None
    versions = list_versions(sorted(set(_find_distributions().get(top, ()))))
    return "+".join(f"{name}-{version}" for name, version in versions.items()) or None


def _find_file(module: str) -> str:
    """Return the file of a module that is not imported yet; empty if it has none."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ""
    return (spec.origin if spec else None) or ""


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
        exact = self.exact_kinds.get(type(value))  # subclasses may have code and state of their own
        if exact is not None:
            yield exact.__name__
            yield from exact(value)
            return
        for kinds, describe in self.kinds:
            if isinstance(value, kinds):
                yield describe.__name__
                yield from describe(value)
                return
        yield from self.describe_object(value)

    @cached_property
    def exact_kinds(self) -> dict[type, Callable[[Any], Iterator[str | bytes]]]:
        return {
            np.ndarray: self.describe_array,
            dict: self.describe_dict,
            list: self.describe_sequence,
            tuple: self.describe_sequence,
            set: self.describe_set,
            frozenset: self.describe_set,
            _CACHED_FUNCTION: self.describe_cached,
        }

    @cached_property
    def kinds(self) -> list[tuple[Any, Callable[[Any], Iterator[str | bytes]]]]:
        return [
            (type, self.describe_class),
            (FunctionType, self.describe_function),
            (MethodType, self.describe_method),
            (BuiltinFunctionType, self.describe_builtin),
            (ModuleType, self.describe_module),
            (CodeType, self.describe_code),
            (PurePath, self.describe_path),
            (enum.Enum, self.describe_enum),
            ((property, classmethod, staticmethod, cached_property), self.describe_descriptor),
            ((set, frozenset), self.describe_own_set),
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
            yield self.hash(vars(value))
            names = _list_names(value.__code__)
            yield from self.describe_names(value.__globals__, names)
            for module, taken in _list_imports(value.__code__, value.__globals__):
                yield from self.describe_import(module, taken, names)

    def describe_names(
        self, known: dict[str, Any], names: set[str], seen: tuple[dict[str, Any], ...] = ()
    ) -> Iterator[str | bytes]:
        """Yield the values of names, and of those that are attributes of modules among them."""
        for name in sorted(names & known.keys()):
            value = known[name]
            yield name
            yield self.named(name, value)
            if isinstance(value, ModuleType) and _find_package(value.__name__) is None:
                inside = vars(value)
                if not any(inside is one for one in (known, *seen)):
                    yield from self.describe_names(inside, names, (known, *seen))

    def describe_import(
        self, name: str, taken: Sequence[str], names: set[str]
    ) -> Iterator[str | bytes]:
        """Yield the parts of a module that a function imports while it runs."""
        package = _find_package(name)
        yield package or name
        if package is not None:
            return
        try:
            module = import_module(name)
            for inner in taken if hasattr(module, "__path__") else ():
                if not hasattr(module, inner):
                    import_module(f"{name}.{inner}")
        except ImportError:
            yield "missing"
        except Exception:
            raise UnknownContentError(f"the module {name}") from None
        else:
            yield from self.describe_names({name: module}, {name, *names})

    def describe_method(self, value: MethodType) -> Iterator[str | bytes]:
        yield self.hash(value.__func__)
        yield self.hash(value.__self__)

    def describe_builtin(self, value: BuiltinFunctionType) -> Iterator[str | bytes]:
        yield value.__qualname__
        if value.__self__ is None:
            yield from self.describe_origin(value)
        else:
            yield self.hash(value.__self__)

    def describe_origin(self, value: Any) -> Iterator[str | bytes]:
        """Yield the package or the file of the module that has a value by its name."""
        name = getattr(value, "__module__", None) or type(value).__module__
        package = _find_package(name)
        if package is None and name not in sys.modules:
            raise UnknownContentError(f"an object of type {type(value).__qualname__}")
        yield package or self.hash(sys.modules[name])

    def describe_cached(self, value: Any) -> Iterator[str | bytes]:
        yield self.hash(value.__wrapped__)

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
        yield getattr(value, "co_exceptiontable", b"")  # from Python 3.11 on; else in the code

    def describe_path(self, value: PurePath) -> Iterator[str | bytes]:
        yield hash_path(value)
        if not os.path.exists(value):  # noqa: PTH110 (a pure path has no exists)
            yield str(value)

    def describe_array(self, value: np.ndarray) -> Iterator[str | bytes]:
        if value.dtype.hasobject:
            yield self.hash(value.tolist())
        else:
            yield f"{value.dtype!r}{value.shape}"  # with the names of fields
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

    def describe_own_set(self, value: Any) -> Iterator[str | bytes]:
        """Yield the parts of an object that is a set, too, whose order differs by process."""
        yield self.hash(type(value))
        yield from self.describe_set(value)
        yield self.hash(getattr(value, "__dict__", None))

    def describe_enum(self, value: enum.Enum) -> Iterator[str | bytes]:
        yield self.hash(type(value))
        yield str(value.name)  # None for combined flags
        yield self.hash(value.value)

    def describe_descriptor(self, value: Any) -> Iterator[str | bytes]:
        for name in ("fget", "fset", "fdel", "__func__", "func"):
            yield self.hash(getattr(value, name, None))

    def describe_object(self, value: Any) -> Iterator[str | bytes]:
        """Yield the fields of a dataclass, or the state that pickle would save."""
        yield self.hash(type(value))
        if isinstance(value, os.PathLike):
            yield hash_path(value)
        if is_dataclass(value):
            names = [field.name for field in fields(value)]
            if _find_package(type(value).__module__) is None:  # a subclass may have more
                names += sorted(_list_own_attributes(value) - set(names))
            for name in names:
                yield name
                yield self.named(name, getattr(value, name))
            return
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reducer is None else reducer(value)
        except Exception:
            raise UnknownContentError(f"an object of type {type(value).__qualname__}") from None
        if isinstance(reduced, str):  # the name of a global, such as a compiled function
            yield reduced
            yield from self.describe_origin(value)
            return
        for part in reduced:
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


def _list_imports(code: CodeType, known: dict[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the modules that a function imports while it runs, with the names taken from each."""
    instructions = list(dis.get_instructions(code))
    for place, one in enumerate(instructions):
        if one.opname == "IMPORT_NAME":
            level, taken = (found.argval for found in instructions[place - 2 : place])
            package = str(known.get("__package__") or "")
            yield (
                resolve_name("." * level + one.argval, package) if level else one.argval,
                taken or (),
            )
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _list_imports(const, known)


def _list_own_attributes(value: Any) -> set[str]:
    """Return the names of an object's attributes, without those that are computed and cached."""
    return {
        name
        for name in getattr(value, "__dict__", {})
        if not isinstance(getattr(type(value), name, None), cached_property)
    }


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
