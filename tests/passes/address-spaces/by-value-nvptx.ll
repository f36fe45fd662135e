; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; PTX has parameters by value.
define void @kernel(ptr byval([24 x i8]) align 8 %bytes, ptr %out) {
  %at = getelementptr i8, ptr %bytes, i64 16
  %v = load i64, ptr %at
  store i64 %v, ptr %out
  ret void
}
; CHECK: define ptx_kernel void @kernel(ptr byval([24 x i8]) align 8 %bytes, ptr addrspace(1) %out)
; CHECK: load i64, ptr
; CHECK: store i64 %v, ptr addrspace(1) %out
