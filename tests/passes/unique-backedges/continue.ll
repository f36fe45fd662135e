; A loop with a `continue`, and a switch with two edges back: one edge is left, and what the loop was told of is kept.
define float @kernel(ptr %p, i64 %n) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i.next, %loop ], [ %i.next, %hit ], [ %i.next, %hit ], [ %i.next, %other ]
  %best = phi float [ 0.0, %start ], [ %best, %loop ], [ %v, %hit ], [ %v, %hit ], [ 1.0, %other ]
  %at = getelementptr float, ptr %p, i64 %i
  %v = load float, ptr %at, align 4
  %i.next = add i64 %i, 1
  %misses = fcmp olt float %v, %best
  br i1 %misses, label %loop, label %hit, !prof !1
hit:
  switch i64 %i, label %other [
    i64 5, label %loop
    i64 7, label %loop
  ]
other:
  %done = icmp uge i64 %i.next, %n
  br i1 %done, label %exit, label %loop, !llvm.loop !0
exit:
  ret float %best
}
!0 = distinct !{!0, !2}
!1 = !{!"branch_weights", i32 1, i32 9}
!2 = !{!"llvm.loop.unroll.disable"}
; CHECK: loop:
; CHECK: phi i64 [ 0, %start ], [ {{.*}}, %loop.next ]
; CHECK: phi float [ 0.000000e+00, %start ], [ {{.*}}, %loop.next ]
; CHECK: loop.next:
; CHECK: br label %loop, !llvm.loop
