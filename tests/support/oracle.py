"""The metrics once more, as plain as the papers print them: slow, obvious, independent."""

import math
import re
from collections import Counter
from itertools import combinations

Words = list[str]


def ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def frequencies(references: list[list[Words]], order: int = 4) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for image in references:
        counts.update({g for words in image for n in range(1, order + 1) for g in ngrams(words, n)})
    return counts


class Cider:
    """CIDEr, CIDEr-D and CIDEr-R of one candidate, in both faithfulnesses."""

    def __init__(self, df: Counter[tuple[str, ...]], images: float, idf: bool = True) -> None:
        self.df, self.log_images, self.idf = df, math.log(images), idf

    def vector(self, words: Words, n: int, total: float) -> dict[tuple[str, ...], float]:
        return {
            g: count / total * (self.log_images - math.log(max(1, self.df[g])) if self.idf else 1.0)
            for g, count in ngrams(words, n).items()
        }

    def similarities(
        self, c: Words, s: Words, clip: bool, relative: bool, order: int
    ) -> list[float]:
        totals = [
            sum(sum(ngrams(words, n).values()) for n in range(1, order + 1)) if relative else 1
            for words in (c, s)
        ]
        result = []
        for n in range(1, order + 1):
            one = self.vector(c, n, totals[0] or 1)
            other = self.vector(s, n, totals[1] or 1)
            dot = sum(
                (min(one[g], other[g]) if clip else one[g]) * other[g] for g in one if g in other
            )
            norm = math.sqrt(sum(x * x for x in one.values())) * math.sqrt(
                sum(x * x for x in other.values())
            )
            result.append(dot / norm if norm else 0.0)
        return result

    def cider(self, c: Words, refs: list[Words], weights: list[float], best: bool = False) -> float:
        each = [
            sum(
                w * v
                for w, v in zip(
                    weights, self.similarities(c, s, False, False, len(weights)), strict=True
                )
            )
            for s in refs
        ]
        return max(each) if best else sum(each) / len(each)

    def cider_d(self, c: Words, refs: list[Words], sigma: float = 6.0, coco: bool = True) -> float:
        total = 0.0
        for s in refs:
            delta = length(c, coco) - length(s, coco)
            penalty = math.exp(-(delta**2) / (2 * sigma**2))
            total += penalty * sum(self.similarities(c, s, True, not coco, 4)) / 4
        return 10 * total / len(refs)

    def cider_r(self, c: Words, refs: list[Words], k: float = 0.8, coco: bool = True) -> float:
        total = 0.0
        for s in refs:
            delta = length(c, coco) - length(s, coco)
            whole = length(s, coco) + (1 if coco else 0)
            by_length = math.exp(-(delta**2) / whole**2) if whole else float(delta == 0)
            penalty = repetition(c, s, coco) ** k * by_length ** (1 - k)
            total += penalty * sum(self.similarities(c, s, True, not coco, 4)) / 4
        return 10 * total / len(refs)


def length(words: Words, coco: bool) -> int:
    return max(len(words) - 1, 0) if coco else len(words)


def repetition(c: Words, s: Words, coco: bool) -> float:
    one, other = (Counter(re.findall(r"\w+", " ".join(w)) if coco else w) for w in (c, s))
    if not one:
        return 1.0
    product = math.prod(
        1 / (1 + abs(count - other[w])) if other[w] else 1 / count for w, count in one.items()
    )
    return product ** (1 / (len(one) if coco else len(c)))


def bleu_statistics(c: Words, refs: list[Words], n: int) -> tuple[int, int]:
    counts = ngrams(c, n)
    most: Counter[tuple[str, ...]] = Counter()
    for s in refs:
        most |= ngrams(s, n)
    return sum(min(k, most[g]) for g, k in counts.items()), sum(counts.values())


def lcs(a: Words, b: Words) -> int:
    row = [0] * (len(b) + 1)
    for x in a:
        previous = 0
        for j, y in enumerate(b, start=1):
            previous, row[j] = row[j], (previous + 1 if x == y else max(row[j], row[j - 1]))
    return row[-1]


def wlcs(a: Words, b: Words, alpha: float) -> float:
    weight = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    run = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a, start=1):
        for j, y in enumerate(b, start=1):
            if x == y:
                k = run[i - 1][j - 1]
                weight[i][j] = weight[i - 1][j - 1] + (k + 1) ** alpha - k**alpha
                run[i][j] = k + 1
            else:
                weight[i][j] = max(weight[i - 1][j], weight[i][j - 1])
    return weight[-1][-1]


def skip_pairs(words: Words, skip: int | None) -> Counter[tuple[str, str]]:
    return Counter(
        (words[i], words[j])
        for i, j in combinations(range(len(words)), 2)
        if skip is None or j - i - 1 <= skip
    )


def f_measure(precision: float, recall: float, beta: float) -> float:
    if not (precision and recall):
        return 0.0
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def rouge_l(c: Words, refs: list[Words], beta: float) -> float:
    common = [lcs(c, s) for s in refs]
    return f_measure(
        max(ratio(x, len(c)) for x in common),
        max(ratio(x, len(s)) for x, s in zip(common, refs, strict=True)),
        beta,
    )


def rouge_w(c: Words, refs: list[Words], alpha: float, beta: float) -> float:
    common = [wlcs(c, s, alpha) for s in refs]
    return f_measure(
        max(ratio(x, len(c) ** alpha) ** (1 / alpha) for x in common),
        max(ratio(x, len(s) ** alpha) ** (1 / alpha) for x, s in zip(common, refs, strict=True)),
        beta,
    )


def rouge_s(c: Words, refs: list[Words], skip: int | None, beta: float) -> float:
    mine = skip_pairs(c, skip)
    theirs = [skip_pairs(s, skip) for s in refs]
    common = [(mine & other).total() for other in theirs]
    return f_measure(
        max(ratio(x, mine.total()) for x in common),
        max(ratio(x, other.total()) for x, other in zip(common, theirs, strict=True)),
        beta,
    )


def rouge_n(c: Words, refs: list[Words], n: int) -> tuple[float, float]:
    """Recall and F1."""
    mine = ngrams(c, n)
    theirs = [ngrams(s, n) for s in refs]
    common = sum((mine & other).total() for other in theirs)
    recall = ratio(common, sum(other.total() for other in theirs))
    precision = ratio(common, mine.total() * len(refs))
    return recall, f_measure(precision, recall, 1.0)
