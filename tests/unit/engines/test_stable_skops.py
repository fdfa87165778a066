"""The same arrays and estimators give the same bytes, and skops reads them."""

from __future__ import annotations

import time

import numpy as np
from sklearn.linear_model import LogisticRegression

from turncheck.engines.embedded.model_archive import dump


def test_equal_arrays_give_equal_bytes_whenever_they_are_written() -> None:
    once = dump({"a": np.arange(5), "b": np.array([140331792347376, 2])})
    time.sleep(2.1)  # a ZIP file counts time in steps of two seconds
    kept = [np.arange(1000) for _ in range(10)]  # other addresses in memory
    again = dump({"a": np.arange(5), "b": np.array([140331792347376, 2])})
    assert once == again
    assert kept


def test_arrays_and_estimators_are_read_again() -> None:
    from skops.io import loads  # takes two seconds, which a process without this test need not wait

    arrays = {"a": np.arange(5), "b": np.array([140331792347376, 2])}
    again = loads(dump(arrays))
    assert all((again[name] == values).all() for name, values in arrays.items())
    points, labels = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    estimator = LogisticRegression().fit(points, labels)
    assert (loads(dump(estimator)).predict(points) == estimator.predict(points)).all()
