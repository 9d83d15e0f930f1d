"""Each fault does what its name says, to the replies it is meant for."""

import pytest

from drivers.emulators.faults import NOISE, Fault, FaultInjector, FaultKind, Reply

DATA = bytes(range(8))


def outcome(kind: FaultKind) -> list[Reply]:
    injector = FaultInjector()
    injector.inject(Fault(kind, delay_s=0.5))
    return injector.apply(Reply(DATA))


@pytest.mark.parametrize(
    ("kind", "replies"),
    [
        (FaultKind.LOST, []),
        (FaultKind.LATE, [Reply(DATA, late_s=0.5)]),
        (FaultKind.PARTIAL, [Reply(DATA[:4])]),
        (FaultKind.DUPLICATED, [Reply(DATA), Reply(DATA)]),
        (FaultKind.NOISE, [Reply(NOISE + DATA)]),
    ],
)
def test_what_each_fault_does(kind, replies):
    assert outcome(kind) == replies


def test_corruption_flips_one_bit():
    (reply,) = outcome(FaultKind.CORRUPTED)
    assert sum((a ^ b).bit_count() for a, b in zip(reply.data, DATA, strict=True)) == 1


def test_every_kind_is_implemented():
    for kind in FaultKind:
        assert outcome(kind) != [Reply(DATA)]


def test_a_fault_strikes_as_often_as_told_and_those_it_is_meant_for():
    injector = FaultInjector()
    injector.inject(Fault(FaultKind.LOST, remaining=2, every=3, source=5))
    fates = [len(injector.apply(Reply(DATA, source=source))) for source in (5, 5, 1, 5, 1, 5, 5, 5, 5, 5, 5)]
    assert fates == [1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1]
    assert injector.struck == {FaultKind.LOST: 2}


def test_clear_ends_all_faults():
    injector = FaultInjector()
    injector.inject(Fault(FaultKind.LOST, remaining=None))
    assert injector.apply(Reply(DATA)) == []
    injector.clear()
    assert injector.apply(Reply(DATA)) == [Reply(DATA)]
