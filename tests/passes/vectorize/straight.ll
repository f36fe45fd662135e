; Long straight code has two registers for each vector, if the processor has thirty-two.
; SPEC lanes: 512
define void @kernel(ptr noalias readonly %in, ptr noalias %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %v.0 = load float, ptr %p, align 4
  %is = fcmp ogt float %v.0, 0.0
  br i1 %is, label %roots, label %next
roots:
  %r.0 = call float @llvm.sqrt.f32(float %v.0)
  %v.1 = fdiv float %v.0, %r.0
  %r.1 = call float @llvm.sqrt.f32(float %v.1)
  %v.2 = fdiv float %v.1, %r.1
  %r.2 = call float @llvm.sqrt.f32(float %v.2)
  %v.3 = fdiv float %v.2, %r.2
  %r.3 = call float @llvm.sqrt.f32(float %v.3)
  %v.4 = fdiv float %v.3, %r.3
  %r.4 = call float @llvm.sqrt.f32(float %v.4)
  %v.5 = fdiv float %v.4, %r.4
  %r.5 = call float @llvm.sqrt.f32(float %v.5)
  %v.6 = fdiv float %v.5, %r.5
  %r.6 = call float @llvm.sqrt.f32(float %v.6)
  %v.7 = fdiv float %v.6, %r.6
  %r.7 = call float @llvm.sqrt.f32(float %v.7)
  %v.8 = fdiv float %v.7, %r.7
  br label %next
next:
  %w = phi float [ %v.0, %item ], [ %v.8, %roots ]
  %q = getelementptr float, ptr %out, i64 %x
  store float %w, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
declare float @llvm.sqrt.f32(float)
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: call <32 x float> @llvm.sqrt
