# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, spoken to by its DevTools protocol: JSON over two pipes, each message ended by a zero byte.

Keeps what the page complains of: exceptions, messages of the console and of the log, and every request.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 60  # a hang limit


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser with one tab. Used as a context: its end is the end of the process."""

    def __init__(self, program):
        self.program = program
        self.number = 0
        self.session = None
        self.buffer = b""
        self.complaints = []
        self.requests = []
        self.loads = 0

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.to = os.pipe()
        self.from_, to_write = os.pipe()
        # The browser reads from descriptor 3 and writes to 4.
        command = 'exec 8<&"$1" 9>&"$2" 3<&8 4>&9 8<&- 9>&-; shift 2; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "_", str(to_read), str(to_write), self.program, "--headless", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--user-data-dir=" + self.profile.name,
             "--remote-debugging-pipe"],
            pass_fds=(to_read, to_write), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.from_)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()

    def receive(self, deadline):
        """The next message; an event is taken note of."""
        while b"\0" not in self.buffer:
            if not select.select([self.from_], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError(f"the browser said nothing for {SECONDS} s")
            piece = os.read(self.from_, 1 << 16)
            if not piece:
                raise EOFError(f"{self.program} ended")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        message = json.loads(line)
        method, values = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = values["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(value.get("value")) for value in values["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(values["entry"]["text"])
        elif method == "Page.javascriptDialogOpening":
            self.complaints.append("a dialog: " + values["message"])
            self.send("Page.handleJavaScriptDialog", accept=True)  # the page waits for it; the answer is not read
        elif method == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loads += 1
        return message

    def send(self, method, **values):
        """Sends a call of a method of the protocol; the number of its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def call(self, method, **values):
        """Calls a method of the protocol and returns its result."""
        number = self.send(method, **values)
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def load(self, url, width, is_dark=False):
        """Loads a page anew, in a window of this width, until all of it is there."""
        self.complaints.clear()
        self.requests.clear()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1,
                  mobile=width < 640)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        loads = self.loads
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + SECONDS
        while self.loads == loads:
            self.receive(deadline)

    def value(self, expression):
        """The value of an expression of JavaScript in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def value_in_frame(self, expression):
        """The value of an expression in the page's first frame, which may have another origin."""
        frame = self.call("Page.getFrameTree")["frameTree"]["childFrames"][0]["frame"]["id"]
        context = self.call("Page.createIsolatedWorld", frameId=frame)["executionContextId"]
        return self.call("Runtime.evaluate", expression=expression, contextId=context)["result"].get("value")

    def choose(self, selector, path):
        """Chooses a file in an input of the page."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", nodeId=node, files=[str(path)])

    def picture(self, path):
        """A picture of the whole page, as PNG."""
        self.call("Emulation.setScrollbarsHidden", hidden=True)
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
