; Iterations that are said to be independent, and pass a value on: their order counts, so they stay what they are.
; SPEC lanes: 512 16
define void @kernel(ptr %in, ptr %out, i64 %n, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  br label %loop
loop:
  %i = phi i64 [ 0, %item ], [ %i.after, %loop ]
  %sum = phi float [ 0.0, %item ], [ %sum.after, %loop ]
  %p = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %p, align 4
  %sum.after = fadd float %sum, %v
  %i.after = add nuw i64 %i, 1
  %done = icmp uge i64 %i.after, %n
  br i1 %done, label %next, label %loop, !llvm.loop !2
next:
  %q = getelementptr float, ptr %out, i64 %x
  store float %sum.after, ptr %q, align 4
  %x.after = add i64 %x, 1
  %all = icmp eq i64 %x.after, %end
  br i1 %all, label %exit, label %item, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
!2 = distinct !{!2, !3}
!3 = !{!"schism.independent_iterations"}
; CHECK: fadd float
; CHECK-NOT: vector.loop
; CHECK: ret void
