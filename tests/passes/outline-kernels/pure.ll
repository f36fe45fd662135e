; SPEC kernel: kernel entry 0 1
; Builtins that the compiler has declared are pure, except for the barrier.
define internal void @entry(ptr %kernel, i64 %x, i64 %y, i64 %z, i64 %nx, i64 %ny, i64 %nz) {
  %i = call i64 @__schism_local_id_x()
  call void @__schism_barrier()
  ret void
}
declare i64 @__schism_local_id_x()
declare void @__schism_barrier()
; CHECK: declare i64 @__schism_local_id_x() #0
; CHECK-NOT: @__schism_barrier() #
; CHECK-NOT: @__schism_barrier() #
; CHECK: attributes #0 = { nounwind willreturn memory(none) }
