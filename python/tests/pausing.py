"""A progress function that takes its time."""

import time


def pausing(report):
    """Calls `report`; the pause before makes the library look at Python between two updates."""

    def paused(*arguments):
        time.sleep(0.06)
        report(*arguments)

    return paused
