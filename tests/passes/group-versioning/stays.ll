; SPEC kernel: loaded entry 0 1
; SPEC kernel: never entry 0 1
; An index that is loaded cannot be decided; a check that some work-item of each group fails is none to decide by; other functions have
; parameters that differ between work-items.
declare i64 @llvm.spv.thread.id.i64(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define void @loaded(ptr noundef %p, i64 noundef %len) {
entry:
  %at = load i64, ptr %p
  %is.inside = icmp ult i64 %at, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %at
  store float 1.0, ptr %place
  ret void
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
}
define void @never(ptr noundef %p) "schism.block"="256,1,1" {
entry:
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.inside = icmp ult i32 %lane, 240
  br i1 %is.inside, label %inside, label %panic
inside:
  store float 1.0, ptr %p
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
define void @other(ptr noundef %p, i64 noundef %at, i64 noundef %len) {
entry:
  %is.inside = icmp ult i64 %at, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  store float 1.0, ptr %p
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
; CHECK: define void @loaded
; CHECK-NEXT: entry:
; CHECK-NEXT: %at = load
; CHECK-NOT: fence
; CHECK: define void @never
; CHECK-NEXT: entry:
; CHECK: define void @other
; CHECK-NEXT: entry:
; CHECK-NOT: fence
