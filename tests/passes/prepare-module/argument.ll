; The barrier itself is passed on, as a function pointer: the function that calls it may reach it.
define void @kernel() {
  call void @twice(ptr @__schism_barrier)
  ret void
}
define internal void @twice(ptr %f) {
  call void %f()
  ret void
}
declare void @__schism_barrier()
; CHECK: define void @kernel() #0
; CHECK-NEXT: call void @twice(ptr @__schism_barrier) #0
; CHECK: define internal void @twice(ptr %f) #0
; CHECK-NEXT: call void %f() #0
