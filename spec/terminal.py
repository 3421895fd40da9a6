# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in a terminal of its own, as a person would: waits for text, types, waits for the next.

    terminal.py COLUMNS STEPS -- COMMAND...      STEPS is JSON: [["expect", "> "], ["wait", "0.5"], ["send", "\\u0003"], ...]

What the command shows is written to standard output; the status is the command's (128 + signal), or 99 when text that
was waited for did not come.
"""
import fcntl, json, os, pty, select, struct, sys, termios, time

PATIENCE_S = 60


def main():
    columns, steps, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[4:]
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.execvp(command[0], command)
    seen, at, until = b"", 0, time.time() + PATIENCE_S
    while time.time() < until:
        while steps:
            what, text = steps[0]
            if what == "expect":
                found = seen.find(text.encode(), at)
                if found < 0:
                    break
                at = found + len(text.encode())
            elif what == "wait":
                time.sleep(float(text))
            else:
                os.write(fd, text.encode())
            steps.pop(0)
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536)
            except OSError:  # the command has ended
                break
    else:
        os.kill(pid, 9)
    sys.stdout.buffer.write(seen)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if steps:
        sys.stderr.write("terminal.py: not seen: %r\n" % steps[0][1])
        return 99
    return 128 - status if status < 0 else status


sys.exit(main())
