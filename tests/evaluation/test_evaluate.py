from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from db.errors import InputError
from evaluation.config import EvalConfig
from evaluation.evaluate import evaluate
from evaluation.players import OpenPolicy
from simulation.policies import Policy, ScriptedPolicy


class NamedPolicy(ScriptedPolicy):
    """The scripted policy under the name of a checkpoint."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


def checkpoint(name: str) -> OpenPolicy:
    @asynccontextmanager
    async def open_it() -> AsyncIterator[Policy]:
        yield NamedPolicy(name)

    def opened() -> AbstractAsyncContextManager[Policy]:
        return open_it()

    return opened


def test_a_policy_trained_further_is_not_mixed_with_what_it_was(tmp_path: Path):
    config = EvalConfig(policy="demo", dialogues=2, out=tmp_path / "eval")
    assert evaluate(config, checkpoint("demo@3")).report.dialogues == 2
    assert evaluate(config, checkpoint("demo@3")).report.dialogues == 2
    with pytest.raises(InputError, match="holds dialogues of demo@3, and the policy is now demo@5"):
        evaluate(config, checkpoint("demo@5"))


def test_evaluations_lie_beside_what_was_trained():
    assert EvalConfig().folder == Path("runs/demo/eval-demo-test")
    assert EvalConfig(policy="endpoint:org/m", goals="x/val.json.zip").folder == Path(
        "runs/demo/eval-endpoint-org-m-val"
    )


@pytest.mark.parametrize("change", [{"concurrency": 64}, {"processes": 2}, {"prompt_usd": 1.0}, {"timeout_s": 1.0}])
def test_what_does_not_change_the_result_does_not_change_the_run(change: dict[str, float]):
    changed = EvalConfig(policy="scripted", **change)  # pyright: ignore[reportArgumentType]
    assert changed.identity() == EvalConfig(policy="scripted").identity()
