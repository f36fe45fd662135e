; Locals go into registers; functions stay functions, for the target's own pipeline to inline.
define void @kernel(ptr noalias readonly %p) {
  %closure = alloca [8 x i8], align 8
  store ptr %p, ptr %closure
  %copy = load ptr, ptr %closure
  call void @work(ptr %copy)
  ret void
}
define internal void @work(ptr %p) {
  call void @sink(ptr %p)
  ret void
}
declare void @sink(ptr)
; CHECK: define void @kernel(
; CHECK-NEXT: call {{.*}}void @work(ptr {{.*}}%p)
; CHECK-NEXT: ret void
; CHECK: define internal {{.*}}void @work
