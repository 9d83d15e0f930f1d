"""The packet codec against published packets, stuffing, damage and arbitrary bytes."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from drivers.servo import dynamixel
from drivers.servo.codec import Packet
from drivers.servo.dynamixel_packet import BROADCAST_ID, Instruction, Parser, crc, encode, stuff, unstuff


def hexed(text: str) -> bytes:
    return bytes.fromhex(text)


GOAL, POSITION = 116, 132
FAST_REPLY = hexed("FFFFFD00 FE 1900 55 00 03 A6000000 8408 00 07 1F080000 16CA 00 04 FF030000 D19E")
FAST_PACKETS = [Packet(3, 0, hexed("A6000000")), Packet(7, 0, hexed("1F080000")), Packet(4, 0, hexed("FF030000"))]
FAST_SIZES = {3: 4, 7: 4, 4: 4}


@pytest.mark.parametrize(
    ("packet", "published"),
    [
        (dynamixel.ping(1), "FFFFFD00 01 0300 01 194E"),
        (dynamixel.read(1, POSITION, 4), "FFFFFD00 01 0700 02 84000400 1D15"),
        (dynamixel.write(1, GOAL, (512).to_bytes(4, "little")), "FFFFFD00 01 0900 03 7400 00020000 CA89"),
        (dynamixel.sync_read((1, 2), POSITION, 4), "FFFFFD00 FE 0900 82 84000400 0102 CEFA"),
        (
            dynamixel.sync_write(GOAL, {1: hexed("96000000"), 2: hexed("AA000000")}),
            "FFFFFD00 FE 1100 83 74000400 01 96000000 02 AA000000 8287",
        ),
        (dynamixel.reboot(1), "FFFFFD00 01 0300 08 2F4E"),
        (encode(1, Instruction.CLEAR, hexed("0144584C22")), "FFFFFD00 01 0800 10 01 44584C22 B1DC"),
        (dynamixel.fast_sync_read((3, 7, 4), POSITION, 4), "FFFFFD00 FE 0A00 8A 84000400 030704 20F2"),
        (dynamixel.write(3, GOAL, hexed("FFFFFD12")), "FFFFFD00 03 0A00 03 7400 FFFFFD FD 12 CE4D"),
        (dynamixel.status(1, 0, hexed("060426")), "FFFFFD00 01 0700 55 00 0604 26 655D"),
        (dynamixel.status(1, 0, hexed("A6000000")), "FFFFFD00 01 0800 55 00 A6000000 8CC0"),
        (dynamixel.status(1), "FFFFFD00 01 0400 55 00 A10C"),
        (dynamixel.fast_status((p.id, p.code, p.data) for p in FAST_PACKETS), FAST_REPLY.hex()),
    ],
)
def test_packets_are_the_published_bytes(packet, published):
    assert packet == hexed(published)


def test_the_checksum_table_is_the_published_one():
    assert [crc(bytes((value,))) for value in range(4)] == [0, 0x8005, 0x800F, 0x000A]


def test_a_packet_holds_a_limited_number_of_bytes():
    with pytest.raises(ValueError, match="at most 1022 bytes, not 1023"):
        encode(1, Instruction.WRITE, bytes(1022))


def test_every_bulk_instruction_names_its_blocks():
    assert dynamixel.bulk_read({1: (132, 4), 2: (146, 1)})[7:-2] == hexed("92 01 84000400 02 92000100")
    assert dynamixel.bulk_read({1: (132, 4)}, fast=True)[7:-2] == hexed("9A 01 84000400")
    assert dynamixel.bulk_write({1: (65, b"\x01")})[7:-2] == hexed("93 01 41000100 01")


def test_an_alert_says_nothing_against_the_instruction():
    condition = dynamixel.condition(0x80)
    assert (condition.alert, condition.refusal, condition.words, bool(condition)) == (True, "", "hardware alert", True)
    refused = dynamixel.condition(0x87)
    assert (refused.refusal, refused.words) == ("access error", "hardware alert, access error")
    assert dynamixel.condition(0x09).refusal == "error 9"
    assert not dynamixel.condition(0)
    assert dynamixel.status_words(0b100101) == "voltage, overheating, overload"
    assert dynamixel.status_words(0x40) == "0x40"


def test_a_fast_reply_comes_apart_with_its_running_checksums():
    assert dynamixel.fast_replies(b"\xff\xfd" + FAST_REPLY + b"\x00", FAST_SIZES) == FAST_PACKETS
    assert dynamixel.fast_size(FAST_SIZES.values()) == len(FAST_REPLY)


@pytest.mark.parametrize(("damaged", "sound"), [(10, 0), (17, 1), (26, 2), (len(FAST_REPLY) - 1, 2)])
def test_of_a_damaged_fast_reply_what_precedes_the_damage_counts(damaged, sound):
    reply = bytearray(FAST_REPLY)
    reply[damaged] ^= 1
    assert dynamixel.fast_replies(bytes(reply), FAST_SIZES) == FAST_PACKETS[:sound]
    assert dynamixel.fast_replies(FAST_REPLY[:damaged], FAST_SIZES) == FAST_PACKETS[:sound]


def test_a_fast_reply_of_other_blocks_is_not_the_one_asked_for():
    assert dynamixel.fast_replies(FAST_REPLY, {3: 4, 4: 4, 7: 4}) == FAST_PACKETS[:1]
    assert dynamixel.fast_replies(FAST_REPLY, {3: 5, 7: 4, 4: 4}) == []


bodies = st.lists(st.sampled_from([0xFF, 0xFD, 0xFE, 0x00, 0x55]), max_size=40).map(bytes) | st.binary(max_size=40)


@given(bodies)
@settings(max_examples=500, deadline=None)
def test_stuffing_comes_undone_and_leaves_no_header(body):
    stuffed = stuff(body)
    assert unstuff(stuffed) == body
    assert b"\xff\xff\xfd\x00" not in stuffed


@example(Packet(1, 0, hexed("FFFF FDFFFFFF FFFFFDFD")))
@given(st.builds(Packet, st.integers(0, 252), st.integers(0, 255), bodies))
@settings(max_examples=400, deadline=None)
def test_every_status_packet_comes_back_whatever_it_carries(packet):
    encoded = dynamixel.status(packet.id, packet.code, packet.data)
    assert Parser().feed(encoded) == [packet]
    assert dynamixel.ends_with_reply(b"\x00" + encoded, packet.id, len(packet.data))
    assert dynamixel.aligned_replies(encoded, (packet.id,), len(packet.data)) in ([packet], None)


@given(st.integers(0, 254), st.sampled_from([i for i in Instruction if i != Instruction.STATUS]), bodies)
@settings(max_examples=300, deadline=None)
def test_every_instruction_comes_back_and_is_no_status(servo_id, instruction, parameters):
    encoded = encode(servo_id, instruction, parameters)
    assert Parser(instructions=True).feed(encoded) == [Packet(servo_id, instruction, parameters)]
    assert Parser().feed(encoded) == []


def test_a_stuffed_reply_is_not_taken_for_a_longer_one():
    reply = dynamixel.status(1, 0, hexed("FFFFFD"))  # as long on the wire as one of four bytes
    assert dynamixel.aligned_replies(reply, (1,), 4) is None
    assert not dynamixel.ends_with_reply(reply, 1, 4)


status_packets = st.builds(Packet, st.integers(0, 252), st.integers(0, 255), bodies)
noise = st.binary(max_size=12).filter(lambda data: 0xFF not in data)


@given(st.lists(st.tuples(noise, status_packets), max_size=6), st.lists(st.integers(1, 40), max_size=30))
@settings(max_examples=300, deadline=None)
def test_packets_survive_noise_between_them_and_any_split(parts, splits):
    stream = b"".join(before + dynamixel.status(p.id, p.code, p.data) for before, p in parts)
    parser, found = Parser(), []
    for size in splits:
        found += parser.feed(stream[:size])
        stream = stream[size:]
    found += parser.feed(stream)
    assert found == [packet for _, packet in parts]
    assert parser.noise_bytes == sum(len(before) for before, _ in parts)


@given(st.lists(bodies | st.just(b"\xff\xff\xfd\x00\x01\x05\x00\x55"), max_size=10), st.booleans())
@settings(max_examples=700, deadline=None)
def test_arbitrary_bytes_never_crash_and_only_sound_packets_come_out(chunks, instructions):
    parser, found = Parser(instructions=instructions), []
    for chunk in chunks:
        found += parser.feed(chunk)
    found += parser.finish()
    stream = b"".join(chunks)
    assert parser.noise_bytes <= len(stream)
    for packet in found:
        body = packet.data if instructions else bytes((packet.code,)) + packet.data
        encoded = encode(packet.id, packet.code if instructions else Instruction.STATUS, body)
        assert encoded[:-2] in stream or packet.id == BROADCAST_ID


@given(status_packets, st.integers(0, 200), st.integers(1, 255))
@settings(max_examples=400, deadline=None)
def test_one_damaged_byte_never_gives_another_value(packet, where, flip):
    encoded = bytearray(dynamixel.status(packet.id, packet.code, packet.data))
    encoded[where % len(encoded)] ^= flip
    parser = Parser()
    found = parser.feed(bytes(encoded)) + parser.finish()
    assert [p for p in found if len(p.data) == len(packet.data)] == []


@given(st.lists(st.integers(0, 252), min_size=1, max_size=7, unique=True), st.integers(0, 12), st.data())
@settings(max_examples=200, deadline=None)
def test_the_short_way_agrees_with_the_parser(ids, size, data):
    packets = [
        Packet(i, data.draw(st.integers(0, 255)), data.draw(st.binary(min_size=size, max_size=size))) for i in ids
    ]
    stream = bytearray(b"".join(dynamixel.status(p.id, p.code, p.data) for p in packets))
    assert dynamixel.aligned_replies(bytes(stream), ids, size) in (packets, None)
    assert Parser().feed(bytes(stream)) == packets
    stream[data.draw(st.integers(0, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    assert dynamixel.aligned_replies(bytes(stream), ids, size) is None
    assert dynamixel.aligned_replies(bytes(stream[1:]), ids, size) is None


def test_a_reply_behind_a_false_header_is_found_when_the_line_falls_silent():
    parser = Parser()
    assert parser.feed(hexed("FFFFFD00 05 F000 55") + dynamixel.status(1)) == []
    assert parser.finish() == [Packet(1, 0, b"")]
    assert parser.noise_bytes == 8


def test_a_wrong_checksum_is_an_error_and_no_value():
    parser = Parser()
    assert parser.feed(hexed("FFFFFD00 01 0800 55 00 A6000000 8CC1")) + parser.finish() == []
    assert parser.corrupt_ids == [1]
