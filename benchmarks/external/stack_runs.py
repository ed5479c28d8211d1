"""Run RL trainers from PyPI with rewards of cidery, and print the results as JSON.

    make stacks
    python benchmarks/external/stack_runs.py trl verl ms-swift

`trl` trains a tiny model of random weights by GRPOTrainer; `verl` lets its reward managers score a
batch; `ms-swift` lets its registry make a reward and its GRPO code call it. All run on a CPU.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
REFERENCES = {
    "dog": ["a dog runs on grass", "the dog runs"],
    "cat": ["a cat sleeps on a bed", "the cat sleeps"],
    "boat": ["a boat on water", "the old boat"],
    "bus": ["a red bus", "the bus on a street"],
}
ALL_TEXTS = [text for group in REFERENCES.values() for text in group]
SPECIAL = ["<pad>", "<eos>", "<unk>"]


def make_tokenizer(texts: Collection[str] = ALL_TEXTS) -> Any:
    """Make a tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {word for text in texts for word in text.split()}
    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *sorted(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def count_frequencies(folder: str) -> str:
    """Count frequencies, with ends of captions, into a file that all processes can map."""
    from cidery.rewards import count_ended_frequencies

    path = str(Path(folder) / "train.df")
    count_ended_frequencies(REFERENCES).save(path)
    return path


def train(folder: str, reward: Any, rows: list[dict[str, Any]], **settings: Any) -> Any:
    """Train a tiny model of random weights by GRPOTrainer, and return the trainer."""
    import trl
    from datasets import Dataset
    from transformers import GPT2Config, GPT2LMHeadModel, set_seed

    set_seed(settings.get("seed", 0))
    tokenizer = make_tokenizer({text for row in rows for text in row["references"]})
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=32,
        n_embd=32,
        n_layer=1,
        n_head=2,
        bos_token_id=1,
        eos_token_id=1,
        pad_token_id=0,
    )
    defaults = {
        "per_device_train_batch_size": 32,
        "num_generations": 8,
        "max_completion_length": 6,
        "max_steps": 40,
        "learning_rate": 0.01,
        "lr_scheduler_type": "constant",
        "beta": 0.0,
        "seed": 0,
    }
    trainer = trl.GRPOTrainer(
        model=GPT2LMHeadModel(config),
        reward_funcs=[reward],
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        args=trl.GRPOConfig(
            output_dir=folder,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
            bf16=False,
            **(defaults | settings),
        ),
    )
    trainer.train()
    return trainer


def run_trl(folder: str) -> dict[str, Any]:
    """Train with CIDEr-D that counts ends; the rewards, step by step."""
    import trl

    from cidery.rewards import CompletionReward

    reward = CompletionReward(
        "cider-d", frequencies=count_frequencies(folder), count_eos=True, eos=1, scale=0.1
    )
    rows = [{"prompt": name, "references": group} for name, group in REFERENCES.items()]
    trainer = train(folder, reward, rows * 8)
    log = [entry for entry in trainer.state.log_history if "reward" in entry]
    return {
        "version": trl.__version__,
        "name": reward.__name__,
        "rewards": [entry["reward"] for entry in log],
        "by name": [entry["rewards/cider-d/mean"] for entry in log],
    }


def make_batch(tokenizer: Any, captions: list[str]) -> Any:
    """Make the batch that verl's reward managers get."""
    import numpy as np
    import torch
    from verl import DataProto

    rows = [tokenizer(text)["input_ids"] + [1] for text in captions]
    width = max(map(len, rows))
    responses = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    prompts = torch.full((len(rows), 1), 1)
    mask = torch.cat([torch.ones_like(prompts), (responses != 0).long()], 1)
    truths = [{"ground_truth": group} for group in REFERENCES.values()]
    return DataProto.from_dict(
        tensors={"prompts": prompts, "responses": responses, "attention_mask": mask},
        non_tensors={
            "reward_model": np.array(truths, dtype=object),
            "data_source": np.array(["captions"] * len(rows), dtype=object),
            "extra_info": np.array([{} for _ in rows], dtype=object),
        },
    )


CAPTIONS = ["a dog runs", "the cat sleeps", "a boat boat", "the dog"]


def run_verl(folder: str) -> dict[str, Any]:
    """Let verl load `cidery.compat.verl` by its settings and score a batch, in three ways."""
    import verl
    from omegaconf import OmegaConf
    from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager
    from verl.workers.reward_manager import get_reward_manager_cls

    def settings(name: str) -> Any:
        function = {
            "path": "pkg://cidery.compat.verl",
            "name": name,
            "reward_kwargs": {
                "metric": {"cider-d": 1.0, "bleu-1": 0.5},
                "frequencies": count_frequencies(folder),
                "clip": [0, 5],
            },
        }
        manager = {"source": "register", "name": "naive"}
        return OmegaConf.create(
            {"reward": {"custom_reward_function": function, "reward_manager": manager}}
        )

    tokenizer = make_tokenizer()
    found: dict[str, Any] = {"version": verl.__version__}
    for name, function in (("naive", "compute_score"), ("batch", "compute_scores")):
        manager = get_reward_manager_cls(name)(
            tokenizer, 0, get_custom_reward_fn(settings(function))
        )
        found[name] = manager(make_batch(tokenizer, CAPTIONS)).sum(dim=1).tolist()

    async def score_one_by_one() -> list[float]:
        manager = load_reward_manager(settings("compute_score"), tokenizer)
        batch = make_batch(tokenizer, CAPTIONS)
        results = [await manager.run_single(batch[i : i + 1]) for i in range(len(batch))]
        return [result["reward_score"] for result in results]

    found["reward loop"] = asyncio.run(score_one_by_one())
    return found


def run_ms_swift(folder: str) -> dict[str, Any]:
    """Let ms-swift import a plugin, make the reward it registers, and call it as GRPO does."""
    import torch
    from swift import __version__ as version
    from swift.rewards import ORM, orms
    from swift.rl_core.data import GRPOSample
    from swift.rl_core.grpo_algorithm import compute_rewards_per_func
    from swift.utils import import_external_file

    plugin = Path(folder) / "plugin.py"
    plugin.write_text(
        "from swift.rewards import orms\n"
        "from cidery.compat.ms_swift import make_orm\n"
        f"orms['cider'] = make_orm('cider-d', frequencies={count_frequencies(folder)!r})\n",
        encoding="utf-8",
    )
    import_external_file(str(plugin))
    made = orms["cider"](args=None)
    samples = [
        GRPOSample.from_row(
            {
                "messages": [
                    {"role": "user", "content": "<image>say what it shows"},
                    {"role": "assistant", "content": caption},
                ],
                "images": [{"path": "1.jpg"}],
                "references": group,
            }
        )
        for caption, group in zip(CAPTIONS, REFERENCES.values(), strict=True)
    ]
    rewards = compute_rewards_per_func(samples, [made], [None], torch.device("cpu"))
    return {
        "version": version,
        "is an ORM": isinstance(made, ORM),
        "rewards": rewards[:, 0].tolist(),
    }


RUNS: dict[str, Callable[[str], dict[str, Any]]] = {
    "trl": run_trl,
    "verl": run_verl,
    "ms-swift": run_ms_swift,
}


def main() -> None:
    sys.path.insert(0, str(ROOT / "build" / "stacks"))
    os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        for name in sys.argv[1:]:
            found[name] = RUNS[name](folder)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
