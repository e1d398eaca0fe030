"""scan_gamma: what gamma changes on data."""

import json
import math

import numpy as np
import pytest

import bridgemark as bm

QUICK = {"components": 8, "updates": 100, "batch_size": 64}


def ends():
    random = np.random.default_rng(0)
    x0 = np.clip(np.rint(random.normal(3, 1, (150, 2))), 0, 11).astype(np.int32)
    x1 = np.clip(np.rint(random.normal(8, 1, (150, 2))), 0, 11).astype(np.int32)
    return x0, x1


@pytest.fixture(scope="module")
def scan():
    return bm.scan_gamma(*ends(), gammas=[0.4, 0.05], num_categories=12, **QUICK)


def test_points_by_gamma(scan):
    assert [point["gamma"] for point in scan["points"]] == [0.05, 0.4]
    low, high = scan["points"]
    assert low["told"] > high["told"] >= 0 and low["movement_share"] < high["movement_share"]
    assert scan["settings"][-1] == "batch_size=64" and "refit=no" in scan["settings"]
    assert math.isfinite(high["conditional_entropy"]) and high["fits"]
    assert scan["proposed"] > 0
    assert any("do not compare" in sentence for sentence in scan["sentences"])


def test_shown_and_kept(scan):
    assert "x0 tells" in str(scan) and repr(scan) == str(scan)
    assert scan.svg.startswith("<svg") and scan._repr_svg_() == scan.svg
    table = scan.table()
    assert [row["gamma"] for row in table] == [0.05, 0.4]
    assert list(table[0])[-2:] == ["path_kl", "shape"]
    assert json.loads(json.dumps(scan.to_dict())) == dict(scan)


def test_repeats_by_its_seed(scan):
    again = bm.scan_gamma(*ends(), gammas=[0.05, 0.4], num_categories=12, **QUICK)
    assert again["points"] == scan["points"]


def test_refusals():
    x0, x1 = ends()
    with pytest.raises(ValueError, match="two gammas or more, got 1"):
        bm.scan_gamma(x0, x1, gammas=[0.1])
    with pytest.raises(ValueError, match="components"):
        bm.scan_gamma(x0, x1, gammas=[0.1, 0.2], componets=3)
    with pytest.raises(TypeError, match="reference must be a str"):
        bm.scan_gamma(x0, x1, reference=np.eye(3))
    with pytest.raises(ValueError, match="as many columns|of as many|columns"):
        bm.scan_gamma(x0, x1[:, :1], gammas=[0.1, 0.2])
