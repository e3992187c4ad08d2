"""The Gymnasium form: the checker's rules, what is observed, and worlds that share nothing."""

import asyncio
import random
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from db.support_world import SupportWorlds
from environments.casework.actions import MAX_STEPS, Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case
from environments.casework.env import BLOCKS, SIZE, CaseworkEnv, observe
from environments.casework.episode import play_case
from environments.casework.policies import GoldPolicy, RandomPolicy
from environments.casework.text import act_on


@pytest.fixture
def env(worlds: SupportWorlds, cases: list[Case]) -> CaseworkEnv:
    return CaseworkEnv(worlds, cases, render_mode="ansi")


def test_it_passes_gymnasiums_checker(env: CaseworkEnv):
    check_env(env, skip_render_check=True)  # rendering alternatives is tried on registered environments only
    assert isinstance(env.action_space, gymnasium.spaces.Discrete)
    assert env.action_space.n == 13
    assert env.observation_space.shape == (SIZE,)


def test_a_seed_decides_the_case_and_an_option_names_it(env: CaseworkEnv, cases: list[Case]):
    first, _ = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    assert np.array_equal(first, again)
    _, named = env.reset(options={"case": cases[7]})
    assert named == {"case": cases[7].id, "category": cases[7].category}
    assert env.render() == cases[7].text


def test_ten_steps_are_the_most(env: CaseworkEnv):
    env.reset(seed=0)
    for _ in range(MAX_STEPS - 1):
        *_, terminated, truncated, _ = env.step(np.int64(Action.CONSULT_LLM))
        assert (terminated, truncated) == (False, False)
    observation, _, terminated, truncated, info = env.step(np.int64(Action.CONSULT_LLM))
    assert (terminated, truncated, info["resolved"]) == (False, True, False)
    assert observation[-1] == 1.0
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.int64(0))


def test_the_observation_has_the_documented_blocks(env: CaseworkEnv, cases: list[Case]):
    case = next(each for each in cases if (each.request, each.shape) == ("refund_full", "in window"))
    before, _ = env.reset(options={"case": case})
    after, *_ = env.step(np.int64(Action.INVOKE_ORDER_SERVICE))
    starts = np.cumsum([0, *BLOCKS.values()])
    changed = {
        name
        for name, start, width in zip(BLOCKS, starts, BLOCKS.values(), strict=False)
        if not np.array_equal(before[start : start + width], after[start : start + width])
    }
    expected = {"facts", "service done", "last action", "time used"}
    if case.faults.get("order"):
        expected = {"service at fault", "last action", "time used"}
    assert changed - {"order number known"} == expected


def test_shapes_of_a_request_look_alike_at_first(worlds: SupportWorlds, cases: list[Case]):
    seen: dict[tuple[str, bool], bytes] = {}
    with worlds.open() as world:
        for case in cases:
            key = (case.request, case.order_said is not None)
            vector = observe(Casefile(case, world)).tobytes()
            assert seen.setdefault(key, vector) == vector


async def test_32_concurrent_episodes_end_as_each_alone(worlds: SupportWorlds, cases: list[Case]):
    """The same few cases many times, so that all that differs would be another episode's work."""
    some = [case for case in cases if case.expected_changes()][:8] * 8
    policies = [GoldPolicy(), RandomPolicy()]

    async def play(number: int) -> object:
        await asyncio.sleep(0)
        return await play_case(some[number], policies[number % 2], worlds, seed=number)

    alone = [await play(number) for number in range(len(some))]
    running = asyncio.Semaphore(32)

    async def bounded(number: int) -> object:
        async with running:
            return await play(number)

    together = await asyncio.gather(*(bounded(number) for number in range(len(some))))
    strip = {"wall_s"}
    assert [each.model_dump(exclude=strip) for each in alone] == [  # pyright: ignore[reportAttributeAccessIssue]
        each.model_dump(exclude=strip)  # pyright: ignore[reportAttributeAccessIssue]
        for each in together
    ]


def test_interleaved_casefiles_do_not_see_each_other(worlds: SupportWorlds, cases: list[Case]):
    some = ([case for case in cases if case.expected_changes()] * 4)[:32]
    opened = [worlds.open() for _ in some]
    files = [Casefile(case, world) for case, world in zip(some, opened, strict=True)]
    rng = random.Random(0)
    while waiting := [each for each in files if not each.over]:
        chosen = rng.choice(waiting)
        chosen.act(chosen.gold_action())
    assert all(each.resolved for each in files)
    for world in opened:
        world.close()


def test_text_and_vector_form_come_to_the_same(worlds: SupportWorlds, cases: list[Case]):
    for case in cases[:50]:
        with worlds.open() as one, worlds.open() as other:
            by_id, by_text = Casefile(case, one), Casefile(case, other)
            for action in case.gold_actions():
                assert by_id.act(action) == act_on(by_text, f'{{"reasoning": "so", "action_id": {int(action)}}}')


def test_a_step_takes_a_third_of_a_millisecond_at_most(env: CaseworkEnv):
    """About 0.2 ms of processor time for gold, which calls a service at most steps; the best of several."""
    rng = random.Random(0)

    def cost() -> float:
        env.reset(seed=rng.randrange(1000))
        started, steps = time.process_time(), 0
        while steps < 300:
            assert env.casefile is not None
            *_, terminated, _, _ = env.step(np.int64(env.casefile.gold_action()))
            steps += 1
            if terminated:
                env.reset()
        return (time.process_time() - started) / steps

    assert min(cost() for _ in range(5)) < 1 / 3000
