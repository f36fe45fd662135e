; SPEC kernel: kernel entry 16 8
; The copy of the closure goes into registers, the entry function into the kernel.
define void @kernel(ptr noalias readonly %p, i64 %n) {
  %closure = alloca [16 x i8], align 8
  store ptr %p, ptr %closure
  %f = getelementptr i8, ptr %closure, i64 8
  store i64 %n, ptr %f
  %x = call i64 @__schism_global_id_x()
  call void @entry(ptr %closure, i64 %x)
  ret void
}
define internal void @entry(ptr %k, i64 %x) {
  %p = load ptr, ptr %k
  %f = getelementptr i8, ptr %k, i64 8
  %n = load i64, ptr %f
  %v = add i64 %n, %x
  call void @sink(ptr %p, i64 %v)
  ret void
}
declare i64 @__schism_global_id_x() nounwind willreturn memory(none)
declare void @sink(ptr, i64)
; CHECK: define void @kernel(
; CHECK-NOT: alloca
; CHECK: %x = call i64 @__schism_global_id_x()
; CHECK-NEXT: add i64
; CHECK-NEXT: call void @sink(ptr %p
; CHECK-NOT: @entry
