#!/usr/bin/env python3
"""Writes the small ONNX models of model_repository/. They are committed; run this only to change them.

Needs the package `onnx` (scripts/requirements-test.txt). The files come out the same on every run.
"""

import pathlib

from onnx import TensorProto, checker, helper, save

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent / "model_repository"
# Old enough for every ONNX Runtime that the worker accepts.
OPSET = 17
IR_VERSION = 8


def tensor(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write(model, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, model, inputs, outputs)
    proto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="nereid", ir_version=IR_VERSION
    )
    checker.check_model(proto)
    path = REPOSITORY / model / "1" / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    save(proto, path)


def main():
    write(
        "add_sub_onnx",
        [
            helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
            helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"]),
        ],
        [tensor("INPUT0", ["batch", 16]), tensor("INPUT1", ["batch", 16])],
        [tensor("OUTPUT0", ["batch", 16]), tensor("OUTPUT1", ["batch", 16])],
    )
    write(
        "identity_onnx",
        [helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])],
        [tensor("INPUT0", ["batch", "values"])],
        [tensor("OUTPUT0", ["batch", "values"])],
    )


if __name__ == "__main__":
    main()
