#!/usr/bin/env python3
"""The Python front end of lockstep's hardware runner: trains a network for real with torch.nn.DataParallel or
torch.nn.parallel.DistributedDataParallel, the way most people do. One file; needs Python 3.9 and PyTorch 1.13 or newer.

  lockstep show model resnet50 --json -o resnet50.json
  python3 lockstep_train.py check --meta --order resnet50.json
  python3 lockstep_train.py train resnet50.json --strategy single --batch 32
  torchrun --nproc-per-node 4 lockstep_train.py train resnet50.json --strategy ddp --batch 32

`check` prints what PyTorch says about the network, as JSON; `train` writes records, one JSON object a line. `probe` and
`worker` are what `lockstep measure` starts: protocol 1 of hwrunner/launch. Times are seconds of CLOCK_MONOTONIC.

The network is built from the model file's ops, the same that the simulator reads. An op with a module path becomes
PyTorch's own layer at that path, called as a module; the others are functional calls. Ops run in the file's order:
containers are not called themselves, one loop in Python stands for their `forward` functions.
"""

import argparse
import collections
import contextlib
import datetime
import gc
import json
import math
import os
import platform
import re
import socket
import statistics
import sys
import time

try:
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch import nn
except (ImportError, OSError) as failure:
    sys.stderr.write(f"lockstep_train.py: {sys.executable} cannot import torch: {failure}\n")
    sys.exit(3)

PROTOCOL = 1
NORM_EPS, BATCH_NORM_MOMENTUM = 1e-5, 0.1
SCALE = 0.5  # the constants of a `scale` are not part of a model file
RATE, MOMENTUM, DECAY, MAX_NORM = 1e-3, 0.9, 1e-4, 1.0  # as the C++ runner; no influence on times
IMPLEMENTATIONS = {"single": "torch.nn.Module", "dp": "torch.nn.DataParallel", "ddp": "DistributedDataParallel"}
DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
          "int64": torch.int64}


class ModelError(Exception):
    """The model file says something that cannot be built."""


class Failure(Exception):
    """Why a rank ends, with the `kind` of an error record."""

    def __init__(self, kind, message, ranks=()):
        super().__init__(message)
        self.kind, self.message, self.ranks = kind, message, list(ranks)


# --- The model file: ops with shapes, those of one sample ----------------------------------------------------------


class Op:
    """One op: what it is (`kind`), whose outputs it reads, its shape per sample, and its row of the file."""

    def __init__(self, kind, row, inputs, shape, parameters=()):
        self.kind, self.row, self.inputs, self.shape = kind, row, inputs, list(shape)
        self.name = row.get("name", "")
        self.parameters = list(parameters)  # (name, shape), weight before bias
        self.part = None  # of a Split: axis, start, length, index, whole
        self.axes = self.order = None  # how a copy or view moves its values
        self.factors = None  # of a multiply: shapes in which the inputs broadcast
        self.last_read = []  # ops whose output nobody reads after this one

    @property
    def in_place(self):
        return bool(self.row.get("in_place", False))


def pair(row, key, default):
    value = row.get(key, default)
    return list(value) * 2 if isinstance(value, list) and len(value) == 1 else (
        list(value) if isinstance(value, list) else [value, value])


def window(row, is_pool):
    """Kernel, stride and padding as [height, width], dilation, ceil_mode."""
    kernel = pair(row, "kernel", 1)
    stride = pair(row, "stride", kernel if is_pool else 1)
    return kernel, stride, pair(row, "padding", 0), row.get("dilation", 1), bool(row.get("ceil_mode", False))


