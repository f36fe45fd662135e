; SPEC target: nvptx64-nvidia-cuda
; SPEC kernel: kernel entry 0 1
; Constants stand with variables: work-items read tables at places of their own.
@large = internal externally_initialized constant [65536 x i8] zeroinitializer
@small = internal constant i32 5
define void @kernel(ptr %out, i64 %i) {
  %at = getelementptr i8, ptr @large, i64 %i
  %v = load i8, ptr %at
  store i8 %v, ptr %out
  ret void
}
; CHECK: @large = internal addrspace(1) externally_initialized constant
; CHECK: @small = internal addrspace(1) constant
; CHECK: load i8, ptr addrspace(1)
