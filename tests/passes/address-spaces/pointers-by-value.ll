; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: reads entry 0 1
; SPEC kernel: writes entry 0 1
; SPEC kernel: escapes entry 0 1
; Pointers in an aggregate that the kernel does not change are the host's; in one that it changes they may be to anything.
define void @reads(ptr byval([24 x i8]) align 8 %bytes, i64 %i) {
  %from.at = getelementptr i8, ptr %bytes, i64 8
  %from = load ptr, ptr %from.at
  %to = load ptr, ptr %bytes
  %at = getelementptr double, ptr %from, i64 %i
  %v = load double, ptr %at
  store double %v, ptr %to
  ret void
}
define void @writes(ptr byval([24 x i8]) align 8 %bytes, i64 %i) {
  %local = alloca i64
  %at = getelementptr ptr, ptr %bytes, i64 %i
  store ptr %local, ptr %at
  %p = load ptr, ptr %bytes
  store volatile i64 1, ptr %p
  ret void
}
define void @escapes(ptr byval([24 x i8]) align 8 %bytes) {
  call void @callee(ptr %bytes)
  %p = load ptr, ptr %bytes
  store volatile i64 1, ptr %p
  ret void
}
define internal void @callee(ptr %p) noinline {
  store volatile i8 0, ptr %p
  ret void
}
; CHECK: define ptx_kernel void @reads(
; CHECK: load double, ptr addrspace(1)
; CHECK: store double %v, ptr addrspace(1)
; CHECK: define ptx_kernel void @writes(
; CHECK: store volatile i64 1, ptr %p
; CHECK: define ptx_kernel void @escapes(
; CHECK: store volatile i64 1, ptr %p
