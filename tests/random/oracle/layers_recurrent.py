"""Recurrent layers, step by step. cont multiplies the state before a step."""
import torch

from layer_types import layer_type


def linear(x, weights, offset=0):
    return x.reshape(x.shape[0], -1) @ weights.t() + offset


class Sequence:
    """What LSTM and RNN have in common: bottoms, states from pass to pass, weights of x and of a static input."""

    def __init__(self, layer, bottoms, states, gates):
        fields = layer.fields("recurrent_param")
        exposed, self.layer, self.size = fields.get("expose_hidden", False), layer, int(fields.get("num_output"))
        inputs = list(bottoms[:len(bottoms) - states]) if exposed else list(bottoms)
        self.x, self.cont, static = inputs[0], inputs[1], inputs[2:]
        steps, streams = self.x.shape[:2]
        if exposed:
            self.states = [state.reshape(streams, self.size) for state in bottoms[len(bottoms) - states:]]
        else:
            self.states = list(layer.state.get("states", [torch.zeros(streams, self.size)] * states))
        self.exposed, self.next_blob = exposed, 0
        rows = gates * self.size
        weights = self.weight(rows, self.x[0].numel() // streams)
        self.from_x = [linear(x, weights, 0) for x in self.x]
        offset = self.weight(rows).reshape(1, rows)
        self.from_x = [x + offset for x in self.from_x]
        if static:
            part = linear(static[0], self.weight(rows, static[0].numel() // streams))
            self.from_x = [x + part for x in self.from_x]

    def weight(self, *shape):
        self.next_blob += 1
        return self.layer.weight(self.next_blob - 1, list(shape))

    def conted(self, step, state):
        """Returns the state before a step; a cont of 0 removes it, even if it is not a number."""
        cont = self.cont[step].reshape(-1, 1)
        return torch.where(cont == 0, torch.zeros_like(state), state) * cont

    def tops(self, outputs, states):
        self.layer.state["states"] = [state.detach() for state in states]  # gradients do not cross passes
        tops = [torch.stack(outputs)]
        return tuple(tops + [state.unsqueeze(0) for state in states]) if self.exposed else tops[0]


def lstm_step(gates, conted_c):
    """Returns the cell and the output after gates in the order i, f, o, g."""
    i, f, o, g = gates.chunk(4, 1)
    c = f.sigmoid() * conted_c + i.sigmoid() * g.tanh()
    return c, o.sigmoid() * c.tanh()


@layer_type("LSTM")
def lstm(layer, *bottoms):
    run = Sequence(layer, bottoms, 2, 4)
    weights, outputs = run.weight(4 * run.size, run.size), []
    h, c = run.states
    for step, x in enumerate(run.from_x):
        c, h = lstm_step(x + linear(run.conted(step, h), weights), run.conted(step, c))
        outputs.append(h)
    return run.tops(outputs, [h, c])


@layer_type("RNN")
def rnn(layer, *bottoms):
    run = Sequence(layer, bottoms, 1, 1)
    recurrent, output = run.weight(run.size, run.size), run.weight(run.size, run.size)
    offset, outputs, h = run.weight(run.size).reshape(1, -1), [], run.states[0]
    for step, x in enumerate(run.from_x):
        h = (x + linear(run.conted(step, h), recurrent)).tanh()
        outputs.append(linear(h, output, offset).tanh())
    return run.tops(outputs, [h])


@layer_type("LSTMUnit")
def lstm_unit(layer, c, gates, cont):
    conted = torch.where(cont.reshape(-1, 1) == 0, torch.zeros_like(c[0]), c[0]) * cont.reshape(-1, 1)
    c, h = lstm_step(gates[0], conted)
    return c.unsqueeze(0), h.unsqueeze(0)
