; SPEC kernel: kernel entry 0 1
; Which array is meant has to be known.
define void @kernel(ptr %tag) {
  %a = call ptr @__schism_local_static(ptr %tag, i64 8, i64 4)
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
; CHECK: `kernel` asks for a local array whose tag, size or alignment is no constant
