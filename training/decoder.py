"""The forward pass of the sampler: a Qwen2/Llama-shaped language model over a preallocated key/value cache.

Owns the weights as the sampler wants them (fused, transposed where it pays) and the cache. Promises logits equal to
the Hugging Face model's within float32 rounding. Leaves scheduling, sampling and prefix reuse to ``engine``.

On a model of a million parameters the cost of a step is the number of torch calls, not the arithmetic: the
projections of one input are one matrix, the norm's gain is folded into the matrix that follows it, and the rotary
pairs are stored side by side so that a rotation is one complex product.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

FAST_ARCHITECTURES = frozenset({"qwen2", "llama"})


class Decoder(Protocol):
    """What the engine needs of a model: rows of cached positions that can be extended, moved, saved and restored."""

    vocabulary: int
    max_positions: int

    def extend(self, rows: range, ids: Tensor, starts: Tensor, last: Tensor) -> Tensor:
        """Append ``ids`` (rows x width) to the cached ``rows`` at positions ``starts``; logits (rows x vocabulary)
        at column ``last`` of each row. Columns past ``last`` are padding; the next call overwrites them."""
        ...

    def move(self, source: int, target: int, length: int) -> None:
        """Copy the first ``length`` positions of row ``source`` over row ``target``."""
        ...

    def save(self, row: int, length: int) -> object:
        """A copy of the first ``length`` cached positions of ``row``."""
        ...

    def restore(self, row: int, saved: object, length: int) -> None:
        """Make the first ``length`` positions of ``saved`` the beginning of ``row``."""
        ...

    def load(self, model: PreTrainedModel) -> None:
        """Take the weights of ``model``, of the same sizes, and forget what was cached."""
        ...


def build_decoder(model: PreTrainedModel, rows: int, max_positions: int) -> Decoder:
    """The fast decoder where the architecture is known to it, else the Hugging Face model and its own cache."""
    limit = min(max_positions, int(getattr(model.config, "max_position_embeddings", max_positions)))
    if is_fast(model):
        return FusedDecoder(model, rows, limit)
    return HuggingFaceDecoder(model, rows, limit)


def is_fast(model: PreTrainedModel) -> bool:
    """Whether ``FusedDecoder`` computes exactly what ``model`` does."""
    config = model.config
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        config.model_type in FAST_ARCHITECTURES
        and rope.get("rope_type", "default") == "default"
        and getattr(config, "hidden_act", "silu") == "silu"
        and not getattr(config, "use_sliding_window", False)
        and not getattr(config, "mlp_bias", False)
    )


@dataclass(frozen=True)
class _Layer:
    """One block: the input norms' gains are folded into ``qkv`` and ``gate_up``."""

    qkv: Tensor
    qkv_bias: Tensor
    out: Tensor
    gate_up: Tensor
    down: Tensor


def _weight(module: nn.Module | None) -> Tensor:
    assert module is not None
    weight = module.weight
    assert isinstance(weight, Tensor)
    return weight.detach()


