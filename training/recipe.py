"""The whole recipe in one go: collect, SFT, GRPO, and an evaluation of all policies side by side.

Owns the sizes of the two settings, quick and full, and nothing else: every stage is the one its own script runs, in
the same folders, so that an interrupted recipe goes on stage by stage.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from evaluation.config import EvalConfig
from evaluation.evaluate import Evaluation, evaluate
from evaluation.html import compare_runs
from evaluation.report import Report
from simulation.policies import Policy, ScriptedPolicy
from training.collect import collect
from training.locations import stage_folder
from training.policies import open_policy
from training.sft import train_sft
from training.stages import CollectConfig, SftConfig, TrainConfig
from training.train import train

POLICIES = ("scripted", "untrained", "sft", "grpo")

Say = Callable[[str], None]


@dataclass(frozen=True)
class RecipeConfig:
    """Sizes of a whole run."""

    collect: CollectConfig = field(default_factory=CollectConfig)
    sft: SftConfig = field(default_factory=SftConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluation: EvalConfig = field(default_factory=EvalConfig)


def quick(run: str, seed: int) -> RecipeConfig:
    """The setting of ``quickstart.py``: minutes on two cores."""
    return RecipeConfig(
        collect=CollectConfig(run=run, seed=seed, dialogues=3000),
        sft=SftConfig(run=run, seed=seed, epochs=2.0),
        train=TrainConfig(run=run, seed=seed, steps=12),
        evaluation=EvalConfig(run=run, seed=seed, dialogues=200),
    )


def run_recipe(config: RecipeConfig, say: Say) -> tuple[dict[str, Report], Path]:
    """Every stage that is not finished yet; the reports by policy, and the page that shows them side by side.

    :raises InputError: a stage cannot run, or its folder holds another configuration.
    """
    run = config.collect.run
    say(f"1/4 collect: the scripted expert plays {config.collect.dialogues} dialogues")
    collect(config.collect, lambda: nullcontext(ScriptedPolicy(piecemeal=config.collect.piecemeal)))
    say("2/4 SFT: a small model learns from them, from nothing")
    train_sft(config.sft)
    say(f"3/4 GRPO: {config.train.steps} updates, a reward of -1 per exchange and success or failure at the end")
    train(config.train)
    say(f"4/4 evaluation: {config.evaluation.dialogues} unseen goals each")
    done = {name: _evaluate(replace(config.evaluation, policy=name)) for name in POLICIES}
    page = Path("runs") / run / "report.html"
    reports = compare_runs(
        page,
        {name: each.folder.path for name, each in done.items()},
        f"Concierge: {run}",
        training={"sft training": stage_folder(run, "sft"), "grpo training": stage_folder(run, "grpo")},
    )
    return reports, page


def _evaluate(config: EvalConfig) -> Evaluation:
    return evaluate(config, partial(_open, config))


def _open(config: EvalConfig) -> AbstractAsyncContextManager[Policy]:
    if config.policy == "scripted":
        return nullcontext(ScriptedPolicy())
    return open_policy(config.policy, config.profile, config.seed, config.run)
