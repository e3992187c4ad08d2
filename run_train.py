"""Step 3 of 4: improve the policy by GRPO: ``uv run run_train.py``."""

import tyro

from evaluation.commands import exit_codes
from training.stages import TrainConfig, quiet


def main() -> None:
    config = tyro.cli(TrainConfig)
    quiet(config.track)
    with exit_codes():
        config.check()
        from training.train import train  # brings torch and ART, which --help does not need

        done = train(config)
    success = done.metrics.get("train/success", float("nan"))
    print(f"grpo: success {success:.3f} in the last step's rollouts, step {done.step}: {done.checkpoint}")


if __name__ == "__main__":
    main()