def window_shape(channels, shape, row, is_pool):
    kernel, stride, padding, dilation, ceil_mode = window(row, is_pool)
    out = [channels]
    for size, k, s, p in zip(shape[1:], kernel, stride, padding):
        room = size + 2 * p - dilation * (k - 1) - 1
        hangs_over = ceil_mode and room % s != 0 and (room // s + 1) * s < size + p
        out.append(room // s + (2 if hangs_over else 1))
    return out


class Model:
    """A model file, read: ops in forward order (the first is the input, the last the loss), tensors in registration
    order as (name, shape, dtype)."""

    UNARY = {"relu", "relu6", "gelu", "tanh", "sigmoid", "silu", "softmax", "dropout", "scale", "power", "split"}

    def __init__(self, document):
        try:
            self.name = document["name"]
            self.sample_unit = document.get("sample_unit", "images")
            self.targets = document.get("targets", 1)
            self.input_shape = list(document["input"]["shape"])
            self.input_dtype = document["input"].get("dtype", "fp32")
            self.ops = [Op("input", {}, [], self.input_shape)]
            self.buffers = [(b["name"], list(b["shape"]), b.get("dtype", "fp32")) for b in document.get("buffers", [])]
            self._labels = {"input": 0}
            for row in document["ops"]:
                self._add(row)
            if self.ops[-1].kind != "cross_entropy":
                self._add({"op": "cross_entropy"})
            self._register(document)
        except (KeyError, TypeError, IndexError) as trouble:
            raise ModelError(f"no model file of `lockstep show model NAME --json`: {trouble!r}") from trouble
        self._plan()

    def _inputs_of(self, row):
        if row["op"] == "parameter":
            return []
        names = row.get("from", [])
        names = [names] if isinstance(names, str) else names
        if not names:
            return [len(self.ops) - 1]
        found = [self._labels.get(name) for name in names]
        for name, index in zip(names, found):
            if index is None:
                raise ModelError(f"{self.name}: no op above, or several, are called `{name}`")
        return found

    def _add(self, row):
        inputs = self._inputs_of(row)
        op = self._build(row, inputs)
        index = len(self.ops)
        self.ops.append(op)
        if op.name:
            self._labels[op.name] = None if op.name in self._labels else index
        if "id" in row:
            self._labels[row["id"]] = index

    def _build(self, row, inputs):
        kind, name = row["op"], row.get("name", "")
        x = self.ops[inputs[0]].shape if inputs else []
        if kind == "conv2d":
            kernel = pair(row, "kernel", 1)
            tensors = [(name + ".weight", [row["out"], x[0] // row.get("groups", 1)] + kernel)]
            tensors += [(name + ".bias", [row["out"]])] if row.get("bias", True) else []
            return Op(kind, row, inputs, window_shape(row["out"], x, row, False), tensors)
        if kind in ("linear", "conv1d_gpt"):
            weight = row.get("shares") or row.get("weight_name") or name + ".weight"
            sizes = [row["out"], x[-1]] if kind == "linear" else [x[-1], row["out"]]
            tensors = [(weight, sizes)]
            tensors += [(row.get("bias_name") or name + ".bias", [row["out"]])] if row.get("bias", True) else []
            return Op(kind, row, inputs, x[:-1] + [row["out"]], tensors)
        if kind in ("batch_norm", "layer_norm"):
            size = [x[0] if kind == "batch_norm" else x[-1]]
            tensors = [(name + ".weight", size)]
            tensors += [(name + ".bias", size)] if kind == "batch_norm" or row.get("bias", True) else []
            if kind == "batch_norm" and all(b[0] != name + ".running_mean" for b in self.buffers):
                self.buffers += [(name + ".running_mean", size, "fp32"), (name + ".running_var", size, "fp32"),
                                 (name + ".num_batches_tracked", [], "int64")]
            return Op(kind, row, inputs, x, tensors)
        if kind == "embedding":
            table = (row.get("shares") or name + ".weight", [row["entries"], row["width"]])
            return Op(kind, row, inputs, x + [row["width"]], [table])
        if kind == "parameter":
            shape = list(row["shape"])
            return Op(kind, row, [], shape[1:] if len(shape) > 1 and shape[0] == 1 else shape, [(name, shape)])
        return Op(*self._without_parameters(kind, row, inputs, x))

    def _without_parameters(self, kind, row, inputs, x):
        if kind in ("max_pool", "avg_pool"):
            return kind, row, inputs, window_shape(x[0], x, row, True)
        if kind == "adaptive_avg_pool":
            return kind, row, inputs, [x[0]] + pair(row, "size", 1)
        if kind == "global_avg_pool":
            return kind, row, inputs, [x[0]]
        if kind == "matmul":
            g = row["gemm"]
            return kind, row, inputs, row.get("shape") or [g.get("batch", 1), g["m"], g["n"]]
        if kind in ("copy", "view"):
            return kind, row, inputs, row.get("shape") or x
        if kind == "flatten":
            return "view", row, inputs, row.get("shape") or [math.prod(x)]
        if kind == "concat":
            return kind, row, inputs, [sum(self.ops[i].shape[0] for i in inputs)] + x[1:]
        if kind == "multiply":
            return kind, row, inputs, max((self.ops[i].shape for i in inputs), key=math.prod)
        if kind in self.UNARY or kind in ("add", "attention"):
            return kind, row, inputs, x
        if kind == "cross_entropy":
            return kind, row, inputs, []
        raise ModelError(f"{self.name}: this front end knows no op `{kind}`")

    def _register(self, document):
        tensors = {}
        for op in self.ops:
            for name, shape in op.parameters:
                known = tensors.setdefault(name, (name, shape, "fp32"))
                if known[1] != shape:
                    raise ModelError(f"{self.name}: {name} is {known[1]} and {shape}")
        self.unused = []
        for row in document.get("unused_parameters", []):
            tensors[row["name"]] = (row["name"], list(row["shape"]), row.get("dtype", "fp32"))
            self.unused.append(row["name"])
        order = document.get("registration") or list(tensors)
        if sorted(order) != sorted(tensors):
            raise ModelError(f"{self.name}: `registration` does not name each parameter once")
        self.parameters = [tensors[name] for name in order]

    # What shapes leave open, by the rules of the C++ runner (hwrunner/modules/op_plan.h).
    def _plan(self):
        readers = {}
        for op in self.ops:
            if op.kind == "multiply":
                op.factors = [self._factor(op, self.ops[i].shape) for i in op.inputs]
            if op.kind not in ("copy", "view"):
                continue
            shape = list(self.ops[op.inputs[0]].shape)
            if self.ops[op.inputs[0]].kind == "split" and math.prod(op.shape) < math.prod(shape):
                op.part = self._part(op, readers.setdefault(op.inputs[0], []), shape)
                shape[op.part["axis"]] = op.part["length"]
            op.axes, op.order = rearrangement(shape, op.shape)
        for split, parts in readers.items():
            length = parts[0]["length"]
            whole = (all(p["length"] == length for p in parts) and
                     len(parts) * length == self.ops[split].shape[parts[0]["axis"]])
            for part in parts:
                part["whole"] = whole
        last = list(range(len(self.ops)))
        for i, op in enumerate(self.ops):
            for read in op.inputs:
                last[read] = i
        for i, reader in enumerate(last):
            self.ops[reader].last_read.append(i)

    def _factor(self, op, small):
        large, missing = op.shape, len(op.shape) - len(small)
        for shape in ([1] * missing + small, small + [1] * missing):
            if len(shape) == len(large) and all(a in (1, b) for a, b in zip(shape, large)):
                return shape
        raise ModelError(f"{self.name}: shapes do not say which values meet in `{op.name or op.kind}`")

    def _part(self, op, parts, whole):
        values, mine = math.prod(whole), math.prod(op.shape)
        fits = [whole[axis] * mine % values == 0 for axis in range(len(whole))]
        if op.kind == "copy" and len(whole) == 2 and fits[-1]:
            axis = len(whole) - 1
        elif fits[0]:
            axis = 0
        else:
            axis = len(whole) - 1
        length, start = whole[axis] * mine // values, sum(p["length"] for p in parts)
        if not fits[axis] or start + length > whole[axis] or (parts and parts[0]["axis"] != axis):
            raise ModelError(f"{self.name}: shapes do not say which part of a split `{op.name or op.kind}` reads")
        parts.append({"axis": axis, "start": start, "length": length, "index": len(parts)})
        return parts[-1]

    def vocabulary(self):
        tables = [op.row["entries"] for op in self.ops if op.kind == "embedding" and not op.row.get("once_per_batch")]
        return max(tables, default=0)

    def classes(self):
        return self.ops[self.ops[-1].inputs[0]].shape[-1]


def rearrangement(a, b):
    """View as the first result, permute by the second (None: not at all)."""
    if a == b:
        return a, None
    if len(a) == 2 and len(b) == 3 and math.prod(a) == math.prod(b):
        if b[1] == a[0]:  # [s, heads x width] -> [heads, s, width]
            return [a[0], b[0], b[2]], [1, 0, 2]
        if b[2] == a[0]:  # and for keys [heads, width, s]
            return [a[0], b[0], b[1]], [1, 2, 0]
    if len(a) == 2 and len(b) == 4 and b[2] == a[0]:  # [s, parts x heads x width] -> [parts, heads, s, width]
        return [a[0], b[0], b[1], b[3]], [1, 2, 0, 3]
    if len(a) == 3 and len(b) == 2 and b[0] == a[1] and b[1] == a[0] * a[2]:  # [heads, s, width] -> [s, ...]
        return a, [1, 0, 2]
    if len(a) == 3 and len(b) == 2 and b[1] == a[0] and b[0] == a[1] * a[2]:  # pixels of an image to patches
        return [a[0], a[1] * a[2]], [1, 0]
    return a, None


def read_model(path):
    with open(path, encoding="utf-8") as file:
        try:
            return Model(json.load(file))
        except ValueError as trouble:
            raise ModelError(f"{path}: not JSON ({trouble}); `lockstep show model FILE --json` makes it") from trouble


# --- The module ----------------------------------------------------------------------------------------------------


class Container(nn.Module):
    """Holds tensors and layers under a name; never called."""


class Conv1dGpt(nn.Module):
    """GPT-2's linear layer with its weight as [in, out]."""

    def __init__(self, inputs, outputs, bias, device):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs, device=device))
        if bias:
            self.bias = nn.Parameter(torch.empty(outputs, device=device))
        else:
            self.register_parameter("bias", None)

    def forward(self, x):
        return conv1d_gpt(x, self.weight, self.bias)


class StochasticDepth(nn.Module):
    """Drops the whole branch of a sample."""

    def __init__(self, probability):
        super().__init__()
        self.probability = probability

    def forward(self, x):
        return stochastic_depth(x, self.probability, self.training)


def conv1d_gpt(x, weight, bias):
    rows = x.reshape(-1, weight.size(0))
    y = torch.mm(rows, weight) if bias is None else torch.addmm(bias, rows, weight)
    return y.view(x.shape[:-1] + (weight.size(1),))


def stochastic_depth(x, probability, training):
    if probability == 0 or not training:
        return x
    noise = torch.empty([x.size(0)] + [1] * (x.dim() - 1), dtype=x.dtype, device=x.device).bernoulli_(1 - probability)
    return x * (noise.div_(1 - probability) if probability < 1 else noise)


def attention(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v)
    return torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)), -1) @ v  # before PyTorch 2.0


def expand_to_batch(parts):
    """Tensors that are there once per batch, like a class token, for every sample."""
    batch = max(p.size(0) for p in parts)
    return [p if p.size(0) == batch else p.expand([batch] + [-1] * (p.dim() - 1)) for p in parts]


def layer_for(op, model, device):
    """PyTorch's own layer for an op, or None where there is none."""
    row, probability = op.row, op.row.get("probability", 0.5)
    x = model.ops[op.inputs[0]].shape if op.inputs else []
    if op.kind in ("conv2d", "max_pool", "avg_pool"):
        kernel, stride, padding, dilation, ceil_mode = window(row, op.kind != "conv2d")
        kernel, stride, padding = tuple(kernel), tuple(stride), tuple(padding)
        if op.kind == "max_pool":
            return nn.MaxPool2d(kernel, stride, padding, dilation, ceil_mode=ceil_mode)
        if op.kind == "avg_pool":
            return nn.AvgPool2d(kernel, stride, padding, ceil_mode=ceil_mode)
        return nn.Conv2d(x[0], row["out"], kernel, stride, padding, dilation, row.get("groups", 1),
                         bias=len(op.parameters) > 1, device=device)
    if op.kind == "linear":
        return nn.Linear(x[-1], row["out"], bias=len(op.parameters) > 1, device=device)
    if op.kind == "conv1d_gpt":
        return Conv1dGpt(x[-1], row["out"], len(op.parameters) > 1, device)
    if op.kind == "batch_norm":
        norm = nn.BatchNorm2d if len(x) == 3 else nn.BatchNorm1d
        return norm(x[0], NORM_EPS, BATCH_NORM_MOMENTUM, device=device)
    if op.kind == "layer_norm" and len(op.parameters) == 2:
        return nn.LayerNorm(x[-1], NORM_EPS, device=device)
    if op.kind == "embedding" and not row.get("once_per_batch"):
        return nn.Embedding(row["entries"], row["width"], device=device)
    if op.kind == "dropout":
        return StochasticDepth(probability) if row.get("per_sample") else nn.Dropout(probability, op.in_place)
    if op.kind == "adaptive_avg_pool":
        return nn.AdaptiveAvgPool2d(tuple(op.shape[1:]))
    if op.kind in ("relu", "relu6", "silu"):
        return {"relu": nn.ReLU, "relu6": nn.ReLU6, "silu": nn.SiLU}[op.kind](inplace=op.in_place)
    if op.kind in ("gelu", "tanh", "sigmoid", "softmax") and not op.in_place:
        return {"gelu": nn.GELU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "softmax": lambda: nn.Softmax(-1)}[op.kind]()
    return None


