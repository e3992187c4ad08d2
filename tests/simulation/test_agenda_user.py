"""The agenda user behind the protocol: text, reproducibility, and isolation of many at once."""

import asyncio
import random

from simulation.act_level import HonestSystem
from simulation.agenda_user import AgendaUser
from simulation.fixes import NO_FIXES, Fixes
from simulation.goals import sample_goals
from simulation.records import Goal
from simulation.users import AgentTurn, User, UserTurn
from simulation.wordings import Wordings, templates


async def converse(user: User, pause: random.Random | None = None) -> list[UserTurn]:
    """A dialogue with an honest system that pauses at every turn, so that others get in between."""
    system = HonestSystem()
    turns = [await user.open()]
    while not turns[-1].done and len(turns) < 21:
        if pause is not None:
            await asyncio.sleep(pause.random() / 500)
        turns.append(await user.reply(AgentTurn("", system.respond(turns[-1].acts))))
    return turns


async def test_every_turn_has_acts_and_text_and_the_last_is_a_goodbye():
    for seed, goal in enumerate(sample_goals("sft", 60, seed=1)):
        turns = await converse(AgendaUser(goal, seed))
        assert turns[-1].done
        assert turns[-1].acts == (("bye", "general", "", ""),)
        assert not any(turn.done for turn in turns[:-1])
        for turn in turns:
            assert turn.text
            assert turn.acts
            assert "#" not in turn.text
            assert "  " not in turn.text


async def test_the_same_seed_gives_the_same_dialogue_and_another_one_another():
    goal = next(goal for goal in sample_goals("sft", 20, seed=1) if len(goal.domains) == 2)
    dialogues = [await converse(AgendaUser(goal, seed)) for seed in (1, 1, 2)]
    assert dialogues[0] == dialogues[1]
    assert dialogues[0] != dialogues[2]


async def test_64_users_at_once_say_what_each_says_alone():
    goals = sample_goals("train", 64, seed=4)
    alone = [await converse(AgendaUser(goal, seed)) for seed, goal in enumerate(goals)]
    pauses = random.Random(1)
    together = await asyncio.gather(
        *(converse(AgendaUser(goal, seed), random.Random(pauses.random())) for seed, goal in enumerate(goals))
    )
    assert list(together) == alone


async def test_users_in_threads_do_not_share_their_draws():
    goals = sample_goals("train", 16, seed=6)
    alone = [await converse(AgendaUser(goal, seed)) for seed, goal in enumerate(goals)]

    def in_thread(seed: int, goal: Goal) -> list[UserTurn]:
        return asyncio.run(converse(AgendaUser(goal, seed), random.Random(seed)))

    together = await asyncio.gather(*(asyncio.to_thread(in_thread, seed, goal) for seed, goal in enumerate(goals)))
    assert list(together) == alone


async def test_another_wording_changes_no_act():
    for seed, goal in enumerate(sample_goals("test", 20, seed=8)):
        choices: tuple[Wordings, ...] = ("all", "train", "heldout")
        dialogues = [await converse(AgendaUser(goal, seed, wordings=wordings)) for wordings in choices]
        acts = [[turn.acts for turn in turns] for turns in dialogues]
        assert acts[0] == acts[1] == acts[2]
        assert dialogues[1] != dialogues[2]


async def test_held_out_users_say_held_out_goodbyes():
    goodbyes = {"".join(sentence.split()).rstrip(".") for sentence in templates("heldout")["general-bye"]["none"]}
    for seed, goal in enumerate(sample_goals("test", 20, seed=8)):
        turns = await converse(AgendaUser(goal, seed, wordings="heldout"))
        assert "".join(turns[-1].text.split()).rstrip(".") in goodbyes


def test_the_name_tells_which_user_it_is():
    goal = sample_goals("sft", 1, seed=1)[0]
    assert AgendaUser(goal, 1).name == "agenda"
    assert AgendaUser(goal, 1, wordings="heldout").name == "agenda:heldout"
    assert AgendaUser(goal, 1, NO_FIXES, "train").name == "agenda:stock:train"


async def test_an_agent_that_never_helps_is_left_after_twenty_exchanges():
    user = AgendaUser(sample_goals("sft", 1, seed=1)[0], seed=1)
    turns = [await user.open()]
    while not turns[-1].done:
        turns.append(await user.reply(AgentTurn("", ())))
    assert len(turns) == 21


async def test_acts_that_mean_nothing_to_the_user_break_nothing():
    odd = (
        ("inform", "train", "day", "monday"),
        ("inform", "hotel", "unheard", "of"),
        ("select", "hotel", "area", "north"),
        ("select", "hotel", "area", "south"),
        ("offerbook", "restaurant", "", ""),
        ("greet", "general", "", ""),
        ("welcome", "general", "", ""),
        ("request", "restaurant", "ref", ""),
        ("inform", "hotel", "choice", "many"),
        ("inform", "hotel", "choice", ""),
        ("inform", "hotel", "phone", ""),
        ("booked", "hotel", "", ""),
    )
    fixes: tuple[Fixes, ...] = (Fixes(), NO_FIXES)
    for seed, goal in enumerate(sample_goals("sft", 40, seed=2)):
        for switched in fixes:
            user = AgendaUser(goal, seed, switched)
            turns = [await user.open()]
            while not turns[-1].done:
                turns.append(await user.reply(AgentTurn("", odd)))
            assert len(turns) <= 21
