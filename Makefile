# `make check` is what CI runs.
.PHONY: check format lint types layers test slow bench

check: lint types layers test

lint:
	uv run ruff format --check
	uv run ruff check

types:
	uv run pyright

layers:
	uv run lint-imports

test:
	uv run pytest

slow:
	uv run pytest -m "slow"

format:
	uv run ruff format
	uv run ruff check --fix

bench:
	uv run python -m benchmarks.simulation
	uv run python -m benchmarks.casework
	uv run python -m benchmarks.learning
