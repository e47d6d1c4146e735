"""As much of a terminal as strongbin-stat --watch needs: runs a program in it, keeps its screen, draws it as SVG."""

import fcntl
import html
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

SEQUENCE = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])")
COLOURS = {"32": "#4ec9a0", "33": "#e5c07b", "36": "#5fb3e8"}
FOREGROUND, BACKGROUND, DIM = "#d4d4d4", "#1e1e1e", "#8a8a8a"


class Screen:
    """Rows of cells (character, style). Styles are SGR parameters joined by ';'. What is not understood is kept in `unknown`."""

    def __init__(self, columns, rows):
        self.resize(columns, rows)
        self.rest, self.style = "", ""
        self.modes = {}  # by number: True while it is set, as by ESC[?25h
        self.last_full = None  # the screen before the alternate one was left
        self.unknown = []

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[(" ", "")] * columns for _ in range(rows)]
        self.row = self.column = 0

    def feed(self, text):
        text, self.rest = self.rest + text, ""
        position = 0
        while position < len(text):
            character = text[position]
            if character == "\x1b":
                match = SEQUENCE.match(text, position)
                if match is None:
                    if len(text) - position < 16:
                        self.rest = text[position:]
                        return
                    self.unknown.append(text[position:position + 16])
                    position += 1
                    continue
                self.obey(*match.groups())
                position = match.end()
                continue
            position += 1
            if character == "\n":
                self.row = min(self.row + 1, self.rows - 1)
            elif character == "\r":
                self.column = 0
            elif self.column < self.columns:
                self.cells[self.row][self.column] = (character, self.style)
                self.column += 1
            else:
                self.unknown.append(f"{character!r} beyond the right edge of row {self.row}")

    def obey(self, parameters, command):
        if command == "H":
            row, column = ([int(n or 1) for n in parameters.split(";")] + [1, 1])[:2]
            self.row, self.column = min(row, self.rows) - 1, min(column, self.columns) - 1
        elif command == "K" and parameters == "":
            self.cells[self.row][self.column:] = [(" ", "")] * (self.columns - self.column)
        elif command == "J" and parameters in ("", "2"):
            for row in range(0 if parameters else self.row, self.rows):
                first = 0 if parameters or row > self.row else self.column
                self.cells[row][first:] = [(" ", "")] * (self.columns - first)
        elif command == "m":
            self.style = "" if parameters in ("", "0") else ";".join(filter(None, [self.style, parameters]))
        elif command in "hl" and parameters.startswith("?"):
            if parameters == "?1049" and command == "l":
                self.last_full = [list(row) for row in self.cells]
            self.modes[int(parameters[1:])] = command == "h"
        else:
            self.unknown.append(parameters + command)

    def lines(self):
        return ["".join(character for character, _ in row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.lines())


class Terminal:
    """A program whose standard input, output and error are a terminal of this size."""

    def __init__(self, command, columns, rows, env=None):
        self.screen = Screen(columns, rows)
        self.master, slave = pty.openpty()
        self._set_size()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.pending = b""

    def _set_size(self):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0))

    def resize(self, columns, rows):
        """The kernel tells the program by SIGWINCH."""
        self.screen.resize(columns, rows)
        self._set_size()

    def read(self, seconds):
        """What comes within this time. False: the program has closed the terminal."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux tells that nobody has the other end any more
            return False
        data = self.pending + data
        text = data.decode("utf-8", errors="ignore")
        # A character that is not whole yet waits for its rest.
        self.pending = data[len(text.encode()):] if len(data) - len(text.encode()) < 4 else b""
        self.screen.feed(text)
        return True

    def read_until(self, condition, seconds=60):
        """Whether condition(screen) came true."""
        deadline = time.monotonic() + seconds
        while not condition(self.screen):
            if time.monotonic() > deadline or not self.read(0.1):
                return condition(self.screen)
        return True

    def interrupt(self):
        """As Ctrl-C: the terminal sends SIGINT."""
        os.write(self.master, b"\x03")

    def finish(self, seconds=60):
        """Reads to the end. The exit status; a program that does not end is killed."""
        deadline = time.monotonic() + seconds
        while self.read(0.1) and time.monotonic() < deadline:
            pass
        if self.process.poll() is None and time.monotonic() >= deadline:
            self.process.send_signal(signal.SIGKILL)
        status = self.process.wait()
        os.close(self.master)
        return status


def _fill_of(style):
    parts = style.split(";")
    colour = next((COLOURS[part] for part in parts if part in COLOURS), DIM if "2" in parts else FOREGROUND)
    return colour, "1" in parts


def to_svg(cells, title):
    """The screen as a picture. Block characters are drawn as rectangles, so that they join in any font."""
    width, height, margin = 8.4, 17, 12
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(cells[0]) * width + 2 * margin:.1f} '
           f'{len(cells) * height + 2 * margin}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
           f"<title>{html.escape(title)}</title>", f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>']
    for number, row in enumerate(cells):
        top = margin + number * height
        column = 0
        while column < len(row):
            character, style = row[column]
            end = column
            is_block = "\u2581" <= character <= "\u2588"
            while end < len(row) and row[end][1] == style and (
                    row[end][0] == character if is_block else not "\u2581" <= row[end][0] <= "\u2588"):
                end += 1
            colour, bold = _fill_of(style)
            left, span = margin + column * width, (end - column) * width
            if is_block:
                part = (ord(character) - 0x2580) / 8 * height
                out.append(f'<rect x="{left:.1f}" y="{top + height - part:.1f}" width="{span:.1f}" height="{part:.1f}" fill="{colour}" '
                           'shape-rendering="crispEdges"/>')
            else:
                # Word by word, each in its place and of its length, whatever the font.
                weight = ' font-weight="bold"' if bold else ""
                for word in re.finditer(r"\S+", "".join(c for c, _ in row[column:end])):
                    out.append(f'<text x="{left + word.start() * width:.1f}" y="{top + 13}" '
                               f'textLength="{len(word.group()) * width:.1f}" lengthAdjust="spacingAndGlyphs" '
                               f'fill="{colour}"{weight}>{html.escape(word.group())}</text>')
            column = end
    return "\n".join(out + ["</svg>"]) + "\n"
