; SPEC target: nvptx64-nvidia-cuda
; A static of another language, whose size is not known.
%opaque = type opaque
@theirs = external global %opaque
define ptr @f() {
  ret ptr @theirs
}
; CHECK: @theirs = external addrspace(1) global %opaque
