"""The estimator's words, weights and ranges as data: what another implementation needs."""

from typing import Any

from sidecar import estimate, estimate_words, limits


def estimate_table() -> dict[str, Any]:
    """What estimate.json holds. Words keep their order; a kind is one text of words."""
    return {
        "version": estimate.ESTIMATOR_VERSION,
        "charactersMax": limits.ESTIMATE_CHARACTERS_MAX,
        "estimateMin": estimate.ESTIMATE_MIN,
        "valueShare": estimate.VALUE_SHARE,
        "standingShare": estimate.STANDING_SHARE,
        "densityHalf": estimate.DENSITY_HALF,
        "characterLength": estimate.CHARACTER_LENGTH,
        "stemSyllablesMax": estimate.STEM_SYLLABLES_MAX,
        "elisionLettersMax": estimate.ELISION_LETTERS_MAX,
        "sentences": estimate.SENTENCES,
        "kinds": {kind: adds._asdict() for kind, adds in estimate_words.KINDS.items()},
        "letters": estimate.LETTERS,
        "unspacedScripts": estimate.UNSPACED_SCRIPTS,
        "capitals": estimate.CAPITALS,
        "capitalToSmall": estimate.CAPITAL_TO_SMALL,
        "ends": estimate.ENDS,
        "words": _joined(estimate_words.WORDS),
        "koreanWords": _joined(estimate_words.KOREAN_WORDS),
        "koreanStems": _joined(estimate_words.KOREAN_STEMS),
        "unspaced": _joined(estimate_words.UNSPACED),
    }


def _joined(lists: dict[str, str]) -> dict[str, str]:
    return {kind: " ".join(words.split()) for kind, words in lists.items()}
