; Coordinates of 32 bits, with signs, in a picture that begins elsewhere.
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.smax.i32(i32, i32)
define void @kernel(ptr noalias %from, ptr noalias %to, i64 %first, i32 %last, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %place = add i64 %x, %first
  %cut = trunc i64 %place to i32
  %left = add i32 %cut, -2
  %left.least = call i32 @llvm.smax.i32(i32 %left, i32 0)
  %left.in = call i32 @llvm.smin.i32(i32 %left.least, i32 %last)
  %index = sext i32 %left.in to i64
  %p = getelementptr float, ptr %from, i64 %index
  %a = load float, ptr %p, align 4
  %r = getelementptr float, ptr %to, i64 %x
  store float %a, ptr %r, align 4
  %x.after = add nuw nsw i64 %x, 1
  %x.more = icmp ult i64 %x.after, %end
  br i1 %x.more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; The clone has work-items whose sums with %first are below 2^31 less a margin.
; CHECK: sub nsw i64 2146435072, %{{.*}}
; CHECK: sext i32 %{{.*}} to i64
; CHECK: part.end:
; CHECK-NOT: trunc
; CHECK-NOT: call i32
; CHECK: getelementptr {{.*}}i64 -8