def layer_paths(model):
    """Module paths that get a layer of PyTorch: all ops there are the same, and nothing else lives below or in it."""
    ops = collections.defaultdict(list)
    for op in model.ops:
        if op.name and op.kind != "parameter":
            ops[op.name].append(op)
    inner = set()
    for path in list(ops) + [name for name, _, _ in model.parameters + model.buffers]:
        parts = path.split(".")
        inner.update(".".join(parts[:n]) for n in range(1, len(parts)))
    own = collections.defaultdict(set)
    for name, _, _ in model.parameters + model.buffers:
        path, _, leaf = name.rpartition(".")
        own[path].add(leaf)
    below = {path.rpartition(".")[0] for path in ops} | {
        name.rpartition(".")[0].rpartition(".")[0] for name, _, _ in model.parameters + model.buffers}
    chosen = {}
    for path, users in ops.items():
        first = users[0]
        same = all((u.kind, u.parameters, u.row.get("probability"), u.in_place) ==
                   (first.kind, first.parameters, first.row.get("probability"), first.in_place) for u in users)
        slots = ["weight", "bias"][:len(first.parameters)]
        natural = {slot for slot, (name, _) in zip(slots, first.parameters) if name == f"{path}.{slot}"}
        buffers = {"running_mean", "running_var", "num_batches_tracked"} if first.kind == "batch_norm" else set()
        if same and own[path] == natural | buffers and path not in below and (path not in inner or own[path]):
            chosen[path] = first
    return chosen


class Network(nn.Module):
    """The network without its loss. forward: [batch, sample shape...] to the loss's inputs, a tuple of several or one.
    Weights are whatever the memory held until initialise()."""

    def __init__(self, model, device):
        super().__init__()
        self._lockstep_model = model
        self._lockstep_positions = {}  # indices of tables of positions, by op and device; shared by replicas
        self._lockstep_layers = layer_paths(model)
        for name, shape, dtype in model.parameters:
            self._register(name, shape, dtype, device, False)
        for name, shape, dtype in model.buffers:
            self._register(name, shape, dtype, device, True)
        for op in model.ops:
            if op.name and op.kind != "parameter":
                self._holder(op.name.split("."), device)
        self._tie()
        middle = list(enumerate(model.ops))[1:-1]
        self._lockstep_program = [(i, self._runner(i, op), op.last_read) for i, op in middle]

    def _holder(self, parts, device):
        module = self
        for n, part in enumerate(parts):
            child = module._modules.get(part)
            if child is None:
                first = self._lockstep_layers.get(".".join(parts[:n + 1]))
                child = layer_for(first, self._lockstep_model, device) if first is not None else None
                if first is not None and child is None:
                    del self._lockstep_layers[".".join(parts[:n + 1])]
                child = Container() if child is None else child
                module.add_module(part, child)
            module = child
        return module

    def _register(self, name, shape, dtype, device, is_buffer):
        path, _, leaf = name.rpartition(".")
        holder = self._holder(path.split("."), device) if path else self
        if getattr(holder, leaf, None) is not None:  # the layer brought it along
            return
        tensor = torch.zeros(shape, dtype=DTYPES[dtype], device=device)
        if is_buffer:
            holder.register_buffer(leaf, tensor)
        else:
            holder.register_parameter(leaf, nn.Parameter(tensor, requires_grad=tensor.is_floating_point()))

    # Layers whose weight is another module's.
    def _tie(self):
        for path, first in self._lockstep_layers.items():
            layer = self._at(path.split("."))
            for slot, (name, _) in zip(("weight", "bias"), first.parameters):
                if name != f"{path}.{slot}":
                    owner, _, leaf = name.rpartition(".")
                    setattr(layer, slot, getattr(self._at(owner.split(".") if owner else []), leaf))

    def _at(self, parts):
        module = self
        for part in parts:
            module = module._modules[part]
        return module

    def tensor(self, name):
        path, _, leaf = name.rpartition(".")
        return getattr(self._at(path.split(".") if path else []), leaf)

    # Functions of (network, values, cut), the network a replica's own. They find layers by their path every time, as
    # `self.layer1` does in a module written by hand.
    def _runner(self, index, op):
        inputs = op.inputs
        if op.name in self._lockstep_layers and op.kind == self._lockstep_layers[op.name].kind:
            parts, source = op.name.split("."), inputs[0]
            if op.kind == "embedding" and op.row["entries"] < self._lockstep_model.vocabulary():
                return lambda net, values, cut: net._at(parts)(values[source].remainder(op.row["entries"]))
            return lambda net, values, cut: net._at(parts)(values[source])
        return functional(self._lockstep_model, index, op)

    def forward(self, x, observer=None):
        model = self._lockstep_model
        values, cut = [None] * len(model.ops), {}
        values[0] = x
        for i, run, done in self._lockstep_program:
            values[i] = run(self, values, cut)
            if observer is not None:
                observer(i, values[i])
            for read in done:
                values[read] = None
        outputs = tuple(values[i] for i in model.ops[-1].inputs)
        return outputs[0] if len(outputs) == 1 else outputs


def functional(model, index, op):
    """Runs an op that is no layer: a function of (network, values, cut)."""
    kind, row, inputs = op.kind, op.row, op.inputs
    names = [name for name, _ in op.parameters] + [None]
    a = inputs[0] if inputs else None
    b = inputs[1] if len(inputs) > 1 else None
    if kind == "parameter":
        return lambda net, values, cut: net.tensor(names[0]).view([1] + op.shape)
    if kind in ("linear", "conv1d_gpt"):
        apply = F.linear if kind == "linear" else conv1d_gpt
        return lambda net, values, cut: apply(values[a], net.tensor(names[0]), names[1] and net.tensor(names[1]))
    if kind == "layer_norm":
        size = model.ops[a].shape[-1:]
        return lambda net, values, cut: F.layer_norm(values[a], size, net.tensor(names[0]),
                                                     names[1] and net.tensor(names[1]), NORM_EPS)
    if kind in ("conv2d", "batch_norm"):
        raise ModelError(f"{model.name}: several unlike ops are called `{op.name}`")
    if kind == "embedding":
        return embedding(model, index, op)
    if kind == "add":
        if op.in_place:
            return lambda net, values, cut: (values[a].add_(values[b]) if values[a].size(0) >= values[b].size(0)
                                             else values[a] + values[b])
        return lambda net, values, cut: values[a] + values[b]
    if kind == "multiply":
        fa, fb = op.factors
        return lambda net, values, cut: (values[a].view([values[a].size(0)] + fa) *
                                         values[b].view([values[b].size(0)] + fb))
    if kind == "concat":
        return lambda net, values, cut: torch.cat(expand_to_batch([values[i] for i in inputs]), 1)
    if kind == "matmul":
        g = row["gemm"]
        left, right = [g.get("batch", 1), g["m"], g["k"]], [g.get("batch", 1), g["k"], g["n"]]
        return lambda net, values, cut: torch.matmul(
            values[a].reshape([values[a].size(0)] + left),
            values[b].reshape([values[b].size(0)] + right)).reshape([-1] + op.shape)
    if kind == "attention":
        g, c = row["gemm"], inputs[2]
        queries, keys = [g.get("batch", 1), g["m"], g["k"]], [g.get("batch", 1), g["n"], g["k"]]
        return lambda net, values, cut: attention(values[a].reshape([-1] + queries), values[b].reshape([-1] + keys),
                                                  values[c].reshape([-1] + keys)).reshape([-1] + op.shape)
    if kind in ("copy", "view"):
        return lambda net, values, cut: rearranged(op, values[a], cut)
    if kind == "split":
        return lambda net, values, cut: values[a]
    return elementwise(op, a)


