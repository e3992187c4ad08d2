"""The agenda user: ConvLab's own with all switches off, and each documented defect repaired by its switch."""

import random
from dataclasses import fields, replace

import pytest

from simulation.act_level import HonestSystem, RuleBot
from simulation.act_names import from_unified, to_unified
from simulation.agenda_user import AgendaUser
from simulation.convlab_adapter import UserPolicyAgendaMultiWoz, drawing_from
from simulation.fixed_agenda import FixedUserPolicy, agenda_goal
from simulation.fixes import ALL_FIXES, NO_FIXES, Fixes
from simulation.goals import sample_goals
from simulation.records import Act, DomainGoal, Goal
from tests.simulation.scripts import goal_of, talk, told_everything

BOOKING = {"people": "3", "day": "monday", "stay": "2"}
NORTH = DomainGoal(info={"area": "north"}, reqt=("phone",))
BOOKED_NORTH = DomainGoal(info={"area": "north"}, book=BOOKING)
SEEDS = range(12)


def only(**on: bool) -> Fixes:
    return replace(NO_FIXES, **on)


def without(**off: bool) -> Fixes:
    return replace(ALL_FIXES, **off)


def test_there_are_eight_switches_and_none_is_forgotten():
    assert len(fields(Fixes)) == 8
    assert all(getattr(ALL_FIXES, each.name) and not getattr(NO_FIXES, each.name) for each in fields(Fixes))


def play(policy: UserPolicyAgendaMultiWoz, goal: Goal, seed: int, bot: bool) -> list[tuple[Act, ...]]:
    rng = random.Random(seed)
    system = RuleBot(seed) if bot else HonestSystem()
    turns: list[tuple[Act, ...]] = []
    answer: tuple[Act, ...] = ()
    with drawing_from(rng):
        policy.init_session(agenda_goal(goal))
    for _ in range(25):
        with drawing_from(rng):
            turns.append(from_unified(policy.predict(to_unified(answer))))
        if policy.is_terminated():
            break
        answer = system.respond(turns[-1])
    return turns


@pytest.mark.parametrize("bot", [False, True])
def test_with_every_switch_off_it_is_convlab_s_user_act_for_act(bot: bool):
    for seed, goal in enumerate(sample_goals("test", 60, seed=11)):
        stock = play(UserPolicyAgendaMultiWoz(), goal, seed, bot)
        assert play(FixedUserPolicy(NO_FIXES), goal, seed, bot) == stock


# --- 1


@pytest.mark.parametrize(("fixes", "kept"), [(NO_FIXES, '"no"'), (only(answered_no=True), "no")])
def test_1_an_answer_no_is_kept_as_the_word_no(fixes: Fixes, kept: str):
    user = AgendaUser(goal_of(DomainGoal(info={"name": "cityroomz"}, reqt=("parking",))), 1, fixes)
    told_everything(user)
    acts, _ = user.act([("inform", "hotel", "parking", "no")])
    assert acts == (("bye", "general", "", ""),), "the answer counts for the user either way"
    assert user.answered()["hotel"]["reqt"]["parking"] == kept


# --- 2


@pytest.mark.parametrize("slot", ["people", "day", "stay"])
def test_2_asked_for_a_booking_detail_the_user_gives_it(slot: str):
    user = AgendaUser(goal_of(BOOKED_NORTH), 1)
    assert ("inform", "hotel", slot, BOOKING[slot]) in talk(user, [("request", "hotel", slot, "")])


def test_2_asked_for_the_time_of_a_table_the_user_gives_it():
    book = {"people": "3", "day": "monday", "time": "12:15"}
    user = AgendaUser(goal_of(restaurant=DomainGoal(info={"area": "north"}, book=book)), 1)
    assert ("inform", "restaurant", "time", "12:15") in talk(user, [("request", "restaurant", "time", "")])


def test_2_unrepaired_the_question_is_not_heard():
    for seed in SEEDS:
        asked, left = (AgendaUser(goal_of(BOOKED_NORTH), seed, without(booking_details=False)) for _ in range(2))
        assert talk(asked, [("request", "hotel", "stay", "")]) == talk(left, [("reqmore", "general", "", "")])


def test_2_wrong_details_are_corrected_and_the_booking_not_accepted():
    user = AgendaUser(goal_of(BOOKED_NORTH), 1)
    told_everything(user)
    acts, done = user.act([("book", "hotel", "", ""), ("inform", "hotel", "people", "4")])
    assert ("inform", "hotel", "people", "3") in acts
    assert not done
    assert user.answered()["hotel"]["booked"] == "?"
    acts, done = user.act([("book", "hotel", "", ""), ("inform", "hotel", "people", "3")])
    assert done


def test_2_unrepaired_wrong_details_pass():
    user = AgendaUser(goal_of(BOOKED_NORTH), 1, without(booking_details=False))
    told_everything(user)
    _, done = user.act([("book", "hotel", "", ""), ("inform", "hotel", "people", "4")])
    assert done


def test_2_asked_for_details_of_a_booking_it_does_not_want_the_user_declines():
    for seed in SEEDS:
        user = AgendaUser(goal_of(NORTH), seed)
        acts = talk(user, [("request", "hotel", "day", ""), ("request", "hotel", "people", "")])
        assert ("inform", "hotel", "notbook", "") in acts
        assert not any(value == "dontcare" for *_, value in acts)


# --- 7

