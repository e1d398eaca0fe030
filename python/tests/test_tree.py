"""Tree pairs: potentials with a hidden state on every node of a tree, and the solver of such."""

import itertools

import numpy as np
import pytest

import bridgemark as bm

DIM, CATEGORIES, STATES = 3, 4, 2
PARENT, NODE_OF = np.array([-1, 0, 0, 1]), np.array([3, 2, 3])


def tree_arrays(seed=0):
    rng = np.random.default_rng(seed)
    return {
        "tree": (PARENT, NODE_OF),
        "log_root": rng.normal(size=STATES),
        "log_moves": rng.normal(size=(len(PARENT) - 1, STATES, STATES)),
        "log_cores": 2.0 * rng.normal(size=(DIM, CATEGORIES, STATES)),
    }


def enumerate_pair(pair, arrays):
    """All states and log q(x1|x0), by sums over every state of every node."""
    states = np.array(list(itertools.product(range(CATEGORIES), repeat=DIM)), dtype=np.int32)
    log_v = np.full(len(states), -np.inf)
    for z in itertools.product(range(STATES), repeat=len(PARENT)):
        weight = np.full(len(states), arrays["log_root"][z[0]])
        for i in range(1, len(PARENT)):
            weight += arrays["log_moves"][i - 1, z[PARENT[i]], z[i]]
        for d in range(DIM):
            weight += arrays["log_cores"][d, states[:, d], z[NODE_OF[d]]]
        log_v = np.logaddexp(log_v, weight)
    log_q = pair.log_reference(pair.total_steps)
    log_reference = sum(log_q[states[:, d][:, None], states[:, d][None]] for d in range(DIM))
    log_joint = log_reference + log_v[None]
    return states, log_joint - np.logaddexp.reduce(log_joint, axis=1)[:, None]


@pytest.mark.parametrize("reference", ["gaussian", "uniform"])
def test_own_tree_against_enumeration(reference):
    arrays = tree_arrays()
    process = {"reference": reference, "gamma": 0.2, "total_steps": 8}
    pair = bm.build_pair(**process, **arrays)
    assert (pair.family, pair.dim, pair.num_components) == ("tree", DIM, STATES)
    np.testing.assert_array_equal(pair.log_moves, arrays["log_moves"])
    np.testing.assert_array_equal(pair.tree[0], PARENT)
    np.testing.assert_array_equal(pair.tree[1], NODE_OF)
    states, expected = enumerate_pair(pair, arrays)
    count = len(states)
    x0, x1 = np.repeat(states, count, axis=0), np.tile(states, (count, 1))
    log_q = pair.log_conditional(x0, x1).reshape(count, count)
    np.testing.assert_allclose(log_q, expected, rtol=1e-12, atol=1e-12)
    marginals = np.exp(pair.log_marginals(states))
    for d, s in itertools.product(range(DIM), range(CATEGORIES)):
        share = np.exp(expected[:, states[:, d] == s]).sum(axis=1)
        np.testing.assert_allclose(marginals[:, d, s], share, rtol=1e-11)
    reverse = bm.build_pair(**process, reverse=True, **arrays)
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    backward = reverse.log_p0(x1) + reverse.log_conditional(x1, x0)
    np.testing.assert_allclose(forward, backward, rtol=1e-11, atol=1e-11)


def test_named_trees_save_and_load(tmp_path):
    pair = bm.build_pair(family="tree", tree="quadtree", dim=16, switch_rate=0.2)
    parent, node_of = pair.tree
    assert len(parent) == 1 + 4 + 16 and len(np.unique(node_of)) == 16
    assert bm.load("d2-gaussian-0.02").tree is None
    pair.save(tmp_path / "pair")
    again = bm.load(tmp_path / "pair")
    np.testing.assert_array_equal(again.tree[0], parent)
    np.testing.assert_array_equal(again.test_set()[1], pair.test_set()[1])
    # The root of a tree is one node more than a chain of a coordinate each has.
    assert len(bm.build_pair(family="tree", dim=4).tree[0]) == 7


def test_two_sided_trees_have_one_joint_in_both_directions(tmp_path):
    arguments = {"family": "tree", "tree": (PARENT, NODE_OF), "two_sided": True}
    arguments |= {"num_categories": 13, "num_components": STATES, "gamma": 0.1, "seed": 4}
    pair = bm.build_pair(**arguments)
    assert pair.family == "tree" and pair.log_source_moves.shape == (3, STATES, STATES)
    assert pair.log_source_beta.shape == (STATES,)
    assert pair.log_source_cores.shape == (DIM, 13, STATES)
    assert bm.build_pair(family="tree").log_source_moves is None
    every = np.array(list(itertools.product(range(13), repeat=DIM)), dtype=np.int32)
    for log_p in (pair.log_p0(every), pair.log_p1(every)):
        np.testing.assert_allclose(np.exp(log_p).sum(), 1.0, rtol=1e-12)
    reverse = bm.build_pair(**arguments, reverse=True)
    x0, x1 = pair.sample_joint(200, seed=3)
    forward = pair.log_p0(x0) + pair.log_conditional(x0, x1)
    backward = reverse.log_p0(x1) + reverse.log_conditional(x1, x0)
    np.testing.assert_allclose(forward, backward, rtol=1e-11, atol=1e-11)
    assert not reverse.estimate_marginals(x1[:2], 10)[1].any()  # a closed form
    pair.save(tmp_path / "pair")
    np.testing.assert_array_equal(bm.load(tmp_path / "pair").log_p0(x0), pair.log_p0(x0))
    with pytest.raises(ValueError, match="two_sided goes with family tree, got family chain"):
        bm.build_pair(family="chain", two_sided=True)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"log_moves": None}, "a tree must have log_root, log_moves and log_cores"),
        ({"log_moves": np.zeros((4, STATES, STATES))}, "log_moves must have shape"),
        ({"tree": None}, "go with tree=.* got none"),
        ({"tree": "oak", "log_root": None}, "go with tree=.* got oak"),
        ({"tree": ([-1, 1], [0, 0, 0])}, "parent must lie in"),
        ({"tree": ([-1.5], [0, 0, 0])}, "whole numbers"),
        ({"tree": 3}, "tuple"),
    ],
)
def test_refuses_what_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message) as error:
        bm.build_pair(**{**tree_arrays(), **change})
    assert "\n" not in str(error.value)


def test_solver_learns_a_tree():
    pair = bm.build_pair(**tree_arrays(2), gamma=0.2, total_steps=8)
    solver = bm.DLightSBTree(states=3, updates=300, batch_size=128, start="samples", source="none")
    solver.fit(pair, seed=1)
    x0, x1 = pair.sample_joint(4000, seed=3)
    kl = np.mean(pair.log_conditional(x0, x1) - solver.log_conditional(x0, x1))
    assert kl < 0.05
