"""Looks at torch in a watched process and writes down what it sees: numbers alone, a line of JSON at a time.

``sitecustomize`` beside it runs this text, behind ``state.py``, when torch is first asked for. A thread looks
every so many seconds; it is stopped before a fork. torch is never imported here and CUDA never initialised.
Python 3.8 grammar, standard library only.
"""

import _thread
import atexit
import json
import os
import sys
import time

MOST_LINES = 4096  # then the looks become half as frequent, so that no file grows without bound
FIRST_S, FIRST_LOOKS = 0.05, 2400  # torch is waited for more closely, but not for ever
MOST_FAILURES = 256  # a program may catch them for ever; the allocator goes on counting
MEASURED_S = 0.02  # between two measurements after a step, at least
ASKED, ASKED_S = 20, 0.005  # how often the main thread is asked in one look
SETTINGS = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


class Question:
    """Asked for its truth in the main thread, it writes down what is so there. Runs no code of others."""

    def __init__(self, watcher, torch):
        self.watcher, self.forward = watcher, torch.nn.Module._call_impl.__code__
        self.enabled, self.now, self.frame_at = torch.is_grad_enabled, time.time, sys._getframe

    def __bool__(self):
        watcher, frame = self.watcher, self.frame_at().f_back
        owner = None if watcher.owner is None else watcher.owner()
        training = None if owner is None else vars(owner).get("training")
        while frame is not None and frame.f_code is not self.forward:
            frame = frame.f_back
        watcher.answer = [self.now(), watcher.steps, training, self.enabled(), frame is not None]
        return False


