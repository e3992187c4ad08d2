"""Goals and turns for the tests of the users and the evaluator."""

from collections.abc import Sequence

from simulation.agenda_user import AgendaUser
from simulation.records import Act, DomainGoal, Goal


def goal_of(hotel: DomainGoal | None = None, restaurant: DomainGoal | None = None) -> Goal:
    domains = {"hotel": hotel, "restaurant": restaurant}
    return Goal.model_validate(
        {"id": "test", "source": "convlab", "domains": {name: each for name, each in domains.items() if each}}
    )


def talk(user: AgendaUser, *system_turns: Sequence[Act]) -> list[Act]:
    """Open, answer each system turn, and hand back what the user says last."""
    acts, _ = user.act(())
    for turn in system_turns:
        acts, _ = user.act(turn)
    return list(acts)


def told_everything(user: AgendaUser) -> list[Act]:
    """Let the user talk until it asks or books: all it says of its constraints."""
    said: list[Act] = []
    for turn in range(8):
        acts, _ = user.act((("reqmore", "general", "", ""),) if turn else ())
        said += acts
        if any(intent == "request" or slot in ("people", "day") for intent, _, slot, _ in acts):
            return said
    raise AssertionError(said)
