"""One process per data folder. SPDX-License-Identifier: Apache-2.0"""
import re
import socket
import stat


def test_second_process_refuses_to_start(launch, api, server, receiver, hook):
    second = launch(start=False, name="second")
    second.data = server.data
    second.spawn()
    assert second.process.wait(10) not in (0, -6, -9, -11)
    second.process = None
    second.expect_error("")     # its refusal is an error line, if it is a log line at all
    text = second.text()
    assert str(server.data) in text and re.search(r"in use|locked|already|another process", text), text
    assert len(text.splitlines()) <= 5
    api.publish()
    receiver.wait(1)


def test_lock_of_a_dead_process_does_not_hold(server):
    server.kill()
    server.start()


def test_other_folders_are_free(launch, server):
    assert launch(name="other").healthy() and server.healthy()


def test_folder_is_private(server):
    assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    for path in server.data.rglob("*"):
        if path.is_file():
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_port_in_use_is_said(launch):
    with socket.create_server(("0.0.0.0", 0)) as other:
        server = launch(start=False)
        server.port = other.getsockname()[1]
        server.spawn()
        assert server.process.wait(15) not in (0, -6, -11)
    server.process = None
    server.expect_error("")
    assert str(server.port) in server.text()
