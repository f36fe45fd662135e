; A table that each work-item fills with the same is filled before the loop; one that differs is not.
; SPEC lanes: 256 8
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
define void @kernel(ptr noalias %out, float %w0, float %w1, i64 %k, i64 %begin, i64 %end) {
start:
  %weights = alloca [2 x float]
  %own = alloca [2 x i64]
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  call void @llvm.lifetime.start.p0(ptr %weights)
  call void @llvm.lifetime.start.p0(ptr %own)
  store float %w0, ptr %weights, align 4
  %weights.1 = getelementptr i8, ptr %weights, i64 4
  store float %w1, ptr %weights.1, align 4
  store i64 %x, ptr %own, align 8
  %own.1 = getelementptr i8, ptr %own, i64 8
  store i64 %k, ptr %own.1, align 8
  %low = and i64 %x, 1
  %mine.at = getelementptr i64, ptr %own, i64 %low
  %mine = load i64, ptr %mine.at, align 8
  %number = uitofp i64 %mine to float
  %w.at = getelementptr float, ptr %weights, i64 %k
  %w = load float, ptr %w.at, align 4
  %v = fmul float %w, %number
  %v2 = fmul float %v, %v
  %v3 = fadd float %v2, %w
  %v4 = fmul float %v3, %v2
  %r = getelementptr float, ptr %out, i64 %x
  store float %v4, ptr %r, align 4
  call void @llvm.lifetime.end.p0(ptr %own)
  call void @llvm.lifetime.end.p0(ptr %weights)
  %x.after = add i64 %x, 1
  %done = icmp eq i64 %x.after, %end
  br i1 %done, label %exit, label %item, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: call void @llvm.lifetime.start.p0(ptr
; CHECK: store float %w0, ptr %weights
; CHECK: store float %w1
; CHECK: load float
; CHECK: item:
; CHECK: store i64
; CHECK-NOT: store float %w
