"""Goals: satisfiable, reproducible, split by content, and read from the corpus with clear errors."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from simulation.convlab_adapter import database
from simulation.goals import (
    FAIL_BOOK_SHARE,
    GoalError,
    Split,
    load_corpus_goals,
    matching_venues,
    sample_goals,
    split_of,
)
from simulation.records import Goal

SPLITS: tuple[Split, ...] = ("sft", "train", "validation", "test")
CORPUS = Path(__file__).parents[3] / "shared" / "data" / "multiwoz-val.json.zip"
EMPTY = {"", "?", "none", "unknown"}


@pytest.fixture(scope="module")
def goals() -> list[Goal]:
    return [goal for split in SPLITS for goal in sample_goals(split, 150, seed=3)]


def test_the_same_arguments_give_the_same_goals():
    assert sample_goals("train", 40, seed=9) == sample_goals("train", 40, seed=9)
    assert sample_goals("train", 40, seed=9)[:15] == sample_goals("train", 15, seed=9)
    assert sample_goals("train", 40, seed=9) != sample_goals("train", 40, seed=10)


def test_goals_stay_the_same_across_versions():
    """Scores are comparable only while this holds; changing it is a line in the change log."""
    assert [goal.id for goal in sample_goals("test", 3, seed=7)] == [
        "convlab-5bc593b44c9e",
        "convlab-c703b6b8b602",
        "convlab-a3298a720959",
    ]


def test_a_call_repeats_no_goal():
    ids = [goal.id for goal in sample_goals("validation", 300, seed=1)]
    assert len(set(ids)) == 300


def test_splits_are_disjoint_whatever_the_seed(goals: list[Goal]):
    owners: dict[str, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for seed in (1, 2):
            sampled = sample_goals(split, 100, seed)
            assert {split_of(goal) for goal in sampled} == {split}
            owners[split] |= {goal.id for goal in sampled}
    assert sum(len(ids) for ids in owners.values()) == len(set.union(*owners.values()))


def test_raising_the_domains_in_another_order_changes_no_split(goals: list[Goal]):
    two = next(goal for goal in goals if len(goal.domains) == 2)
    turned = two.model_copy(update={"domains": dict(reversed(two.domains.items()))})
    assert split_of(turned) == split_of(two)


def test_only_hotels_and_restaurants_in_convlab_s_proportions(goals: list[Goal]):
    orders = [tuple(goal.domains) for goal in goals]
    # .061, .120, .019, .035 of ConvLab's orderings, renormalised.
    expected = {("hotel",): 0.26, ("restaurant",): 0.51, ("hotel", "restaurant"): 0.08, ("restaurant", "hotel"): 0.15}
    assert set(orders) == set(expected)
    for order, share in expected.items():
        assert orders.count(order) / len(goals) == pytest.approx(share, abs=0.07)


def test_every_goal_can_be_reached_and_its_first_choices_fail(goals: list[Goal]):
    for goal in goals:
        for domain, wanted in goal.domains.items():
            venues = matching_venues(domain, wanted.info)
            assert venues
            assert all(venue.get(slot, "") not in EMPTY for venue in venues for slot in wanted.reqt)
            assert wanted.reqt or wanted.book
            if wanted.fail_info:
                assert not matching_venues(domain, wanted.fail_info)
                assert not database().query(domain, list(wanted.fail_info.items()))
                assert wanted.fail_info.keys() == wanted.info.keys()


def test_a_failing_booking_differs_in_one_value_and_stays_within_what_can_be_booked(goals: list[Goal]):
    bookings = [wanted for goal in goals for wanted in goal.domains.values() if wanted.book]
    for wanted in bookings:
        assert set(wanted.book) in ({"people", "day", "stay"}, {"people", "day", "time"})
        for details in filter(None, (wanted.book, wanted.fail_book)):
            assert 1 <= int(details["people"]) <= 8
            assert 1 <= int(details.get("stay", "1")) <= 7
            hour, minute = details.get("time", "12:00").split(":")
            assert len(hour) == 2
            assert int(minute) % 15 == 0
        if wanted.fail_book:
            assert sum(wanted.fail_book[slot] != value for slot, value in wanted.book.items()) == 1
    failing = sum(bool(wanted.fail_book) for wanted in bookings) / len(bookings)
    assert failing == pytest.approx(FAIL_BOOK_SHARE, abs=0.08)


def test_a_goal_survives_the_file_it_is_kept_in(goals: list[Goal]):
    for goal in goals[:50]:
        again = Goal.model_validate_json(goal.model_dump_json())
        assert again == goal
        assert list(again.domains) == list(goal.domains)


def test_unknown_splits_and_negative_counts_are_refused():
    with pytest.raises(GoalError, match="no split called 'dev'; choose one of sft"):
        sample_goals(cast("Split", "dev"), 1, 1)
    with pytest.raises(GoalError, match="cannot sample -1 goals"):
        sample_goals("test", -1, 1)


# --- the corpus


@pytest.fixture(scope="module")
def corpus() -> list[Goal]:
    if not CORPUS.exists():
        pytest.skip("MultiWOZ's val.json.zip is not at hand (ConvLab-3, data/multiwoz/)")
    return load_corpus_goals(CORPUS)


def test_the_validation_corpus_has_165_goals_that_can_be_reached(corpus: list[Goal]):
    assert len(corpus) == len({goal.id for goal in corpus}) == 165
    for goal in corpus:
        for domain, wanted in goal.domains.items():
            assert matching_venues(domain, wanted.info)
            assert not any("invalid" in slot for slot in (*wanted.book, *wanted.fail_book))
            if wanted.fail_info:
                assert not matching_venues(domain, wanted.fail_info)
            if wanted.fail_book:
                assert wanted.fail_book.keys() == wanted.book.keys()
                assert wanted.fail_book != wanted.book


def test_corpus_goals_keep_first_choices_that_really_fail(corpus: list[Goal]):
    wanted = [each for goal in corpus for each in goal.domains.values()]
    assert sum(bool(each.fail_info) for each in wanted) == 62
    assert sum(bool(each.fail_book) for each in wanted) == 32


def test_corpus_goals_follow_the_message_s_order(corpus: list[Goal]):
    orders = {tuple(each.domains) for each in corpus}
    assert orders == {("hotel",), ("restaurant",), ("hotel", "restaurant"), ("restaurant", "hotel")}


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


ONE: Mapping[str, object] = {
    "X.json": {
        "goal": {
            "hotel": {
                "info": {"area": "north"},
                "fail_info": {"area": "east"},
                "reqt": ["phone"],
                "book": {"people": "2", "day": "monday", "stay": "3", "invalid": False, "pre_invalid": True},
                "fail_book": {"stay": "4"},
            },
            "restaurant": {},
            "train": {},
            "message": ["You are looking for a place to stay"],
        }
    }
}


def test_what_could_not_fail_is_dropped_and_the_rest_completed(tmp_path: Path):
    (goal,) = load_corpus_goals(write(tmp_path / "one.json", ONE))
    hotel = goal.domains["hotel"]
    assert goal.id == "X"
    assert goal.source == "corpus"
    assert hotel.fail_info == {}, "there are hotels in the east"
    assert hotel.book == {"people": "2", "day": "monday", "stay": "3"}
    assert hotel.fail_book == {"people": "2", "day": "monday", "stay": "4"}


def test_dialogues_about_other_things_are_left_out(tmp_path: Path):
    train = {"T.json": {"goal": {"hotel": {"info": {"area": "north"}}, "train": {"info": {"day": "monday"}}}}}
    assert len(load_corpus_goals(write(tmp_path / "two.json", {**ONE, **train}))) == 1
    with pytest.raises(GoalError, match="none of its 1 dialogues is purely about hotels and restaurants"):
        load_corpus_goals(write(tmp_path / "train.json", train))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.json", None, "cannot be read"),
        ("broken.json", b"{", "is not JSON"),
        ("list.json", b"[1, 2]", "expected an object of dialogues by name"),
        ("empty.json", b"{}", "none of its 0 dialogues"),
        ("nogoal.json", b'{"A": {}}', "dialogue 'A' has no goal"),
        ("odd.json", b'{"A": {"goal": {"hotel": {"info": 5}}}}', "the goal of dialogue 'A' is malformed"),
        ("fake.zip", b"no zip", "is not a zip file"),
        ("latin.json", b"\xff\xfe\xff", "is not JSON"),
    ],
)
def test_a_bad_file_is_reported_in_one_line(tmp_path: Path, name: str, content: bytes | None, message: str):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_corpus_goals(path)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_damaged_zip_is_reported(tmp_path: Path):
    path = tmp_path / "damaged.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("a.json", json.dumps(dict(ONE)) * 50)
    content = bytearray(path.read_bytes())
    content[60:120] = bytes(60)
    path.write_bytes(content)
    with pytest.raises(GoalError, match=r"is damaged|is not a zip file"):
        load_corpus_goals(path)


def test_a_zip_must_hold_one_json_file(tmp_path: Path):
    path = tmp_path / "two.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("a.json", "{}")
        archive.writestr("b.json", "{}")
    with pytest.raises(GoalError, match="expected one JSON file inside, found 2"):
        load_corpus_goals(path)
