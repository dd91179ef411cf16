"""The scale of the prior is chosen by errors at rows that were left out."""

from __future__ import annotations

import numpy as np
import pytest

from ovplace.cost.calibration import shrinkage
from ovplace.cost.calibration.gaussian import given, sums_are_cheaper
from ovplace.cost.calibration.left_out import LeftOut
from ovplace.cost.calibration.prior import Prior, PriorScale
from ovplace.testing.measurements import measured_rows, profiled, true_table

NOISE = shrinkage.NOISE**2


def test_parameters_that_no_trial_counts_do_not_change_the_shrinkage() -> None:
    truth = true_table(12)
    profile = profiled(truth)
    prior, rows = Prior.of(profile), measured_rows(truth, profile, 90)
    (count, n), extra = rows.shape, 200
    longer = Prior(
        *(np.concatenate([of, np.zeros((extra, *of.shape[1:]))]) for of in (prior.mean, prior.size, prior.kinds))
    )
    wider = np.concatenate([rows, np.zeros((count, extra))], axis=1)
    assert n < 2 * count < n + extra  # sums on one side, rows on the other
    by_sums, by_rows = (
        shrinkage.shrinkage_of(prior, rows, shrinkage.usual_noise(count)),
        shrinkage.shrinkage_of(longer, wider, shrinkage.usual_noise(count)),
    )
    assert by_sums.prior_scale == by_rows.prior_scale
    np.testing.assert_allclose(by_sums.doubt, by_rows.doubt, rtol=1e-7)


@pytest.mark.parametrize("count", [1, 2, 20, 150])
def test_left_out_errors_are_those_of_fits_without_the_row(count: int) -> None:
    truth = true_table(16)
    profile = profiled(truth)
    prior, rows = Prior.of(profile), measured_rows(truth, profile, count)
    assert sums_are_cheaper(*rows.shape) == (count == 150)
    noise, at = np.linspace(NOISE, 4 * NOISE, count), np.arange(0, count, 1 + count // 10)

    def error(scale: PriorScale, i: int) -> float:
        without = given(prior, scale, np.delete(rows, i, axis=0), np.delete(noise, i))
        return abs(1 - float(rows[i] @ without.mean))

    wanted = [[error(scale, i) for i in at.tolist()] for scale in shrinkage.TRIED]
    np.testing.assert_allclose(LeftOut(prior, rows).errors(shrinkage.TRIED, noise, at), wanted, rtol=1e-6, atol=1e-9)
