# SPDX-License-Identifier: GPL-2.0-only
"""A line to a server on this machine which takes its time: each byte comes `delay` seconds after it was sent, both ways."""
import asyncio
import threading


class Relay:
    def __init__(self, port, to):
        self.port, self.to, self.delay = port, to, 0
        listens = threading.Event()
        self.thread = threading.Thread(target=asyncio.run, args=[self.serve(listens)], daemon=True)
        self.thread.start()
        listens.wait()

    async def serve(self, listens):
        async with await asyncio.start_server(self.line, '0.0.0.0', self.port) as server:
            listens.set()
            await server.serve_forever()

    async def line(self, reader, writer):
        try:
            far_reader, far_writer = await asyncio.open_connection('127.0.0.1', self.to)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self.way(reader, far_writer), self.way(far_reader, writer))

    async def way(self, reader, writer):
        """What was sent first comes first, also where the delay gets less meanwhile."""
        clock, queue = asyncio.get_running_loop().time, asyncio.Queue()
        sends = asyncio.create_task(self.late(queue, writer))
        try:
            while True:
                got = await reader.read(65536)
                queue.put_nowait((clock() + self.delay, got))
                if not got:
                    break
        except OSError:
            queue.put_nowait((0, b''))
        await sends

    @staticmethod
    async def late(queue, writer):
        clock = asyncio.get_running_loop().time
        try:
            while True:
                due, some = await queue.get()
                await asyncio.sleep(max(0, due - clock()))
                if not some:
                    break
                writer.write(some)
                await writer.drain()
        except OSError:
            pass
        writer.close()
