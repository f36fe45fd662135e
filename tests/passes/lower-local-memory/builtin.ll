; SPEC kernel: kernel entry 0 1
; SPEC target: nvptx64-nvidia-cuda
; RUN: allocate-local-memory,lower-local-memory,address-spaces
; Static arrays, with the passes before and after: the accesses are to shared memory, without a conversion.
@A = internal constant i8 0
@B = internal constant i8 0
define void @kernel(ptr %out, i64 %i) {
  %a = call ptr @__schism_local_static(ptr @A, i64 12, i64 4)
  %b = call ptr @__schism_local_static(ptr @B, i64 1024, i64 512)
  store i32 1, ptr %a
  %at = getelementptr i32, ptr %b, i64 %i
  %v = load i32, ptr %at
  store i32 %v, ptr %out
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
; CHECK: @__schism_shared = external addrspace(3) global [0 x i8], align 512
; CHECK: store i32 1, ptr addrspace(3)
; CHECK: load i32, ptr addrspace(3)
; CHECK-NOT: @__schism_local_memory
