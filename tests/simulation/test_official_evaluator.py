"""ConvLab's evaluator: equal to its own numbers with all switches off, and each defect repaired by its switch."""

import math
from collections.abc import Sequence
from dataclasses import astuple, replace

import pytest

from simulation.act_level import ActDialogue, HonestSystem, RuleBot, play_acts, score_acts
from simulation.act_names import to_unified
from simulation.convlab_adapter import MultiWozEvaluator, database
from simulation.fixes import ALL_FIXES, NO_FIXES, Fixes
from simulation.goals import matching_venues, sample_goals
from simulation.official_evaluator import (
    BookingDetails,
    FixedEvaluator,
    OfficialEvaluator,
    OfficialScores,
    evaluator_goal,
)
from simulation.records import Act, DomainGoal, Goal
from simulation.unavailability import refused_details
from tests.simulation.scripts import goal_of


def without(**off: bool) -> Fixes:
    return replace(ALL_FIXES, **off)


def scores(
    goal: Goal, *turns: Sequence[Act], fixes: Fixes = ALL_FIXES, bookings: Sequence[BookingDetails] = ()
) -> OfficialScores:
    evaluator = OfficialEvaluator(goal, fixes)
    for turn, acts in enumerate(turns):
        evaluator.add_system(acts, bookings[turn] if turn < len(bookings) else {})
    return evaluator.scores()


def directly(evaluator: MultiWozEvaluator, goal: Goal, dialogue: ActDialogue) -> tuple[object, ...]:
    """ConvLab's own calls, as its ``evaluate_dialog`` and analyzer make them."""
    evaluator.add_goal(evaluator_goal(goal))
    for turn, acts in enumerate(dialogue.user_acts):
        evaluator.add_usr_da(to_unified(acts))
        if turn < len(dialogue.system_acts):
            state = {
                domain: {f"book {slot}": value for slot, value in dialogue.bookings[turn].get(domain, {}).items()}
                for domain in ("hotel", "restaurant")
            }
            evaluator.add_sys_da(to_unified(dialogue.system_acts[turn]), state)
    success = evaluator.task_success()
    return (
        evaluator.complete,
        success,
        evaluator.success,
        evaluator.book_rate(),
        evaluator.book_rate_constrains(),
        *evaluator.inform_F1(),
    )


@pytest.mark.parametrize("system", [lambda seed: HonestSystem(), RuleBot])
def test_with_every_switch_off_the_numbers_are_convlab_s_to_the_last_digit(system):
    seen = set()
    for seed, goal in enumerate(sample_goals("validation", 80, seed=5)):
        dialogue = play_acts(goal, system(seed), seed, NO_FIXES)
        own = directly(MultiWozEvaluator(), goal, dialogue)
        assert astuple(score_acts(goal, dialogue, NO_FIXES)) == own
        assert directly(FixedEvaluator(NO_FIXES), goal, dialogue) == own
        seen.add(own)
    assert len(seen) > 10


def test_an_honest_system_scores_everything_with_the_fixes_on():
    for seed, goal in enumerate(sample_goals("test", 150, seed=7)):
        dialogue = play_acts(goal, HonestSystem(refused_details(goal)), seed)
        result = score_acts(goal, dialogue)
        assert result.complete
        assert result.success
        assert result.book_rate in (None, 1.0)
        assert result.inform_f1 in (None, 1.0)


# --- 1

PARKING = goal_of(DomainGoal(info={"name": "cityroomz"}, reqt=("parking",)))
ANSWERED_NO: list[Act] = [("inform", "hotel", "name", "cityroomz"), ("inform", "hotel", "parking", "no")]


def test_1_a_true_no_succeeds():
    assert scores(PARKING, ANSWERED_NO).success
    assert not scores(PARKING, ANSWERED_NO, fixes=without(answered_no=False)).success


# --- 3 to 5

BOOKING = {"people": "3", "day": "monday", "stay": "2"}
BOOKED = goal_of(DomainGoal(info={"area": "north"}, book=BOOKING))
NORTH = [index for index, venue in enumerate(database().dbs["hotel"]) if venue["area"] == "north"]
EAST = [index for index, venue in enumerate(database().dbs["hotel"]) if venue["area"] == "east"]


def book(index: int, reference: str | None = None, value: str = "") -> list[Act]:
    told = reference or f"{index:08d}"
    return [("book", "hotel", "", value), ("inform", "hotel", "ref", told)]


def test_3_a_booking_without_known_details_satisfies_no_constraint():
    assert not scores(BOOKED, book(NORTH[0]), bookings=[{}]).success
    assert scores(BOOKED, book(NORTH[0]), bookings=[{}], fixes=without(booking_evidence=False)).success


