; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: reads entry 0 1
; SPEC kernel: writes entry 0 1
; The hardware hands aggregates over in memory that must not change; a body that changes its own works on a copy.
define void @reads(ptr byval([24 x i8]) align 8 %bytes, ptr %out) {
  %at = getelementptr i8, ptr %bytes, i64 16
  %v = load i64, ptr %at
  store i64 %v, ptr %out
  ret void
}
define void @writes(ptr byval([24 x i8]) align 8 %bytes, i64 %i) {
  %at = getelementptr i8, ptr %bytes, i64 %i
  store i8 1, ptr %at
  call void @callee(ptr %bytes)
  ret void
}
define internal void @callee(ptr %p) noinline {
  store volatile i8 0, ptr %p
  ret void
}
; CHECK: define internal void @callee(ptr %p)
; CHECK: define amdgpu_kernel void @reads(ptr addrspace(4) byref([24 x i8]) align 8 %bytes, ptr addrspace(1) %out)
; CHECK: load i64, ptr addrspace(4)
; CHECK: store i64 {{.*}}, ptr addrspace(1) %out
; CHECK: define amdgpu_kernel void @writes(ptr addrspace(4) byref([24 x i8]) align 8 %bytes, i64 %i)
; CHECK: %copy = alloca [24 x i8], align 8, addrspace(5)
; CHECK: call void @llvm.memcpy.p5.p4.i64(ptr addrspace(5) align 8 %copy, ptr addrspace(4) align 8 %bytes
; CHECK: store i8 1, ptr addrspace(5)
; CHECK: call void @callee(ptr