class Watcher:
    """Looks at torch in this process and writes down what it sees."""

    def __init__(self, folder, interval):
        self.folder, self.interval = folder, interval
        self.lines = self.looks = self.failures = 0
        self.torch = None
        self.path = ""
        self.wake = self.done = None
        self.counted = self.stopped = False
        self.asking = None  # how the main thread is asked, once it is known to be safe; False: it is not
        self.question = self.is_true = None
        self.clear()

    def clear(self):
        """Nothing seen so far, as in a child that was forked."""
        self.steps = 0
        self.optimizer = None  # whose steps count: the first that stepped
        self.owner = None  # weak reference to a module that is trained
        self.used = []  # devices, as the last look found them
        self.lowest = {}  # device: least allocated after a step, since the last line
        self.resident = None
        self.measured_at = 0.0
        self.trained_in_eval = False
        # Of the main thread, when it was last asked: [at, steps, training, gradients, inside a forward].
        self.answer = None
        self.observed = False  # are failures of the allocator told
        self.introduced = False

    # The thread

    def begin(self):
        """Start to look, into a file of this process."""
        name = "%d-" % os.getpid()
        if not os.path.basename(self.path).startswith(name):
            self.path = os.path.join(self.folder, name + os.urandom(4).hex() + ".jsonl")
        self.wake, self.done = _thread.allocate_lock(), _thread.allocate_lock()
        self.wake.acquire()
        self.done.acquire()
        self.before = native_threads()
        _thread.start_new_thread(self.run, (self.wake, self.done))

    def run(self, wake, done):
        """Look until told to stop."""
        try:
            while not wake.acquire(timeout=self.pause()):
                try:
                    self.look()
                except Exception:  # that look is left out
                    continue
        finally:
            done.release()

    def pause(self):
        """Seconds until the next look."""
        self.looks += 1
        return FIRST_S if not self.introduced and self.looks < FIRST_LOOKS else self.interval

    def end(self):
        """Stop the thread and wait until it is gone; False where there is none."""
        wake, self.wake = self.wake, None
        if wake is None:
            return False
        wake.release()
        self.done.acquire(timeout=2.0)
        if sys.version_info >= (3, 12):  # which warns of a fork beside any thread of the system
            for _ in range(50):
                if native_threads() <= self.before:
                    break
                time.sleep(0.0002)
        return True

    # Around a fork

    def before_fork(self):
        """No thread of ours may hold a lock while the process is copied."""
        self.stopped = self.end()

    def after_in_parent(self):
        """Go on."""
        if self.stopped:
            self.begin()

    def after_in_child(self):
        """A worker that loads data has nothing to tell; one that trains begins at its first step."""
        self.wake = None
        self.clear()

    # Looking

    def look(self):
        """One line: where the steps are, what is allocated, in which mode the main thread is."""
        torch = is_complete()
        if torch is None:
            return
        if not self.introduced:
            self.introduce(torch)
        self.write(self.line(torch))
        self.answer = None
        for _ in range(ASKED):
            self.ask_main_thread(torch)
            time.sleep(ASKED_S)
            # An evaluation is told by what is set inside the model: between batches it says nothing.
            if not self.answer or self.answer[2] is not False or self.answer[4]:
                break

    def introduce(self, torch):
        """The first line: versions, and whether steps can be counted."""
        self.torch, self.introduced = torch, True
        self.counted = self.counted or self.count_steps()
        self.write(
            {
                "kind": "torch",
                "pid": os.getpid(),
                "torch": str(getattr(torch, "__version__", "")),
                "python": "%d.%d.%d" % sys.version_info[:3],
                "counted": self.counted,
                "allocator": next((os.environ[name] for name in SETTINGS if os.environ.get(name)), "")[:200],
            }
        )

    def count_steps(self):
        """Have torch call us after each optimizer step; False where this release cannot."""
        optimizers = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if register is None:
            return False
        skip_in_dynamo(self.after_step)
        register(self.after_step)
        return True

    def line(self, torch):
        """What there is to tell now."""
        lowest, self.lowest = self.lowest, {}
        resident, self.resident = self.resident, None
        return {
            "kind": "look",
            "at": time.time(),
            "steps": self.steps,
            "devices": self.devices(torch),
            "lowest": list(lowest.items()),
            "resident": resident,
            "answer": self.answer,
            "eval_steps": self.trained_in_eval,
        }

    def devices(self, torch):
        """A row of numbers for each device that torch has used. Asks nothing before CUDA is initialised."""
        cuda = torch.cuda
        if not cuda.is_initialized():
            return []
        if not self.observed:
            self.observe(torch)
        rows = []
        for device in range(cuda.device_count()):
            stats = cuda.memory_stats_as_nested_dict(device)
            if stats and stats["reserved_bytes"]["all"]["peak"]:
                rows.append([device, *numbers(stats), identity(cuda, device)])
        self.used = [row[0] for row in rows]
        return rows

    def observe(self, torch):
        """Have the allocator tell of each failure, also of one that is caught."""
        self.observed = True
        attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
        if attach is not None:
            attach(self.failed)

    def ask_main_thread(self, torch):
        """Ask the main thread, between two of its lines, what it alone knows: does autograd record there?"""
        ctypes = sys.modules.get("ctypes")  # torch has imported it
        if not hasattr(ctypes, "pythonapi") or self.asking is False:
            return
        if self.asking is None:
            self.question = Question(self, torch)
            if not skip_in_dynamo(self.question.__bool__):
                self.asking = False
                return
            # What a signal's handler raises meanwhile goes on into the program; a callback would swallow it.
            self.is_true = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
            self.asking = ctypes.pythonapi["Py_AddPendingCall"]
            self.asking.argtypes = (ctypes.c_void_p, ctypes.py_object)
        self.asking(self.is_true, self.question)

    # Called by torch

    def after_step(self, optimizer, *_):
        """An optimizer has stepped. Must not raise and must not take long."""
        try:
            if self.optimizer is None:
                self.first_step(optimizer)
            if id(optimizer) != self.optimizer:
                return
            self.steps += 1
            now = time.monotonic()
            if now - self.measured_at >= max(MEASURED_S, self.interval / 10):
                self.measured_at = now
                self.measure()
        except Exception:  # a step that could not be counted
            return

    def first_step(self, optimizer):
        """From now on the steps of this optimizer count."""
        self.optimizer = id(optimizer)
        if self.wake is None:  # a child that was forked, and trains
            self.begin()
        self.owner = owner_of(optimizer)

    def measure(self):
        """What is held at this point, the same in every step; the least since the last line counts."""
        cuda = self.torch.cuda if self.torch else None
        if cuda and cuda.is_initialized():
            for device in self.used:  # of many devices a process mostly uses one
                held = cuda.memory_stats_as_nested_dict(device)["allocated_bytes"]["all"]["current"]
                if held:
                    self.lowest[device] = min(self.lowest.get(device, held), held)
        resident = resident_bytes()
        if resident:
            self.resident = min(self.resident or resident, resident)
        owner = self.owner and self.owner()
        if owner is not None and not owner.training:
            self.trained_in_eval = True

    def failed(self, device, asked, total, free):
        """The allocator had no room. Told at once: the process may not live long."""
        self.failures += 1
        if self.failures > MOST_FAILURES:
            return
        try:
            rows = [row for row in self.devices(self.torch) if row[0] == device]
            told = {"kind": "failed", "at": time.time(), "device": device, "asked": asked}
            self.write({**told, "total": total, "free": free, "row": rows[0] if rows else None})
        except Exception:
            return

    def leave(self):
        """At the end: a last look, and the error that ended the program, if memory was its cause."""
        try:
            self.end()
            torch = is_complete()
            if torch is not None:
                if not self.introduced:  # it ended as soon as torch was there
                    self.introduce(torch)
                self.answer = None
                self.write(self.line(torch))
            text = last_error()
            if text:
                self.write({"kind": "error", "text": text})
        except Exception:  # the program ends as it would have
            return

    def write(self, line):
        """Append one line. The file is not kept open: a program may close what it does not know."""
        data = (json.dumps(line) + "\n").encode("ascii")
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError:  # nobody watches any more
            self.interval = 3600.0
            return
        try:
            os.write(file, data)
        finally:
            os.close(file)
        self.lines += 1
        if self.lines % MOST_LINES == 0:
            self.interval *= 2


def install(folder, interval):
    """Begin to look."""
    watcher = Watcher(folder, max(interval, MEASURED_S))
    watcher.begin()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=watcher.before_fork,
            after_in_parent=watcher.after_in_parent,
            after_in_child=watcher.after_in_child,
        )
    atexit.register(watcher.leave)
