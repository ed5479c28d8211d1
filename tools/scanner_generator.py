"""Compile prioritized regular expressions into one minimal longest-match automaton.

The pattern language is the common one, with blanks ignored: literals, ``[a-z]`` sets, ``[^...]``
complements, ``( | )``, ``* + ? {m,n}``, ``\\uXXXX`` and ``{NAME}`` for a named pattern.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

SYMBOLS = 0x10000
ALL_CHARACTERS = (1 << SYMBOLS) - 1

Node = tuple  # ("set", bits) | ("cat", nodes) | ("alt", nodes) | ("rep", node, least, most or None)


def bits_of_ranges(ranges: list[str]) -> int:
    """Bit set of the basic-plane code points in hexadecimal ranges such as ``"41-5A"``."""
    bits = 0
    for item in ranges:
        first, _, last = item.partition("-")
        low, high = int(first, 16), min(int(last or first, 16), 0xFFFF)
        if low <= high:
            bits |= ((1 << (high - low + 1)) - 1) << low
    return bits


class PatternParser:
    """Recursive-descent parser of one pattern."""

    def __init__(self, pattern: str, names: dict[str, Node]) -> None:
        self.text = pattern
        self.at = 0
        self.names = names

    def parse(self) -> Node:
        node = self.alternatives()
        if self.at != len(self.text):
            raise ValueError(f"unexpected {self.text[self.at :]!r} in {self.text!r}")
        return node

    def peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at] in " \n\t":
            self.at += 1
        return self.text[self.at] if self.at < len(self.text) else ""

    def alternatives(self) -> Node:
        branches = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            branches.append(self.sequence())
        return branches[0] if len(branches) == 1 else ("alt", tuple(branches))

    def sequence(self) -> Node:
        parts = []
        while self.peek() not in ("", "|", ")"):
            parts.append(self.repeated())
        return parts[0] if len(parts) == 1 else ("cat", tuple(parts))

    def repeated(self) -> Node:
        node = self.atom()
        while True:
            sign = self.peek()
            if sign and sign in "*+?":
                self.at += 1
                node = ("rep", node, 1 if sign == "+" else 0, 1 if sign == "?" else None)
            elif sign == "{" and self.text[self.at + 1].isdigit():
                stop = self.text.index("}", self.at)
                least, comma, most = self.text[self.at + 1 : stop].partition(",")
                self.at = stop + 1
                upper = None if comma and not most else int(most or least)
                node = ("rep", node, int(least), upper)
            else:
                return node

    def atom(self) -> Node:
        sign = self.peek()
        if sign == "(":
            self.at += 1
            node = self.alternatives()
            if self.peek() != ")":
                raise ValueError(f"missing ) in {self.text!r}")
            self.at += 1
            return node
        if sign == "{":
            return self.named()
        if sign == "[":
            return ("set", self.set_of_characters())
        return ("set", 1 << self.character())

    def named(self) -> Node:
        stop = self.text.index("}", self.at)
        node = self.names[self.text[self.at + 1 : stop]]
        self.at = stop + 1
        return node

    def character(self) -> int:
        sign = self.text[self.at]
        self.at += 1
        if sign != "\\":
            return ord(sign)
        sign = self.text[self.at]
        self.at += 1
        if sign == "u":
            self.at += 4
            return int(self.text[self.at - 4 : self.at], 16)
        return {"n": 10, "t": 9, "r": 13, "s": 32}.get(sign, ord(sign))

    def set_of_characters(self) -> int:
        self.at += 1
        negated = self.text[self.at] == "^"
        self.at += negated
        bits = 0
        while self.peek() != "]":
            if self.peek() == "{":
                node = self.named()
                if node[0] != "set":
                    raise ValueError(f"not a set of characters in {self.text!r}")
                bits |= node[1]
                continue
            low = high = self.character()
            if self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                high = self.character()
            bits |= ((1 << (high - low + 1)) - 1) << low
        self.at += 1
        return ALL_CHARACTERS & ~bits if negated else bits


@dataclass(frozen=True)
class Automaton:
    """``next_state[states, classes]`` (state 0 is dead) and each state's rule (-1: none)."""

    class_of: np.ndarray
    next_state: np.ndarray
    accepts: np.ndarray
    start: int


