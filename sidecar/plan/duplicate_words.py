"""The words that the guard of duplicates knows, by language.

Small lists, on purpose: what stands in none of them is a content word, and two texts that each
have a content word of their own are kept apart. So a word that is missing here keeps memories.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What one language's words do, in folded case.

    `free` words may differ. `negations` turn a statement round; `limits` narrow it (only,
    almost, if); both may not stand in one text alone. `past` and `present` tell the tense.
    `numbers` are number words with their value; `joins` add an item to a list.
    """

    free: frozenset[str]
    negations: frozenset[str]
    limits: frozenset[str] = frozenset()
    past: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()
    joins: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    numbers: frozenset[tuple[str, int]] = frozenset()


def words_of(words: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(words.split())


def _counted(*runs: tuple[int, int, str]) -> frozenset[tuple[str, int]]:
    """Number words by (first value, step, words); words joined by `/` have one value."""
    return frozenset(
        (word, first + step * place)
        for first, step, words in runs
        for place, alternatives in enumerate(words.split())
        for word in alternatives.split("/")
    )


ENGLISH: Final = Lexicon(
    free=words_of(
        """a an the is are am was were be been being 's 're 'm 've 'd 'll s of to that which who it
        its this these those there do does did has have had will would and or as so than then just
        also very really quite please too in on at for by with from into onto about per each using
        via currently now much lot a i me my mine you your yours we us our he him his she her hers
        they them their user-s not-a"""
    ),
    negations=words_of(
        """not n't no never none nobody nothing nowhere neither nor cannot without isn't aren't
        wasn't weren't don't doesn't didn't won't wouldn't can't couldn't shouldn't mustn't hasn't
        haven't hadn't isnt arent dont doesnt didnt wont cant couldnt shouldnt stop stopped stops
        quit refuse refuses refused avoid avoids avoided lack lacks lacked cancel cancelled canceled
        deny denies denied fail fails failed false dislike dislikes disliked hate hates unable"""
    ),
    limits=words_of(
        """only except unless almost nearly barely hardly rarely seldom if but until instead former
        formerly ex maybe perhaps possibly might may must should could can shall ought more less
        most least fewer few some any half under over above below before after allegedly
        supposedly sometimes off down other else another last next previous"""
    ),
    past=words_of("was were did had"),
    present=words_of("is are am do does has have"),
    joins=words_of("and or plus"),
    places=words_of(
        "in on under over above below behind beside near inside outside to from into onto"
    ),
    numbers=_counted(
        (0, 1, "zero one two three four five six seven eight nine ten eleven twelve thirteen"),
        (14, 1, "fourteen fifteen sixteen seventeen eighteen nineteen"),
        (20, 10, "twenty thirty forty fifty sixty seventy eighty ninety"),
        (1, 1, "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
        (1, 1, "once twice thrice"),
        (12, 1, "dozen"),
        (2, 1, "double triple"),
    ),
)
GERMAN: Final = Lexicon(
    free=words_of(
        """der die das den dem des ein eine einen einem einer eines ist sind war waren wird werden
        wurde wurden sein am im um an in auf zu zum zur von vom mit und oder als so sehr es dass er
        sie ich wir ihr sich gern gerne hat haben auch bei für aus uhr"""
    ),
    negations=words_of(
        "nicht kein keine keinen keinem keiner keines nie niemals niemand nichts ohne"
    ),
    limits=words_of(
        "nur außer fast kaum selten wenn aber bis statt vielleicht ehemals mehr weniger"
    ),
    past=words_of("war waren wurde wurden hatte hatten"),
    present=words_of("ist sind wird werden hat haben"),
    joins=words_of("und oder"),
    numbers=_counted(
        (1, 1, "eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
        (20, 10, "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert"),
    ),
)
FRENCH: Final = Lexicon(
    free=words_of(
        """le la les l un une des du de d à au aux est sont était et ou en dans sur par pour avec
        que qui ce cette il elle ils elles je nous vous se s très a ont son sa ses"""
    ),
    negations=words_of("ne n pas jamais aucun aucune rien personne sans ni non"),
    limits=words_of("seulement sauf presque rarement si mais jusque avant après plus moins sous"),
    past=words_of("était étaient avait avaient"),
    present=words_of("est sont a ont"),
    joins=words_of("et ou"),
    numbers=_counted((2, 1, "deux trois quatre cinq six sept huit neuf dix onze douze treize")),
)
SPANISH: Final = Lexicon(
    free=words_of(
        """el la los las un una unos unas de del a al es son está están era fue y o en por para con
        que se le les lo su sus él ella ellos muy ha han"""
    ),
    negations=words_of("no nunca jamás nadie nada ningún ninguno ninguna sin ni tampoco"),
    limits=words_of(
        "solo sólo excepto casi apenas raramente si pero hasta antes después más menos"
    ),
    past=words_of("era eran fue fueron estaba estaban"),
    present=words_of("es son está están"),
    joins=words_of("y o e u"),
    numbers=_counted((2, 1, "dos tres cuatro cinco seis siete ocho nueve diez once doce trece")),
)
PORTUGUESE: Final = Lexicon(
    free=words_of(
        """o a os as um uma de do da dos das em no na nos nas é são está estão foi e ou por para
        com que se seu sua ele ela muito ao à"""
    ),
    negations=words_of("não nunca jamais ninguém nada nenhum nenhuma sem nem"),
    limits=words_of("só somente exceto quase raramente se mas até antes depois mais menos"),
    past=words_of("era eram foi foram estava"),
    present=words_of("é são está"),
    joins=words_of("e ou"),
    numbers=_counted((2, 1, "dois/duas três quatro cinco seis sete oito nove dez onze doze")),
)
ITALIAN: Final = Lexicon(
    free=words_of(
        """il lo la i gli le l un uno una di del della dei delle a al alla alle ai in nel nella da
        dal è sono era e o con per che si suo sua lui lei molto ha hanno"""
    ),
    negations=words_of("non mai nessuno nessuna niente nulla senza né"),
    limits=words_of("solo soltanto tranne quasi raramente se ma fino prima dopo più meno"),
    past=words_of("era erano fu furono aveva"),
    present=words_of("è sono ha"),
    joins=words_of("e o"),
    numbers=_counted((2, 1, "due tre quattro cinque sei sette otto nove dieci undici dodici")),
)
DUTCH: Final = Lexicon(
    free=words_of(
        "de het een is zijn was van in op te aan met en of voor bij dat die hij zij om als"
    ),
    negations=words_of("niet geen nooit niemand niets zonder noch"),
    limits=words_of("alleen behalve bijna zelden als maar tot voor na meer minder"),
    past=words_of("was waren had hadden"),
    present=words_of("is heeft hebben"),
    joins=words_of("en of"),
    numbers=_counted((2, 1, "twee drie vier vijf zes zeven acht negen tien elf twaalf")),
)
# Languages of other scripts, and those that few lists know: together, as their words differ.
OTHER: Final = Lexicon(
    free=words_of("в во на у и й с со к ко о об по за из от для же он она в у і й з та"),
    negations=words_of(
        """не ни нет без никогда никто ничего ні немає nie bez nigdy nikt inte ej aldrig ingen inga
        utan ikke aldri uden uten ei en eivät değil yok hayır không chưa chẳng لا لم لن ليس ليست غير
        بدون नहीं मत बिना ना tidak bukan jangan tanpa belum ne nikdy nem nu fără niciodată δεν μη
        όχι χωρίς לא אין בלי نه"""
    ),
    limits=words_of(
        "только кроме почти редко если но до после перед больше меньше tylko oprócz prawie"
    ),
    past=words_of("был была было были"),
    joins=words_of("и или i oraz och og ve và و और"),
)
LEXICONS: Final = (ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH, OTHER)

# Subjects that a text may name or leave out: nobody's name, though they open a sentence.
SUBJECTS: Final = words_of("user users customer client person people team everyone 사용자")

# Where one of these stands, letter case says something.
SECRETS: Final = words_of(
    "password passphrase passcode key token secret code id username login 비밀번호 암호 passwort"
    " contraseña senha パスワード 密码"
)

PERSONS: Final[dict[str, str]] = {
    word: person
    for person, words in {
        "i": "i me my mine myself",
        "you": "you your yours",
        "he": "he him his himself",
        "she": "she her hers herself",
        "we": "we us our ours",
        "they": "they them their theirs",
    }.items()
    for word in words.split()
}

_MONTHS: Final = (
    "january jan januar janvier enero janeiro gennaio",
    "february feb februar février febrero fevereiro febbraio",
    "march mar märz mars marzo março",
    "april apr avril abril aprile",
    "may mai mayo maio maggio",
    "june jun juni juin junio junho giugno",
    "july jul juli juillet julio julho luglio",
    "august aug août agosto",
    "september sep sept septembre septiembre setembro settembre",
    "october oct oktober octobre octubre outubro ottobre",
    "november nov novembre noviembre novembro",
    "december dec dezember décembre diciembre dezembro dicembre",
)
MONTHS: Final = {name: place for place, names in enumerate(_MONTHS, 1) for name in names.split()}

_DAYS: Final = (
    "monday mondays montag lundi lunes lunedì maandag понедельник 월요일 月曜日 星期一 周一",
    "tuesday tuesdays dienstag mardi martes martedì dinsdag вторник 화요일 火曜日 星期二 周二",
    "wednesday wednesdays mittwoch mercredi miércoles mercoledì woensdag среда среду 수요일"
    " 水曜日 星期三 周三",
    "thursday thursdays donnerstag jeudi jueves giovedì donderdag четверг 목요일 木曜日"
    " 星期四 周四",
    "friday fridays freitag vendredi viernes venerdì vrijdag пятница пятницу 금요일 金曜日"
    " 星期五 周五",
    "saturday saturdays samstag samedi sábado sabato zaterdag суббота 토요일 土曜日 星期六 周六",
    "sunday sundays sonntag dimanche domingo domenica zondag воскресенье 일요일 日曜日 星期日"
    " 星期天 周日",
)
DAYS: Final = {name: place for place, names in enumerate(_DAYS, 1) for name in names.split()}

RELATIVE_DATES: Final = words_of(
    """today tomorrow yesterday tonight heute gestern demain hier aujourd'hui hoy mañana ayer oggi
    domani ieri hoje amanhã ontem сегодня завтра вчера 오늘 내일 모레 어제 그제 今日 明日 昨日 今天
    明天 昨天"""
)

_UNITS: Final = {
    "km": "km kilometre kilometres kilometer kilometers kilometern kilómetros 킬로미터 公里",
    "mile": "mi mile miles 마일",
    "m": "m metre metres meter meters metern metros 미터 米",
    "cm": "cm centimetre centimetres centimeter centimeters 센티미터",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "kg": "kg kilo kilos kilogram kilograms 킬로그램 公斤",
    "g": "g gram grams gramm 그램 克",
    "mg": "mg milligram milligrams 밀리그램 毫克",
    "pound": "pound pounds lb lbs £ gbp 파운드",
    "ounce": "oz ounce ounces",
    "litre": "l litre litres liter liters 리터 升",
    "ml": "ml millilitre millilitres milliliter milliliters 밀리리터",
    "percent": "% percent pct prozent 퍼센트 프로 パーセント",
    "dollar": "$ dollar dollars usd bucks 달러 ドル 美元",
    "euro": "€ euro euros eur 유로 ユーロ 欧元",
    "yen": "¥ yen jpy 엔 円 日元",
    "won": "₩ won krw 원",
    "yuan": "yuan rmb cny 위안 元",
    "hour": "h hr hrs hour hours stunde stunden heure heures hora horas 시간 時間 小时",
    "minute": "min mins minute minutes minuten 분 分 分钟",
    "second": "sec secs seconds sekunden 초 秒",
    "day": "day days tag tage tagen jour jours día días giorni",
    "week": "week weeks woche wochen semaine semaines semana semanas 주 주일",
    "month": "month months monat monate mois mes meses 달 개월",
    "year": "year years jahr jahre jahren an ans año años 살 세",
    "celsius": "celsius °c ℃",
    "fahrenheit": "fahrenheit °f ℉",
    "degree": "degree degrees ° grad 도 度",
    "kb": "kb kilobyte kilobytes", "mb": "mb megabyte megabytes", "gb": "gb gigabyte gigabytes",
    "tb": "tb terabyte terabytes", "ms": "ms millisecond milliseconds", "kw": "kw", "hz": "hz",
}  # fmt: skip
UNITS: Final = {word: unit for unit, words in _UNITS.items() for word in words.split()}
# Units that are units without a number before them, too.
MONEY: Final = frozenset({"dollar", "euro", "yen", "won", "yuan", "percent"})

SCALES: Final = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "millions": 10**6, "billion": 10**9,
    "trillion": 10**12, "tausend": 1_000, "millionen": 10**6, "k": 1_000,
}  # fmt: skip
