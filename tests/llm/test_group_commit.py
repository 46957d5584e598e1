"""Group commit: few syncs, each of all that was written before it, and none forgotten."""

import threading

from gym.llm.group_commit import GroupCommit


def test_a_sync_covers_all_writes_noted_before_it_began() -> None:
    written, synced = 0, list[int]()
    commit = GroupCommit(lambda: synced.append(written), "test", interval_s=0, group=3)
    for written in range(1, 101):  # noqa: B007 - the syncing thread reads it
        commit.note()
    commit.close()
    assert synced[-1] == 100
    assert synced == sorted(synced)


def test_writes_during_a_slow_sync_wait_for_the_next_one_together() -> None:
    began, go, syncs = threading.Event(), threading.Event(), list[None]()

    def slow() -> None:
        syncs.append(None)
        began.set()
        assert go.wait(30)

    commit = GroupCommit(slow, "test", interval_s=3600, group=2)
    commit.note()
    commit.note()
    assert began.wait(30)
    for _ in range(100):
        commit.note()
    go.set()
    commit.close()
    assert len(syncs) == 2


def test_nothing_written_is_nothing_synced() -> None:
    syncs = list[None]()
    GroupCommit(lambda: syncs.append(None), "test").close()
    assert not syncs
