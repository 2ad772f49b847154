"""Learning rates and update rules, from the formulas of docs/solvers.md and docs/prototxt.md."""
import math

import torch


class Rates:
    """The learning rate of each iteration."""

    def __init__(self, solver, max_iter):
        self.solver, self.max_iter = solver, max_iter
        self.steps, self.minimum, self.event = 0, math.inf, 0

    def warm(self, i):
        s = self.solver
        start = s.real("warmup_start_lr")
        return start + (s.real("base_lr") - start) * i / int(s.get("warmup_iter", 0))

    def of(self, i, loss):
        """Returns the rate of iteration i, which has this smoothed loss. Call once for each iteration, in order."""
        s = self.solver
        ramp = int(s.get("rampup_interval", 0))
        if i < ramp:
            start = s.real("rampup_lr")
            rate = start + (s.real("base_lr") - start) * (i / ramp) ** 2
        elif i < int(s.get("warmup_iter", 0)):
            rate = self.warm(i)
        else:
            rate = self.policy(i, loss)
        return max(rate, s.real("min_lr"))

    def take_step(self, i, loss):
        """Counts the steps of the policies that take them."""
        s = self.solver
        if s.get("lr_policy") == "multistep":
            values = s.all("stepvalue")
            self.steps += self.steps < len(values) and i >= values[self.steps]
            return
        if loss < self.minimum:
            self.minimum, self.event = loss, i
        windows = s.all("plateau_winsize")
        if self.steps < len(windows) and i >= self.event + windows[self.steps]:
            self.steps, self.event = self.steps + 1, i

    def restarted(self, i):
        """Returns which part of its period is done before iteration i."""
        period = self.solver.real("stepsize")
        while i >= period:
            i, period = i - period, period * self.solver.real("restart_factor", 1)
        return i / period

    def policy(self, i, loss):
        s, end = self.solver, max(1, self.max_iter)
        name, base, gamma, least = s.get("lr_policy"), s.real("base_lr"), s.real("gamma"), s.real("min_lr")
        step = int(s.get("stepsize", 0))
        if name in ("multistep", "plateau"):
            self.take_step(i, loss)
            return base * gamma ** self.steps
        if name == "multifixed":
            stages = list(zip(s.all("stageiter"), s.reals("stagelr")))
            return next((rate for last, rate in stages if last >= i), stages[-1][1])
        if name == "onecycle":
            begin, finish, part = (gamma * base, base, i / step) if i < step else \
                (base, least, min(1.0, (i - step) / max(1, end - step)))
            return begin + (finish - begin) * (1 - math.cos(math.pi * part)) / 2
        return {"fixed": lambda: base,
                "step": lambda: base * gamma ** (i // step),
                "exp": lambda: base * gamma ** i,
                "inv": lambda: base * (1 + gamma * i) ** -s.real("power"),
                "poly": lambda: least + (base - least) * (1 - i / end) ** s.real("power"),
                "sigmoid": lambda: base / (1 + math.exp(-gamma * (i - step))),
                "cosine_restarts": lambda: least + (base - least) * (1 + math.cos(math.pi * self.restarted(i))) / 2,
                "cosine": lambda: least + (base - least) * (1 + math.cos(math.pi * i / end)) / 2}[name]()


def orthogonal(x):
    """Returns Muon's five iterations of Newton and Schulz."""
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = 3.4445 * x + (2.0315 * gram @ gram - 4.7750 * gram) @ x
    return x


class Rule:
    """An update rule for one parameter, with its history. `step` returns what is subtracted from the weights."""

    def __init__(self, solver):
        self.solver, self.h, self.u = solver, 0.0, 0.0
        self.delta, self.momentum2 = solver.real("delta", 1e-8), solver.real("momentum2", 0.999)

    def step(self, kind, w, g, rate, momentum, decayed, t):
        if kind == "SGD":
            self.h = momentum * self.h + rate * g
            return self.h
        if kind == "Nesterov":
            before, self.h = self.h, momentum * self.h + rate * g
            return (1 + momentum) * self.h - momentum * before
        if kind == "SAG":
            self.h = momentum * self.h + (1 - momentum) * g
            return rate * self.h
        if kind in ("AdaGrad", "RMSProp"):
            kept = self.solver.real("rms_decay", 0.99)
            self.h = self.h + g * g if kind == "AdaGrad" else kept * self.h + (1 - kept) * g * g
            return rate * g / (self.h.sqrt() + self.delta)
        if kind == "AdaDelta":
            self.h = momentum * self.h + (1 - momentum) * g * g
            d = g * ((self.delta + self.u) / (self.delta + self.h)).sqrt()
            self.u = momentum * self.u + (1 - momentum) * d * d
            return rate * d
        if kind == "Lion":
            sign = (momentum * self.h + (1 - momentum) * g).sign()
            self.h = self.momentum2 * self.h + (1 - self.momentum2) * g
            return rate * (sign + decayed)
        if kind == "Muon" and w.dim() > 1 and min(w.shape[0], w[0].numel()) > 1:
            self.h = momentum * self.h + (1 - momentum) * g
            direction = orthogonal((momentum * self.h + (1 - momentum) * g).reshape(len(w), -1)).reshape(w.shape)
            return rate * (.2 * math.sqrt(max(w.shape[0], w[0].numel())) * direction + decayed)
        if kind not in ("Adam", "AdamW", "LAMB", "Muon"):
            raise ValueError("unknown rule " + kind)
        self.h = momentum * self.h + (1 - momentum) * g
        self.u = self.momentum2 * self.u + (1 - self.momentum2) * g * g
        of_h, of_u = 1 - momentum ** t, 1 - self.momentum2 ** t
        if kind == "Adam":
            return rate * math.sqrt(of_u) / of_h * self.h / (self.u.sqrt() + self.delta)
        direction = self.h / of_h / ((self.u / of_u).sqrt() + self.delta) + decayed
        norms = float(w.norm()), float(direction.norm())
        return rate * direction * (norms[0] / norms[1] if kind == "LAMB" and all(norms) else 1.0)


class Solver:
    """Updates the parameters of a net."""

    OLD_TYPES = {"SGD": "SGD", "NESTEROV": "Nesterov", "ADAGRAD": "AdaGrad", "RMSPROP": "RMSProp",
                 "ADADELTA": "AdaDelta", "ADAM": "Adam", "SAG": "SAG"}

    def __init__(self, solver, net, max_iter):
        self.solver, self.net, self.max_iter = solver, net, max_iter
        self.iter_size = int(solver.get("iter_size", 1))
        self.kind = self.OLD_TYPES.get(solver.get("solver_type"), solver.get("type", "SGD"))
        self.rates, self.rules, self.recent, self.iteration = Rates(solver, max_iter), {}, [], 0

    def momentum(self, rate):
        s, i = self.solver, self.iteration
        momentum, policy = s.real("momentum"), s.get("momentum_policy", "fixed")
        if self.kind in ("SGD", "Nesterov", "SAG"):
            most = s.real("max_momentum", 0.99)
            if policy == "poly":
                momentum += (most - momentum) * (i / self.max_iter) ** s.real("momentum_power", 1)
            elif policy == "opt":
                momentum = (1 - math.sqrt(rate) / 2) ** 2
                momentum = min(momentum, most) if s.has("max_momentum") else momentum
        return momentum

    def warm_up_factor(self):
        """Returns the factor of SGD's momentum in a warm-up, because the history contains the rate before."""
        i = self.iteration
        warms = self.kind == "SGD" and 0 < i < int(self.solver.get("warmup_iter", 0))
        before = self.rates.warm(i - 1) if warms else 0
        return self.rates.warm(i) / before if before > 0 else 1.0

    def weight_decay(self):
        s = self.solver
        decay = s.real("weight_decay")
        if s.get("weight_decay_policy", "fixed") == "poly":
            decay *= (self.iteration / self.max_iter) ** s.real("weight_decay_power", 1)
        return decay

    def own_rate(self, parameter, g, rate, momentum, decay):
        """Returns the rate of a parameter, which larc and local_lr_auto find from norms."""
        s, w = self.solver, parameter.value.detach()
        larc, lars = s.get("larc", False), s.get("local_lr_auto", False)
        if not (larc or lars) or self.kind not in ("SGD", "Nesterov"):
            return rate * parameter.rate()
        of_w, of_g = float(w.norm()), float(g.norm())
        if lars:
            ratio = s.real("local_gw_ratio", 0.001) * of_w / (of_g + decay * of_w) if of_w and of_g else 1.0
            return rate * ratio
        ratio = s.real("larc_eta", 0.001) * (1 - momentum) * of_w / of_g if of_w and of_g else 1.0
        return min(rate, ratio) if s.get("larc_policy", "scale") == "clip" else rate * ratio

    def update(self, losses):
        """Makes an update with the gradients that the net has summed up. `losses` are those of the passes."""
        s, net = self.solver, self.net
        self.recent = (self.recent + [sum(losses) / len(losses)])[-int(s.get("average_loss", 1)):]
        rate = self.rates.of(self.iteration, sum(self.recent) / len(self.recent))
        momentum, warm, decay = self.momentum(rate), self.warm_up_factor(), self.weight_decay()
        learned = [p for p in net.parameters.values() if p.learns]
        counted = [p.value.grad for p in learned if p.value.grad is not None and (p.rate() != 0 or net.forced)]
        norm, most = math.sqrt(sum(float((g ** 2).sum()) for g in counted)), s.real("clip_gradients", -1)
        factor = (most / norm if 0 <= most < norm else 1.0) / self.iter_size
        with torch.no_grad():
            for p in learned:
                g = torch.zeros_like(p.value) if p.value.grad is None else p.value.grad * factor
                p.value.grad = None
                if p.rate() == 0:
                    continue
                pull = p.value.sign() if s.get("regularization_type", "L2") == "L1" else p.value
                decays = p.value.dim() > 1 or s.get("decay_norms_and_biases", True)
                pull = decay * p.decay() * pull if decays else torch.zeros_like(pull)
                own = self.own_rate(p, g, rate, momentum, decay)
                rule = self.rules.setdefault((p.layer, p.index), Rule(s))
                full = g if self.kind in ("AdamW", "LAMB", "Lion", "Muon") else g + pull
                p.value -= rule.step(self.kind, p.value, full, own, momentum * warm, pull, self.iteration + 1)
        self.iteration += 1
