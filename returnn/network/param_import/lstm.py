"""One LSTM, many layouts: which names and which order of rows and gates each unit stores.

All layouts are read into one form, and written from it. D inputs, n units; gates j (new input), i, f, o:

    form            W [D, 4n], W_re [n, 4n], b [4n], gates j i f o
    native          W, W_re, b                      gates j i f o
    low memory      W [D + n, 4n], b                gates j i f o, rows: input, then recurrent
    cells           kernel [D + n, 4n], bias [4n]   gates i j f o, rows: input, then recurrent
    cuDNN           16 tensors: 4 input weights [n, D], 4 recurrent [n, n], 8 biases [n]; gates i f j o, biases add up

The forget bias of a cell is not a parameter, so it is not converted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy

Values = Mapping[str, numpy.ndarray]

_FORM_ORDER = "jifo"
_CELL_ORDER = "ijfo"
_CUDNN_ORDER = "ifjo"

_CELL_NAMES = (
    "lstm_cell",
    "rnn/lstm_cell",
    "basic_lstm_cell",
    "rnn/basic_lstm_cell",
    "lstm_fused_cell",
    "rnn/lstm_fused_cell",
    "lstm_block_wrapper",
    "rnn/lstm_block_wrapper",
    "cudnn/params_canonical/rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell",
)
_KERNEL_AND_BIAS = (("kernel", "bias"), ("weights", "biases"))
_CUDNN_PREFIX = "cudnn/CudnnRNNParamsToCanonical"

_wanted = re.compile(
    r"(?P<scope>(?:.*?/)?)(?:(?P<native>W|W_re|b)|(?:%s)/(?P<cell>kernel|bias))" % "|".join(map(re.escape, _CELL_NAMES))
)


@dataclass(frozen=True)
class _Lstm:
    """See the module."""

    w: numpy.ndarray
    w_re: numpy.ndarray
    b: numpy.ndarray
    names: tuple[str, ...]
    """in the file"""


def lstm_param(name: str, shape: tuple[int, ...], values: Values) -> tuple[numpy.ndarray, tuple[str, ...]] | None:
    """
    :param name: of the model, for instance "enc/rec/W"
    :param shape: that it needs
    :param values: of the file
    :return: value, and the names in the file that it is from; None: there is no other layout of this LSTM
    """
    match = _wanted.fullmatch(name)
    if not match:
        return None
    for lstm in _read_all(match["scope"], values):
        value = _written(lstm, match["native"] or match["cell"], shape)
        if value is not None and value.shape == shape:
            return value, lstm.names
    return None


def _written(lstm: _Lstm, part: str, shape: tuple[int, ...]) -> numpy.ndarray | None:
    if part == "W_re":
        return lstm.w_re
    if part == "b":
        return lstm.b
    if part == "bias":
        return _reordered(lstm.b, _FORM_ORDER, _CELL_ORDER)
    rows = numpy.concatenate([lstm.w, lstm.w_re])
    if part == "kernel":
        return _reordered(rows, _FORM_ORDER, _CELL_ORDER)
    return rows if shape == rows.shape else lstm.w


def _reordered(x: numpy.ndarray, order: str, wanted: str) -> numpy.ndarray:
    """
    :param x: [.., 4n]
    :param order: of its gates
    :param wanted: of the result
    """
    gates = dict(zip(order, numpy.split(x, 4, axis=-1), strict=True))
    return numpy.concatenate([gates[gate] for gate in wanted], axis=-1)


def _read_all(scope: str, values: Values) -> Iterator[_Lstm]:
    names = [scope + name for name in ("W", "W_re", "b")]
    if all(name in values for name in names):
        w, w_re, b = (values[name] for name in names)
        yield _Lstm(w, w_re, b, tuple(names))
    elif names[0] in values and names[2] in values:
        yield from _from_rows(values, names[0], names[2], order=_FORM_ORDER)
    for cell in _CELL_NAMES:
        for kernel, bias in _KERNEL_AND_BIAS:
            yield from _from_rows(
                values, "%s%s/%s" % (scope, cell, kernel), "%s%s/%s" % (scope, cell, bias), order=_CELL_ORDER
            )
    cudnn = ["%s%s:%i" % (scope, _CUDNN_PREFIX, i) for i in range(16)]
    if all(name in values for name in cudnn):
        yield _from_cudnn([values[name] for name in cudnn], cudnn)


def _from_rows(values: Values, kernel_name: str, bias_name: str, *, order: str) -> Iterator[_Lstm]:
    if kernel_name not in values or bias_name not in values:
        return
    kernel, bias = values[kernel_name], values[bias_name]
    units = bias.shape[-1] // 4 if bias.ndim == 1 else 0
    if not units or kernel.ndim != 2 or kernel.shape[1] != 4 * units or kernel.shape[0] < units:
        return  # something else has these names
    kernel, bias = _reordered(kernel, order, _FORM_ORDER), _reordered(bias, order, _FORM_ORDER)
    yield _Lstm(kernel[:-units], kernel[-units:], bias, (kernel_name, bias_name))


def _from_cudnn(parts: list[numpy.ndarray], names: list[str]) -> _Lstm:
    units = parts[8].size

    def joined(four: list[numpy.ndarray]) -> numpy.ndarray:
        columns = [part.reshape(units, -1).T for part in four]
        return _reordered(numpy.concatenate(columns, axis=-1), _CUDNN_ORDER, _FORM_ORDER)

    biases = joined(parts[8:12]) + joined(parts[12:16])
    return _Lstm(joined(parts[0:4]), joined(parts[4:8]), biases[0], tuple(names))
