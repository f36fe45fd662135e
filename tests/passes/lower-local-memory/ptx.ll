; SPEC kernel: kernel entry 0 1
; SPEC target: nvptx64-nvidia-cuda
; EMIT: assembly
; RUN: allocate-local-memory,lower-local-memory,address-spaces
; The PTX: a dynamic symbol, shared accesses.
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
; CHECK: .extern .shared .align 512 .b8 __schism_shared[]
; CHECK: .visible .entry kernel(
; CHECK: st.shared.b32
; CHECK: ld.shared.b32
; CHECK: st.global.b32
