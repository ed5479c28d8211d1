"""The rules of the PTB tokenizer, learned by watching the original.

The longest match wins, then the earlier rule. A rule's look-ahead counts in its length (``shown``
says how much of the match is the token). Each rule names what the scanner does with the match, see
``Action`` in ``native/ptb_tables.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass

# What part of a match is the token, see ``Shown`` in ``native/ptb_tables.hpp``.
ALL, BUT_LAST, TO_BLANK, TO_CLITIC, ONE = "all", "but_last", "to_blank", "to_clitic", "one"


@dataclass(frozen=True)
class Rule:
    """A pattern, what becomes of its match, and how much of the match is the token."""

    action: str
    pattern: str
    shown: str = ALL
    text: str = ""


def any_of(words: str, ignore_case: bool = True) -> str:
    """Alternatives, each letter in either case if asked."""
    folded = [fold(word) if ignore_case else word for word in words.split()]
    return "(" + " | ".join(folded) + ")"


def fold(word: str) -> str:
    """A pattern for the word in any mix of cases; U+017F pairs with s, U+212A with k."""
    extra = {"s": "\\u017F", "k": "\\u212A"}
    return "".join(
        f"[{c.upper()}{c}{extra.get(c, '')}]" if c.isalpha() and c.islower() else escape(c)
        for c in word
    )


def escape(character: str) -> str:
    return character if character.isalnum() else "\\" + character


def not_all_capitals(words: str) -> str:
    """Each word in lower case or with a capital first letter."""
    return "(" + " | ".join(f"[{w[0].upper()}{w[0]}]{w[1:]}" for w in words.split()) + ")"


# Abbreviations that keep their period and never end a sentence.
TITLES = (
    "adj adm adv alex asst assoc atty attys ave brig capt cf cie cmdr col comdr cpl dept det dr "
    "drs elec ens ft gen gov govs hon insp invt jos lt lieut maj messrs mlle mme mr mrs ms msgr "
    "mt natl pfc ph pres prof profs pvt rep reps rev sen sens sfc sgt spc st ste supt supts "
    "treas vs wm"
)
TITLES_CASED = "mfg mtg"
# Abbreviations that keep their period; at a sentence end the period is said twice.
COMMON = (
    "al ala apr ariz assn aug bhd bldg blvd bros calif co colo conn corp cos ct dak dec esq est "
    "etc ext feb fla fri ga inc ind intl jan jr jul jun kan kans ky ltd mar md mich minn mo mon "
    "mont neb nev nov oct okla penn plc rd rt sep sept seq sq sr sys tel tenn thu thurs tue "
    "tues univ va vt wed wis wisc wyo ph.d ed.d"
)
COMMON_CASED = "pte ptes pty ptys ppte pptes ppty pptys"
COMMON_CAPITALIZED = "Ark Az Del Ill La Mass Miss Ore Pa Tex Wash"
# Abbreviations that keep their period only before a number.
NUMBERED = "art fig figs no nos p pp prop op ca"
STARTERS = (
    "A About According Additionally After An As At But Earlier He Her Here However If In It "
    "Last Many More Now Once One Other Our She Since So Some Such That The Their Then There "
    "These They This We What When While Yet You"
)
EXTENSIONS = any_of(
    "bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpg jpeg mov mp3 pdf php "
    "pl png ppt ps py sql tar txt wav x xml zip"
)

NAMES: dict[str, str] = {
    "AL": "[A-Za-z]",
    "AN": "[A-Za-z0-9]",
    "SHY": "[\\u00AD]",
    "W": "[{LETTER}{MARK}\\u00AD]",
    "WD": "[{LETTER}{MARK}{DIGIT}\\u00AD]",
    "LD": "[{LETTER}{DIGIT}]",
    "LDS": "[{LETTER}{DIGIT}\\u00AD]",
    "ENTITYLETTER": "&[aeiouAEIOU]([Aa][Cc][Uu][Tt][Ee]|[Gg][Rr][Aa][Vv][Ee]|[Uu][Mm][Ll]);",
    "WORD": "({W}|{ENTITYLETTER}) ({WD}|{ENTITYLETTER})*",
    "DOTTED": "{WORD} ([.!?] {WORD})+",
    "HY": "[\\-_\\u058A\\u2010\\u2011]",
    "BLANK": "[\\s\\t\\u00A0\\u2000-\\u200A\\u3000]",
    "BREAK": "[\\r\\n\\u000B\\u000C\\u0085\\u2028\\u2029]",
    "SPACE": "[{BLANK}{BREAK}]",
    "STOP": "[\\t\\n\\u000B\\u000C\\r\\s\\u2028\\u2029]",
    "LINE": "[\\s\\t\\u00A0\\r\\n\\u000B\\u000C\\u0085\\u2028\\u2029]",
    # Apostrophes: the ASCII one, those taken for it, and those only some words allow.
    "CURLY": "([\\u0092\\u2019] | &[Aa][Pp][Oo][Ss];)",
    "APOS": "(' | {CURLY})",
    "APOSX": "({APOS} | [`\\u0091\\u2018\\u201B])",
    "STARTER": any_of(STARTERS, ignore_case=False)[:-1]
    + " | "
    + any_of(STARTERS.upper(), False)[1:],
    "NUM": "[+\\-]? [.,:\\u00AD\\u066B\\u066C]? {DIGIT}+ ([.,:\\u00AD\\u066B\\u066C] {DIGIT}+)*",
    "URL": '[^{STOP}"()<>|]',
    "URLEND": '[^{STOP}"()<>|\\{\\}.,!?\\-]',
    "PATH": "/{URL}+{URLEND}",
    "LABEL": "[^{STOP}!-\"$'-)\\,-@A-Z\\[-`\\{-\\}]",
    "WWWLABEL": '[^{STOP}!"(),.<>?@\\{|\\}]',
    "DOMAIN": any_of("com net org edu"),
    "MAIL": '[^\\t\\n\\u000B\\u000C\\r\\s"()<>\\{\\}|\\u00A0]',
    "MAILE": '[^\\t\\n\\u000B\\u000C\\r\\s"()<>\\{\\}|.\\u00A0]',
    "EYE": "[\\-\\^x=~<>']",
    "GAP": "[\\-\\s\\u00A0]",
    "TAGNAME": "[A-Za-z][A-Za-z0-9_:.\\-]*",
    "QUOTE": "[\\u0091-\\u0094\\u2018-\\u201F\\u00AB\\u00BB\\u2039\\u203A]",
    "INITIALS": "[A-Z]+ (([&+]|&[Aa][Mm][Pp];) [A-Z]+)+",
    "FILEPART": "({WD}|{ENTITYLETTER})",
    "SLASH": "\\\\?/",
    "PART": "({LD}+ | [OoDdLl]{APOSX}{LD}{2,})",
    "ASCIIPART": "([A-Za-z0-9\\u00AD]+ | [OoDdLl]{APOSX}[A-Za-z0-9\\u00AD]{2,})",
    "LEADING": "{AN}[A-Za-z0-9.,\\u00AD]*",
    "HYPHENATED": "({LD}+ | [OoDdLl]{APOSX}{LD}{2,}) ({HY} {PART})+ | {LEADING} (\\- {ASCIIPART})+",
    "ACRONYM": "({AL}\\.)+ {AL}\\.",
    "SLASHPART": "{AN}+(\\-{AL}+){0,2}",
}

NAMES |= {
    "TITLES": f"({any_of(TITLES)} | {not_all_capitals(TITLES_CASED)})",
    "COMMON": f"({any_of(COMMON)} | {not_all_capitals(COMMON_CASED)} | "
    f"{any_of(COMMON_CAPITALIZED + ' ' + COMMON_CAPITALIZED.upper(), ignore_case=False)})",
    "NUMBERED": any_of(NUMBERED),
    "EXT": EXTENSIONS,
    "TAG": "(<{TAGNAME} (\\s+ {TAGNAME} (\\s*=\\s* (\"[^\"\\n\\r]*\" | '[^'\\n\\r]*'))?)* \\s* /?>"
    " | </{TAGNAME}\\s*>"
    " | <![A-Za-z\\-][^>\\n\\r]*> | <\\?[A-Za-z][^>\\n\\r]*>)",
    "SENTENCE": "{SPACE}+ ({STARTER} | M[RrSs]\\. | {TAG}) {SPACE}",
}

# Every word that may keep a period: the short way for plain text leaves these to the rules.
ABBREVIATIONS = [
    word
    for words in (TITLES, TITLES_CASED, COMMON, COMMON_CASED, COMMON_CAPITALIZED, NUMBERED)
    for word in words.lower().split()
]

RULES: list[Rule] = [
    # Split words: whole words only, so they must come before the plain word.
    Rule(
        "word", "({WORD} | {DOTTED}) {APOS}([SsMmDd]|" + any_of("ll re ve") + ")", "to_apostrophe"
    ),
    Rule("split_three", any_of("cannot gonna gotta lemme gimme wanna")),
    Rule("word", "{WORD}"),
    Rule("word", "{LD}+"),
    Rule("word", "{DOTTED}"),
    # E-mail addresses win ties against abbreviations.
    Rule("copy", "(<|&[Ll][Tt];)? {AN} {MAIL}* @ ({MAILE}+\\.)* {MAILE}+ (>|&[Gg][Tt];)?"),
    # Abbreviations win ties against hyphenated words: `etc.-x` is cut, `etc.of` is not.
    Rule("doubled", "{COMMON}\\. ({SPACE}+ ({UPPER} | {TAG}) | {SPACE}{SPACE})?", "common_period"),
    Rule("copy", "{COMMON}\\. [^][^]", "common_period"),
    Rule("word", "{HYPHENATED}"),
    Rule("word", "{SLASHPART} {SLASH} {SLASHPART} ({SLASH} {SLASHPART})?"),
    Rule("ampersand", "{INITIALS}"),
    Rule("copy", "[A-Z]+ \\$"),
    Rule("copy", "[Cc]\\+\\+ | [CcFf]#"),
    # Numbers.
    Rule("word", "{NUM}"),
    Rule("copy", "{DIGIT}{1,2}[\\-/]{DIGIT}{1,2}[\\-/]{DIGIT}{2,4}"),
    Rule("spaced", "({DIGIT}{1,4}[\\-\\s\\u00A0])? {DIGIT}{1,4}({SLASH}|\\u2044){DIGIT}{1,4}"),
    Rule(
        "spaced",
        "(\\([0-9]{2,3}\\)[\\s\\u00A0]? | \\+{0,2}([0-9]{2,4}{GAP})?[0-9]{2,4}{GAP})"
        " [0-9]{3,4}{GAP}?[0-9]{3,5}",
    ),
    Rule("word", any_of("anti- pro- -lrb- -rrb- -lcb- -rcb- -lsb- -rsb-")),
    # Contractions.
    Rule("word", "[A-Za-z\\u00AD]*[A-MO-Za-mo-z\\u00AD] [Nn]{APOSX}[Tt]", TO_CLITIC),
    Rule("apostrophe", "[Nn]{APOSX}[Tt]"),
    Rule("apostrophe", "'[SsMmDd] [^A-Za-z]", BUT_LAST),
    Rule("apostrophe", "'" + any_of("ll re ve") + " [^A-Za-z]", BUT_LAST),
    Rule("apostrophe", "{APOS}[SsMmDd]"),
    Rule("apostrophe", "{CURLY}" + any_of("ll re ve")),
    Rule("copy", "[Yy]{APOS}{LETTER}", BUT_LAST),
    Rule("copy", "'[Tt]" + any_of("is was"), "two"),
    Rule("copy", "[OoDdLl]{APOSX}{LD}{2,}"),
    Rule("copy", "[A-HJ-XZn]{APOSX}{LETTER}{2,}"),
    Rule("copy", "{LETTER}+[AEIOUYaeiouy]{APOSX}[AEIOUaeiouA-Z]{LETTER}*"),
    Rule("copy", any_of("o'o cap'n c'est").replace("\\'", "{APOS}")),
    Rule("copy", any_of("c'mon s'mores e'er ev'ry nat'l li'l")),
    Rule("copy", any_of("ol' dunkin' somethin' d' l' j'").replace("\\'", "{APOS}")),
    Rule("copy", "{APOS}" + any_of("em til till cause n")),
    Rule("copy", "{APOS}[Nn]{APOS}"),
    Rule("copy", "{APOS}[0-9]0[Ss\\u017F]"),
    Rule("copy", "{APOS}[0-9][0-9]{SPACE}", BUT_LAST),
    # Periods.
    Rule("copy", "{TITLES}\\."),
    Rule("copy", "{NUMBERED}\\. {SPACE}? {DIGIT}", "through_period"),
    Rule("copy", "{AL}\\."),
    Rule("copy", "{AL}\\. {SENTENCE}", "to_period"),
    Rule("copy", "([Nn][Oo][Nn]-)? {ACRONYM}"),
    Rule("doubled", "([Nn][Oo][Nn]-)? {ACRONYM} {SENTENCE}", TO_BLANK),
    Rule("word", "{LEADING} (\\- {ASCIIPART})* \\- {ACRONYM}"),
    Rule(
        "word",
        "({WORD} | {LD}+ | {DOTTED} | {HYPHENATED} | [OoDdLl]{APOSX}{LD}{2,})\\. [,;:\\u3001]",
        BUT_LAST,
    ),
    Rule("ampersand", "{INITIALS}\\. [,;:\\u3001]", BUT_LAST),
    # Web.
    Rule("copy", any_of("http https") + '://[^{STOP}"()<>|\\{\\}]+{URLEND}'),
    Rule("copy", "{LABEL}+ (\\.{LABEL}+)* \\.{DOMAIN} {PATH}?"),
    Rule("copy", any_of("www") + "\\. ({WWWLABEL}+\\.)+ [A-Za-z]{2,4} {PATH}?"),
    Rule("copy", "@[A-Za-z_]{AN}*[A-Za-z0-9_]*"),
    Rule("copy", "#({W}|{ENTITYLETTER})+"),
    Rule("copy", "{FILEPART}+(\\.{FILEPART}+)* \\. {EXT} [{SPACE},.?!]", BUT_LAST),
    # Tags.
    Rule("tag", "{TAG}"),
    # Faces.
    Rule("spaced", "[<>]?[:;=][\\-o*']? [()DPdp|\\\\\\]\\[\\{@O] [^A-Za-z0-9]", BUT_LAST),
    Rule("spaced", "{EYE}_{EYE}"),
    Rule("spaced", "\\({EYE}[_.]?{EYE}\\) | \\([\\^x=~<>']-[\\^x=~<>'`]\\)"),
    # Quotes.
    Rule("quotes", "[{QUOTE}`]{1,2}"),
    Rule("literal", '("|&quot;)[A-Za-z0-9$]', BUT_LAST, text="``"),
    Rule("literal", '("|&quot;)', text="''"),
    Rule("copy", "&[Qq][Uu][Oo][Tt];"),
    Rule("copy", "''"),
    Rule("literal", "' {AL} [^\\s\\t\\u00A0\\n\\r]", ONE, text="`"),
    Rule("apostrophe", "{APOS}"),
    # Runs and symbols.
    Rule("copy", "\\\\\\*"),
    Rule("literal", "\\.{3,5} | \\.([\\s\\u00A0]\\.){2,4} | [\\u0085\\u2026]", text="..."),
    Rule(
        "literal",
        "-{2,4} | [\\u0096\\u0097\\u2013-\\u2015] | &[MmNn][Dd][Aa][Ss][Hh]; | &[Mm][Dd];",
        text="--",
    ),
    Rule("copy", "-{5,}"),
    Rule("copy", "[!?]{2,} | \\*{2,} | _{2,} | #{2,} | @{2,} | << | >>"),
    Rule("copy", "[\\u00B2\\u00B3\\u00B9\\u2070\\u2074-\\u2079]+ | [\\u2080-\\u2089]+"),
    Rule(
        "copy",
        "&#[0-9]+; | &" + any_of("ht tl ur lr qc ql qr odq cdq") + ";",
    ),
    Rule("literal", "&[Aa][Mm][Pp];", text="&"),
    Rule("literal", "&[Ll][Tt];", text="<"),
    Rule("literal", "&[Gg][Tt];", text=">"),
    Rule("skip", "&[Nn][Bb][Ss][Pp];"),
    Rule("literal", "\\(", text="-lrb-"),
    Rule("literal", "\\)", text="-rrb-"),
    Rule("literal", "\\[", text="-lsb-"),
    Rule("literal", "\\]", text="-rsb-"),
    Rule("literal", "\\{", text="-lcb-"),
    Rule("literal", "\\}", text="-rcb-"),
    Rule("literal", "\\u00A3", text="#"),
    Rule("literal", "[\\u0080\\u00A4\\u20A0\\u20AC]", text="$"),
    Rule("literal", "\\u00A2", text="cents"),
    Rule("literal", "\\u00BC", text="1/4"),
    Rule("literal", "\\u00BD", text="1/2"),
    Rule("literal", "\\u00BE", text="3/4"),
    Rule("literal", "\\u2153", text="1/3"),
    Rule("literal", "\\u2154", text="2/3"),
    Rule("copy", "[!#$%&*+,\\-./:;<=>?@\\\\^_|~{SYMBOL}]"),
    Rule("skip", "{BLANK}+ | [^]"),
]
