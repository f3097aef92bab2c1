"""A headless Chromium driven through its DevTools protocol over a pipe: no driver, no web socket to install."""

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chromium-headless-shell")
CACHES = (".cache/ms-playwright", "Library/Caches/ms-playwright")
BINARIES = ("chrome-linux*/chrome", "chrome-linux*/headless_shell", "chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
PATIENCE = 60.0
# Returns the size of a canvas and its pixels, as text: a list of a million numbers would take seconds.
PIXELS = """s => { const c = document.querySelector(s), copy = new OffscreenCanvas(c.width, c.height);
    const d = copy.getContext('2d', {willReadFrequently: true}); d.drawImage(c, 0, 0);
    const data = d.getImageData(0, 0, c.width, c.height).data, parts = [];
    for (let k = 0; k < data.length; k += 8192) parts.push(String.fromCharCode(...data.subarray(k, k + 8192)));
    return [c.width, c.height, btoa(parts.join(''))]; }"""


def count_colours(pixels: np.ndarray) -> int:
    """How many different colours pixels have, (…, channels) of 0 to 255."""
    codes = sum(pixels[..., k].astype(np.int64) << 8 * k for k in range(pixels.shape[-1]))
    return len(np.unique(codes))


def find_chromium() -> str | None:
    """Where a Chromium is: `SDM_CHROMIUM`, on the path, or in playwright's cache."""
    for name in (os.environ.get("SDM_CHROMIUM", ""), *NAMES):
        if name and (found := shutil.which(name)):
            return found
    for cache in CACHES:
        for binary in BINARIES:
            if found_here := sorted(Path.home().glob(f"{cache}/chromium*/{binary}")):
                return str(found_here[-1])
    return None


class Browser:
    """One page of a browser: what it shows, what it says on its console, and what it asks the network for."""

    def __init__(self, binary: str, profile: Path, width: int = 1280, height: int = 900) -> None:
        mine_in, its_out = os.pipe()
        its_in, mine_out = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += ["--remote-debugging-pipe", "--hide-scrollbars", f"--user-data-dir={profile}", "about:blank"]

        import fcntl  # not on Windows, where the pipes of a browser cannot be arranged

        # Chromium reads commands from descriptor 3 and writes answers to 4; copies first, for ours may be 3 or 4.
        def arrange() -> None:
            read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (its_in, its_out))
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [binary, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=arrange,
        )
        os.close(its_in)
        os.close(its_out)
        self.read, self.write = mine_in, mine_out
        self.buffer, self.count = b"", 0
        self.console: list[str] = []
        self.requests: list[str] = []
        self.loaded = False
        self.saved: list[str] = []
        self.name = ""
        self.session: str | None = None
        self.target = ""
        self.new_page(width, height)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.session = None
            self.send("Browser.close")
            self.process.wait(20)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        finally:
            os.close(self.read)
            os.close(self.write)

    def new_page(self, width: int = 1280, height: int = 900) -> None:
        """Go on with a new page, which has nothing of the one before."""
        self.session, before = None, self.target
        self.target = self.send("Target.createTarget", url="about:blank")["targetId"]
        if before:
            self.send("Target.closeTarget", targetId=before)
        self.session = self.send("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.size(width, height)
        self.console.clear()
        self.requests.clear()

    def send(self, method: str, /, **params: Any) -> dict[str, Any]:
        """Send a command and return its answer; what happens meanwhile is noted."""
        self.count += 1
        message: dict[str, Any] = {"id": self.count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.count:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], PATIENCE)
            assert ready, "the browser does not answer"
            part = os.read(self.read, 1 << 20)
            assert part, "the browser has gone"
            self.buffer += part
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return dict(message)

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(part.get("value", part)) for part in params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.console.append(str(params["exceptionDetails"]))
        elif method == "Browser.downloadWillBegin":
            self.name = params["suggestedFilename"]
        elif method == "Browser.downloadProgress" and params["state"] == "completed":
            self.saved.append(self.name)
        elif method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("data:", "blob:")):
            self.requests.append(params["request"]["url"])

    def size(self, width: int, height: int) -> None:
        """Make the window so large."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, path: Path, until: str | None = None) -> None:
        """Open a file, and wait until it is loaded and a condition holds."""
        self.loaded = False
        self.send("Page.navigate", url=path.resolve().as_uri())
        while not self.loaded:
            self._next()
        if until is not None:
            self.wait(until)

    def wait(self, condition: str) -> None:
        """Wait until a condition holds: the page asks itself, frame by frame."""
        script = (
            f"new Promise(done => {{ const ask = () => ({condition}) ? done(true) : setTimeout(ask, 20); ask(); }})"
        )
        assert self.run(script) is True

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, selector: str) -> str:
        """The text of an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent.trim()"))

    def place(self, selector: str, across: float = 0.5, down: float = 0.5) -> tuple[float, float]:
        """Where an element is in the window, after scrolling to it."""
        box = f"document.querySelector({json.dumps(selector)})"
        # The page may still move (pictures arrive, a scroll of its own goes on): wait until it lies still for a frame.
        script = f"""new Promise(done => {{
            const e = {box}, frame = () => new Promise(next => requestAnimationFrame(() => setTimeout(next, 0)));
            const at = () => {{ const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }};
            (async () => {{
                for (let k = 0, before = []; k < 200; k++) {{
                    e.scrollIntoView({{block: 'center', behavior: 'instant'}});
                    await frame();
                    const now = at();
                    if (now.every((x, i) => x === before[i])) break;
                    before = now;
                }}
                const [left, top, width, height] = at();
                done([left + width * {across}, top + height * {down}]);
            }})();
        }})"""
        x, y = self.run(script)
        return float(x), float(y)

    def hover(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        """Move the mouse over an element."""
        x, y = self.place(selector, across, down)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        """Click on an element."""
        x, y = self.place(selector, across, down)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, selector: str, begin: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag from one place of an element to another, with the mouse."""
        places = [self.place(selector, *at) for at in (begin, end)]
        steps = (("mousePressed", 0), ("mouseMoved", 1), ("mouseReleased", 1))
        for kind, k in steps:
            x, y = places[k]
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1)

    def wheel(self, selector: str, turn: float, across: float = 0.5, down: float = 0.5) -> None:
        """Turn the wheel over an element; up is below zero."""
        x, y = self.place(selector, across, down)
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=turn)

    def pinch(self, selector: str, before: float, after: float) -> None:
        """Put two fingers on an element, so far apart (shares of its width), and move them."""
        for kind, apart in (("touchStart", before), ("touchMove", (before + after) / 2), ("touchMove", after)):
            sides = [self.place(selector, 0.5 + side * apart / 2) for side in (-1, 1)]
            fingers = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(sides)]
            self.send("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)
        self.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def dark(self, on: bool = True) -> None:
        """Ask for dark pages, or for light ones again."""
        value = "dark" if on else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": value}])

    def save(self, selector: str, folder: Path) -> Path:
        """Click on what saves a file, and return the file."""
        session, self.session = self.session, None
        self.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)
        self.session, self.saved = session, []
        self.click(selector)
        while not self.saved:
            self._next()
        return folder / self.saved[0]

    def press(self, key: str, code: int, times: int = 1) -> None:
        """Press a key on what has the focus."""
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def focus(self, selector: str) -> None:
        """Put the focus on an element, as the tab key would."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")

    def pixels(self, selector: str) -> np.ndarray:
        """The pixels of a canvas, (h, w, 4)."""
        width, height, data = self.run(f"({PIXELS})({json.dumps(selector)})")
        return np.frombuffer(base64.b64decode(data), dtype=np.uint8).reshape(height, width, 4)

    def screenshot(self) -> bytes:
        """A picture of the window, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
