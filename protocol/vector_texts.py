"""The texts of estimate.jsonl: each shows one rule of the estimator, or a text that is none."""

from collections.abc import Iterator

from sidecar.estimate_words import KINDS, KOREAN_STEMS, KOREAN_WORDS, UNSPACED, WORDS
from sidecar.limits import ESTIMATE_CHARACTERS_MAX

_LONG = "The ferry to Gozo leaves Cirkewwa at 07:15. "

TEXTS = {
    "nothing": "",
    "blank": " \t\r\n ",
    "greeting": "Hey! How are you doing today?",
    "acknowledgement": "ok ok ok, sounds good, thanks!",
    "fact": "Melanie teaches pottery in Ghent.",
    "fact-first-person": "I teach pottery in Ghent.",
    "fact-addressed": "You teach pottery in Ghent.",
    "fact-asked": "Does Melanie teach pottery in Ghent?",
    "two-sentences": "Really? I teach pottery in Ghent!",
    "repeated-word": "pottery pottery pottery pottery",
    "first-name": "Call me by my first name.",
    "allergy": "I'm allergic to peanuts.",
    "allergy-asked": "Are you allergic to peanuts?",
    "rule": "Never deploy on Fridays.",
    "rule-about-nothing": "You never know.",
    "negation": "We don't eat pork.",
    "negation-about-nothing": "Don't worry.",
    "negations-in-a-row": "He does not never not eat pork.",
    "password": "The password is with Lena.",
    "deadline": "The thesis is due on 2 May.",
    "everything-at-once": "I never eat nuts: allergic. Birthday 3 May, password due, phone 0171.",
    "name-within": "yesterday Anneliese came",
    "name-first": "Anneliese came",
    "capitals": "WOW THAT IS GREAT",
    "curly-apostrophe": "I don\u2019t eat pork, that\u2019s Mum\u2019s rule",
    "elision": "L'adresse de l'hôtel est à gauche. J'habite ici.",
    "hyphens": "my half-brother is left-handed",
    "numbers": "1,450 at 07:40, 12.5 and 3/4, v2.1_rc-1",
    "mail": "write to jo.park@example.org",
    "web": "see https://example.org/a?b=c#d, HTTPS://EXAMPLE.ORG and http://x",
    "code": "def retry(fn, times=3):\n    return [fn() for _ in range(times)]",
    "json": '{"timezone": "Asia/Seoul", "retries": 3, "tags": []}',
    "path": "/usr/share/doc/python3.11/copyright",
    "hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "emoji": "👍👍🎉 👩‍👩‍👧 ❤️",
    "punctuation": "... ?! -- *** () ---",
    "one-mark": "?",
    "korean": "저는 땅콩 알레르기가 있어요.",
    "korean-chat": "ㅋㅋㅋ 네 알겠습니다, 정말 감사합니다!",
    "korean-negation": "술을 마시지 않아요. 걱정하지 마세요.",
    "korean-negation-before": "운전을 못 배웠다",
    "korean-rule": "답변은 항상 한국어로 해 주세요.",
    "korean-number": "월세는 65만 원, 3월 14일.",
    "korean-asked": "오늘 부산에 가요?",
    "korean-decomposed": "\u1103\u1161\u11bc\u1102\u116d\u1105\u1173\u11af",
    "chinese": "我对花生过敏。",
    "chinese-chat": "好的好的，谢谢你！",
    "chinese-negation": "他不吃牛肉。",
    "japanese": "娘の名前は葵です。",
    "japanese-chat": "そうなんですね、すごい！",
    "japanese-half-width": "ｶﾀｶﾅ",
    "thai": "แพ้ถั่วลิสง",
    "arabic": "هل لديك حساسية؟ نعم، من الفول",
    "hindi": "मुझे मूंगफली से एलर्जी है। ठीक",
    "russian": "У Маши аллергия на орехи",
    "greek": "Η Άννα μένει στην Αθήνα",
    "german": "Ich heiße Jörg und esse nie Fleisch.",
    "french": "Je ne mange jamais de viande, très bien !",
    "spanish": "Mi cumpleaños es el 4 de mayo.",
    "composed": "Café Zoë",
    "decomposed": "Cafe\u0301 Zoe\u0308",
    "mixed": "Lena는 서울에서 3년 살았다, 東京 next.",
    "full-width": "ＡＢＣ　１２３",
    "letters-of-mathematics": "𝐀𝐁𝐂",
    "unassigned-and-private": "\u0378 \ue000 \U000e0001 \U0010ffff",
    "controls": "a\u0000b\u200bc\ufeffd\u2028e\u0085f",
    "many-marks": "o" + "\u0301" * 30,
    "leading-space": " \n\t  Melanie teaches pottery in Ghent.",
    "trailing-space": "Melanie teaches pottery in Ghent. \n\n  ",
    "long": _LONG * 60,
    "long-korean-decomposed": "\u1100\u1161\u11a8 " * (ESTIMATE_CHARACTERS_MAX // 2 + 40),
    "long-astral": "𠀀" * (ESTIMATE_CHARACTERS_MAX + 10) + " allergic",
    "cut-within-a-word": "a" * (ESTIMATE_CHARACTERS_MAX - 5) + " allergic",
}


def estimate_texts() -> Iterator[tuple[str, str]]:
    """Every case: those above, each kind of word alone and about a thing, each list whole."""
    yield from TEXTS.items()
    lists = {"": WORDS, "-korean": KOREAN_WORDS, "-stem": KOREAN_STEMS, "-unspaced": UNSPACED}
    for kind in KINDS:
        for ending, words in lists.items():
            for place, word in enumerate(words.get(kind, "").split()[:2]):
                yield f"{kind}{ending}-{place}", word
                yield f"{kind}{ending}-{place}-about", f"{word} Kestrel. Kestrel {word}?"
    for ending, words in lists.items():
        for kind, text in words.items():
            yield f"{kind}{ending}-all", " ".join(text.split())