@pytest.mark.parametrize(
    ("details", "rate"),
    [(BOOKING, 1.0), ({**BOOKING, "people": "4"}, 2 / 3), ({"people": "3"}, 1 / 3)],
)
def test_3_constraints_are_those_of_the_database_s_booking(details: dict[str, str], rate: float):
    booked: BookingDetails = {"hotel": details}
    result = scores(BOOKED, book(NORTH[0]), bookings=[booked])
    assert result.book_constraints is not None
    assert math.isclose(result.book_constraints, rate)
    assert result.success == (rate == 1.0)
    assert result.success_lenient


def test_4_the_index_is_the_booking_s_own_and_a_told_reference_does_not_hide_it():
    turn = book(NORTH[0], reference="K7WQ2M9X", value=f"{NORTH[0]:08d}")
    assert scores(BOOKED, turn, bookings=[{"hotel": BOOKING}]).success
    assert not scores(BOOKED, turn, bookings=[{"hotel": BOOKING}], fixes=without(booked_index=False)).complete


def test_4_an_index_told_as_the_reference_does_too():
    assert scores(BOOKED, book(NORTH[0]), bookings=[{"hotel": BOOKING}]).success


@pytest.mark.parametrize("reference", ["K7WQ2M9X", "99999999", ""])
def test_4_a_reference_that_is_no_index_books_nothing(reference: str):
    result = scores(BOOKED, [("book", "hotel", "", ""), ("inform", "hotel", "ref", reference)])
    assert not result.complete
    assert result.book_rate == 0.0


def test_5_a_corrected_booking_counts():
    turns = book(EAST[0]), book(NORTH[0])
    details: list[BookingDetails] = [{"hotel": {**BOOKING, "people": "4"}}, {"hotel": BOOKING}]
    assert scores(BOOKED, *turns, bookings=details).success
    first = scores(BOOKED, *turns, bookings=details, fixes=without(last_booking=False))
    assert not first.success
    assert first.book_rate == 0.0


def test_5_a_booking_that_is_none_takes_no_place():
    turns = book(NORTH[0]), book(NORTH[0], reference="99999999")
    booked: BookingDetails = {"hotel": BOOKING}
    assert scores(BOOKED, *turns, bookings=[booked, booked]).success


# --- 6

PHONE = goal_of(DomainGoal(info={"area": "north"}, reqt=("phone",)))
VENUE, OTHER = matching_venues("hotel", {"area": "north"})[:2]


def told(phone: str) -> list[Act]:
    return [("inform", "hotel", "name", VENUE["name"]), ("inform", "hotel", "phone", phone)]


def test_6_an_invented_phone_number_answers_nothing():
    invented = scores(PHONE, told("01223999999"))
    assert (invented.inform_recall, invented.inform_precision) == (0.0, 0.0)
    assert not invented.success
    assert scores(PHONE, told("01223999999"), fixes=without(true_informs=False)).inform_f1 == 1.0


def test_6_another_venue_s_phone_number_is_not_true_of_this_one():
    assert scores(PHONE, told(OTHER["phone"])).inform_recall == 0.0


def test_6_the_right_number_counts_and_a_wrong_one_before_it_costs_precision():
    right = scores(PHONE, told(VENUE["phone"]))
    assert (right.inform_precision, right.inform_recall, right.inform_f1) == (1.0, 1.0, 1.0)
    mended = scores(PHONE, told("01223999999"), told(VENUE["phone"]))
    assert (mended.inform_precision, mended.inform_recall) == (0.5, 1.0)


def test_6_what_is_said_is_measured_against_the_venue_named_last():
    turns = told("01223999999")[:1], [("inform", "hotel", "name", OTHER["name"])], [("inform", "hotel", "phone", "?")]
    number = [("inform", "hotel", "phone", OTHER["phone"])]
    assert scores(PHONE, turns[0], turns[1], number).inform_recall == 1.0
    assert scores(PHONE, turns[1], turns[0], number).inform_recall == 0.0


def test_6_before_a_venue_is_named_the_value_must_be_one_of_a_match():
    assert scores(PHONE, [("inform", "hotel", "phone", VENUE["phone"])]).inform_recall == 1.0
    south = matching_venues("hotel", {"area": "south"})[0]
    assert scores(PHONE, [("inform", "hotel", "phone", south["phone"])]).inform_recall == 0.0


def test_6_a_reference_is_not_superfluous():
    goal = goal_of(DomainGoal(info={"area": "north"}, reqt=("phone",), book=BOOKING))
    turns = told(VENUE["phone"]), book(NORTH[0])
    details: list[BookingDetails] = [{}, {"hotel": BOOKING}]
    assert scores(goal, *turns, bookings=details).inform_precision == 1.0
    assert scores(goal, *turns, bookings=details, fixes=without(true_informs=False)).inform_precision == 0.5


def test_superfluous_facts_still_cost_precision():
    chatty = [*told(VENUE["phone"]), ("inform", "hotel", "stars", VENUE["stars"])]
    assert scores(PHONE, chatty).inform_precision == 0.5


def test_asking_for_the_scores_changes_none():
    evaluator = OfficialEvaluator(PHONE)
    evaluator.add_system(told(VENUE["phone"]), {})
    assert evaluator.scores() == evaluator.scores()
