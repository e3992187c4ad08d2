"""The whole recipe on a laptop: ``uv run quickstart.py``. Interrupted, the same command goes on."""

from dataclasses import dataclass

import tyro

from evaluation.commands import exit_codes
from training.stages import quiet


@dataclass(frozen=True)
class QuickstartConfig:
    """Collect, SFT, GRPO and evaluation of a small policy on two CPU cores."""

    run: str = "quickstart"
    """Name of the run: everything lands in runs/RUN."""
    seed: int = 0
    """Of everything."""


def main() -> None:
    config = tyro.cli(QuickstartConfig)
    quiet()
    with exit_codes():
        from rich.console import Console

        from evaluation.report import report_table
        from training.recipe import quick, run_recipe  # brings torch and ART, which --help does not need

        console = Console()
        reports, page = run_recipe(quick(config.run, config.seed), console.print)
        console.print(report_table(reports))
        console.print(f"Report: {page}", soft_wrap=True)


if __name__ == "__main__":
    main()
