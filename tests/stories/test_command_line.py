"""The program as a person meets it on a command line. SPDX-License-Identifier: Apache-2.0"""
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from support import signatures
from support.server import BINARY, free_port
from support.waiting import wait_for


def run(*arguments, folder=None, **environment):
    return subprocess.run([str(BINARY), *arguments], cwd=folder, capture_output=True, text=True, timeout=20,
                          env={"PATH": os.environ.get("PATH", ""), **environment})


def test_version():
    done = run("version")
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)


@pytest.mark.parametrize("words", [["--help"], ["help"], []])
def test_help_names_the_commands(words):
    done = run(*words)
    assert done.returncode == 0
    for command in ("serve", "config", "listen", "version"):
        assert command in done.stdout


def test_unknown_flag():
    done = run("serve", "--no-such-flag")
    assert done.returncode != 0 and "no-such-flag" in done.stderr


def test_config_list_shows_values_and_hides_secrets(tmp_path):
    done = run("config", "list", folder=tmp_path, API_KEY="k-very-secret-1", API_PORT="4567", RETRY_SCHEDULE="1,2,3",
               API_JWT_SECRET="jwt-very-secret-1", DATA_DIR=str(tmp_path / "data"))
    assert done.returncode == 0
    assert "4567" in done.stdout
    assert "very-secret" not in done.stdout + done.stderr
    assert not (tmp_path / "data").exists(), "looking at the settings makes no data folder"


@pytest.mark.parametrize("name, value", [
    ("RETRY_SCHEDULE", "1,x"), ("RETRY_SCHEDULE", "0"), ("API_PORT", "many"), ("SERVICE", "everything"),
    ("DEPLOYMENT_ID", "a b"), ("LOG_LEVEL", "loud"), ("EGRESS_POLICY", "maybe"), ("RETRY_JITTER", "-1"),
])
def test_bad_setting_stops_the_start_with_a_sentence(tmp_path, name, value):
    done = run("serve", folder=tmp_path, DATA_DIR=str(tmp_path / "data"), API_KEY="k", **{name: value})
    assert done.returncode not in (0, -6, -11)
    said = done.stdout + done.stderr
    assert name.lower() in said.lower(), said


def test_settings_from_a_file(launch, tmp_path):
    (tmp_path / "settings.yaml").write_text("topics: [from.file]\nunknown_thing: 1\n")
    server = launch(CONFIG=str(tmp_path / "settings.yaml"))
    with urllib.request.urlopen(urllib.request.Request(
            server.url + "/api/v1/topics", headers={"Authorization": "Bearer k-admin-1"})) as answer:
        assert answer.read() == b'["from.file"]'
    assert "unknown_thing" in server.text(), "unknown keys are reported"


class Listener:
    """`outrider listen` on a port of its own."""

    def __init__(self, folder, *arguments):
        self.port, self.output = free_port(), folder / "listen.log"
        with open(self.output, "wb") as out:
            self.process = subprocess.Popen([str(BINARY), "listen", "--port", str(self.port), *arguments],
                                            cwd=folder, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        wait_for(lambda: str(self.port) in self.text(), 5, "the listener says where it listens")

    def text(self):
        return self.output.read_text("utf-8", "replace")

    def post(self, body, **headers):
        request = urllib.request.Request("http://127.0.0.1:%d/hook" % self.port, body,
                                         {name.replace("_", "-"): value for name, value in headers.items()})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(5) == 0


def test_listen_prints_and_verifies(tmp_path):
    listener = Listener(tmp_path, "--secret", "s3cret")
    body = b'{"hello":"listener"}'
    good = "v0=" + signatures.default_mode("s3cret", body)
    assert listener.post(body, x_outpost_signature=good) == 200
    wait_for(lambda: "listener" in listener.text(), 5)
    valid = listener.text()
    assert listener.post(body, x_outpost_signature="v0=" + "0" * 64) == 200
    wait_for(lambda: len(listener.text()) > len(valid), 5)
    assert re.search(r"invalid|wrong|not valid|bad", listener.text()[len(valid):], re.IGNORECASE)
    assert not re.search(r"invalid|wrong|not valid|bad", valid, re.IGNORECASE)
    assert "s3cret" not in listener.text()
    listener.stop()


def test_listen_answers_as_told(tmp_path):
    listener = Listener(tmp_path, "--status", "503")
    assert listener.post(b"{}") == 503
    listener.stop()
