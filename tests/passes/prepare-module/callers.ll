; A marker outside of all loops belongs to the loops around the calls of its function, over several levels; recursion ends that.
define internal void @mark() {
  %a = call i64 asm "/* schism: unroll 4 ${0:q} */", "=&r,0"(i64 0)
  ret void
}
define internal void @closure(ptr %p) {
  call void @mark()
  store i64 1, ptr %p
  ret void
}
define internal void @again() {
  call void @mark()
  call void @again()
  ret void
}
declare i32 @personality(...)

define void @called(ptr %p, i64 %n) personality ptr @personality {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %go ]
  invoke void @closure(ptr %p) to label %go unwind label %pad
go:
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  ret void
pad:
  %caught = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %caught
}

define void @without_a_loop(ptr %p) {
  call void @closure(ptr %p)
  call void @again()
  ret void
}
; CHECK-LABEL: define internal void @mark()
; CHECK-NOT: asm
; CHECK: ret void
; CHECK-LABEL: define void @called(
; CHECK: br i1 %done, label %end, label %loop, !llvm.loop !0
; CHECK-LABEL: define void @without_a_loop(
; CHECK-NOT: !llvm.loop
; CHECK: ret void
; CHECK: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"llvm.loop.unroll.count", i32 4}
