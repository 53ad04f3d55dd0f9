"""llama.cpp through the low-level interface of the PyPI package llama-cpp-python: greedy continuations and speed."""
import ctypes
import time

import llama_cpp

# The package does not carry its llama.cpp revision; its changelog does.
REVISIONS = {"0.3.36": "0c1e57098"}


def describe():
    return f"llama-cpp-python {llama_cpp.__version__}, llama.cpp {REVISIONS.get(llama_cpp.__version__, 'revision unknown')}"


class Peer:
    """One loaded model with one sequence. Every measurement begins with an emptied cache."""

    def __init__(self, path, threads, context=4096, chunk=512):
        # Kept alive: the library calls it as long as it lives.
        self._log = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self._log, None)
        llama_cpp.llama_backend_init()
        self._chunk = chunk
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self._model:
            raise RuntimeError(f"llama.cpp cannot load {path}")
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, chunk, chunk
        params.n_threads = params.n_threads_batch = threads
        params.no_perf = True
        self._context = llama_cpp.llama_init_from_model(self._model, params)
        if not self._context:
            raise RuntimeError("llama.cpp cannot make a context")
        self._vocab = llama_cpp.llama_model_get_vocab(self._model)
        self.vocab_size = llama_cpp.llama_vocab_n_tokens(self._vocab)
        self._greedy = llama_cpp.llama_sampler_init_greedy()

    def tokenize(self, text):
        data = text.encode()
        ids = (llama_cpp.llama_token * (len(data) + 8))()
        count = llama_cpp.llama_tokenize(self._vocab, data, len(data), ids, len(ids), True, False)
        return list(ids[:count])

    def clear(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)

    def _decode(self, ids):
        for begin in range(0, len(ids), self._chunk):
            part = ids[begin : begin + self._chunk]
            array = (llama_cpp.llama_token * len(part))(*part)
            status = llama_cpp.llama_decode(self._context, llama_cpp.llama_batch_get_one(array, len(part)))
            if status != 0:
                raise RuntimeError(f"llama_decode failed with {status}")

    def _logits(self):
        pointer = llama_cpp.llama_get_logits_ith(self._context, -1)
        return ctypes.cast(pointer, ctypes.POINTER(ctypes.c_float * self.vocab_size)).contents

    def _pick(self):
        return llama_cpp.llama_sampler_sample(self._greedy, self._context, -1)

    def continuation(self, ids, count):
        """The greedy continuation."""
        self.clear()
        self._decode(ids)
        picked = [self._pick()]
        while len(picked) < count:
            self._decode(picked[-1:])
            picked.append(self._pick())
        return picked

    def logit_gap(self, ids, continuation, first, second):
        """How far the logit of `first` stands above that of `second` behind the prompt and its continuation, which is
        evaluated token by token as it was when it was made."""
        self.clear()
        self._decode(ids)
        for token in continuation:
            self._decode([token])
        logits = self._logits()
        return logits[first] - logits[second]

    def prefill_speed(self, ids):
        """Tokens per second."""
        self.clear()
        start = time.perf_counter()
        self._decode(ids)
        self._pick()
        return len(ids) / (time.perf_counter() - start)

    def decode_speed(self, first, count, sample):
        """Tokens per second behind one token; with `sample` each next token is picked by the greedy sampler."""
        self.clear()
        self._decode([first])
        token = self._pick()
        start = time.perf_counter()
        for _ in range(count):
            self._decode([token])
            if sample:
                token = self._pick()
            else:
                self._logits()  # waits for the step
        return count / (time.perf_counter() - start)
