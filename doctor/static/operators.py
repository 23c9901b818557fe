"""Operators, three-valued: both sides of a test that is not known are evaluated, and neither is believed."""

from __future__ import annotations

import ast

from doctor.static.compiling import Expression, compiles, evaluate_in_doubt, expression
from doctor.static.logic import arithmetic, compare, negate, truth
from doctor.static.machine import Frame
from doctor.static.plain import UNKNOWN, Value
from doctor.static.values import either


@compiles(ast.BoolOp)
def _boolean(node: ast.BoolOp) -> Expression:
    parts, conjunction = [expression(part) for part in node.values], isinstance(node.op, ast.And)

    def evaluate(frame: Frame) -> Value:
        unclear, value = False, UNKNOWN
        for part in parts:
            value = evaluate_in_doubt(frame, part) if unclear else part(frame)
            holds = truth(value)
            if holds is UNKNOWN:
                unclear = True
            elif holds is not conjunction:
                return (not conjunction) if unclear else value
        return UNKNOWN if unclear else value

    return evaluate


@compiles(ast.UnaryOp)
def _unary(node: ast.UnaryOp) -> Expression:
    operand, kind = expression(node.operand), type(node.op)

    def evaluate(frame: Frame) -> Value:
        value = operand(frame)
        if kind is ast.Not:
            return negate(truth(value))
        if kind is ast.USub and isinstance(value, (int, float)):
            return -value
        return UNKNOWN

    return evaluate


@compiles(ast.BinOp)
def _binary(node: ast.BinOp) -> Expression:
    left, right, kind = expression(node.left), expression(node.right), type(node.op)
    return lambda frame: arithmetic(kind, left(frame), right(frame))


@compiles(ast.Compare)
def _comparison(node: ast.Compare) -> Expression:
    first = expression(node.left)
    rest = [
        (type(operator), expression(other))
        for operator, other in zip(node.ops, node.comparators, strict=True)
    ]

    def evaluate(frame: Frame) -> Value:
        left: Value = first(frame)
        answer: Value = True
        for kind, other in rest:
            right = other(frame)
            frame.line = node.lineno
            holds = compare(frame.machine, kind, left, right)
            if holds is False:
                return False
            answer = holds if holds is UNKNOWN else answer
            left = right
        return answer

    return evaluate


@compiles(ast.IfExp)
def _conditional(node: ast.IfExp) -> Expression:
    test, body, otherwise = expression(node.test), expression(node.body), expression(node.orelse)

    def evaluate(frame: Frame) -> Value:
        holds = truth(test(frame))
        if holds is not UNKNOWN:
            return body(frame) if holds else otherwise(frame)
        return either([evaluate_in_doubt(frame, body), evaluate_in_doubt(frame, otherwise)])

    return evaluate
