"""Run by the vendor SDK's own environment: talks to the port given and prints what it got as JSON."""

import json
import sys

import dynamixel_sdk as sdk

CURRENT, POSITION, GOAL, LED = 126, 132, 116, 65
IDS = (1, 2, 3)


def sync_read(port: sdk.PortHandler, handler: object, *, fast: bool) -> list[int]:
    group = sdk.GroupSyncRead(port, handler, POSITION, 4)
    for servo_id in IDS:
        group.addParam(servo_id)
    result = group.fastSyncRead() if fast else group.txRxPacket()
    return [result, *(group.getData(servo_id, POSITION, 4) for servo_id in IDS)]


def main(path: str) -> None:
    port, handler = sdk.PortHandler(path), sdk.PacketHandler(2.0)
    port.openPort()
    port.setBaudRate(1_000_000)
    got: dict[str, object] = {}
    got["ping"] = handler.ping(port, 1)
    got["nobody"] = handler.ping(port, 9)[1]
    got["broadcast"] = sorted(handler.broadcastPing(port)[0])
    got["read"] = handler.read4ByteTxRx(port, 2, POSITION)
    got["stuffed"] = handler.readTxRx(port, 3, CURRENT, 10)
    got["write"] = handler.write1ByteTxRx(port, 1, LED, 1)
    got["refused"] = handler.write1ByteTxRx(port, 1, POSITION, 1)
    got["reg_write"] = handler.regWriteTxRx(port, 2, LED, 1, [1])
    got["action"] = handler.action(port, 2)
    group = sdk.GroupSyncWrite(port, handler, GOAL, 4)
    for servo_id in IDS:
        group.addParam(servo_id, list((1000 + servo_id).to_bytes(4, "little")))
    got["sync_write"] = group.txPacket()
    got["sync_read"] = sync_read(port, handler, fast=False)
    got["fast_sync_read"] = sync_read(port, handler, fast=True)
    bulk = sdk.GroupBulkRead(port, handler)
    bulk.addParam(1, GOAL, 4)
    bulk.addParam(2, LED, 1)
    got["bulk_read"] = [bulk.txRxPacket(), bulk.getData(1, GOAL, 4), bulk.getData(2, LED, 1)]
    got["reboot"] = handler.reboot(port, 3)
    port.closePort()
    sys.stdout.write(json.dumps(got) + "\n")


main(sys.argv[1])