def elementwise(op, a):
    row, probability = op.row, op.row.get("probability", 0.5)
    if op.kind == "dropout":
        if row.get("per_sample"):
            return lambda net, values, cut: stochastic_depth(values[a], probability, net.training)
        return lambda net, values, cut: F.dropout(values[a], probability, net.training, op.in_place)
    if op.kind == "max_pool":
        kernel, stride, padding, dilation, ceil_mode = window(row, True)
        return lambda net, values, cut: F.max_pool2d(values[a], kernel, stride, padding, dilation, ceil_mode)
    if op.kind == "avg_pool":
        kernel, stride, padding, _, ceil_mode = window(row, True)
        return lambda net, values, cut: F.avg_pool2d(values[a], kernel, stride, padding, ceil_mode)
    simple = {
        "relu": (F.relu, torch.relu_), "relu6": (F.relu6, lambda x: F.relu6(x, True)), "gelu": (F.gelu, None),
        "tanh": (torch.tanh, torch.tanh_), "sigmoid": (torch.sigmoid, torch.sigmoid_),
        "silu": (F.silu, lambda x: F.silu(x, True)), "softmax": (lambda x: torch.softmax(x, -1), None),
        "scale": (lambda x: x * SCALE, lambda x: x.mul_(SCALE)),
        "power": (lambda x: torch.pow(x, 3.0), lambda x: x.pow_(3.0)),
        "global_avg_pool": (lambda x: x.mean([2, 3]), None),
        "adaptive_avg_pool": (lambda x: F.adaptive_avg_pool2d(x, op.shape[1:]), None),
    }
    plain, in_place = simple[op.kind]
    apply = in_place if op.in_place and in_place is not None else plain
    return lambda net, values, cut: apply(values[a])


def embedding(model, index, op):
    rows, source, name = op.row["entries"], op.inputs[0], op.parameters[0][0]
    if not op.row.get("once_per_batch"):
        smaller = rows < model.vocabulary()  # token types
        return lambda net, values, cut: F.embedding(values[source].remainder(rows) if smaller else values[source],
                                                    net.tensor(name))

    def positions(net, values, cut):
        x = values[source]
        key = (index, x.device)
        if key not in net._lockstep_positions:
            shape = model.ops[source].shape
            indices = torch.arange(math.prod(shape), device=x.device).remainder(rows).view([1] + shape)
            net._lockstep_positions[key] = indices
        return F.embedding(net._lockstep_positions[key], net.tensor(name))

    return positions


def rearranged(op, x, cut):
    if op.part is not None:
        axis, split = op.part["axis"] + 1, op.inputs[0]
        if op.part["whole"]:  # one torch.split serves all readers
            if split not in cut:
                cut[split] = list(x.split(op.part["length"], axis))
            x = cut[split][op.part["index"]]
            cut[split][op.part["index"]] = None
        else:
            x = x.narrow(axis, op.part["start"], op.part["length"])
    batch = x.size(0)
    if op.order is not None:
        x = x.reshape([batch] + op.axes).permute([0] + [axis + 1 for axis in op.order])
    if op.kind == "copy":
        x = x.clone() if x.is_contiguous() else x.contiguous()
    return x.reshape([batch] + op.shape)


def loss_of(model, outputs, labels):
    """Mean over the batch, summed over the outputs."""
    outputs = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    loss = None
    for one in outputs:
        part = F.cross_entropy(one.reshape(-1, model.classes()), labels)
        loss = part if loss is None else loss + part
    return loss


# --- Weights and data, equal to those of the C++ runner -----------------------------------------------------------


def generator(seed):
    return torch.Generator().manual_seed(seed)


def mixed(seed, counter):
    """A seed and a sample's number to a seed of its own (the finaliser of SplitMix64)."""
    mask = 2**64 - 1
    x = (seed * 0x9E3779B97F4A7C15 + counter + 1) & mask
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return x ^ (x >> 31)


@torch.no_grad()
def initialise(network, seed):
    model, gen, done = network._lockstep_model, generator(seed), set()
    for op in model.ops:
        inputs = 1
        if op.kind == "conv2d":
            inputs = math.prod(op.parameters[0][1]) / op.row["out"]
        elif op.kind in ("linear", "conv1d_gpt"):
            inputs = model.ops[op.inputs[0]].shape[-1]
        bound = 1 / math.sqrt(inputs)
        for which, (name, shape) in enumerate(op.parameters):
            if name in done:
                continue
            done.add(name)
            value = torch.empty(shape)
            if op.kind in ("batch_norm", "layer_norm"):
                value.fill_(1 if which == 0 else 0)
            elif which == 1:
                value.uniform_(0, bound, generator=gen)
            elif op.kind == "conv2d":
                value.normal_(0, math.sqrt(2.0) * bound, generator=gen)
            elif op.kind in ("linear", "conv1d_gpt"):
                value.uniform_(-bound, bound, generator=gen)
            else:
                value.normal_(0, 0.02, generator=gen)
            network.tensor(name).copy_(value)
    for name in model.unused:
        network.tensor(name).zero_()
    for name, _, _ in model.buffers:
        network.tensor(name).fill_(1 if name.endswith(".running_var") else 0)


def synthetic_batch(model, seed, first, samples):
    """Input and labels of the samples first, first + 1, ... of the endless sequence that the seed gives."""
    x = torch.empty([samples] + model.input_shape, dtype=DTYPES[model.input_dtype])
    labels = torch.empty(samples, model.targets, dtype=torch.int64)
    for i in range(samples):
        gen = generator(mixed(seed, first + i))
        if model.input_dtype == "int64":
            x[i].random_(0, model.vocabulary(), generator=gen)
        else:
            x[i].normal_(0, 1, generator=gen)
        labels[i].random_(0, model.classes(), generator=gen)
    return x, labels.view(-1)


# --- What PyTorch says about a network ----------------------------------------------------------------------------


def tensors_of(named):
    names = {dtype: name for name, dtype in DTYPES.items()}
    return [{"name": name, "shape": list(t.shape), "dtype": names.get(t.dtype, str(t.dtype)),
             "bytes": t.numel() * t.element_size()} for name, t in named]


def autocast_of(precision, device):
    dtype = {"amp-fp16": torch.float16, "amp-bf16": torch.bfloat16}.get(precision)
    return contextlib.nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def facts_of(model, options):
    device = torch.device("meta" if options.meta else "cpu")
    network = Network(model, device)
    parameters, buffers = tensors_of(network.named_parameters()), tensors_of(network.named_buffers())
    facts = {"model": model.name, "torch": torch.__version__, "device": device.type,
             "parameters": sum(t.numel() for t in network.parameters()),
             "parameter_bytes": sum(p["bytes"] for p in parameters), "parameter_tensors": parameters,
             "buffer_bytes": sum(b["bytes"] for b in buffers), "buffer_tensors": buffers,
             "modules": sum(1 for _ in network.modules()),
             "layers": len(network._lockstep_layers)}
    if options.meta:
        x = torch.empty([options.batch] + model.input_shape, dtype=DTYPES[model.input_dtype], device=device)
        labels = torch.empty(options.batch * model.targets, dtype=torch.int64, device=device)
    else:
        initialise(network, options.seed)
        torch.manual_seed(options.seed)
        x, labels = synthetic_batch(model, options.seed, 0, options.batch)
    shapes, order = [], []
    if options.order:
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                parameter.register_hook(lambda gradient, name=name: order.append(name))
    with autocast_of(options.precision, device):
        outputs = network(x, observer=lambda i, value: shapes.append(list(value.shape)))
        loss = loss_of(model, outputs, labels)
    facts["op_shapes"] = shapes
    facts["output_shapes"] = [list(o.shape) for o in (outputs if isinstance(outputs, tuple) else (outputs,))]
    if options.order or not options.meta:
        loss.backward()
    if options.order:
        facts["gradient_order"] = order
    if not options.meta:
        facts["loss"] = loss.item()
        facts["without_gradient"] = [name for name, p in network.named_parameters()
                                     if p.grad is None or not torch.isfinite(p.grad.sum()) or not p.grad.any()]
    return facts