class Nfa:
    """Thompson construction over character-class numbers."""

    def __init__(self) -> None:
        self.empty: list[list[int]] = []
        self.moves: list[tuple[int, int] | None] = []

    def state(self) -> int:
        self.empty.append([])
        self.moves.append(None)
        return len(self.empty) - 1

    def build(self, node: Node, start: int) -> int:
        """Add the node after ``start``; return its last state."""
        kind = node[0]
        if kind == "set":
            end = self.state()
            source = start
            if self.moves[start] is not None:
                source = self.state()
                self.empty[start].append(source)
            self.moves[source] = (node[1], end)
            return end
        if kind == "cat":
            for part in node[1]:
                start = self.build(part, start)
            return start
        if kind == "alt":
            end = self.state()
            for branch in node[1]:
                first = self.state()
                self.empty[start].append(first)
                self.empty[self.build(branch, first)].append(end)
            return end
        _, inner, least, most = node
        for _ in range(least):
            fresh = self.state()
            self.empty[start].append(fresh)
            start = self.build(inner, fresh)
        if most is None:
            hub, end = self.state(), self.state()
            self.empty[start].append(hub)
            first = self.state()
            self.empty[hub].append(first)
            self.empty[self.build(inner, first)].append(hub)
            self.empty[hub].append(end)
            return end
        end = self.state()
        self.empty[start].append(end)
        for _ in range(most - least):
            fresh = self.state()
            self.empty[start].append(fresh)
            start = self.build(inner, fresh)
            self.empty[start].append(end)
        return end


def collect_sets(node: Node, found: set[int]) -> None:
    if node[0] == "set":
        found.add(node[1])
    elif node[0] == "rep":
        collect_sets(node[1], found)
    else:
        for part in node[1]:
            collect_sets(part, found)


def split_into_classes(sets: list[int]) -> tuple[np.ndarray, dict[int, list[int]]]:
    """Give every symbol a class number so that each set is a union of classes."""
    labels = np.zeros(SYMBOLS, dtype=np.int64)
    masks = {}
    for bits in sets:
        raw = bits.to_bytes((SYMBOLS + 7) // 8, "little")
        masks[bits] = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little")[:SYMBOLS]
        _, labels = np.unique(labels * 2 + masks[bits], return_inverse=True)
    first = np.full(labels.max() + 1, SYMBOLS)
    np.minimum.at(first, labels, np.arange(SYMBOLS))
    rank = np.empty_like(first)
    rank[np.argsort(first)] = np.arange(len(first))
    labels = rank[labels]
    members = {bits: sorted(set(labels[mask == 1].tolist())) for bits, mask in masks.items()}
    return labels, members


def compile_rules(nodes: list[Node]) -> Automaton:
    """One automaton for all rules; where several rules accept, the earliest wins."""
    found: set[int] = set()
    for node in nodes:
        collect_sets(node, found)
    class_of, members = split_into_classes(sorted(found))
    class_count = int(class_of.max()) + 1
    nfa = Nfa()
    root = nfa.state()
    rule_of_state: dict[int, int] = {}
    for rule, node in enumerate(nodes):
        first = nfa.state()
        nfa.empty[root].append(first)
        rule_of_state[nfa.build(node, first)] = rule

    closures: dict[int, frozenset[int]] = {}

    def closure(state: int) -> frozenset[int]:
        """States with a move or an acceptance reachable without input."""
        if state not in closures:
            seen, stack = {state}, [state]
            while stack:
                for other in nfa.empty[stack.pop()]:
                    if other not in seen:
                        seen.add(other)
                        stack.append(other)
            closures[state] = frozenset(
                s for s in seen if nfa.moves[s] is not None or s in rule_of_state
            )
        return closures[state]

    move_lists = [
        None if move is None else (members[move[0]], closure(move[1])) for move in nfa.moves
    ]
    numbers: dict[frozenset[int], int] = {frozenset(): 0, closure(root): 1}
    rows: list[list[int]] = [[0] * class_count]
    accepts = [-1]
    queue = deque([closure(root)])
    while queue:
        current = queue.popleft()
        accepts.append(min((rule_of_state[s] for s in current if s in rule_of_state), default=-1))
        targets: dict[int, set[int]] = {}
        for state in current:
            move = move_lists[state]
            if move is not None:
                for symbol in move[0]:
                    targets.setdefault(symbol, set()).update(move[1])
        row = [0] * class_count
        for symbol, target in targets.items():
            key = frozenset(target)
            if key not in numbers:
                numbers[key] = len(numbers)
                queue.append(key)
            row[symbol] = numbers[key]
        rows.append(row)
    return minimize(class_of, np.array(rows), np.array(accepts))


def minimize(class_of: np.ndarray, rows: np.ndarray, accepts: np.ndarray) -> Automaton:
    """Merge states that no input tells apart (Moore), then classes that no state tells apart."""
    _, group = np.unique(accepts, return_inverse=True)
    while True:
        table = np.column_stack([group, group[rows]])
        _, refined = np.unique(table, axis=0, return_inverse=True)
        if refined.max() == group.max():
            break
        group = refined
    count = int(group.max()) + 1
    sample = np.zeros(count, dtype=np.int64)
    sample[group[::-1]] = np.arange(len(group))[::-1]
    order = np.argsort(sample)
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    table = rank[group[rows[sample[order]]]]
    columns, merged = np.unique(table, axis=1, return_inverse=True)
    return Automaton(merged[class_of], columns, accepts[sample[order]], int(rank[group[1]]))
