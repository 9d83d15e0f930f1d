"""The packet codec against published packets, damage and arbitrary bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.servo import feetech
from drivers.servo.codec import Packet
from drivers.servo.feetech import Parser, ServoError
from drivers.servo.feetech_table import STS3215


def hexed(text: str) -> bytes:
    return bytes.fromhex(text)


GOAL = STS3215["goal_position"]
POSITION_2048 = hexed("FF FF 01 04 00 00 08 F2")
WRITE_ACK = hexed("FF FF 01 02 00 FC")


@pytest.mark.parametrize(
    ("packet", "published"),
    [
        (feetech.ping(1), "FF FF 01 02 01 FB"),
        (feetech.read(1, 56, 2), "FF FF 01 04 02 38 02 BE"),
        (feetech.write(3, GOAL.address, GOAL.encode(-100)), "FF FF 03 05 03 2A 64 80 E6"),
        (feetech.encode(1, feetech.Instruction.REG_WRITE, hexed("2A 00 08")), "FF FF 01 05 04 2A 00 08 C3"),
        (feetech.encode(254, feetech.Instruction.ACTION), "FF FF FE 02 05 FA"),
        (feetech.sync_read(range(1, 7), 56, 2), "FF FF FE 0A 82 38 02 01 02 03 04 05 06 26"),
        (
            feetech.sync_write(42, {servo_id: GOAL.encode(2048) for servo_id in range(1, 7)}),
            "FF FF FE 16 83 2A 02 01 00 08 02 00 08 03 00 08 04 00 08 05 00 08 06 00 08 F7",
        ),
        (feetech.write(1, 40, b"\x80"), "FF FF 01 04 03 28 80 4F"),
    ],
)
def test_instructions_are_the_published_bytes(packet, published):
    assert packet == hexed(published)


def test_a_packet_holds_at_most_248_parameters():
    assert len(feetech.encode(1, 3, bytes(248))) == 254
    with pytest.raises(ValueError, match="at most 248 parameters, not 249"):
        feetech.encode(1, 3, bytes(249))


def test_a_sync_write_needs_blocks_of_one_size():
    with pytest.raises(ValueError, match="unpack"):
        feetech.sync_write(42, {1: b"\0\0", 2: b"\0"})


def test_a_reply_is_found_behind_foreign_bytes():
    assert Parser().feed(hexed("60 18") + POSITION_2048) == [Packet(1, 0, b"\x00\x08")]


@pytest.mark.parametrize("split", range(1, len(POSITION_2048)))
def test_a_reply_may_be_split_at_any_byte(split):
    parser = Parser()
    assert parser.feed(POSITION_2048[:split]) == []
    assert parser.feed(POSITION_2048[split:]) == [Packet(1, 0, b"\x00\x08")]
    assert parser.noise_bytes == 0


def test_a_reply_is_found_behind_stale_acknowledgements():
    *acknowledgements, reply = Parser().feed(6 * WRITE_ACK + POSITION_2048)
    assert acknowledgements == 6 * [Packet(1, 0, b"")]
    assert STS3215["present_position"].decode(reply.data) == 2048


def test_a_wrong_checksum_is_an_error_and_no_value():
    parser = Parser()
    assert parser.feed(hexed("FF FF 01 04 00 00 08 F3")) + parser.finish() == []
    assert parser.corrupt_ids == [1]


def test_error_bits_do_not_hide_the_data():
    (reply,) = Parser().feed(hexed("FF FF 06 04 20 00 08 CD"))
    assert (reply.id, STS3215["present_position"].decode(reply.data)) == (6, 2048)
    assert feetech.condition(reply.code) is ServoError.OVERLOAD
    assert feetech.condition(reply.code).words == "overload"


def test_error_bits_in_words():
    assert ServoError(0).words == ""
    assert ServoError(0b101).words == "voltage, temperature"
    assert ServoError(0x81).words == "voltage, 0x80"


def test_a_reply_behind_a_false_header_is_found_when_the_line_falls_silent():
    parser = Parser()
    assert parser.feed(hexed("FF FF 05 F0") + POSITION_2048) == []
    assert parser.finish() == [Packet(1, 0, b"\x00\x08")]
    assert parser.noise_bytes == 4


def test_a_header_inside_the_data_is_data():
    data = hexed("FF FF 01 04 FF FF")
    assert Parser().feed(feetech.encode(1, 0, data)) == [Packet(1, 0, data)]


def test_a_broadcast_id_is_no_status_packet():
    request = feetech.sync_read((1, 2), 56, 2)
    assert Parser().feed(request) == []
    assert len(Parser(highest_id=feetech.BROADCAST_ID).feed(request)) == 1


packets = st.builds(Packet, st.integers(0, 253), st.integers(0, 255), st.binary(max_size=20))
noise = st.binary(max_size=12).filter(lambda data: 0xFF not in data)


@given(st.lists(st.tuples(noise, packets), max_size=6), st.lists(st.integers(1, 40), max_size=30))
@settings(max_examples=300, deadline=None)
def test_packets_survive_noise_between_them_and_any_split(parts, splits):
    stream = b"".join(before + feetech.encode(p.id, p.code, p.data) for before, p in parts)
    parser, found = Parser(), []
    for size in splits:
        found += parser.feed(stream[:size])
        stream = stream[size:]
    found += parser.feed(stream)
    assert found == [packet for _, packet in parts]
    assert parser.noise_bytes == sum(len(before) for before, _ in parts)


@given(st.lists(st.binary(max_size=40), max_size=8))
@settings(max_examples=500, deadline=None)
def test_arbitrary_bytes_never_crash_and_only_whole_packets_come_out(chunks):
    parser, found = Parser(), []
    for chunk in chunks:
        found += parser.feed(chunk)
    found += parser.finish()
    stream = b"".join(chunks)
    used = 0
    for packet in found:
        encoded = feetech.encode(packet.id, packet.code, packet.data)
        used = stream.index(encoded, used) + len(encoded)
    assert parser.noise_bytes == len(stream) - sum(len(packet.data) + feetech.OVERHEAD for packet in found)


@given(packets, st.integers(0, 200), st.integers(1, 255))
@settings(max_examples=300, deadline=None)
def test_one_damaged_byte_never_gives_another_value(packet, where, flip):
    encoded = bytearray(feetech.encode(packet.id, packet.code, packet.data))
    encoded[where % len(encoded)] ^= flip
    parser = Parser()
    found = parser.feed(bytes(encoded)) + parser.finish()
    assert [p for p in found if len(p.data) == len(packet.data)] == []


@given(st.lists(st.integers(0, 253), min_size=1, max_size=7, unique=True), st.integers(0, 20), st.data())
@settings(max_examples=200, deadline=None)
def test_the_short_way_agrees_with_the_parser(ids, size, data):
    packets = [
        Packet(i, data.draw(st.integers(0, 255)), data.draw(st.binary(min_size=size, max_size=size))) for i in ids
    ]
    stream = bytearray(b"".join(feetech.encode(p.id, p.code, p.data) for p in packets))
    assert feetech.aligned_replies(bytes(stream), ids, size) == packets == Parser().feed(bytes(stream))
    stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    assert feetech.aligned_replies(bytes(stream), ids, size) is None
    assert feetech.aligned_replies(bytes(stream[1:]), ids, size) is None
