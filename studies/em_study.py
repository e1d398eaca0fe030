#!/usr/bin/env python3
"""Can DLightSB's loss be minimised in fewer updates by expectation-maximisation or a natural
gradient? Needs the Python package and NumPy. Adds one line of JSON, with joint KL and exact shape:

  studies/em_study.py PAIR OUT.jsonl [--kind natural] [--updates 250] [--rows 4000] [--rate 0.33]

Jensen's inequality bounds -log v(x1), the tangent of the logarithm bounds log c(x0), and the
arithmetic mean bounds the product over dimensions in it; the bound falls apart into one-dimensional
problems. N_k^d(t) is what the rows of x1 in state t weigh for component k (responsibilities),
A_k^d(t) what the rows of x0 ask of it through the reference: their difference is the gradient of
the log-cores, A the diagonal of its metric.

  em       r *= (N / A) ** rate: with rate = 1 / (D + 1) and fixed rows the loss never grows
  natural  r *= 1 + rate (N / A - 1): the same to first order, and linear in N, whose noise averages
           out

and likewise for beta. Rows are drawn anew each time; the rate falls to 0 along a cosine.
"""

import argparse
import json
import time

import numpy as np

import bridgemark as bm

FLOOR = 1e-30  # of N and A, so that a component without rows keeps its cores
LARGEST = 10.0  # of N / A in a natural step


def step(kind, rate, given, asked):
    """What is added to the logarithm of a parameter."""
    ratio = (given + FLOOR) / (asked + FLOOR)
    if kind == "em":
        return rate * np.log(ratio)
    return np.log1p(rate * (np.minimum(ratio, LARGEST) - 1))


class Model:
    def __init__(self, pair, components, seed, peak=0.05):
        self.pair, self.D, self.S = pair, pair.dim, pair.num_categories
        self.q = np.exp(pair.log_reference(pair.total_steps))
        rows = pair.sample_x1(components, seed=seed + 1)
        cores = np.full((self.D, self.S, components), (1 - peak) / (self.S - 1))
        for d in range(self.D):
            cores[d, rows[:, d], np.arange(components)] = peak
        self.log_r = np.log(cores)
        self.log_beta = np.full(components, -np.log(components))
        self.propagate()

    def propagate(self):
        high = self.log_r.max(axis=1, keepdims=True)
        self.log_u = np.log(np.einsum("st,dtk->dsk", self.q, np.exp(self.log_r - high))) + high

    def weights(self, table, x):
        """Responsibilities [n,K] of the components for rows x, and the log of their sum."""
        log_w = self.log_beta + sum(table[d, x[:, d]] for d in range(self.D))
        high = log_w.max(axis=1, keepdims=True)
        w = np.exp(log_w - high)
        total = w.sum(axis=1, keepdims=True)
        return w / total, (high + np.log(total))[:, 0]

    def update(self, x0, x1, kind, rate):
        w0, log_c = self.weights(self.log_u, x0)
        w1, log_v = self.weights(self.log_r, x1)
        n, K = len(x0), self.log_beta.size
        given, asked = np.zeros((2, self.D, self.S, K))
        for d in range(self.D):
            np.add.at(given[d], x1[:, d], w1 / n)
            ratio = np.zeros((self.S, K))
            np.add.at(ratio, x0[:, d], w0 / n)
            asked[d] = self.q.T @ (ratio / np.exp(self.log_u[d] - self.log_r[d].max(axis=0)))
            asked[d] *= np.exp(self.log_r[d] - self.log_r[d].max(axis=0))
        self.log_r += step(kind, rate, given, asked)
        self.log_beta += step(kind, rate, w1.mean(axis=0), w0.mean(axis=0))
        self.propagate()
        return (log_c - log_v).mean()

    def joint_kl(self, n=20000):
        x0, x1 = self.pair.sample_joint(n, seed=99)
        _, log_c = self.weights(self.log_u, x0)
        _, log_v = self.weights(self.log_r, x1)
        log_q = sum(np.log(self.q[x0[:, d], x1[:, d]]) for d in range(self.D))
        return (self.pair.log_conditional(x0, x1) - (log_q + log_v - log_c)).mean()

    def exact_shape(self):
        x0 = self.pair.conditional_inputs()
        truth = np.exp(self.pair.log_marginals(x0))
        w, _ = self.weights(self.log_u, x0)
        off = 0.0
        for d in range(self.D):
            shares = np.exp(self.log_r[d].T[None] - self.log_u[d, x0[:, d]][:, :, None])
            ours = np.einsum("nk,nkt->nt", w, shares) * self.q[x0[:, d]]
            off += 0.5 * np.abs(ours - truth[:, d]).sum(axis=1).mean()
        return 1 - off / self.D


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pair")
    parser.add_argument("out")
    parser.add_argument("--kind", choices=["em", "natural"], default="natural")
    parser.add_argument("--updates", type=int, default=250)
    parser.add_argument("--rows", type=int, default=4000, help="of each side in an update")
    parser.add_argument("--rate", type=float, default=None, help="1 / (D + 1) unless given")
    parser.add_argument("--components", type=int, default=1000)
    options = parser.parse_args()
    pair = bm.load(options.pair)
    rate = options.rate or 1.0 / (pair.dim + 1)
    model, begin = Model(pair, options.components, 0), time.time()
    for i in range(options.updates):
        x0 = pair.sample_x0(options.rows, seed=10 + 2 * i)
        x1 = pair.sample_x1(options.rows, seed=11 + 2 * i)
        now = rate * 0.5 * (1 + np.cos(np.pi * i / options.updates))
        loss = model.update(x0, x1, options.kind, now)
    record = {
        "pair": options.pair,
        "components": options.components,
        "kind": options.kind,
        "updates": options.updates,
        "rows": options.rows,
        "rate": rate,
        "seconds": time.time() - begin,
        "loss": loss,
        "joint_kl": model.joint_kl(),
        "exact_shape": model.exact_shape(),
    }
    print(json.dumps(record))
    with open(options.out, "a") as out:
        out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