class FusedDecoder:
    """Hand-written forward pass; see the module's docstring for what makes it fast."""

    def __init__(self, model: PreTrainedModel, rows: int, max_positions: int) -> None:
        config = model.config
        self.vocabulary = int(config.vocab_size)
        self.max_positions = max_positions
        self._heads = int(config.num_attention_heads)
        self._kv_heads = int(config.num_key_value_heads)
        self._head = int(getattr(config, "head_dim", None) or config.hidden_size // self._heads)
        self._eps = float(config.rms_norm_eps)
        weight = _weight(model.get_input_embeddings())
        self._width, self._device, dtype = weight.shape[1], weight.device, weight.dtype
        self.load(model)
        theta = float(config.rope_parameters["rope_theta"])
        inverse = 1.0 / theta ** (torch.arange(0, self._head, 2, dtype=torch.float64) / self._head)
        angles = torch.arange(max_positions, dtype=torch.float64)[:, None] * inverse
        self._rotation = torch.polar(torch.ones_like(angles), angles).to(torch.complex64).to(self._device)
        shape = (len(self._layers), 2, rows, self._kv_heads, max_positions, self._head)
        # Zeros, since what is masked out is multiplied by zero; NumPy's take up no memory until they are written.
        self._cache = (
            torch.from_numpy(np.zeros(shape, np.float32)).to(dtype)
            if self._device.type == "cpu"
            else torch.zeros(shape, dtype=dtype, device=self._device)
        )
        self._positions = torch.arange(max_positions, device=self._device)

    @torch.no_grad()
    def load(self, model: PreTrainedModel) -> None:
        """See ``Decoder.load``: fuse, fold the gains, put rotary pairs side by side."""
        # A copy: the trainer changes its own in place.
        self._embedding, head = _weight(model.get_input_embeddings()).clone(), _weight(model.get_output_embeddings())
        order = torch.arange(self._head).view(2, -1).T.reshape(-1)
        layers = []
        for block in model.base_model.layers:  # pyright: ignore[reportGeneralTypeIssues, reportArgumentType]
            attention, mlp = block.self_attn, block.mlp
            parts = []
            for projection, heads in (
                (attention.q_proj, self._heads),
                (attention.k_proj, self._kv_heads),
                (attention.v_proj, self._kv_heads),
            ):
                bias = (
                    projection.bias if projection.bias is not None else projection.weight.new_zeros(heads * self._head)
                )
                matrix = projection.weight.view(heads, self._head, -1)
                bias = bias.view(heads, self._head)
                if projection is not attention.v_proj:
                    matrix, bias = matrix[:, order], bias[:, order]
                parts.append((matrix.reshape(heads * self._head, -1), bias.reshape(-1)))
            gain, after = block.input_layernorm.weight, block.post_attention_layernorm.weight
            layers.append(
                _Layer(
                    qkv=(torch.cat([matrix for matrix, _ in parts]) * gain).T.contiguous(),
                    qkv_bias=torch.cat([bias for _, bias in parts]).clone(),
                    out=attention.o_proj.weight.detach().T.contiguous(),
                    gate_up=(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]) * after).T.contiguous(),
                    down=mlp.down_proj.weight.detach().T.contiguous(),
                )
            )
        self._layers = layers
        norm: nn.Module = model.base_model.norm  # pyright: ignore[reportAssignmentType]
        self._unembed = (head * _weight(norm)).T.contiguous()

    @torch.inference_mode()
    def extend(self, rows: range, ids: Tensor, starts: Tensor, last: Tensor) -> Tensor:
        """See ``Decoder.extend``. Rows must be neighbours."""
        count, width = ids.shape
        heads, total, size = self._heads, self._heads + 2 * self._kv_heads, self._head
        positions = starts[:, None] + self._positions[:width]
        end = int(starts.max()) + width
        rotation = self._rotation[positions][:, :, None]
        # Query i of a row sees the cached positions up to its own; one mask serves every layer and head.
        visible = self._positions[:end] <= positions[:, :, None]
        mask = torch.zeros(visible.shape, dtype=self._cache.dtype, device=self._device).masked_fill_(
            ~visible, -torch.inf
        )
        one_each = width == 1
        if one_each:
            mask = self._for_one(mask)
        row_index = torch.arange(count, device=self._device)
        x = self._embedding[ids].view(count * width, -1)
        for index, layer in enumerate(self._layers):
            normed = nn.functional.rms_norm(x, (self._width,), None, self._eps)
            qkv = torch.addmm(layer.qkv_bias, normed, layer.qkv).view(count, width, total, size)
            self._turn(qkv[:, :, : heads + self._kv_heads], rotation)
            query, cached = qkv[:, :, :heads], self._cache[index, :, rows.start : rows.stop]
            self._keep(cached, qkv[:, :, heads:], starts, positions, row_index)
            if not one_each and index == len(self._layers) - 1:
                # The last layer's keys and values are there: nothing needs what follows them but the wanted columns.
                one_each, mask = True, self._for_one(mask[row_index, last][:, None])
                x, query = x.view(count, width, -1)[row_index, last], query[row_index, last]
            seen = self._attend_one(query, cached, mask) if one_each else self._attend(query, cached, mask)
            x = torch.addmm(x, seen, layer.out)
            normed = nn.functional.rms_norm(x, (self._width,), None, self._eps)
            gate, up = torch.mm(normed, layer.gate_up).chunk(2, dim=-1)
            x = torch.addmm(x, nn.functional.silu(gate) * up, layer.down)
        return torch.mm(nn.functional.rms_norm(x, (self._width,), None, self._eps), self._unembed)

    def _turn(self, heads: Tensor, rotation: Tensor) -> None:
        """Rotate queries and keys (rows x width x heads x size) in place."""
        pairs = heads.unflatten(3, (-1, 2))
        if heads.dtype == torch.float32:
            torch.view_as_complex(pairs).mul_(rotation)
        else:
            turned = torch.view_as_complex(pairs.float().contiguous()) * rotation
            pairs.copy_(torch.view_as_real(turned))

    def _keep(self, cached: Tensor, fresh: Tensor, starts: Tensor, positions: Tensor, row_index: Tensor) -> None:
        """Write keys and values (rows x width x the heads of both x size) to their positions."""
        width = positions.shape[1]
        fresh = fresh.unflatten(2, (2, self._kv_heads))
        if width == 1 or self._device.type != "cpu":
            cached[:, row_index[:, None], :, positions] = fresh
        else:  # a copy per row writes a stretch faster than scattered positions are written
            for row, start in enumerate(starts.tolist()):
                cached[:, row, :, start : start + width] = fresh[row].permute(1, 2, 0, 3)

    def _attend(self, query: Tensor, cached: Tensor, mask: Tensor) -> Tensor:
        """Attention of queries (rows x width x heads x size) over the cache; (rows * width) x (heads * size)."""
        count, width, heads, size = query.shape
        kv_heads, groups = self._kv_heads, heads // self._kv_heads
        keys, values = cached[:, :, :, : mask.shape[2]]
        query = query.view(count, width, kv_heads, groups, size).permute(0, 2, 3, 1, 4)
        query = query.reshape(count, kv_heads, groups * width, size)
        seen = nn.functional.scaled_dot_product_attention(query, keys, values, mask.repeat(1, groups, 1)[:, None])
        return seen.view(count, kv_heads, groups, width, size).permute(0, 3, 1, 2, 4).reshape(count * width, -1)

    def _attend_one(self, query: Tensor, cached: Tensor, mask: Tensor) -> Tensor:
        """The same for one query per row, with a mask ``_for_one``: two batched products, which read the cache a
        quarter faster than the kernel that serves many queries. That one keeps its sums in more bits than a half."""
        count, size = query.shape[0], self._head
        keys, values = cached.view(2, count * self._kv_heads, -1, size)[:, :, : mask.shape[2]]
        query = query.reshape(count * self._kv_heads, -1, size)
        if query.dtype == torch.float32:
            scores = torch.baddbmm(mask, query, keys.transpose(1, 2), alpha=size**-0.5)
            seen = torch.bmm(torch.softmax(scores, -1), values)
        else:
            seen = nn.functional.scaled_dot_product_attention(query, keys, values, mask)
        return seen.view(count, -1)

    def _for_one(self, mask: Tensor) -> Tensor:
        """A mask (rows x 1 x positions) for each key head of each row."""
        return mask.repeat_interleave(self._kv_heads, 0)

    @torch.inference_mode()
    def move(self, source: int, target: int, length: int) -> None:
        """See ``Decoder.move``."""
        self._cache[:, :, target, :, :length] = self._cache[:, :, source, :, :length]

    @torch.inference_mode()
    def save(self, row: int, length: int) -> Tensor:
        """See ``Decoder.save``."""
        return self._cache[:, :, row, :, :length].clone()

    @torch.inference_mode()
    def restore(self, row: int, saved: object, length: int) -> None:
        """See ``Decoder.restore``."""
        assert isinstance(saved, Tensor)
        self._cache[:, :, row, :, :length] = saved[:, :, :, :length]


