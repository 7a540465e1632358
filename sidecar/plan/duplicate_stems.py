"""Inflection for the guard of duplicates: the forms by which two words may be one word."""

import re
import unicodedata
from typing import Final

_IRREGULAR: Final = {
    "news": "news",
    "goes": "go",
    "children": "child",
    "men": "man",
    "feet": "foot",
}
_SHORT: Final = {"repo": "repository", "app": "application", "info": "information"}
_LATIN_ENDINGS: Final = "(?:ern|en|em|es|er|os|as|is|e|n|s|o|a|i|y)$"
STEM_LETTERS_MIN: Final = 4


def stems_of(word: str, english: bool) -> frozenset[str]:
    """A word's own form, its stem, and both without accents."""
    stem = _english(word) if english else _latin(word)
    return spellings_of(word) | spellings_of("s:" + stem)


def spellings_of(form: str) -> frozenset[str]:
    """A form, and after `a:` how it is spelled where the keyboard has no accents.

    Two such spellings count as one only if one of the texts has no accents at all.
    """
    plain = form.replace("ё", "е")
    if plain.isascii():
        return frozenset({plain, "a:" + plain})
    if not all(ord(char) < 0x250 for char in plain):
        return frozenset({plain})
    long = plain.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue")
    return frozenset({plain, "a:" + _bare(plain), "a:" + long})


def _bare(word: str) -> str:
    decomposed = unicodedata.normalize("NFD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _latin(word: str) -> str:
    """Without an ending, where enough of the word is left."""
    stem = re.sub(_LATIN_ENDINGS, "", word)
    return stem if len(stem) >= STEM_LETTERS_MIN else word


def _english(word: str) -> str:
    word = _SHORT.get(word, word)
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) > 5:
        word = word.replace("our", "or").removesuffix("ly")
    word = _singular(word)
    for ending in ("ing", "ed"):
        head = word.removesuffix(ending)
        if head != word and len(head) > 1 and re.search("[aeiouy]", head):
            doubled = len(head) > 2 and head[-1] == head[-2] and head[-1] not in "lsz"
            word = head[:-1] if doubled else head
            break
    if word.endswith("i"):
        word = word[:-1] + "y"
    return word.removesuffix("e") if len(word) > 2 else word


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if re.search("(?:s|x|z|ch|sh)es$", word):
        return word[:-2]
    if len(word) > 2 and word.endswith("s") and word[-2] not in "sui":
        return word[:-1]
    return word
