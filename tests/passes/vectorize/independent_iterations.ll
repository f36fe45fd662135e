; A work-item's loop of independent iterations is vectorised, and the loop over work-items is not. What counts with the counter becomes
; the counter, and how far it has come is known behind the loop.
; SPEC lanes: 512 16
define void @kernel(ptr %in, ptr %out, ptr %counts, i64 %n, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %none = icmp eq i64 %n, 0
  br i1 %none, label %next, label %loop
loop:
  %i = phi i64 [ 0, %item ], [ %i.after, %stored ]
  %filled = phi i64 [ 0, %item ], [ %filled.after, %stored ]
  %p = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %p, align 4
  br label %inner
inner:
  %a = phi float [ %v, %loop ], [ %b, %inner ]
  %k = phi i32 [ 0, %loop ], [ %k.after, %inner ]
  %b = fmul float %a, %a
  %k.after = add i32 %k, 1
  %more = fcmp olt float %b, 4.0
  br i1 %more, label %inner, label %stored
stored:
  %q = getelementptr i32, ptr %out, i64 %filled
  store i32 %k.after, ptr %q, align 4
  %filled.after = add nuw i64 %filled, 1
  %i.after = add nuw i64 %i, 1
  %done = icmp eq i64 %i.after, %n
  br i1 %done, label %next.of, label %loop, !llvm.loop !2
next.of:
  br label %next
next:
  %count = phi i64 [ 0, %item ], [ %filled.after, %next.of ]
  %r = getelementptr i64, ptr %counts, i64 %x
  store i64 %count, ptr %r, align 8
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
; CHECK: item:
; CHECK: vector.loop:
; CHECK: llvm.masked.load.v16f32
; CHECK: fmul <16 x float>
; CHECK: llvm.masked.store.v16i32
; CHECK-NOT: vector.loop:
; CHECK-NOT: scatter
