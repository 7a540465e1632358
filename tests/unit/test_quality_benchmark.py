"""The quality benchmark's own parts: budgets, formulas, data, measures, aims and tables."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.quality import aims, embeddings, policies, systems, tables
from benchmarks.quality.at_scale import merged
from benchmarks.quality.dialogue import Dialogue, Question, Turn, read_locomo
from benchmarks.quality.generated import generate
from benchmarks.quality.grid import Formula
from benchmarks.quality.measures import KEEP_EVERYTHING, Result, leave_one_out, result_of
from benchmarks.quality.stream import Budget, Outcome, Scene, Score, leaving, simulate
from benchmarks.quality.words import Words, terms, wanted_by_likeness
from sidecar.limits import MILLISECONDS_PER_DAY as DAY

NOW = 1_780_000_000_000
TEXTS = ("tea tea", "tea and coffee", "a lighthouse in Bergen", "tea", "coffee")


def talk(*texts: str, **fields: Any) -> Dialogue:
    """A dialogue of one turn a day, each a session of its own."""
    turns = tuple(Turn(f"t{n}", NOW + n * DAY, text) for n, text in enumerate(texts))
    nothing = tuple(() for _ in turns)
    made = Dialogue("made", "generated", turns, tuple(range(len(turns))), (), nothing)
    return replace(made, **fields)


def scene(uses_days_ago: list[list[float]], importance: float = math.nan) -> Scene:
    """What a policy sees of turns that were said and used so many days before now."""
    dialogue = talk(*TEXTS[: len(uses_days_ago)])
    uses = [[round(NOW - days * DAY) for days in turn] for turn in uses_days_ago]
    count = len(uses)
    given = np.full(count, importance)
    return Scene(dialogue, Words(dialogue), NOW, count, range(count), uses, given)


# --- budgets -----------------------------------------------------------------------------


@pytest.mark.gate("QUAL-01")
def test_a_budget_is_a_share_of_the_turns_or_of_their_characters() -> None:
    dialogue = talk("four", "eight ch", "four")
    assert Budget("count", 0.5).limit(dialogue) == 2
    assert Budget("characters", 0.5).limit(dialogue) == 8


@pytest.mark.gate("QUAL-01")
@pytest.mark.parametrize("limit, going", [(10, 0), (9, 1), (7, 1), (6, 2), (0, 4)])
def test_as_many_leave_as_the_rest_needs_to_fit(limit: int, going: int) -> None:
    sizes = np.array([1, 2, 3, 4])
    assert leaving(np.array([2, 0, 1, 3]), sizes, limit) == going


@pytest.mark.gate("QUAL-01")
@pytest.mark.parametrize("protocol", ["count", "characters"])
@pytest.mark.parametrize("share", [0.75, 0.25, 0.1])
def test_what_is_kept_fits_the_budget(protocol: Any, share: float) -> None:
    dialogue = generate(7, sessions=6)[0]
    budget = Budget(protocol, share)
    kept = simulate(dialogue, Words(dialogue), policies.rarity, budget).kept
    sizes = budget.sizes(dialogue)
    assert sizes[kept].sum() <= budget.limit(dialogue) < sizes[kept].sum() + sizes.max()


@pytest.mark.gate("QUAL-01")
def test_a_turn_needed_again_is_found_only_while_it_is_there_and_counts_as_a_use() -> None:
    wanted = ((), (), (0,), (1,), (2,))
    dialogue = talk(*TEXTS, wanted=wanted)
    outcome = simulate(
        dialogue, Words(dialogue), policies.least_recently_used, Budget("count", 0.4)
    )
    # Turn 2 needs 0, so that 1 goes, is missed, and then 0 goes as the older of the two used last.
    assert (outcome.found, outcome.needed) == (2, 3)
    assert outcome.kept.tolist() == [2, 4]


# --- formulas ----------------------------------------------------------------------------


@pytest.mark.gate("QUAL-02")
@pytest.mark.parametrize(
    "score, expected",
    [
        (policies.first_in_first_out, [-9.0, -4.0]),
        (policies.least_recently_used, [-1.0, -4.0]),
        (policies.least_frequently_used, [2.0, 0.0]),
        (policies.ebbinghaus, [math.exp(-1 / 4), math.exp(-4)]),
        (policies.actr, [math.log(1 / 3 + 1 / 2 + 1), math.log(1 / 2)]),
        (systems.memory_bank, [math.exp(-1 / 3), math.exp(-4)]),
        (systems.cortexgraph, [3**0.6 * 0.5 ** (1 / 3), 0.5 ** (4 / 3)]),
    ],
)
def test_each_formula_gives_what_its_source_says(score: Score, expected: list[float]) -> None:
    seen = scene([[9.0, 4.0, 1.0], [4.0]])
    assert score(seen) == pytest.approx(expected)


@pytest.mark.gate("QUAL-02")
def test_the_power_curve_is_nine_tenths_after_its_stability_and_a_use_makes_it_flatter() -> None:
    stability = policies.FSRS_STABILITY_DAYS
    once, used = policies.fsrs(scene([[stability], [2 * stability, stability]]))
    assert once == pytest.approx(0.9)
    assert 0.9 < used < 1.0


@pytest.mark.gate("QUAL-02")
def test_rarity_sums_the_logarithm_of_how_few_turns_have_each_word() -> None:
    seen = scene([[3.0], [2.0], [1.0]])
    tea, once = math.log(3 / 2), math.log(3)
    assert seen.rarity == pytest.approx([tea, tea + 2 * once, 4 * once])
    assert policies.rarity_by_root_length(seen)[0] == pytest.approx(tea / math.sqrt(7))


@pytest.mark.gate("QUAL-02")
def test_words_of_korean_are_pairs_of_syllables() -> None:
    assert terms("커피를 마셔, OK 3") == ["커피", "피를", "마셔", "ok", "3"]


@pytest.mark.gate("QUAL-02")
def test_only_formulas_that_say_so_read_the_importance_of_a_host() -> None:
    for policy in (*policies.PLAIN, *systems.SYSTEMS, policies.ORACLE):
        seen = scene([[9.0], [4.0, 1.0]])
        marked = replace(seen, importance=np.array([0.95, np.nan]))
        same = bool(np.array_equal(policy.score(seen), policy.score(marked)))
        assert same is not policy.marks, policy.name


@pytest.mark.gate("QUAL-02")
def test_generative_agents_stretch_each_part_and_fademem_slows_what_is_in_use() -> None:
    fresh, old = systems.generative_agents(scene([[1.0], [9.0]]))
    assert (fresh, old) == pytest.approx((1 + 0.5 + 0.5, 0 + 0.5 + 0.5))
    used, unused = systems.fademem(scene([[30.0, 29.0, 28.0, 8.0], [8.0]]))
    assert used > unused


@pytest.mark.gate("QUAL-03")
@pytest.mark.parametrize("policy", [*policies.PLAIN, *systems.SYSTEMS], ids=lambda one: one.name)
def test_no_policy_sees_what_is_said_later(policy: policies.Policy) -> None:
    dialogue = talk(*TEXTS)
    other = talk(*TEXTS[:3], "coffee and a lighthouse", "Bergen")
    at = NOW + 3 * DAY
    uses = [[turn.at] for turn in dialogue.turns]
    unsent = np.full(3, np.nan)
    scores = [
        policy.score(Scene(one, Words(one), at, 3, range(2, 3), uses, unsent))
        for one in (dialogue, other)
    ]
    assert scores[0].tolist() == scores[1].tolist()


@pytest.mark.gate("QUAL-03")
def test_the_grid_tries_the_formula_of_the_daemon() -> None:
    seen = scene([[50.0, 20.0], [20.0]])
    half, weak = Formula(gamma=1.0, rho=1.0).score(np.array([0.5, 0.25]))(seen)
    retention = math.exp(-0.08 * (1 - 0.85 * 0.5) * 20) * 1.2
    assert half == pytest.approx(0.5 * retention / (1 + 20 / 30))
    assert weak == pytest.approx(0.25 * math.exp(-0.08 * (1 - 0.85 * 0.25) * 20) / (1 + 20 / 30))


# --- data --------------------------------------------------------------------------------


@pytest.mark.gate("QUAL-04")
def test_the_generated_dialogues_are_the_same_for_one_seed_and_others_for_another() -> None:
    assert generate(1, sessions=4) == generate(1, sessions=4)
    assert generate(1, sessions=4) != generate(2, sessions=4)


@pytest.mark.gate("QUAL-04")
@pytest.mark.parametrize("dialogue", generate(3), ids=lambda one: one.name)
def test_a_generated_dialogue_holds_together(dialogue: Dialogue) -> None:
    times = [turn.at for turn in dialogue.turns]
    assert times == sorted(times)
    assert len(dialogue.questions) >= 50
    assert len(dialogue.stale) >= 15
    assert 0 < len(dialogue.important) <= 0.05 * len(dialogue.turns)
    assert not set(dialogue.evidence.tolist()) & set(dialogue.stale.tolist())
    assert sum(map(len, dialogue.wanted)) >= 50
    for row, (turn, wanted) in enumerate(zip(dialogue.turns, dialogue.wanted, strict=True)):
        assert all(earlier < row for earlier in wanted)
        assert turn.replaces is None or turn.replaces < row
        assert "{" not in turn.text
    hangul = any("가" <= letter <= "힣" for turn in dialogue.turns for letter in turn.text)
    assert hangul is (dialogue.name != "generated-english")


@pytest.mark.gate("QUAL-04")
def test_many_generated_dialogues_become_one_in_time_order_whose_people_can_be_told_apart() -> None:
    dialogue = merged(3, 2_000)
    assert len(dialogue.turns) >= 2_000
    times = [turn.at for turn in dialogue.turns]
    assert times == sorted(times)
    assert len({question.text for question in dialogue.questions}) == len(dialogue.questions)
    for row, (turn, wanted) in enumerate(zip(dialogue.turns, dialogue.wanted, strict=True)):
        assert all(earlier < row for earlier in wanted)
        assert turn.replaces is None or turn.replaces < row
    assert not set(dialogue.evidence.tolist()) & set(dialogue.stale.tolist())


@pytest.mark.gate("QUAL-05")
def test_a_file_in_the_form_of_locomo_is_read(tmp_path: Path) -> None:
    def said(session: int, *texts: str) -> list[dict[str, str]]:
        return [
            {"speaker": "Ann", "dia_id": f"D{session}:{n}", "text": text}
            for n, text in enumerate(texts, 1)
        ]

    conversation = {
        "session_1": said(1, "Hello!", "I have a cat."),
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_2": said(2, "Her name is Tofu."),
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_3_date_time": "9:00 am on 10 May, 2023",
    }
    asked: list[dict[str, Any]] = [
        {"question": "Which cat?", "evidence": ["D1:2; D2:1", "D9:9"], "category": 1},
        {"question": "Which dog?", "evidence": ["D1:1"], "category": 5},
        {"question": "Which bird?", "evidence": ["D9:9"], "category": 4},
    ]
    file = tmp_path / "dialogues.json"
    file.write_text(json.dumps([{"conversation": conversation, "qa": asked}]), encoding="utf-8")
    (dialogue,) = read_locomo(file)
    assert [turn.text for turn in dialogue.turns][1:] == [
        "Ann: I have a cat.",
        "Ann: Her name is Tofu.",
    ]
    assert dialogue.turns[0].at == 1_683_554_160_000
    assert dialogue.questions == (Question("Which cat?", (1, 2)),)
    assert [(list(rows), at) for rows, at in dialogue.parts()] == [
        ([0, 1], dialogue.turns[2].at - 60_000),
        ([2], dialogue.turns[2].at + 2 * DAY),
    ]


@pytest.mark.gate("QUAL-05")
def test_without_a_model_there_are_no_vectors_and_words_say_what_is_needed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(embeddings, "model_version", lambda: None)
    assert embeddings.embed(["tea"], lambda done, of: None) is None
    dialogue = talk(
        "rain again", "a lighthouse in Bergen", "more rain", "the lighthouse in Bergen!"
    )
    assert wanted_by_likeness(dialogue) == ((), (), (0,), (1,))


@pytest.mark.gate("QUAL-05")
def test_vectors_that_were_made_before_are_taken_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(embeddings, "model_version", lambda: "test")
    known = {embeddings.key(text): np.full(3, n, np.float32) for n, text in enumerate("ab")}
    embeddings.save(tmp_path / "made" / "cache.npz", known)
    found = embeddings.embed(
        ["b", "a", "b"], lambda done, of: pytest.fail("made anew"), tmp_path / "made" / "cache.npz"
    )
    assert found is not None
    assert found[:, 0].tolist() == [1, 0, 1]


# --- measures ----------------------------------------------------------------------------


@pytest.mark.gate("QUAL-06")
def test_the_measures_count_what_was_kept() -> None:
    turns = [Turn(f"t{n}", NOW + n, "abc", important=n < 2) for n in range(4)]
    turns[3] = replace(turns[3], replaces=2)
    dialogue = talk(
        *"abcd", turns=tuple(turns), questions=(Question("?", (0, 3)), Question("?", (3,)))
    )
    outcome = Outcome(np.array([2, 3]), found=1, needed=4)
    result = result_of(dialogue, "p", Budget("count", 0.5), outcome, 0.25, np.array([0, 3]))
    assert (result.evidence, result.recall, result.rereference) == (0.5, 0.25, 0.25)
    assert (result.important, result.important_lost, result.stale_kept) == (2, 1, 1.0)
    assert (result.turns_kept, result.characters_kept) == (2, 6)


@pytest.mark.gate("QUAL-06")
def test_the_range_is_that_of_the_mean_without_one_dialogue() -> None:
    assert leave_one_out([0.0, 0.5, 1.0]) == (0.25, 0.75)
    assert leave_one_out([0.5]) == (0.5, 0.5)


def measured(dialogue: str, policy: str, evidence: float, **fields: Any) -> Result:
    """A result at half by count."""
    made = Result(dialogue, "locomo", policy, "count", 0.5, 5, 50, evidence, 0.5, 0.9, 2, 0, None)
    return replace(made, **fields)


@pytest.mark.gate("QUAL-06")
def test_an_aim_is_judged_on_the_worst_dialogue() -> None:
    results = [
        measured("one", "forgetd balanced", 0.9, important_lost=1),
        measured("one", "rarity", 0.5),
        measured("one", KEEP_EVERYTHING, 1.0, share=1.0, recall=0.505),
        measured("two", "forgetd balanced", 0.6),
        measured("two", "rarity", 0.59),
        measured("two", KEEP_EVERYTHING, 1.0, share=1.0, recall=0.4),
    ]
    lead, loss, lost = aims.figures(results, full=True)
    assert (lead.value, lead.verdict) == (pytest.approx(0.01), "missed")
    assert (loss.value, loss.verdict) == (pytest.approx(0.005), "met")
    assert (lost.value, lost.verdict) == (1, "missed")
    assert lead.note.startswith("two")


@pytest.mark.gate("QUAL-06")
def test_the_tables_have_every_policy_and_every_dialogue() -> None:
    results = [
        measured(dialogue, policy, evidence)
        for dialogue, evidence in (("one", 0.25), ("two", 0.75))
        for policy in ("random", "rarity", "forgetd balanced")
    ]
    facts = {"sentenceVectors": "none", "seed": 1, "revision": "r"}
    text = tables.markdown(results, facts)
    assert "Recall by text alone; seed 1" in text
    assert "| random | 0.500 |" in text
    assert "| **forgetd balanced** | 0.250 / 0.500 | 0.750 / 0.500 | 0.500 / 0.500 |" in text
    assert "Stale facts" not in text