class HuggingFaceDecoder:
    """Any causal language model, one row at a time through its own cache: correct, not fast."""

    def __init__(self, model: PreTrainedModel, rows: int, max_positions: int) -> None:
        self.vocabulary = int(model.config.vocab_size)
        self.max_positions = max_positions
        self._rows: list[DynamicCache | None] = [None] * rows
        self.load(model)

    def load(self, model: PreTrainedModel) -> None:
        """See ``Decoder.load``; the model itself is used, not a copy."""
        self._model = model
        self._rows = [None] * len(self._rows)

    @torch.inference_mode()
    def extend(self, rows: range, ids: Tensor, starts: Tensor, last: Tensor) -> Tensor:
        """See ``Decoder.extend``."""
        logits = []
        for index, row in enumerate(rows):
            start, width = int(starts[index]), int(last[index]) + 1
            cache = self._rows[row] if start else None
            if cache is None:
                cache = DynamicCache(config=self._model.config)
            cache.crop(start)
            output = self._model(input_ids=ids[index : index + 1, :width], past_key_values=cache, use_cache=True)
            self._rows[row] = cache
            logits.append(output.logits[0, -1])
        return torch.stack(logits)

    def move(self, source: int, target: int, length: int) -> None:
        """See ``Decoder.move``; the source row is given up."""
        self._rows[target], self._rows[source] = self._rows[source], None

    def save(self, row: int, length: int) -> None:
        """Nothing is kept: without views into a cache, keeping one costs as much as computing it."""

    def restore(self, row: int, saved: object, length: int) -> None:
        """Never called, since nothing is saved."""
        raise NotImplementedError
