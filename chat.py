"""Talk to Concierge in the terminal: ``uv run chat.py``. Ctrl-D ends the conversation."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from agents.graph import build_graph
from db.errors import InputError
from db.world import WorldFactory
from evaluation.commands import exit_codes
from simulation.policies import Policy, ScriptedPolicy
from tools.toolbox import build_toolbox


@dataclass(frozen=True)
class ChatConfig:
    """A conversation over a world of its own: what is booked in it is forgotten at its end."""

    policy: str = "scripted"
    """Who answers: ``scripted``, or the name of a trained run under ``runs/``."""
    show_tools: bool = False
    """Show what the experts look up and book."""
    profile: Literal["cpu", "gpu"] = "cpu"
    """The machine that a trained run answers on."""
    seed: int = 0
    """Of a trained run's sampling."""


def open_policy(config: ChatConfig) -> AbstractAsyncContextManager[Policy]:
    if config.policy == "scripted":
        return nullcontext(ScriptedPolicy())
    if not config.policy.strip() or not Path("runs", config.policy).is_dir():
        raise InputError(f"no run {config.policy!r} under runs/: use scripted, or train one with run_sft.py")
    from training import policies  # brings torch, which the scripted policy does not need

    return policies.open_policy(config.policy, config.profile, config.seed)


def chat(config: ChatConfig, policy: Policy, runner: asyncio.Runner) -> None:
    """Answer until the input ends. The loop stands still while the user types, so that Ctrl-C works at the prompt."""
    with WorldFactory().open() as world:
        agent = build_graph(
            policy.chat_model(config.seed), build_toolbox(world.sessions, policy.config.style), policy.config
        )
        while True:
            if text := input("> ").strip():
                turn = runner.run(agent.respond(text))
                for event in turn.tool_events if config.show_tools else []:
                    print(f"  [{event.node}] {event.name} {event.arguments} -> {event.content}")
                print(turn.text)


def main() -> None:
    config = tyro.cli(ChatConfig)
    with exit_codes(), asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            chat(config, runner.run(stack.enter_async_context(open_policy(config))), runner)
        except (EOFError, KeyboardInterrupt):
            print("\nGoodbye.")
        finally:
            runner.run(stack.aclose())


if __name__ == "__main__":
    main()
