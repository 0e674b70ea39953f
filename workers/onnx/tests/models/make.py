#!/usr/bin/env python3
"""Writes the small models that the tests load, beside this file. Needs the packages `onnx` and `numpy`."""

import pathlib

from onnx import TensorProto, checker, helper, save

HERE = pathlib.Path(__file__).parent

TYPES = {
    "bool": TensorProto.BOOL,
    "uint8": TensorProto.UINT8,
    "uint16": TensorProto.UINT16,
    "uint32": TensorProto.UINT32,
    "uint64": TensorProto.UINT64,
    "int8": TensorProto.INT8,
    "int16": TensorProto.INT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "fp16": TensorProto.FLOAT16,
    "fp32": TensorProto.FLOAT,
    "fp64": TensorProto.DOUBLE,
    "bf16": TensorProto.BFLOAT16,
    "string": TensorProto.STRING,
}


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, TYPES[kind], shape)


def write(name, nodes, inputs, outputs, initializers=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializer=list(initializers))
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make.py", ir_version=8
    )
    checker.check_model(model)
    save(model, HERE / f"{name}.onnx")


def node(operator, inputs, outputs, **attributes):
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


# Two inputs, two outputs, rows of 16.
write(
    "add_sub",
    [node("Add", "INPUT0 INPUT1", "OUTPUT0"), node("Sub", "INPUT0 INPUT1", "OUTPUT1")],
    [tensor("INPUT0", "fp32", ["batch", 16]), tensor("INPUT1", "fp32", ["batch", 16])],
    [tensor("OUTPUT0", "fp32", ["batch", 16]), tensor("OUTPUT1", "fp32", ["batch", 16])],
)
# The same without a batch dimension.
write(
    "add_sub_whole",
    [node("Add", "INPUT0 INPUT1", "OUTPUT0"), node("Sub", "INPUT0 INPUT1", "OUTPUT1")],
    [tensor("INPUT0", "int32", [4]), tensor("INPUT1", "int32", [4])],
    [tensor("OUTPUT0", "int32", [4]), tensor("OUTPUT1", "int32", [4])],
)
# One identity for each element type; both sizes vary.
for kind in TYPES:
    write(
        f"identity_{kind}",
        [node("Identity", "INPUT", "OUTPUT")],
        [tensor("INPUT", kind, ["batch", "length"])],
        [tensor("OUTPUT", kind, ["batch", "length"])],
    )
# Nobody knows beforehand how many columns the result has.
write(
    "non_zero",
    [node("NonZero", "INPUT", "INDICES")],
    [tensor("INPUT", "fp32", ["length"])],
    [tensor("INDICES", "int64", [1, "found"])],
)
# A scalar comes out, and one goes in.
write(
    "total",
    [node("ReduceSum", "INPUT", "SUM", keepdims=0), node("Mul", "SUM FACTOR", "TOTAL")],
    [tensor("INPUT", "fp32", [3]), tensor("FACTOR", "fp32", [])],
    [tensor("TOTAL", "fp32", [])],
)
# Rows go in, the first comes out: no batch, whatever it says.
write(
    "first_row",
    [node("Compress", "INPUT FIRST", "ROW", axis=0)],
    [tensor("INPUT", "fp32", ["batch", 2])],
    [tensor("ROW", "fp32", ["batch", 2])],
    [helper.make_tensor("FIRST", TensorProto.BOOL, [1], [True])],
)
# Says that the output is as long as the input, and doubles it.
write(
    "liar",
    [node("Concat", "INPUT INPUT", "OUTPUT", axis=1)],
    [tensor("INPUT", "fp32", ["batch", "length"])],
    [tensor("OUTPUT", "fp32", ["batch", "length"])],
)
# Fails while it runs when an index is out of range.
write(
    "lookup",
    [node("Gather", "TABLE INDEX", "ROW", axis=0)],
    [tensor("INDEX", "int64", ["batch", 1])],
    [tensor("ROW", "fp32", ["batch", 1])],
    [helper.make_tensor("TABLE", TensorProto.FLOAT, [3], [10.0, 20.0, 30.0])],
)
# An input with a default that a request may override.
write(
    "scale",
    [node("Mul", "INPUT FACTOR", "OUTPUT")],
    [tensor("INPUT", "fp32", [2]), tensor("FACTOR", "fp32", [1])],
    [tensor("OUTPUT", "fp32", [2])],
    [helper.make_tensor("FACTOR", TensorProto.FLOAT, [1], [3.0])],
)
# A batch of one column, for `reshape`.
write(
    "double_column",
    [node("Add", "INPUT INPUT", "OUTPUT")],
    [tensor("INPUT", "fp32", ["batch"])],
    [tensor("OUTPUT", "fp32", ["batch"])],
)
# The output is a sequence, which no request can carry.
write(
    "sequence",
    [node("SequenceConstruct", "INPUT", "OUTPUT")],
    [tensor("INPUT", "fp32", [2])],
    [helper.make_tensor_sequence_value_info("OUTPUT", TensorProto.FLOAT, None)],
)
# The requests' elements lie one after the other, with their ends beside them.
write(
    "ragged",
    [node("Identity", "RAGGED", "COPY"), node("Identity", "ENDS", "ENDS_COPY")],
    [tensor("RAGGED", "fp32", ["length"]), tensor("ENDS", "fp32", ["requests"])],
    [tensor("COPY", "fp32", ["length"]), tensor("ENDS_COPY", "fp32", ["requests"])],
)
# The graph's input is its output too, and an initialiser is an output.
write(
    "passthrough",
    [node("Identity", "INPUT", "OUTPUT"), node("Identity", "TABLE", "CONSTANT")],
    [tensor("INPUT", "fp32", ["batch", 2])],
    [tensor("OUTPUT", "fp32", ["batch", 2]), tensor("CONSTANT", "fp32", [3])],
    [helper.make_tensor("TABLE", TensorProto.FLOAT, [3], [10.0, 20.0, 30.0])],
)
