"""Captions in the languages that METEOR knows, put together from phrases written for this."""

from __future__ import annotations

import random

from support.meteor_segments import Paraphrase

# Who, what they do, where: by language. Words come in several forms, so that stems match.
PHRASES: dict[str, tuple[str, str, str]] = {
    "cs": (
        "malý pes|dva malí psi|skupina dětí|dítě|muž s kloboukem|muži v kloboucích|stará žena|ženy",
        "běží|běželi|hraje si s míčem|hrají si s míčky|sedí|skáče|jede na kole|jedou na kolech",
        "na pláži|po písečných plážích|v parku|u vody např. u řeky|na ulici|před domem č. 5",
    ),
    "de": (
        "ein Hund|zwei kleine Hunde|der Junge mit dem Hut|Jungen mit Hüten|eine alte Frau|"
        "die Frauen|das Ereignis|die Ereignisse|Prof. Müller|Kinder|ein Kind",
        "läuft|laufen|spielt mit einem Ball|spielen mit Bällen|sitzt|fährt Fahrrad|springt|geht's",
        "am Strand|an den Stränden|im Park|auf der Straße|vor dem Haus Nr. 5|z. B. am Fluss",
    ),
    "es": (
        "un perro|dos perros pequeños|el niño con sombrero|los niños|una mujer mayor|las mujeres|"
        "el Sr. García|unos jóvenes",
        "corre|corren rápidamente|juega con una pelota|jugando con pelotas|está sentado|salta",
        "en la playa|por las playas|en el parque|en la calle|delante de la casa núm. 5|al río",
    ),
    "fr": (
        "un chien|deux petits chiens|l'enfant au chapeau|les enfants|une vieille femme|"
        "des femmes égoïstes|M. Dupont|l'homme aujourd'hui",
        "court|courent|joue avec un ballon|jouaient avec des ballons|est assis|saute|fait du vélo",
        "sur la plage|sur les plages|dans le parc|dans la rue|devant l'école|près de l'eau, p. 5",
    ),
    "ru": (
        "собака|две маленькие собаки|мальчик в шляпе|мальчики в шляпах|ребёнок|ребенок|женщины|"
        "пожилая женщина",
        "бежит|бегут|играет с мячом|играют с мячами|сидит|прыгает|едет на велосипеде|идёт",
        "на пляже|по пляжам|в парке|на улице|перед домом ул. Мира|у реки, т.е. у воды",
    ),
    "da": (
        "en hund|to små hunde|drengen med hatten|drenge med hatte|en gammel kvinde|kvinderne|børn",
        "løber|løb|leger med en bold|leger med bolde|sidder|springer|cykler",
        "på stranden|på strandene|i parken|på gaden|foran huset|ved vandet",
    ),
    "fi": (
        "koira|kaksi pientä koiraa|hattupäinen poika|pojat|vanha nainen|naiset|lapsi|lapsetkin",
        "juoksee|juoksevat|leikkii pallolla|leikkivät palloilla|istuu|hyppää|pyöräilee bussiin",
        "rannalla|rannoilla|puistossa|puistoon|kadulla|talojen edessä|veden äärellä|vihreiden",
    ),
    "hu": (
        "egy kutya|két kis kutya|kalapos fiú|a fiúk|egy idős nő|a nők|gyerekek|a gyermek",
        "fut|futnak|labdával játszik|labdákkal játszanak|ül|ugrik|kerékpározik|erről beszélnek",
        "a tengerparton|a partokon|a parkban|az utcán|a ház előtt|a víz mellett|a fűről",
    ),
    "it": (
        "un cane|due piccoli cani|il ragazzo con il cappello|i ragazzi|una donna anziana|le donne",
        "corre|corrono|gioca con una palla|giocando con le palle|è seduto|salta|va in bicicletta",
        "sulla spiaggia|sulle spiagge|nel parco|per strada|davanti alla casa|vicino all'acqua",
    ),
    "nl": (
        "een hond|twee kleine honden|de jongen met de hoed|jongens met hoeden|een vrouw|vrouwen",
        "rent|rennen|speelt met een bal|spelen met ballen|zit|springt|fietst|fietsen",
        "op het strand|op de stranden|in het park|op straat|voor het huis|bij het water",
    ),
    "no": (
        "en hund|to små hunder|gutten med hatten|gutter med hatter|en gammel kvinne|kvinnene|barn",
        "løper|løp|leker med en ball|leker med baller|sitter|hopper|sykler",
        "på stranden|på strendene|i parken|på gaten|foran huset|ved vannet",
    ),
    "pt": (
        "um cachorro|dois cachorros pequenos|o menino de chapéu|os meninos|uma mulher|mulheres",
        "corre|correm|brinca com uma bola|brincando com bolas|está sentado|a construção|solução",
        "na praia|pelas praias|no parque|na rua|em frente da casa|junto da água|em execução",
    ),
    "ro": (
        "un câine|doi câini mici|băiatul cu pălărie|băieții|o femeie|femeile|copii|copilul",
        "aleargă|alergau|se joacă cu o minge|se joacă cu mingile|stă|sare|merge cu bicicleta",
        "pe plajă|pe plajele|în parc|pe stradă|în fața casei|lângă apă",
    ),
    "sv": (
        "en hund|två små hundar|pojken med hatten|pojkar med hattar|en kvinna|kvinnorna|barn",
        "springer|sprang|leker med en boll|leker med bollar|sitter|hoppar|cyklar",
        "på stranden|på stränderna|i parken|på gatan|framför huset|vid vattnet",
    ),
    "tr": (
        "bir köpek|iki küçük köpek|şapkalı çocuk|çocuklar|yaşlı bir kadın|kadınlar|çocuğun topu",
        "koşuyor|koşuyorlar|topla oynuyor|toplarla oynuyorlar|oturuyor|zıplıyor|bisiklete biniyor",
        "sahilde|sahillerde|parkta|sokakta|evin önünde|suyun kenarında|İzmir'de",
    ),
}  # fmt: skip

