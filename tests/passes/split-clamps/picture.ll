; Neighbours within the picture: a clone of the loop computes those that have both, without clamps.
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
define void @kernel(ptr noalias %from, ptr noalias %to, i64 %last, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %right = add i64 %x, 1
  %right.in = call i64 @llvm.umin.i64(i64 %last, i64 %right)
  %left.in = call i64 @llvm.usub.sat.i64(i64 %x, i64 1)
  %p = getelementptr float, ptr %from, i64 %right.in
  %q = getelementptr float, ptr %from, i64 %left.in
  %a = load float, ptr %p, align 4
  %b = load float, ptr %q, align 4
  %c = fadd float %a, %b
  %r = getelementptr float, ptr %to, i64 %x
  store float %c, ptr %r, align 4
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: call i64 @llvm.umax.i64(i64 %begin, i64 1)
; CHECK: call i64 @llvm.umin.i64(i64 %0, i64 %end)
; CHECK: part:
; CHECK: br i1 %9, label %item.preheader4, label %part.end
; CHECK: call i64 @llvm.umin.i64(i64 %0, i64 %right)
; CHECK: call i64 @llvm.usub.sat.i64(i64 %10, i64 1)
; CHECK: part.end:
; CHECK: br i1 %8, label %.preheader.preheader, label %exit.loopexit
; CHECK: %16 = getelementptr i8, ptr %15, i64 -4
; CHECK-NOT: call i64
; CHECK: br i1 %21, label %.preheader, label %part.loopexit, !llvm.loop
