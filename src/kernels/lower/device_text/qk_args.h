// The one argument record of every kernel, in CUDA, C++ and (buffers apart) Metal. The limits are those of
// kernels/ir/kernel.h. Plain data; the caller fills it and passes it by value.
#ifndef QK_ARGS_H
#define QK_ARGS_H

struct qk_args {
  void* buffer[12];
  unsigned int u[16];
  float f[4];
  unsigned int tiles;
  unsigned int reserved;
};

#endif