# For those that METEOR has paraphrases for: a few of our own, some of them both ways.
_PARAPHRASES = {
    "cs": "na pláži|na břehu;dítě|malý kluk;na břehu|na pláži;sedí|odpočívá na zemi",
    "de": "ein Hund|das Tier;am Strand|am Meer;am Meer|am Strand;sitzt|ruht sich aus;laufen|rennen",
    "es": "un perro|el animal;en la playa|junto al mar;junto al mar|en la playa;corre|va deprisa",
    "fr": "un chien|l' animal;sur la plage|au bord de la mer;saute|fait un bond;court|va vite",
    "ru": "собака|пёс;на пляже|у моря;у моря|на пляже;сидит|отдыхает на земле;бежит|быстро идёт",
}


def make_groups(language: str, count: int, rng: random.Random) -> list[list[str]]:
    """Make the captions of so many images: five each, with phrases in common."""
    who, what, where = (phrases.split("|") for phrases in PHRASES[language])
    groups = []
    for _ in range(count):
        few = [_take_neighbors(phrases, rng) for phrases in (who, what, where)]
        captions = [" ".join(rng.choice(phrases) for phrases in few) for _ in range(5)]
        groups.append(
            [rng.choice((caption, f"{caption}.", caption.title())) for caption in captions]
        )
    return groups


def _take_neighbors(phrases: list[str], rng: random.Random) -> list[str]:
    """Take two that stand side by side: they often have forms of one word."""
    place = rng.randrange(len(phrases) - 1)
    return phrases[place : place + 2]


def list_paraphrases(language: str) -> list[Paraphrase]:
    """List the paraphrases of a language; those that have no table get some all the same."""
    pairs = [pair.split("|") for pair in _PARAPHRASES.get(language, "x|y").split(";")]
    return sorted(Paraphrase("0.5", *(phrase.lower() for phrase in pair)) for pair in pairs)