SECOND = DomainGoal(info={"area": "north"}, book=BOOKING, fail_book={**BOOKING, "stay": "3"})
REFUSED: Act = ("nobook", "hotel", "", "")


@pytest.mark.parametrize("fixes", [NO_FIXES, ALL_FIXES])
def test_7_after_a_refusal_the_user_proposes_its_second_choice(fixes: Fixes):
    user = AgendaUser(goal_of(SECOND), 1, fixes)
    assert ("inform", "hotel", "stay", "3") in told_everything(user)
    acts, done = user.act([REFUSED])
    assert ("inform", "hotel", "stay", "2") in acts
    assert not done


def test_7_a_refusal_that_names_its_reason_is_understood_too():
    user = AgendaUser(goal_of(SECOND), 1)
    told_everything(user)
    acts, _ = user.act([("nobook", "hotel", "stay", "3"), ("request", "hotel", "stay", "")])
    assert ("inform", "hotel", "stay", "2") in acts


def test_7_without_a_second_choice_the_user_repeats_its_request_twice_and_then_gives_up():
    user = AgendaUser(goal_of(BOOKED_NORTH), 1)
    told_everything(user)
    for _ in range(2):
        acts, done = user.act([REFUSED])
        assert {(slot, value) for _, _, slot, value in acts} == set(BOOKING.items())
        assert not done
    acts, done = user.act([REFUSED])
    assert acts == (("bye", "general", "", ""),)
    assert done


def test_7_unrepaired_it_hangs_up_at_once():
    user = AgendaUser(goal_of(BOOKED_NORTH), 1, without(second_choice=False))
    told_everything(user)
    _, done = user.act([REFUSED])
    assert done


def test_7_a_refusal_after_the_booking_changes_nothing():
    goal = goal_of(BOOKED_NORTH, DomainGoal(info={"area": "north"}, reqt=("phone",)))
    user = AgendaUser(goal, 1)
    told_everything(user)
    user.act([("book", "hotel", "", "")])
    acts, done = user.act([REFUSED])
    assert not done
    assert not any(slot in BOOKING for _, _, slot, _ in acts)


# --- 8

EAST_THEN_NORTH = goal_of(
    DomainGoal(info={"area": "north"}, fail_info={"area": "east"}, reqt=("phone",)),
    DomainGoal(info={"area": "east"}, reqt=("phone",)),
)


def areas_told(goal: Goal, fixes: Fixes, seed: int) -> list[tuple[str, str]]:
    """(domain, area) in the order told; the hotel's first choice fails."""
    user = AgendaUser(goal, seed, fixes)
    told: list[tuple[str, str]] = []
    answer: list[Act] = []
    refused = False
    for _ in range(20):
        acts, done = user.act(answer)
        told += [(domain, value) for intent, domain, slot, value in acts if intent == "inform" and slot == "area"]
        if done:
            return told
        answer = [("inform", of, slot, "01223") for intent, of, slot, _ in acts if intent == "request"]
        if not refused and ("hotel", "east") in told:
            refused, answer = True, [("nooffer", "hotel", "", "")]
    raise AssertionError(told)


def test_8_unrepaired_the_same_area_is_said_of_an_area_that_has_changed():
    stale = [areas_told(EAST_THEN_NORTH, without(fresh_references=False), seed) for seed in range(40)]
    assert any(("restaurant", "same area as the hotel") in told for told in stale)


def test_8_a_stale_reference_is_replaced_by_the_value():
    for seed in range(40):
        told = areas_told(EAST_THEN_NORTH, ALL_FIXES, seed)
        assert told == [("hotel", "east"), ("hotel", "north"), ("restaurant", "east")]


SAME_AREA = goal_of(
    DomainGoal(info={"area": "north"}, reqt=("phone",)), DomainGoal(info={"area": "north"}, reqt=("phone",))
)


def test_8_a_reference_that_holds_is_still_said():
    told = [areas_told(SAME_AREA, ALL_FIXES, seed)[-1] for seed in range(60)]
    assert 5 < told.count(("restaurant", "same area as the hotel")) < 35
    assert set(told) == {("restaurant", "same area as the hotel"), ("restaurant", "north")}


def test_8_nothing_is_the_same_as_what_was_not_told_yet():
    told = []
    for seed in range(60):
        user = AgendaUser(SAME_AREA, seed)
        opening, _ = user.act(())
        acts, _ = user.act([("request", "restaurant", "area", "")])
        if not any(slot == "area" for _, _, slot, _ in opening):
            told += [value for _, domain, slot, value in acts if (domain, slot) == ("restaurant", "area")]
    assert len(told) > 10
    assert set(told) == {"north"}


def test_8_every_reference_equals_the_other_domain_s_last_told_value():
    said = 0
    for seed, goal in enumerate(sample_goals("train", 300, seed=2)):
        if len(goal.domains) < 2:
            continue
        system = HonestSystem()
        user = AgendaUser(goal, seed)
        known: dict[tuple[str, str], str] = {}
        acts, done = user.act(())
        while not done:
            for intent, domain, slot, value in acts:
                if intent != "inform":
                    continue
                other = "restaurant" if domain == "hotel" else "hotel"
                if "same" in value.split():
                    said += 1
                    wanted = goal.model_dump()["domains"][domain]
                    meant = {each.get(slot) for part, each in wanted.items() if part != "reqt"} - {None}
                    assert known[other, slot] in meant
                    known[domain, slot] = known[other, slot]
                else:
                    known[domain, slot] = value
            acts, done = user.act(system.respond(acts))
    assert said >= 1
