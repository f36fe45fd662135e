; A function that may reach a barrier has its address in a table, so every call through a pointer may reach it.
@table = internal constant [2 x ptr] [ptr @waits, ptr @computes]
define void @kernel(i64 %i) {
  %at = getelementptr ptr, ptr @table, i64 %i
  %f = load ptr, ptr %at
  call void %f()
  call void @computes()
  ret void
}
define internal void @waits() {
  call void @__schism_barrier()
  ret void
}
define internal void @computes() {
  ret void
}
declare void @__schism_barrier()
; CHECK: define void @kernel(i64 %i) #0
; CHECK: call void %f() #0
; CHECK-NEXT: call void @computes()
; CHECK-NOT: #0
; CHECK: define internal void @waits() #0
; CHECK: define internal void @computes() {
