"""Lets the recipe wait while a bench or a test of the project runs."""

import fcntl
import os
import time

PAUSE = 2  # seconds between two looks


def wait():
    """Returns when no bench and no test holds the lock in the build's cache. setup.Cache.Quiet takes it."""
    cache = os.environ.get("TANDEM_CACHE")
    if not cache:
        return  # the recipe runs by hand
    with open(os.path.join(os.path.dirname(cache), "quiet.lock"), "a") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(PAUSE)