def numbers(text):
    """Of DDP's logging fields: "9461800, 26494976"."""
    return [int(n) for n in re.findall(r"\d+", str(text))]


def bucket_facts(model, settings):
    """Bucket sizes of DistributedDataParallel as PyTorch logs them, before and after the rebuild."""
    trainer = Trainer(model, settings, Place(), torch.device("cpu"))
    trainer.wrap()
    log = trainer.wrapped._get_ddp_logging_data()
    facts = {"model": model.name, "initial_bucket_bytes": numbers(log["bucket_sizes"])}
    for _ in range(3):
        trainer.step()
    log = trainer.wrapped._get_ddp_logging_data()
    facts["rebuilt"] = bool(int(log.get("has_rebuilt_buckets", 0)))
    facts["rebuilt_bucket_bytes"] = numbers(log.get("rebuilt_bucket_sizes", ""))
    return facts


# --- Training ------------------------------------------------------------------------------------------------------


class Settings:
    """What is trained and how: a plan of the launcher, or the options of `train`."""

    DEFAULTS = dict(
        strategy="single", world_size=1, per_gpu_batch=1, micro_steps=1, warm_up=5, steps=30, repeat=0,
        instrumented=False, threads_per_rank=1, backend="gloo", join_timeout_s=60.0, group_timeout_s=60.0)
    TRAINING = dict(
        precision="fp32", tf32_conv="auto", tf32_matmul="auto", optimizer="sgd-momentum",
        optimizer_implementation="foreach", weight_decay=True, zero_grad="auto", clip_grad_norm=False, no_sync=True,
        bucket_cap_bytes=None, first_bucket_bytes=None, gradient_as_bucket_view=False, broadcast_buffers=True,
        find_unused_parameters=False, static_graph=False, comm_hook="none", host_sync=False, input_source="device",
        input_memory="pageable", input_non_blocking=False, input_dtype="fp32", dp_copy="device0", seed=1)

    def __init__(self, **given):
        for key, default in {**self.DEFAULTS, **self.TRAINING}.items():
            setattr(self, key, given.pop(key, default))
        if given:
            raise Failure("setup", f"the plan has keys that this front end does not know: {', '.join(sorted(given))}")

    @classmethod
    def of_plan(cls, plan):
        """A plan's own keys that another reader needs (timeouts of the launcher, the scenario's text) are left alone;
        `training` holds nothing but what is listed here."""
        given = {key: plan[key] for key in cls.DEFAULTS if key in plan}
        if plan.get("dilate", 0) > 0:
            raise Failure("refused", "the Python front end does not pace its computing: that is in C++")
        training = plan.get("training", {})
        for key in training:
            if key not in cls.TRAINING:
                raise Failure("refused", f"the Python front end does not know `{key}`")
        return cls(**given, **training)

    @property
    def micro_batch(self):
        """Samples of one micro-step of this process."""
        return self.per_gpu_batch * (self.world_size if self.strategy == "dp" else 1)


