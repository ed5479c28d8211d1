"""Real captions mutated with everything the PTB tokenizer treats in a special way."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
RUNS = [
    "..",
    "...",
    "....",
    ".....",
    "......",
    ". . .",
    "--",
    "---",
    "-----",
    "!!",
    "?!",
    "**",
    "__",
    "##",
    "@@",
    "``",
    "''",
    "<<",
    ">>",
    "==",
    "++",
    "//",
    '""',
    "''''",
    "```",
]
QUOTES = [
    *list("“”‘’‚„‛‟«»‹›´`'\""),
    "\x91",
    "\x92",
    "\x93",
    "\x94",
    "``",
    "''",
    "&quot;",
    "&apos;",
]
SYMBOLS = [
    *list("…–—―−‐‑‒\xad¢£¤¥€₤₹฿¼½¾⅓⅔⅛⁄°²³¹₂™©®×÷§¿¡·•★❤☀✓→′″、。！？，"),
    "\x80",
    "\x85",
    "\x96",
    "\x97",
    "\ufeff",
    "\u200b",
    "\u200d",
    "�",
    "\ue000",
    "\x01",
    "\x1f",
    "\x7f",
]
BLANKS = [" ", "  ", "   ", "\t", "\xa0", "\u2003", "\u3000", "\u202f", " \t", "\xa0 "]
LETTERS = [
    *list("éÉñüßøİıſKΣσςжЖאبहกあア漢한ªºµ"),
    "é",
    "́",
    "ः",
    "٣",
    "٣٤",
    "５",
    "٫",
    "٬",
    "😀",
    "𐐀",
    "👩\u200d👩\u200d👧",
    "🇫🇷",
]
ENTITIES = [
    "&amp;",
    "&lt;",
    "&gt;",
    "&nbsp;",
    "&mdash;",
    "&ndash;",
    "&MD;",
    "&#39;",
    "&#8217;",
    "&eacute;",
    "&egrave;",
    "&ouml;",
    "&copy;",
    "&AMP;",
    "&Amp",
    "&HT;",
    "&ql;",
    "&odq;",
    "&x;",
]
TAGS = [
    "<b>",
    "</b>",
    "<br />",
    "<br/>",
    '<a href="x y">',
    "<a href='x'>",
    "<unk>",
    "<UNK>",
    "<a b>",
    "<a b=c>",
    "<!-- x -->",
    "<!x>",
    "<?xml x?>",
    "<3",
    "</3",
    "<a",
    "<",
    "</",
    '<p class = "é" >',
    "<x:y.z-w_v>",
    "< b >",
]
WEB = [
    "http://x.com/a.",
    "https://www.a-b.org/?q=1&r=2,",
    "http://x",
    "HTTP://AB",
    "www.flickr.com",
    "x.com",
    "flickr.com/ab",
    "a.b.net/x!",
    "X.org/ab",
    "a@b.com",
    "a@b",
    "@user",
    "@_u1",
    "@",
    "#tag",
    "#tag1",
    "#5",
    "C++",
    "C#",
    "f#",
    "3.jpg",
    "img_01.png",
    "a.tar.gz",
    "x.TXT,",
    "1.mp3",
    "mailto:a@b",
    "ftp://x",
    ".com",
    "a@b>",
]
FACES = [
    ":)",
    ":-)",
    ";)",
    "=)",
    ":(",
    ":D",
    ":P",
    ":p",
    ":O",
    ":|",
    ":\\",
    ":]",
    ":[",
    ":{",
    ":'(",
    ">:(",
    "^_^",
    "-_-",
    "o_O",
    "(^_^)",
    "(--)",
    ":/",
    ":*",
    "8)",
    "D:",
    ":o)",
    ":-P",
    "=D",
    ";-]",
    ":3",
    ">_<",
    "(-.-)",
    ":@",
]
WORDS = [
    "cannot",
    "Gonna",
    "gotta",
    "lemme",
    "GIMME",
    "wanna",
    "'tis",
    "'Twas",
    "y'all",
    "Y'know",
    "d'ye",
    "more'n",
    "MORE'N",
    "don't",
    "CAN'T",
    "won’t",
    "dosen`t",
    "ain&apos;t",
    "cann't",
    "couldn't've",
    "I'm",
    "I've",
    "we’ll",
    "they'RE",
    "he'd",
    "dogs'",
    "it's",
    "IT’S",
    "'s",
    "'em",
    "'til",
    "'cause",
    "'n",
    "'n'",
    "rock'n'roll",
    "'60s",
    "'09",
    "60's",
    "6'2\"",
    "O'Brien",
    "o’clock",
    "ma'am",
    "Hallowe'en",
    "Hawai'i",
    "b'day",
    "B'day",
    "the'Mike",
    "c'mon",
    "s'mores",
    "ol'",
    "Dunkin'",
    "ev'ry",
    "nat'l",
    "qu'il",
    "l'homme",
    "d'",
    "anti-",
    "pro-",
    "self-",
    "t-shirt",
    "state-of-the-art",
    "F-16/F-16",
    "and/or",
    "a/b/c/d",
    "w/o",
    "1/2",
    "5 1/2",
    "5-1/2",
    "12/25/2010",
    "AT&T",
    "A&B",
    "R&amp;D",
    "M&Ms",
    "dog.The",
    "wow!no",
    "P!nk",
    "a.b.c",
    "him.-that",
    "is,polka-dot",
    "v1.0-x",
    "a_b",
    "-LRB-",
    "-RRB-",
]
ABBREVIATIONS = [
    "Mr.",
    "mrs.",
    "DR.",
    "St.",
    "vs.",
    "etc.",
    "Inc.",
    "co.",
    "CO.",
    "Jr.",
    "La.",
    "la.",
    "Mass.",
    "Pa.",
    "Ph.D.",
    "ed.d.",
    "U.S.",
    "u.s",
    "a.m.",
    "p.m.",
    "e.g.",
    "i.e.",
    "b.",
    "I.",
    "No.",
    "no.",
    "fig.",
    "pp.",
    "p.",
    "op.",
    "ca.",
    "mfg.",
    "MFG.",
    "pty.",
    "PTY.",
    "Sat.",
    "oz.",
    "Jan.",
    "sept.",
    "ok.",
    "A.",
    "X.Y.Z",
    "Capt.",
    "ave.",
    "blvd.",
    "art.",
]
NUMBERS = [
    "5",
    "12",
    "100",
    "1,000",
    "3.5",
    ".5",
    ",5",
    ":30",
    "10:30",
    "10:30am",
    "5pm",
    "2nd",
    "1990s",
    "4x4",
    "1.5x",
    "-5",
    "+5",
    "5+5",
    "1-2",
    "$5",
    "US$5",
    "A$",
    "50%",
    "#1",
    "5°C",
    "£5",
    "555-1234",
    "(555) 555-1234",
    "555 555 1234",
    "555.555.1234",
    "1-800-555-1234",
    "+1 555 555 1234",
    "192.168.0.1",
    "1,2,3",
    "5.",
    "5.,",
    "1/2/3",
    "5½",
    "1‐2",
    "12­34",
]
STARTERS = ["The", "A", "He", "THE", "In", "Zork", "However", "You", "the", "It", "5", "I"]
VOCABULARY = [
    RUNS,
    QUOTES,
    SYMBOLS,
    LETTERS,
    ENTITIES,
    TAGS,
    WEB,
    FACES,
    WORDS,
    ABBREVIATIONS,
    NUMBERS,
    STARTERS,
    PUNCTUATION,
    PUNCTUATION,
    BLANKS,
]
Mutation = Callable[[random.Random, str], str]


def special(rng: random.Random) -> str:
    """One special piece; sometimes any character of the basic plane or beyond."""
    if rng.random() < 0.04:
        return random_character(rng)
    return rng.choice(rng.choice(VOCABULARY))


def random_character(rng: random.Random) -> str:
    while True:
        code = rng.randrange(0x20, rng.choice([0x100, 0x3000, 0x10000, 0x20000]))
        if not 0xD800 <= code < 0xE000 and code not in (0x2028, 0x2029):
            return chr(code)


def insert_anywhere(rng: random.Random, caption: str) -> str:
    at = rng.randint(0, len(caption))
    return caption[:at] + special(rng) + caption[at:]


def insert_word(rng: random.Random, caption: str) -> str:
    words = caption.split(" ")
    words.insert(rng.randint(0, len(words)), special(rng))
    return " ".join(words)


def glue_to_word(rng: random.Random, caption: str) -> str:
    words = caption.split(" ")
    at = rng.randrange(len(words))
    words[at] = special(rng) + words[at] if rng.random() < 0.4 else words[at] + special(rng)
    return " ".join(words)


def join_words(rng: random.Random, caption: str) -> str:
    words = caption.split(" ")
    if len(words) > 1:
        at = rng.randrange(len(words) - 1)
        words[at : at + 2] = [words[at] + special(rng) + words[at + 1]]
    return " ".join(words)


def wrap_word(rng: random.Random, caption: str) -> str:
    words = caption.split(" ")
    at = rng.randrange(len(words))
    words[at] = special(rng) + words[at] + special(rng)
    return " ".join(words)


def change_case(rng: random.Random, caption: str) -> str:
    if rng.random() < 0.5:
        return caption.title()
    words = caption.split(" ")
    at = rng.randrange(len(words))
    words[at] = words[at].upper()
    return " ".join(words)


def special_soup(rng: random.Random, caption: str) -> str:
    soup = "".join(special(rng) for _ in range(rng.randint(2, 5)))
    return f"{caption} {soup}" if rng.random() < 0.5 else f"{soup} {caption}"


MUTATIONS: list[Mutation] = [
    insert_anywhere,
    insert_word,
    glue_to_word,
    glue_to_word,
    join_words,
    join_words,
    wrap_word,
    change_case,
    special_soup,
]


def mutate(rng: random.Random, caption: str) -> str:
    """The caption after one to four mutations, on one line."""
    for _ in range(rng.randint(1, 4)):
        caption = rng.choice(MUTATIONS)(rng, caption)
    return caption.replace("\n", " ")


def mutated_captions(captions: Sequence[str], seed: int, count: int) -> list[str]:
    """Captions drawn and mutated by a seed; none holds a line break."""
    rng = random.Random(seed)
    result = []
    for _ in range(count):
        caption = rng.choice(captions)
        if rng.random() < 0.3:
            caption = " ".join(caption.split(" ")[: rng.randint(1, 4)])
        mutated = mutate(rng, caption)
        result.append("".join(c for c in mutated if c not in "\r\x0b\x0c\u2028\u2029"))
    return result
