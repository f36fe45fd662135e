; What may reach a barrier is convergent: functions, calls of them, also through two levels; the rest is not.
define void @kernel(i1 %c) {
  call void @step()
  call void @other()
  ret void
}
define internal void @step() {
  call void @deeper(i32 3)
  ret void
}
define internal void @deeper(i32 %n) {
  call void @__schism_barrier()
  call void @deeper(i32 %n)
  ret void
}
define internal void @other() {
  ret void
}
declare void @__schism_barrier()
; CHECK: define void @kernel(i1 %c) #0
; CHECK-NEXT: call void @step() #0
; CHECK-NEXT: call void @other()
; CHECK-NOT: #0
; CHECK: define internal void @step() #0
; CHECK-NEXT: call void @deeper(i32 3) #0
; CHECK: define internal void @deeper(i32 %n) #0
; CHECK-NEXT: call void @__schism_barrier() #1
; CHECK-NEXT: call void @deeper(i32 %n) #0
; CHECK: define internal void @other() {
; CHECK: declare void @__schism_barrier() #1
; CHECK: attributes #0 = { convergent }
; CHECK: attributes #1 = { convergent nomerge }