class Place:
    """Which rank this is: torchrun, our launcher (RANK), Open MPI, PMI or Slurm."""

    def __init__(self, environment=None):
        self.rank, self.world_size, self.local_rank = 0, 1, 0
        self.master, self.port, self.agent_store = "127.0.0.1", 29500, False
        if environment is None:
            return
        for rank, size, local in (("RANK", "WORLD_SIZE", "LOCAL_RANK"),
                                  ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
                                  ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
                                  ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")):
            if rank in environment and size in environment:
                self.rank, self.world_size = int(environment[rank]), int(environment[size])
                self.local_rank = int(environment.get(local, self.rank))
                break
        self.master = environment.get("MASTER_ADDR", self.master)
        self.port = int(environment.get("MASTER_PORT", self.port))
        self.agent_store = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        if self.world_size > 1 and "MASTER_ADDR" not in environment:
            raise Failure("setup", "MASTER_ADDR is not set: where rank 0 listens")

    def on_loopback(self):
        return self.master in ("127.0.0.1", "localhost")


def device_for(settings, place):
    if settings.backend != "nccl":
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise Failure("setup", "no CUDA device: " + why_no_cuda())
    wanted = settings.world_size if settings.strategy == "dp" else place.local_rank + 1
    if torch.cuda.device_count() < wanted:
        raise Failure("setup", f"this machine has {torch.cuda.device_count()} GPUs, {wanted} are needed")
    return torch.device("cuda", 0 if settings.strategy == "dp" else place.local_rank)


def why_no_cuda():
    if torch.version.cuda is None:
        return "this PyTorch was built without CUDA"
    if not os.path.exists("/dev/nvidiactl"):
        return "no NVIDIA driver is loaded"
    return "PyTorch sees none"


def check_settings(settings, device):
    """Errors: Failure of kind refused, what this front end cannot do."""
    def refuse(message):
        raise Failure("refused", message)

    if settings.strategy not in ("single", "dp", "ddp"):
        refuse(f"the Python front end does not run `{settings.strategy}`")
    if device.type == "cpu":
        if settings.strategy == "dp":
            refuse("torch.nn.DataParallel needs GPUs: on CPUs it runs the module once; the stand-in for it is in C++")
        if settings.precision == "tf32":
            refuse("precision tf32 needs a GPU")
        if settings.precision == "amp-fp16" and not hasattr(getattr(torch, "amp", None), "GradScaler"):
            refuse("precision amp-fp16 on a CPU needs PyTorch 2.3 or newer")
    if settings.input_dtype not in DTYPES:
        refuse(f"the input cannot be {settings.input_dtype}")


class CpuClock:
    """Marks are times."""

    lag = 0

    def mark(self):
        return now_s()

    def seconds(self, mark):
        return mark

    def settle(self, mark):
        return mark


class CudaClock:
    """Marks are events of the current stream of a device; their times follow from an event whose time is known."""

    lag = 1  # the host may be one step ahead, so that the GPU need not wait for it

    def __init__(self, device):
        torch.cuda.synchronize(device)
        self._known = self.mark()
        self._known.synchronize()
        self._known_s = now_s()

    def mark(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def seconds(self, mark):
        mark.synchronize()
        return self._known_s + 1e-3 * self._known.elapsed_time(mark)

    def settle(self, mark):
        """Later marks are counted from this one: elapsed_time is a 32-bit number of milliseconds."""
        self._known_s, self._known = self.seconds(mark), mark
        return self._known_s


def now_s():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def optimizer_for(settings, parameters):
    decay = DECAY if settings.weight_decay else 0.0
    how = {"for-loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    if settings.optimizer_implementation not in how:
        raise Failure("refused", f"there is no optimizer implementation `{settings.optimizer_implementation}`")
    how = how[settings.optimizer_implementation]
    make = {
        "none": lambda: None,
        "sgd": lambda: torch.optim.SGD(parameters, lr=RATE, weight_decay=decay, **how),
        "sgd-momentum": lambda: torch.optim.SGD(parameters, lr=RATE, momentum=MOMENTUM, weight_decay=decay, **how),
        "adam": lambda: torch.optim.Adam(parameters, lr=RATE, weight_decay=decay, **how),
        "adamw": lambda: torch.optim.AdamW(parameters, lr=RATE, weight_decay=decay, **how),
    }
    if settings.optimizer not in make:
        raise Failure("refused", f"there is no optimizer `{settings.optimizer}`")
    try:
        return make[settings.optimizer]()
    except TypeError as trouble:
        raise Failure("refused", f"PyTorch {torch.__version__} has no {settings.optimizer_implementation} "
                                 f"{settings.optimizer}: {trouble}") from trouble


class FirstBucketDdp(nn.parallel.DistributedDataParallel):
    """DistributedDataParallel whose first bucket can be set although its cap is: PyTorch takes the cap for both."""

    lockstep_first_bucket = None

    def _ddp_init_helper(self, *args, **kwargs):
        default = dist._DEFAULT_FIRST_BUCKET_BYTES
        if self.lockstep_first_bucket is not None:
            self.bucket_bytes_cap_default = True  # of PyTorch 2: read where the first cap is chosen
            dist._DEFAULT_FIRST_BUCKET_BYTES = self.lockstep_first_bucket
        try:
            return super()._ddp_init_helper(*args, **kwargs)
        finally:
            dist._DEFAULT_FIRST_BUCKET_BYTES = default


def ddp_around(network, settings, device):
    given = {"gradient_as_bucket_view": settings.gradient_as_bucket_view,
             "broadcast_buffers": settings.broadcast_buffers,
             "find_unused_parameters": settings.find_unused_parameters, "static_graph": settings.static_graph}
    if settings.bucket_cap_bytes is not None:
        given["bucket_cap_mb"] = settings.bucket_cap_bytes / 2**20
    if device.type == "cuda":
        given["device_ids"] = [device.index]
    kind = nn.parallel.DistributedDataParallel
    if settings.first_bucket_bytes is not None:
        kind = type("DistributedDataParallel", (FirstBucketDdp,),
                    {"lockstep_first_bucket": settings.first_bucket_bytes})
    return kind(network, **given)


class MarkedDataParallel(nn.DataParallel):
    """DataParallel that says when each of its phases is over, on the stream of GPU 0."""

    lockstep_lap = staticmethod(lambda cause: None)

    def scatter(self, *args, **kwargs):
        result = super().scatter(*args, **kwargs)
        self.lockstep_lap("scatter")
        return result

    def replicate(self, *args, **kwargs):
        result = super().replicate(*args, **kwargs)
        self.lockstep_lap("replicate")
        return result

    def parallel_apply(self, *args, **kwargs):
        result = super().parallel_apply(*args, **kwargs)
        self.lockstep_lap("forward")
        return result

    def gather(self, *args, **kwargs):
        result = super().gather(*args, **kwargs)
        self.lockstep_lap("gather")
        return result


class StepMarks:
    """What one step left behind: marks, to be turned into seconds when the device has got there."""

    def __init__(self):
        self.laps = []  # (cause, mark at its end)
        self.start = self.end = self.idle_from = self.idle_to = None
        self.backward_start_s = 0.0  # on the host's clock
        self.buckets = []  # dicts: index, bytes, ready, launch, end (marks), parameters
        self.ready_ns = None  # of each parameter, from the start of the backward pass: the Reducer's own record

    def parts(self, clock):
        sums, before = collections.defaultdict(float), clock.seconds(self.start)
        for cause, mark in self.laps:
            at = clock.seconds(mark)
            sums[cause] += at - before
            before = at
        return dict(sums)


class Trainer:
    """One process that trains: a network, its optimizer, its batches, and the wrapper around it."""

    def __init__(self, model, settings, place, device):
        check_settings(settings, device)
        self.model, self.settings, self.place, self.device = model, settings, place, device
        torch.set_num_threads(settings.threads_per_rank)
        self._set_precision()
        self.clock = CpuClock() if device.type == "cpu" else None  # CUDA's after the first use of the device
        if device.type == "cuda":
            torch.cuda.set_device(device)
            self.clock = CudaClock(device)
        self.network = Network(model, device)
        initialise(self.network, settings.seed)
        self.network.train()
        torch.manual_seed(settings.seed + place.rank)  # of dropouts
        self.batches = [self._batch(m) for m in range(settings.micro_steps)]
        self.wrapped, self.optimizer, self.scaler = self.network, None, None
        self.marks, self.loss, self._index = StepMarks(), None, {}

    def _set_precision(self):
        s = self.settings
        if self.device.type != "cuda":
            return
        conv = True if s.precision == "tf32" else {"on": True, "off": False}.get(s.tf32_conv)
        matmul = True if s.precision == "tf32" else {"on": True, "off": False}.get(s.tf32_matmul)
        if conv is not None:
            torch.backends.cudnn.allow_tf32 = conv
        if matmul is not None:
            torch.backends.cuda.matmul.allow_tf32 = matmul
        torch.backends.cudnn.benchmark = False  # PyTorch's default

    def _batch(self, micro_step):
        s = self.settings
        world = self.place.world_size if s.strategy == "ddp" else 1
        first = (micro_step * world + (self.place.rank if s.strategy == "ddp" else 0)) * s.micro_batch
        x, labels = synthetic_batch(self.model, s.seed, first, s.micro_batch)
        if x.is_floating_point():
            x = x.to(DTYPES[s.input_dtype])
        if s.input_source == "device":
            return x.to(self.device), labels.to(self.device)
        if s.input_memory == "pinned" and self.device.type == "cuda":
            return x.pin_memory(), labels.pin_memory()
        return x, labels

    def wrap(self):
        """Puts the wrapper around it; under DDP all ranks together."""
        s = self.settings
        if s.strategy == "ddp":
            self.wrapped = ddp_around(self.network, s, self.device)
            self._register_hook()
            if s.instrumented:
                self.wrapped.reducer._set_ddp_runtime_logging_sample_rate(1)
        elif s.strategy == "dp":
            kind = MarkedDataParallel if s.instrumented else nn.DataParallel
            self.wrapped = kind(self.network, device_ids=list(range(s.world_size)))
            if s.instrumented:
                self.wrapped.lockstep_lap = self._lap
        if s.instrumented and s.strategy == "ddp":
            self.network.register_forward_pre_hook(lambda module, args: self._lap("buffer_broadcast"))
        self.optimizer = optimizer_for(s, [p for p in self.network.parameters() if p.requires_grad])
        if s.precision == "amp-fp16":
            amp = getattr(torch, "amp", None)
            self.scaler = amp.GradScaler(self.device.type) if hasattr(amp, "GradScaler") else torch.cuda.amp.GradScaler()

    def _register_hook(self):
        kind = self.settings.comm_hook
        if kind not in ("none", "allreduce", "fp16", "bf16"):
            raise Failure("refused", f"the Python front end does not know the hook `{kind}`")
        if self.settings.instrumented:
            trained = [p for p in self.network.parameters() if p.requires_grad]
            self._index = {id(p): i for i, p in enumerate(trained)}
            self.wrapped.register_comm_hook(None, self._marking_hook)
        elif kind != "none":
            from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
            hook = {"allreduce": "allreduce_hook", "fp16": "fp16_compress_hook", "bf16": "bf16_compress_hook"}[kind]
            self.wrapped.register_comm_hook(None, getattr(default_hooks, hook))

    # As PyTorch's default_hooks, with a mark before and after.
    def _marking_hook(self, state, bucket):
        gradients = bucket.buffer()
        entry = {"index": bucket.index(), "bytes": gradients.numel() * gradients.element_size(),
                 "launch": self.clock.mark(), "end": None,
                 "parameters": [self._index.get(id(p)) for p in bucket.parameters()]}
        self.marks.buckets.append(entry)
        cast = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(self.settings.comm_hook)
        sent = gradients.to(cast) if cast is not None else gradients
        sent = sent.div_(self.place.world_size)
        work = dist.all_reduce(sent, async_op=True)

        def ended(future):
            entry["end"] = self.clock.mark()
            value = future.value()
            value = value[0] if isinstance(value, (list, tuple)) else value
            if cast is None:
                return value
            gradients.copy_(value)
            return gradients

        return work.get_future().then(ended)

    def _lap(self, cause):
        if self.settings.instrumented:
            self.marks.laps.append((cause, self.clock.mark()))

    def _clear_gradients(self):
        kind = self.settings.zero_grad
        given = {} if kind == "auto" else {"set_to_none": kind == "none"}
        (self.optimizer or self.network).zero_grad(**given)

    def step(self):
        """One optimizer step with all its micro-steps, launched; marks say when the device got where."""
        s, self.marks = self.settings, StepMarks()
        marks = self.marks
        marks.start = self.clock.mark()
        self._clear_gradients()
        self._lap("optimizer")
        for m, batch in enumerate(self.batches):
            sync = not s.no_sync or m + 1 == len(self.batches) or s.strategy != "ddp"
            with contextlib.nullcontext() if sync else self.wrapped.no_sync():
                self.loss = self._micro_step(*batch)
        self._optimize()
        if s.host_sync:
            self.loss.item()
        self._lap("optimizer")
        marks.end = marks.laps[-1][1] if marks.laps else self.clock.mark()
        if s.instrumented and s.strategy == "ddp" and self.device.type == "cpu":
            marks.ready_ns = self.wrapped.reducer.get_backward_stats()
        return marks

    def _micro_step(self, x, labels):
        s = self.settings
        if s.input_source == "host":
            labels = labels.to(self.device, non_blocking=s.input_non_blocking)
            if s.strategy != "dp" or s.dp_copy == "device0":
                x = x.to(self.device, non_blocking=s.input_non_blocking)
            self._lap("copy_to_device")
        if x.is_floating_point() and x.dtype != torch.float32 and not s.precision.startswith("amp"):
            x = x.float()
        with autocast_of(s.precision, self.device):
            outputs = self.wrapped(x)
            loss = loss_of(self.model, outputs, labels)
        if len(self.batches) > 1:
            loss = loss / len(self.batches)
        self._lap("forward")
        self.marks.backward_start_s = now_s()
        ends = []
        if s.instrumented:
            # Callbacks run in the order in which they were queued: this one before the Reducer's wait.
            def queue(gradient):
                torch.autograd.Variable._execution_engine.queue_callback(lambda: ends.append(self.clock.mark()))

            loss.register_hook(queue)
        (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        if ends:
            self.marks.laps.append(("backward", ends[0]))
            self._lap("exposed_communication" if s.strategy == "ddp" else "backward")
            self.marks.idle_from, self.marks.idle_to = ends[0], self.marks.laps[-1][1]
        return loss.detach()

    def _optimize(self):
        if self.settings.clip_grad_norm:
            if self.scaler is not None and self.optimizer is not None:
                self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), MAX_NORM)
        if self.optimizer is None:
            return
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()

    def mean_loss(self):
        return self.loss.item() * len(self.batches)

    def logging(self):
        if self.settings.strategy != "ddp":
            return {}
        return {str(key): str(value) for key, value in self.wrapped._get_ddp_logging_data().items()}

    def peak_memory_bytes(self):
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else 0


# --- Joining the others --------------------------------------------------------------------------------------------


def join(settings, place):
    """The process group; returns when every rank is in it."""
    group_timeout = datetime.timedelta(seconds=settings.group_timeout_s)
    if place.on_loopback():
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if place.agent_store:  # torchrun's agent listens already
        dist.init_process_group(settings.backend, init_method="env://", timeout=group_timeout)
    else:
        if place.world_size == 1 and "MASTER_PORT" not in os.environ:
            store = dist.HashStore()
        else:
            try:
                socket.getaddrinfo(place.master, place.port)
            except OSError as trouble:
                raise Failure("setup", f"MASTER_ADDR {place.master}: {trouble.strerror or trouble}") from trouble
            store = dist.TCPStore(place.master, place.port, place.world_size, place.rank == 0,
                                  timeout=datetime.timedelta(seconds=settings.join_timeout_s))
        dist.init_process_group(settings.backend, store=store, rank=place.rank, world_size=place.world_size,
                                timeout=group_timeout)
    barrier(settings)


def barrier(settings):
    if settings.backend == "gloo":  # names the ranks that do not come
        dist.monitored_barrier(timeout=datetime.timedelta(seconds=settings.group_timeout_s), wait_all_ranks=True)
    else:
        dist.barrier()


def sorted_failure(what):
    """Kind, one line of text, and the ranks that a timeout names, by what Gloo, NCCL and the allocators say."""
    message = what.split("\nException raised")[0].split("\n")[0]

    def contains(*parts):
        return any(part in what for part in parts)

    kind, ranks = "exception", []
    if contains("out of memory", "can't allocate memory", "bad_alloc", "OutOfMemoryError"):
        kind = "out_of_memory"
    elif contains("EADDRINUSE"):
        kind = "setup"
    elif contains("Timed out", "timed out", "wait timeout", "timeout caused", "monitoredBarrier"):
        kind = "timeout"
        barrier_text = re.search(r"Ranks? ([0-9, ]+) failed to pass monitoredBarrier", what)
        keys = re.search(r"keys: /\S*?(\d+)(?:[\s.\]]|$)", what)
        found = barrier_text or keys
        ranks = numbers(found.group(1)) if found else []
    elif contains("Connection closed", "Connection reset", "Connection refused", "Broken pipe", "Read error",
                  "Write error", "remote process exited", "ncclRemoteError"):
        kind = "network"
    return Failure(kind, message, ranks)


# --- The life of a rank --------------------------------------------------------------------------------------------


class Records:
    """One JSON object a line to a descriptor; a reader that is gone ends the process."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def tell(self, record, **fields):
        line = (json.dumps({"type": record, **fields}) + "\n").encode()
        try:
            while line:
                line = line[os.write(self._descriptor, line):]
        except OSError:
            os._exit(1)


def software():
    versions = {"torch": torch.__version__, "python": platform.python_version()}
    if torch.cuda.is_available():
        versions["cuda"] = str(torch.version.cuda)
        with contextlib.suppress(Exception):  # a PyTorch without NCCL has no such function
            versions["nccl"] = ".".join(str(n) for n in torch.cuda.nccl.version())
    return versions


def tell_step(records, trainer, step, marks, cpu_s):
    """The records of a step, once the device has ended it; when that was."""
    clock, fields = trainer.clock, {}
    if trainer.settings.instrumented:
        for one in sorted(marks.buckets, key=lambda b: b["index"]):
            launch = clock.seconds(one["launch"])
            ready = launch
            if marks.ready_ns is not None:
                times = [marks.ready_ns[p] for p in one["parameters"] if p is not None]
                ready = min(launch, marks.backward_start_s + 1e-9 * max(times, default=0))
            end = clock.seconds(one["end"]) if one["end"] is not None else launch
            records.tell("bucket", step=step, index=one["index"], bytes=one["bytes"], ready_s=ready, launch_s=launch,
                         end_s=end)
        fields["parts"] = marks.parts(clock)
        if marks.idle_from is not None and trainer.settings.strategy == "ddp":
            fields["idle_from_s"], fields["idle_to_s"] = clock.seconds(marks.idle_from), clock.seconds(marks.idle_to)
    end_s = clock.settle(marks.end)
    records.tell("step", step=step, end_s=end_s, cpu_s=cpu_s, **fields)
    return end_s


def run_rank(model, settings, place, records):
    device = device_for(settings, place)
    check_settings(settings, device)
    interface = ""
    if settings.strategy == "ddp" and settings.backend == "gloo" and place.world_size > 1:
        interface = os.environ.get("GLOO_SOCKET_IFNAME", "lo" if place.on_loopback() else "")
    records.tell("hello", protocol=PROTOCOL, pid=os.getpid(), host=socket.gethostname(),
                 implementation=IMPLEMENTATIONS[settings.strategy], software=software(),
                 threads=settings.threads_per_rank, cores=sorted(os.sched_getaffinity(0)),
                 network_interface=interface)
    trainer = Trainer(model, settings, place, device)
    records.tell("joining")
    if settings.strategy == "ddp":
        join(settings, place)
    trainer.wrap()
    records.tell("ready")
    if settings.strategy == "ddp":
        barrier(settings)
    gc.collect()
    start_s = now_s()
    records.tell("start", at_s=start_s)
    pending, ends, cpu_s = collections.deque(), [start_s], time.process_time()

    def tell_oldest():
        ends.append(tell_step(records, trainer, *pending.popleft()))

    for step in range(settings.warm_up + settings.steps):
        marks = trainer.step()
        now_cpu_s = time.process_time()
        pending.append((step, marks, now_cpu_s - cpu_s))
        cpu_s = now_cpu_s
        if len(pending) > trainer.clock.lag:
            tell_oldest()
    while pending:
        tell_oldest()
    records.tell("facts", peak_memory_bytes=trainer.peak_memory_bytes(), logging=trainer.logging())
    records.tell("done")
    return trainer, ends


# --- Commands ------------------------------------------------------------------------------------------------------


def failure_of(work):
    """Runs it; every exception becomes a Failure."""
    try:
        work()
        return None
    except Failure as failure:
        return failure
    except ModelError as trouble:
        return Failure("refused", str(trouble))
    except MemoryError:
        return Failure("out_of_memory", "out of memory")
    except Exception as trouble:  # whatever PyTorch throws is sorted by its text
        return sorted_failure(str(trouble) or repr(trouble))


def leave(code):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # destructors may wait for ranks that are gone


def command_probe(options):
    backends = []
    if dist.is_available():
        backends = [name for name, there in (("gloo", dist.is_gloo_available()),
                                             ("nccl", dist.is_nccl_available() and torch.cuda.is_available())) if there]
    devices, missing = [], ""
    if torch.cuda.is_available():
        devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    else:
        missing = why_no_cuda()
    line = {"protocol": PROTOCOL, "software": software(), "backends": backends, "devices": devices, "missing": missing}
    os.write(options.records, (json.dumps(line) + "\n").encode())
    return 0


def command_worker(options):
    records = Records(options.records)

    def work():
        with open(options.plan, encoding="utf-8") as file:
            plan = json.load(file)
        if plan.get("protocol") != PROTOCOL:
            raise Failure("setup", f"the plan speaks protocol {plan.get('protocol')}, this front end {PROTOCOL}")
        if "model" not in plan:
            raise Failure("setup", "the plan holds no model: it was made for the C++ runner")
        settings, place = Settings.of_plan(plan), Place(os.environ)
        processes = settings.world_size if settings.strategy == "ddp" else 1
        if place.world_size != processes:
            raise Failure("setup", f"the plan needs {processes} ranks, {place.world_size} were started")
        run_rank(Model(plan["model"]), settings, place, records)

    failure = failure_of(work)
    if failure is not None:
        records.tell("error", kind=failure.kind, message=failure.message, ranks=failure.ranks)
    leave(0 if failure is None else 1)


def command_train(options):
    records, place = Records(1), Place(os.environ)
    given = vars(options).copy()
    for key in ("command", "run", "model"):
        given.pop(key)
    given["world_size"] = given["world_size"] or place.world_size
    given["strategy"] = given["strategy"] or ("ddp" if place.world_size > 1 else "single")
    given["backend"] = given["backend"] or ("nccl" if torch.cuda.is_available() else "gloo")
    given["threads_per_rank"] = given["threads_per_rank"] or torch.get_num_threads()

    def work():
        settings = Settings(**given)
        model = read_model(options.model)
        if place.world_size > 1 and settings.strategy != "ddp":
            raise Failure("setup", "several ranks know nothing of each other without ddp")
        trainer, ends = run_rank(model, settings, place, records)
        steps = [b - a for a, b in zip(ends, ends[1:])][settings.warm_up:]
        if place.rank == 0 and steps:
            median = statistics.median(steps)
            samples = settings.per_gpu_batch * settings.micro_steps * settings.world_size
            sys.stderr.write(f"{model.name}, {settings.strategy} on {settings.world_size}: median step "
                             f"{1e3 * median:.4g} ms, {samples / median:.4g} {model.sample_unit}/s, "
                             f"loss {trainer.mean_loss():.6g}\n")

    failure = failure_of(work)
    if failure is not None:
        records.tell("error", kind=failure.kind, message=failure.message, ranks=failure.ranks)
        sys.stderr.write(f"lockstep_train.py: {failure.message}\n")
    leave(0 if failure is None else 1)


def command_check(options):
    settings = Settings(strategy="ddp", per_gpu_batch=options.batch, seed=options.seed, optimizer="sgd",
                        first_bucket_bytes=options.first_bucket_bytes,
                        find_unused_parameters=options.find_unused_parameters, static_graph=options.static_graph,
                        gradient_as_bucket_view=options.gradient_as_bucket_view, precision=options.precision)
    code = 0
    if options.ddp:
        join(settings, Place())

    def check(path):
        model = read_model(path)
        if not options.ddp:
            sys.stdout.write(json.dumps(facts_of(model, options)) + "\n")
            return
        for cap in options.bucket_caps or [None]:
            settings.bucket_cap_bytes = cap
            sys.stdout.write(json.dumps({"bucket_cap_bytes": cap, **bucket_facts(model, settings)}) + "\n")

    for path in options.models:
        failure = failure_of(lambda path=path: check(path))
        gc.collect()
        if failure is not None:
            sys.stdout.write(json.dumps({"file": path, "error": failure.message}) + "\n")
            code = 1
    leave(code)


def add_ddp_options(parser):
    parser.add_argument("--first-bucket", dest="first_bucket_bytes", type=int, metavar="BYTES",
                        help="default: PyTorch's (1 MiB where the cap is not set)")
    for name in ("gradient-as-bucket-view", "find-unused-parameters", "static-graph"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--seed", type=int, default=1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="check|train|worker|probe")
    check = commands.add_parser("check", help="what PyTorch says about a network, a line of JSON for each file")
    check.set_defaults(run=command_check)
    check.add_argument("models", nargs="+", metavar="MODEL.json")
    check.add_argument("--meta", action="store_true", help="without memory: any size")
    check.add_argument("--order", action="store_true", help="the order in which gradients become final")
    check.add_argument("--ddp", action="store_true", help="instead: bucket sizes of DDP in a world of one, Gloo")
    check.add_argument("--batch", type=int, default=2)
    check.add_argument("--precision", default="fp32", choices=["fp32", "amp-bf16"])
    check.add_argument("--bucket-caps", type=int, nargs="*", metavar="BYTES", help="of --ddp: one line for each")
    add_ddp_options(check)

    train = commands.add_parser("train", help="train on synthetic data; records to standard output")
    train.set_defaults(run=command_train)
    train.add_argument("model", metavar="MODEL.json")
    train.add_argument("--strategy", choices=["single", "dp", "ddp"], help="default: ddp with several ranks")
    train.add_argument("--replicas", dest="world_size", type=int, metavar="N", help="GPUs of dp")
    train.add_argument("--backend", choices=["gloo", "nccl"], help="gloo computes on the CPU; default: what is there")
    train.add_argument("--batch", dest="per_gpu_batch", type=int, default=1, metavar="N", help="of one micro-step")
    for name, default in (("micro-steps", 1), ("warm-up", 5), ("steps", 30), ("repeat", 0)):
        train.add_argument("--" + name, type=int, default=default, metavar="N")
    train.add_argument("--threads", dest="threads_per_rank", type=int, metavar="N", help="default: PyTorch's")
    train.add_argument("--instrument", dest="instrumented", action="store_true", help="mark phases and buckets")
    train.add_argument("--precision", default="fp32", choices=["fp32", "tf32", "amp-fp16", "amp-bf16"])
    for name in ("tf32-conv", "tf32-matmul"):
        train.add_argument("--" + name, default="auto", choices=["auto", "on", "off"])
    train.add_argument("--optimizer", default="sgd-momentum", choices=["none", "sgd", "sgd-momentum", "adam", "adamw"])
    train.add_argument("--optimizer-implementation", default="foreach", choices=["for-loop", "foreach", "fused"])
    train.add_argument("--no-weight-decay", dest="weight_decay", action="store_false")
    train.add_argument("--zero-grad", default="auto", choices=["auto", "none", "zeros"])
    train.add_argument("--clip-grad-norm", action="store_true")
    train.add_argument("--always-sync", dest="no_sync", action="store_false", help="reduce in every micro-step")
    train.add_argument("--bucket-cap", dest="bucket_cap_bytes", type=int, metavar="BYTES", help="default: PyTorch's")
    train.add_argument("--no-broadcast-buffers", dest="broadcast_buffers", action="store_false")
    train.add_argument("--hook", dest="comm_hook", default="none", choices=["none", "allreduce", "fp16", "bf16"])
    train.add_argument("--host-sync", action="store_true", help="read the loss after every step")
    train.add_argument("--input", dest="input_source", default="device", choices=["device", "host"])
    train.add_argument("--memory", dest="input_memory", default="pageable", choices=["pageable", "pinned"])
    train.add_argument("--non-blocking", dest="input_non_blocking", action="store_true")
    train.add_argument("--input-dtype", default="fp32", choices=["fp32", "fp16", "bf16"])
    train.add_argument("--dp-copy", default="device0", choices=["device0", "scatter"])
    train.add_argument("--timeout", dest="group_timeout_s", type=float, default=60.0, metavar="S")
    train.add_argument("--store-timeout", dest="join_timeout_s", type=float, default=60.0, metavar="S")
    add_ddp_options(train)

    worker = commands.add_parser("worker", help="one rank of a launch of `lockstep measure`")
    worker.set_defaults(run=command_worker)
    worker.add_argument("--plan", required=True)
    worker.add_argument("--records", type=int, required=True)
    probe = commands.add_parser("probe", help="what can be run here, for `lockstep measure`")
    probe.set_defaults(run=command_probe)
    probe.add_argument("--records", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    chosen = arguments()
    sys.exit(chosen.run(chosen))
