"""What a world refuses for a goal."""

from db.world import UnavailableSlot
from simulation.goals import sample_goals
from simulation.records import DomainGoal
from simulation.unavailability import unavailable_slots
from tests.simulation.scripts import goal_of

ROOM = {"people": "3", "day": "monday", "stay": "2"}
TABLE = {"people": "3", "day": "monday", "time": "12:15"}


def test_what_differs_between_first_and_second_choice_is_refused():
    goal = goal_of(
        DomainGoal(book=ROOM, fail_book={**ROOM, "stay": "3"}),
        DomainGoal(book=TABLE, fail_book={**TABLE, "time": "13:15", "day": "tuesday"}),
    )
    assert unavailable_slots(goal) == [
        UnavailableSlot("hotel", stay=3),
        UnavailableSlot("restaurant", day="tuesday", time="13:15"),
    ]


def test_a_goal_without_a_failing_booking_refuses_nothing():
    assert unavailable_slots(goal_of(DomainGoal(book=ROOM), DomainGoal(reqt=("phone",)))) == []


def test_the_second_choice_is_never_refused():
    for goal in sample_goals("train", 200, seed=1):
        for slot in unavailable_slots(goal):
            book = goal.domains[slot.domain].book
            wanted = (int(book["people"]), book["day"], int(book["stay"]) if "stay" in book else None, book.get("time"))
            refused = (slot.people, slot.day, slot.stay, slot.time)
            assert any(no is not None and no != yes for no, yes in zip(refused, wanted, strict=True))
