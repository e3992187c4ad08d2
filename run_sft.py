"""Step 2 of 4: teach the policy the collected dialogues: ``uv run run_sft.py``."""

import tyro

from evaluation.commands import exit_codes
from training.stages import SftConfig, quiet


def main() -> None:
    config = tyro.cli(SftConfig)
    quiet(config.track)
    with exit_codes():
        config.check()
        from training.sft import train_sft  # brings torch and ART, which --help does not need

        done = train_sft(config)
    print(f"sft: loss {done.metrics.get('loss/train', float('nan')):.4f} after {done.step} chunks: {done.checkpoint}")


if __name__ == "__main__":
    main()
